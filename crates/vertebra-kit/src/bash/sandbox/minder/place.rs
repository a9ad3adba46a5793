//! Where a path leads: read once, resolved once to the handle of a folder and a last name.

use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::{Path, PathBuf},
    sync::LazyLock,
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, chmodat, openat, openat2, readlinkat, statat},
    io::Errno,
    path::DecInt,
};

use super::task::Call;

/// How many links are followed, as the kernel does it.
const LINKS: usize = 40;

/// A name in a folder.
pub(super) struct Name {
    pub(super) folder: OwnedFd,
    /// The whole path.
    pub(super) path: PathBuf,
    pub(super) last: OsString,
    /// What is there.
    pub(super) found: Option<Stat>,
    /// Whether a slash follows the name: then it has to be a folder.
    pub(super) slash: bool,
}

impl Name {
    /// Looks what is there.
    pub(super) fn look(&mut self) -> Result<(), Errno> {
        self.found = look(&self.folder, &self.last)?;
        Ok(())
    }

    pub(super) fn kind(&self) -> Option<FileType> {
        self.found.map(|found| FileType::from_raw_mode(found.st_mode))
    }
}

/// Where a path leads.
pub(super) enum Place {
    Name(Name),
    /// To what the process has open already, or to a folder as such (`.`): the path and a handle of it.
    Open(PathBuf, OwnedFd),
    /// Into a folder that does not exist. By the time the kernel looked, another thread could have made it.
    Nowhere(PathBuf),
    /// To where the kernel says best what is wrong with it. Nothing can be changed there.
    Unknown,
}

/// What is done about the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// A link is followed.
    Follow,
    Keep,
    /// Nobody looks what is there: the call fails if there is anything.
    New,
}

/// Finds where a path of a call leads.
pub(super) fn find(call: &Call, descriptor: i32, path: Vec<u8>, last: Last) -> Place {
    resolve(call, descriptor, path, last).unwrap_or(Place::Unknown)
}

fn resolve(call: &Call, descriptor: i32, mut path: Vec<u8>, last: Last) -> Option<Place> {
    let mut base: Option<OwnedFd> = None;
    for _ in 0..LINKS {
        let begin = match (path.first()?, base.take()) {
            (b'/', _) => None,
            (_, Some(base)) => Some(base),
            (_, None) => Some(call.base(descriptor)?),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Some((above, name, slash)) = split(&path) else {
            let from = begin.as_ref().map_or(CWD, AsFd::as_fd);
            let folder = openat2(from, &*path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS).ok()?;
            return Some(Place::Open(path_of(&folder)?, folder));
        };
        let folder = match begin {
            Some(begin) if above.is_empty() => begin,
            begin => {
                let from = begin.as_ref().map_or(CWD, AsFd::as_fd);
                match openat2(from, above, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
                    Ok(folder) => folder,
                    Err(Errno::NOENT) => {
                        let begin = begin.as_ref().map_or(Some(PathBuf::new()), path_of)?;
                        return Some(Place::Nowhere(begin.join(OsStr::from_bytes(&path))));
                    }
                    Err(_) => return None,
                }
            }
        };
        let mut at = path_of(&folder)?;
        let found = if last == Last::New { None } else { look(&folder, OsStr::from_bytes(name)).ok()? };
        let is_link = found.is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
        if !is_link || (last == Last::Keep && !slash) {
            let last = OsString::from_vec(name.to_vec());
            at.push(&last);
            return Some(Place::Name(Name { path: at, last, found, slash, folder }));
        }
        if slash {
            return None;
        }
        if at.starts_with("/proc") {
            return own_file(call, &at, name);
        }
        path = readlinkat(&folder, name, Vec::new()).ok()?.into_bytes();
        base = Some(folder);
    }
    None
}

/// What stands at a name.
fn look(folder: &OwnedFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// The folder part, the last name, and whether a slash follows it. Nothing for paths that end in a folder as such.
fn split(path: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let begin = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let name = &path[begin..end];
    (name != b"." && name != b"..").then_some((&path[..begin], name, end < path.len()))
}

/// The files that this process has open. Opened once: the way there is half of the time that a look takes.
static OWN_FILES: LazyLock<Option<OwnedFd>> = LazyLock::new(|| {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, "/proc/self/fd", flags, Mode::empty()).ok()
});

/// Where a handle leads now.
pub(super) fn path_of(handle: impl AsFd) -> Option<PathBuf> {
    let path = readlinkat(OWN_FILES.as_ref()?, DecInt::from_fd(handle.as_fd()), Vec::with_capacity(256)).ok()?;
    Some(OsString::from_vec(path.into_bytes()).into())
}

/// Changes the mode of what a handle leads to.
pub(super) fn set_mode(handle: impl AsFd, mode: u32) -> Result<(), Errno> {
    let own = OWN_FILES.as_ref().ok_or(Errno::ACCESS)?;
    chmodat(own, DecInt::from_fd(handle.as_fd()), Mode::from_raw_mode(mode), AtFlags::empty())
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
