//! Handles two commands that work in one folder at the same time, each with its own supervisor. One of them may make the folder a
//! git directory (by a `HEAD`) while the other puts into it what would make git start a program, and each of the two changes
//! is harmless by itself.
//!
//! Each supervisor looks again after its change. Whatever the order of the two changes, the one that came last sees the other.
//! If the folder is harmful then, it is made no git directory: its `HEAD` is removed.

use std::{os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, Mode, OFlags, openat, unlinkat},
    io::Errno,
};

use super::{
    Minder,
    act::Step,
    guard::{has_head_above, may_be_git_dir, steps_up},
    place::Name,
};
use crate::protected::{Protection, git};

/// What a name was before it was changed, where another command could have made something else of it meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// The `HEAD` of a folder that was no git directory.
    Head,
    /// A name that would matter in a git directory, in a folder that was none.
    Free,
}

impl Minder {
    /// Looks at a name before it is judged. Nothing for most names, which matter in no git directory.
    pub(super) fn judged(&self, name: &Name) -> Option<Judged> {
        if !git::may_matter(&name.path) {
            return None;
        }
        match self.guard.protection(&name.path, Some(&name.folder)) {
            Protection::GitHead => Some(Judged::Head),
            Protection::Free => Some(Judged::Free),
            _ => None,
        }
    }

    /// Looks at it again after the change.
    pub(super) fn settle(&self, name: &Name, judged: Option<Judged>) -> Step<()> {
        let above = name.path.parent().unwrap_or(&name.path);
        let is_harmless = match judged {
            None => true,
            Some(Judged::Head) => settled(&name.folder, above, above),
            Some(Judged::Free) if self.guard.protection(&name.path, Some(&name.folder)) == Protection::Free => true,
            // The change would not have been made in a git directory.
            Some(Judged::Free) => {
                let heads = above.ancestors().filter(|folder| has_head_above(&name.folder, &name.path, folder));
                heads.filter(|folder| self.guard.zone(folder).is_some()).for_each(|folder| {
                    settled(&name.folder, above, folder);
                });
                false
            }
        };
        if is_harmless { Ok(()) } else { Err(self.protected(&name.path)) }
    }
}

/// Makes a git directory no git directory, if something in it would make git start a program. `open` is the folder at `above`,
/// in or below it.
fn settled(open: &OwnedFd, above: &Path, git: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(open, format!("{}.", steps_up(above, git)), flags, Mode::empty());
    let Ok(folder) = folder else { return false };
    if may_be_git_dir(&folder, git) {
        return true;
    }
    if unlinkat(&folder, "HEAD", AtFlags::empty()) == Err(Errno::ISDIR) {
        _ = unlinkat(&folder, "HEAD", AtFlags::REMOVEDIR);
    }
    false
}
