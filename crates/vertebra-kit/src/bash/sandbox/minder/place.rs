//! Where a path leads: read once, resolved once to the handle of a folder and a last name.

use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, open, openat2, readlinkat, statat},
    io::Errno,
};

use super::task::Call;

/// How many links are followed, as the kernel does it.
const LINKS: usize = 40;

/// A name in a folder.
pub(super) struct Name {
    pub(super) folder: OwnedFd,
    /// Where the folder is.
    pub(super) above: PathBuf,
    pub(super) last: OsString,
    /// What is there.
    pub(super) found: Option<Stat>,
    /// Whether a slash follows the name: then it has to be a folder.
    pub(super) slash: bool,
}

impl Name {
    /// The whole path.
    pub(super) fn path(&self) -> PathBuf {
        self.above.join(&self.last)
    }

    pub(super) fn kind(&self) -> Option<FileType> {
        self.found.map(|found| FileType::from_raw_mode(found.st_mode))
    }
}

/// Where a path leads.
pub(super) enum Place {
    Name(Name),
    /// To what the process has open already: the path and a handle of it.
    Open(PathBuf, OwnedFd),
    /// Into a folder that does not exist. By the time the kernel looked, another thread could have made it.
    Nowhere(PathBuf),
    /// To where the kernel says best what is wrong with it. Nothing can be changed there.
    Unknown,
}

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Follow,
    Keep,
}

/// Finds where a path of a call leads.
pub(super) fn find(call: &Call, descriptor: i32, path: Vec<u8>, last: Last) -> Place {
    resolve(call, descriptor, path, last).unwrap_or(Place::Unknown)
}

fn resolve(call: &Call, descriptor: i32, mut path: Vec<u8>, last: Last) -> Option<Place> {
    let mut base = None;
    for _ in 0..LINKS {
        let (above, name, slash) = split(&path)?;
        let begin = match (path.first(), base.take()) {
            (Some(b'/'), _) => root()?,
            (_, Some(base)) => base,
            (_, None) => call.base(descriptor)?,
        };
        let folder = if above.is_empty() {
            begin
        } else {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match openat2(&begin, above, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
                Ok(folder) => folder,
                Err(Errno::NOENT) => return Some(Place::Nowhere(path_of(&begin)?.join(OsStr::from_bytes(&path)))),
                Err(_) => return None,
            }
        };
        let above = path_of(&folder)?;
        let found = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Some(found),
            Err(Errno::NOENT) => None,
            Err(_) => return None,
        };
        let is_link = found.is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
        if !is_link {
            return Some(Place::Name(Name { above, last: OsString::from_vec(name.to_vec()), found, slash, folder }));
        }
        if slash {
            return None;
        }
        if last == Last::Keep {
            return Some(Place::Name(Name { above, last: OsString::from_vec(name.to_vec()), found, slash, folder }));
        }
        if above.starts_with("/proc") {
            return own_file(call, &above, name);
        }
        path = readlinkat(&folder, name, Vec::new()).ok()?.into_bytes();
        base = Some(folder);
    }
    None
}

/// The folder part, the last name, and whether a slash follows it. Nothing for paths that end in a folder as such.
fn split(path: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let begin = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let name = &path[begin..end];
    (name != b"." && name != b"..").then_some((&path[..begin], name, end < path.len()))
}

fn root() -> Option<OwnedFd> {
    open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Where a handle leads now.
pub(super) fn path_of(handle: impl AsFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    let path = readlinkat(CWD, link, Vec::with_capacity(256)).ok()?;
    Some(OsStr::from_bytes(path.as_bytes()).into())
}

/// `/dev/stdout` and the like lead to files of whoever looks, so here to those of the supervisor. Those of the process are
/// meant.
fn own_file(call: &Call, above: &Path, name: &[u8]) -> Option<Place> {
    let mut parts = above.strip_prefix("/proc").ok()?.iter();
    let (process, kind) = (parts.next()?.to_str()?, parts.next()?);
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    if parts.next().is_some() || kind != "fd" || (process != own && process != call.thread().to_string()) {
        return None;
    }
    let file = call.open_file(std::str::from_utf8(name).ok()?.parse().ok()?)?;
    Some(Place::Open(path_of(&file)?, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_at_its_last_name() {
        for (path, expected) in [
            ("a", Some(("", "a", false))),
            ("/a", Some(("/", "a", false))),
            ("a/b//", Some(("a/", "b", true))),
            ("../a", Some(("../", "a", false))),
            ("/", None),
            ("", None),
            ("a/.", None),
            ("a/..", None),
        ] {
            let expected = expected.map(|(above, name, slash)| (above.as_bytes(), name.as_bytes(), slash));
            assert_eq!(split(path.as_bytes()), expected, "{path}");
        }
    }
}
