//! Looking at everything below a folder, from handle to handle: no link is followed, so nothing outside is met.

use std::{
    ffi::OsStr,
    ops::ControlFlow,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::FileType;
use vertebra::ToolError;

use super::{
    access::{Job, Target},
    gitignore::Ignores,
    place::{Place, entries},
    push_line,
    root::open_folder,
};

/// Whether names that begin with a dot are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    Seen,
    PassedOver,
}

impl From<bool> for Hidden {
    fn from(seen: bool) -> Self {
        if seen { Self::Seen } else { Self::PassedOver }
    }
}

/// What was left out of a walk, for the model to know.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Why the walk ended early.
    pub(super) cut: Option<String>,
    /// Folders that could not be read.
    pub(super) closed: usize,
}

/// Shows every file and link below a folder, in order, until it is told to break off.
pub(super) fn walk(
    job: &Job,
    target: &Target<'_>,
    hidden: Hidden,
    mut visit: impl FnMut(&Place, FileType) -> Result<ControlFlow<()>, ToolError>,
) -> Result<Walked, ToolError> {
    let mut ignores = Ignores::default();
    // The rules of the folders above count, up to the root and no further.
    let (mut folder, mut path) = (target.root.dir().clone(), PathBuf::new());
    for part in target.place.path() {
        ignores.enter(&folder, &path, &job.effort);
        path.push(part);
        folder = open_folder(&folder, part).map_err(|errno| target.place.failed("open", errno))?.into();
    }
    let left = job.bounds().walk_entries;
    let mut walk = Walk { job, hidden, ignores, left, walked: Walked::default(), visit: &mut visit };
    // Breaking off is the visitor's own decision, so it knows.
    let _ = walk.folder(&folder, &path, 0)?;
    Ok(walk.walked)
}

struct Walk<'a, V> {
    job: &'a Job,
    hidden: Hidden,
    ignores: Ignores,
    left: usize,
    walked: Walked,
    visit: &'a mut V,
}

impl<V> Walk<'_, V>
where
    V: FnMut(&Place, FileType) -> Result<ControlFlow<()>, ToolError>,
{
    fn folder(&mut self, folder: &Arc<OwnedFd>, path: &Path, depth: usize) -> Result<ControlFlow<()>, ToolError> {
        if depth > self.job.bounds().walk_depth {
            self.walked.closed += 1;
            return Ok(ControlFlow::Continue(()));
        }
        let Ok((entries, more)) = entries(folder, self.left) else {
            self.walked.closed += 1;
            return Ok(ControlFlow::Continue(()));
        };
        self.left -= entries.len();
        self.ignores.enter(folder, path, &self.job.effort);
        for entry in entries {
            if let Some(why) = self.job.effort.over() {
                return Ok(self.end(why.to_owned()));
            }
            let path = path.join(&entry.name);
            let is_folder = entry.kind == FileType::Directory;
            if self.passes_over(&entry.name, &path, is_folder) {
                continue;
            }
            let flow = if is_folder {
                if let Ok(inner) = open_folder(folder, &entry.name) {
                    self.folder(&Arc::new(inner), &path, depth + 1)?
                } else {
                    self.walked.closed += 1;
                    ControlFlow::Continue(())
                }
            } else {
                (self.visit)(&Place::new(folder.clone(), entry.name, path), entry.kind)?
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        self.ignores.leave();
        if more {
            return Ok(self.end(format!("there are more than {} names", self.job.bounds().walk_entries)));
        }
        Ok(ControlFlow::Continue(()))
    }

    fn passes_over(&self, name: &OsStr, path: &Path, is_folder: bool) -> bool {
        let hidden = self.hidden == Hidden::PassedOver && name.as_encoded_bytes().starts_with(b".");
        hidden || name == ".git" || self.job.access.denied.hold(path) || self.ignores.hold(path, is_folder)
    }

    fn end(&mut self, why: String) -> ControlFlow<()> {
        self.walked.cut = Some(why);
        ControlFlow::Break(())
    }
}

impl Walked {
    /// A line for each thing that was left out.
    pub(super) fn notices(&self) -> String {
        let mut text = String::new();
        if let Some(why) = &self.cut {
            push_line(&mut text, format_args!("[ended early: {why}; look in a smaller folder]"));
        }
        if self.closed > 0 {
            push_line(&mut text, format_args!("[folders that could not be read: {}]", self.closed));
        }
        text
    }
}
