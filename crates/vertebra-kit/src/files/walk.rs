//! Looking at everything below a folder, from handle to handle: no link is followed, so nothing outside is met.

use std::{
    ffi::OsStr,
    fs::File,
    ops::ControlFlow,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{FileType, Mode, OFlags, openat};
use vertebra::ToolError;

use super::{
    access::{Job, Target},
    gitignore::Ignores,
    judge::HiddenNames,
    place::{Place, entries},
    push_line,
    root::open_folder,
};
use crate::denied::former;

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
    /// What rules deny.
    pub(super) hidden: HiddenNames,
}

/// Shows every file and link below a folder, in order, until it is told to break off.
pub(super) fn walk(
    job: &Job,
    target: &Target,
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
    let aliases = if job.has_denials() { Aliases::of(&folder) } else { Some(Aliases(Vec::new())) };
    let aliases = aliases.filter(|aliases| !job.hides(&aliases.0, &mut HiddenNames::default()));
    let aliases = aliases.ok_or_else(|| target.place.says("is off limits: a rule of this agent denies it"))?;
    let mut walk = Walk { job, hidden, ignores, left, walked: Walked::default(), visit: &mut visit };
    // Breaking off is the visitor's own decision, so it knows.
    let _ = walk.folder(&folder, &path, &aliases, 0)?;
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
    fn folder(
        &mut self,
        folder: &Arc<OwnedFd>,
        path: &Path,
        aliases: &Aliases,
        depth: usize,
    ) -> Result<ControlFlow<()>, ToolError> {
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
                    let inside = aliases.of_folder(&inner, &entry.name);
                    if self.job.hides(&inside.0, &mut self.walked.hidden) {
                        continue;
                    }
                    self.folder(&Arc::new(inner), &path, &inside, depth + 1)?
                } else {
                    self.walked.closed += 1;
                    ControlFlow::Continue(())
                }
            } else if self.job.hides(&aliases.of_entry(folder, &entry.name), &mut self.walked.hidden) {
                continue;
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
        hidden || name == ".git" || self.ignores.hold(path, is_folder)
    }

    fn end(&mut self, why: String) -> ControlFlow<()> {
        self.walked.cut = Some(why);
        ControlFlow::Break(())
    }
}

/// Every absolute path that an open folder has or had.
pub(super) struct Aliases(Vec<PathBuf>);

impl Aliases {
    pub(super) fn of(folder: &OwnedFd) -> Option<Self> {
        let opened = File::from(folder.try_clone().ok()?);
        former::of_opened(folder, Path::new(""), None).map(|mut paths| {
            former::add(&mut paths, &opened);
            Self(paths)
        })
    }

    /// Those of a folder in it, which was opened.
    fn of_folder(&self, inner: &OwnedFd, name: &OsStr) -> Self {
        let mut paths = self.below(name);
        if !paths.is_empty()
            && former::is_any()
            && let Ok(opened) = inner.try_clone()
        {
            former::add(&mut paths, &File::from(opened));
        }
        Self(paths)
    }

    /// Those of something in it, which may not be opened at all.
    pub(super) fn of_entry(&self, folder: &OwnedFd, name: &OsStr) -> Vec<PathBuf> {
        let mut paths = self.below(name);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if !paths.is_empty()
            && former::is_any()
            && let Ok(entry) = openat(folder, name, flags, Mode::empty())
        {
            former::add(&mut paths, &File::from(entry));
        }
        paths
    }

    fn below(&self, name: &OsStr) -> Vec<PathBuf> {
        self.0.iter().map(|folder| folder.join(name)).collect()
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
        if let Some(notice) = self.hidden.notice() {
            push_line(&mut text, format_args!("{notice}"));
        }
        text
    }
}
