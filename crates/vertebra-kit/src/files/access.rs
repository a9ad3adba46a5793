//! What all file tools share, and what one call of a tool is given.

use std::{
    fs::{File, Metadata as FileFacts},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use vertebra::{Metadata, ToolError};

use super::{
    Bounds,
    effort::Effort,
    globs::PathRules,
    place::Place,
    root::{May, Root},
    seen::{Writes, hash},
    show,
    text::{NotText, Text},
    undo::Undo,
};

/// The folders, and the rules over what is in them.
#[derive(Debug)]
pub(super) struct Access {
    /// Where files may be written, unless the agent only reads.
    pub(super) home: Root,
    /// Where they may be read, too.
    pub(super) others: Vec<Root>,
    pub(super) denied: PathRules,
    pub(super) protected: PathRules,
    pub(super) bounds: Bounds,
    pub(super) write_unread: bool,
    pub(super) writes: Writes,
    pub(super) undo: Option<Undo>,
}

/// One call of a file tool.
pub(super) struct Job {
    pub(super) access: Arc<Access>,
    pub(super) effort: Effort,
    pub(super) working_directory: Arc<str>,
    pub(super) run: Arc<str>,
    pub(super) session: Arc<str>,
    /// What the session has kept, files seen among it.
    pub(super) kept: Metadata,
}

/// A place, and the root it is below.
pub(super) struct Target<'a> {
    pub(super) root: &'a Root,
    pub(super) place: Place,
}

impl Job {
    pub(super) fn bounds(&self) -> &Bounds {
        &self.access.bounds
    }

    /// The place that a path of the model means. Outside of the folders there is none, and no denied one inside.
    pub(super) fn target(&self, path: &str) -> Result<Target<'_>, ToolError> {
        if path.is_empty() || path.contains('\0') {
            return Err(ToolError::new(format!("{path:?} is not a path")));
        }
        // By the letters first, as guards read it; from the folder on, by handles.
        let absolute = plain(&Path::new(&*self.working_directory).join(path));
        let roots = || [&self.access.home].into_iter().chain(&self.access.others);
        let Some((root, way)) = roots().find_map(|root| Some((root, root.below(&absolute)?))) else {
            let roots: Vec<String> = roots().map(|root| show(root.name())).collect();
            return Err(ToolError::new(format!("`{}` is outside of {}", show(&absolute), roots.join(" and "))));
        };
        // It is named as it was asked for: where a link leads is not told.
        let denied = || ToolError::new(format!("`{}` is off limits: a rule of this agent denies it", show(way)));
        if self.access.denied.hold(way) {
            return Err(denied());
        }
        let place = root.go(way)?;
        if self.access.denied.hold(place.path()) {
            return Err(denied());
        }
        Ok(Target { root, place })
    }

    /// The place that a path means, to write there.
    pub(super) fn target_to_write(&self, path: &str) -> Result<Place, ToolError> {
        let Target { root, place } = self.target(path)?;
        if root.may() == May::Read {
            return Err(place.says("may be read, not written"));
        }
        if self.access.protected.hold(place.path()) {
            return Err(place.says("is protected: it decides what programs do here, so it is for people to change"));
        }
        Ok(place)
    }

    /// A path below a root as the model may write it: relative to where the agent works, if it is there.
    pub(super) fn shown(&self, root: &Root, path: &Path) -> String {
        let absolute = root.name().join(path);
        match absolute.strip_prefix(&*self.working_directory) {
            Ok(here) if here.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => show(inside),
            Err(_) => show(&absolute),
        }
    }

    /// The whole file, if it is not too large.
    pub(super) fn read_whole(&self, file: File, place: &Place) -> Result<Vec<u8>, ToolError> {
        let limit = self.bounds().file_bytes;
        let bytes = self.effort.read(file, limit.saturating_add(1)).map_err(|error| place.failed("read", error))?;
        if bytes.len() as u64 > limit {
            return Err(place.says(&format!("is larger than {limit} bytes: too large to change")));
        }
        Ok(bytes)
    }

    /// A file that is there, to be changed.
    pub(super) fn known(&self, place: &Place) -> Result<Known, ToolError> {
        let (file, facts) = place.open()?;
        // A rename would replace it all the same; whoever took the right away meant it.
        if facts.permissions().readonly() {
            return Err(place.says("is read-only: its mode lets nobody write it"));
        }
        let bytes = self.read_whole(file, place)?;
        let text = Text::decode(&bytes).map_err(|reason| not_text(place, reason, bytes.len() as u64))?;
        Ok(Known { text, bytes, facts })
    }

    /// Refuses to change what the model has not seen as it is now.
    pub(super) fn check_known(&self, place: &Place, bytes: &[u8]) -> Result<(), ToolError> {
        if self.access.write_unread {
            return Ok(());
        }
        let path = place.path().to_string_lossy();
        self.access.writes.check_known((&self.run, &path, &hash(bytes)), &self.kept, place)
    }
}

/// A file as it is now.
pub(super) struct Known {
    pub(super) text: Text,
    pub(super) bytes: Vec<u8>,
    pub(super) facts: FileFacts,
}

pub(super) fn not_text(place: &Place, reason: NotText, size: u64) -> ToolError {
    match reason {
        NotText::Binary(kind) => place.says(&format!("is {kind} of {size} bytes, not text")),
        NotText::Unknown => place.says("is in an encoding other than UTF-8 and UTF-16: it can be read, not changed"),
    }
}

/// The path without `.` and `..`, by its letters.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}
