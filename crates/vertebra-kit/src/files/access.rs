//! What all file tools share, and what one call of a tool is given.

use std::{
    fs::{File, Metadata as FileFacts},
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
    sync::{Arc, OnceLock},
};

use vertebra::{Metadata, ToolError};

use super::{
    Bounds,
    effort::Effort,
    globs::PathRules,
    judge::look_for,
    place::Place,
    root::{May, Root},
    seen::{Writes, hash},
    show,
    text::{NotText, Text},
    undo::Undo,
};
use crate::permissions::opened::{Refusals, Use};

/// The folders, and the rules over what is in them.
#[derive(Debug)]
pub(super) struct Access {
    /// Where files may be written, unless the agent only reads.
    pub(super) home: Root,
    /// Where they may be read, too.
    pub(super) others: Vec<Root>,
    pub(super) denied: PathRules,
    /// Whether the names that [`PROTECTED`](crate::PROTECTED) lists are not written.
    pub(super) protects_names: bool,
    /// What else is not written.
    pub(super) protected: PathRules,
    pub(super) bounds: Bounds,
    pub(super) write_unread: bool,
    pub(super) writes: Writes,
    pub(super) undo: Option<Undo>,
    /// Set when what is denied was looked for.
    pub(super) looked: OnceLock<()>,
}

impl Access {
    pub(super) fn roots(&self) -> impl Iterator<Item = &Root> {
        [&self.home].into_iter().chain(&self.others)
    }

    /// Looks once for what is denied, so that it is known if it is renamed later.
    pub(super) fn look_for_denied(&self) {
        if !self.denied.patterns().is_empty() {
            self.looked.get_or_init(|| self.roots().for_each(|root| look_for(&self.denied, root)));
        }
    }
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
    /// The names of the tool.
    pub(super) names: Vec<String>,
    /// The deny rules of the permissions.
    pub(super) refusals: Arc<Refusals>,
}

/// A place, and the root it is below.
pub(super) struct Target<'a> {
    pub(super) root: &'a Root,
    pub(super) place: Place,
    /// The path as it was asked for: where a link leads is not told.
    asked: PathBuf,
}

impl Target<'_> {
    /// Opens the file to read it, if no rule denies the very file that was opened.
    pub(super) fn open(&self, job: &Job) -> Result<(File, FileFacts), ToolError> {
        let (file, facts) = self.place.open()?;
        self.check(job, Some(&file), Use::Read)?;
        Ok((file, facts))
    }

    /// Opens the folder to look into it, if no rule denies the very folder that was opened.
    pub(super) fn open_folder(&self, job: &Job) -> Result<Arc<OwnedFd>, ToolError> {
        let folder = self.place.open_folder()?;
        let opened = File::from(folder.try_clone().map_err(|error| self.place.failed("open", error))?);
        self.check(job, Some(&opened), Use::Read)?;
        Ok(folder)
    }

    fn check(&self, job: &Job, opened: Option<&File>, done: Use) -> Result<(), ToolError> {
        job.judge(&self.place, opened, done).map_err(|why| ToolError::new(format!("`{}` {why}", show(&self.asked))))
    }
}

impl Job {
    pub(super) fn bounds(&self) -> &Bounds {
        &self.access.bounds
    }

    /// The place that a path of the model means. Outside of the folders there is none, and no denied one inside.
    ///
    /// What lies there is judged when it is opened: until then it may become something else.
    pub(super) fn target(&self, path: &str) -> Result<Target<'_>, ToolError> {
        if path.is_empty() || path.contains('\0') {
            return Err(ToolError::new(format!("{path:?} is not a path")));
        }
        // By the letters first, as guards read it; from the folder on, by handles.
        let absolute = plain(&Path::new(&*self.working_directory).join(path));
        let own = crate::bash::folder_name(&self.session);
        let may = |root: &Root, way: &Path| root.may() != May::ReadOwn || way.starts_with(&own);
        let found =
            self.access.roots().find_map(|root| Some((root, root.below(&absolute).filter(|way| may(root, way))?)));
        let Some((root, way)) = found else {
            let named = self.access.roots().filter(|root| root.may() != May::ReadOwn);
            let roots: Vec<String> = named.map(|root| show(root.name())).collect();
            return Err(ToolError::new(format!("`{}` is outside of {}", show(&absolute), roots.join(" and "))));
        };
        let asked = way.to_owned();
        if self.access.denied.hold(way) {
            return Err(ToolError::new(format!("`{}` is off limits: a rule of this agent denies it", show(asked))));
        }
        let target = Target { root, place: root.go(way)?, asked };
        target.check(self, None, Use::Read)?;
        Ok(target)
    }

    /// The place that a path means, to write there: the open folder, which is the one that was judged, and a name.
    pub(super) fn target_to_write(&self, path: &str) -> Result<Target<'_>, ToolError> {
        let target = self.target(path)?;
        if target.root.may() != May::Write {
            return Err(target.place.says("may be read, not written"));
        }
        target.check(self, None, Use::Change)?;
        Ok(target)
    }

    /// The place with the folders made that were missing, if it may still be written.
    pub(super) fn with_folders(&self, target: &Target<'_>) -> Result<Place, ToolError> {
        let place = target.place.clone().with_folders()?;
        let made = Target { root: target.root, place, asked: target.asked.clone() };
        made.check(self, None, Use::Change)?;
        Ok(made.place)
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
    pub(super) fn known(&self, target: &Target<'_>) -> Result<Known, ToolError> {
        let place = &target.place;
        let (file, facts) = target.open(self)?;
        target.check(self, Some(&file), Use::Change)?;
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
