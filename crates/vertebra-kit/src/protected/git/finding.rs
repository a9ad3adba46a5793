//! How git finds its directories: from a `.git` to the git directory, and from there to what worktrees share.
//!
//! These follow git byte by byte. A difference would let git read a configuration that was never checked.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::{MAX_BYTES, deciding::bytes_of};

/// Returns the git directory of a `.git`: the folder itself, or the one that the file names. Returns `None` if
/// the file names none, or is too large.
pub fn git_dir(entry: &Path) -> Option<PathBuf> {
    if entry.is_dir() {
        return Some(entry.to_owned());
    }
    named(entry.parent()?, bytes_of(entry, MAX_BYTES as u64)?.strip_prefix(b"gitdir: ")?)
}

/// Returns the directory that has the configuration, the objects and the shared references of a git directory: the same one,
/// or the one that its `commondir` names. Returns `None` if the file names none, or is too large.
pub(crate) fn common_dir(git: &Path) -> Option<PathBuf> {
    let link = git.join("commondir");
    if link.symlink_metadata().is_err() {
        return Some(git.to_owned());
    }
    named(git, &bytes_of(&link, MAX_BYTES as u64)?)
}

/// Returns whether git takes a folder for a git directory. If it does not, it looks in the folders above.
pub(crate) fn is_git_dir(folder: &Path) -> bool {
    let head = folder.join("HEAD");
    let leads = match fs::read_link(&head) {
        Ok(target) => target.as_os_str().as_bytes().starts_with(b"refs/"),
        Err(_) => bytes_of(&head, MAX_BYTES as u64).is_some_and(|text| names_commit(&text)),
    };
    let is_there = |folder: PathBuf| access(&folder, Access::EXEC_OK).is_ok();
    leads && common_dir(folder).is_some_and(|common| ["objects", "refs"].iter().all(|name| is_there(common.join(name))))
}

/// Returns whether a `HEAD` leads to a reference, or is the hash of a commit.
fn names_commit(head: &[u8]) -> bool {
    match head.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => head.len() >= 40 && head[..40].iter().all(u8::is_ascii_hexdigit),
    }
}

/// Returns the path in a file, from a folder. It ends at the line ends that close the file, and at the first zero.
fn named(folder: &Path, text: &[u8]) -> Option<PathBuf> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    let name = text[..=end].split(|byte| *byte == 0).next()?;
    Some(folder.join(OsStr::from_bytes(name)))
}
