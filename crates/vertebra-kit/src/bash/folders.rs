//! The folders of each session, opened once: what commands may write is what stood at a path when the session first used
//! it. A path that leads elsewhere later, because somebody renamed the folder and put a link in its place, is refused.

use std::{
    collections::VecDeque,
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::{Mode, OFlags, fstat, open};
use vertebra::ToolError;

/// How many folders are kept open, over all sessions.
const KEPT: usize = 512;

/// A folder that a session has opened.
#[derive(Debug)]
pub(super) struct Opened {
    /// Where it was, without links.
    pub(super) path: PathBuf,
    pub(super) device: u64,
    pub(super) inode: u64,
    /// While it is open, nobody else gets its number.
    handle: OwnedFd,
}

impl Opened {
    fn at(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let mut flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        {
            // It need not be readable.
            flags |= OFlags::PATH;
        }
        flags |= OFlags::RDONLY;
        let handle = open(&real, flags, Mode::empty())?;
        let found = fstat(&handle)?;
        #[cfg_attr(
            target_os = "linux",
            expect(clippy::useless_conversion, reason = "other systems have smaller numbers")
        )]
        let (device, inode) = (u64::try_from(found.st_dev).unwrap_or(u64::MAX), u64::from(found.st_ino));
        Ok(Self { path: real, device, inode, handle })
    }

    /// Whether it has no name any more. One that was renamed has another.
    fn is_removed(&self) -> bool {
        fstat(&self.handle).is_ok_and(|found| found.st_nlink == 0)
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.path, self.device, self.inode) == (&other.path, other.device, other.inode)
    }
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("{error}")]
    Gone { error: io::Error },
    #[error(
        "it is not the folder that this session began with, because it was renamed or replaced; put it back, or start a \
         new session"
    )]
    Replaced,
}

/// The folders of all sessions.
#[derive(Debug, Clone, Default)]
pub(super) struct Folders(Arc<Mutex<VecDeque<OfSession>>>);

/// A session, a path that it uses, and the folder that stood there first.
type OfSession = (String, PathBuf, Arc<Opened>);

impl Folders {
    /// The folder at a path, if it is the one that stood there when this session used it first.
    pub(super) fn open(&self, session: &str, path: &Path) -> Result<Arc<Opened>, FolderError> {
        let now = Opened::at(path);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.iter().find(|(of, at, _)| of == session && at == path).map(|(.., opened)| opened.clone());
        match (before, now) {
            (Some(before), Ok(now)) if before.is_same(&now) => Ok(before),
            (Some(_), _) => Err(FolderError::Replaced),
            (None, Err(error)) => Err(FolderError::Gone { error }),
            (None, Ok(now)) => {
                let now = Arc::new(now);
                known.push_back((session.to_owned(), path.to_owned(), now.clone()));
                if known.len() > KEPT {
                    known.pop_front();
                }
                Ok(now)
            }
        }
    }
}

/// Folders that a person allowed a command to write, made if they did not exist. Those that were made and left empty are
/// removed when this is dropped, and those that are gone by then are forgotten.
pub(super) struct Made {
    folders: Folders,
    session: String,
    wanted: Vec<PathBuf>,
    paths: Vec<PathBuf>,
}

impl Made {
    /// Makes those of the folders that do not exist.
    pub(super) fn new(folders: &Folders, session: &str, wanted: &[PathBuf]) -> Result<Self, ToolError> {
        let (folders, session) = (folders.clone(), session.to_owned());
        let mut made = Self { folders, session, wanted: wanted.to_vec(), paths: Vec::new() };
        for path in wanted {
            match fs::create_dir(path) {
                Ok(()) => made.paths.push(path.clone()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // A folder that was allowed before and is no longer there with all that was around it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let text = format!("the folder {} cannot be made: {error}", path.display());
                    return Err(ToolError::new(text));
                }
            }
        }
        Ok(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.paths {
            // One that is not empty stays.
            _ = fs::remove_dir(path);
        }
        let mut known = self.folders.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, at, opened)| !(*of == self.session && self.wanted.contains(at) && opened.is_removed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_its_folder_and_another_one_begins_anew() {
        let area = tempfile::tempdir().expect("a folder");
        let (path, other) = (area.path().join("work"), area.path().join("other"));
        fs::create_dir(&path).expect("a folder");
        fs::create_dir(&other).expect("a folder");
        let folders = Folders::default();
        folders.open("a", &path).expect("a folder");
        fs::rename(&path, area.path().join("moved")).expect("a rename");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        assert!(matches!(folders.open("a", &path), Err(FolderError::Replaced)));
        let begun = folders.open("b", &path).expect("a folder");
        assert_eq!(begun.path, other.canonicalize().expect("a path"));
        fs::remove_file(&path).expect("the link");
        fs::rename(area.path().join("moved"), &path).expect("a rename");
        folders.open("a", &path).expect("the folder is back");
        fs::remove_dir(&path).expect("the folder");
        fs::create_dir(&path).expect("another folder");
        assert!(matches!(folders.open("a", &path), Err(FolderError::Replaced)));
    }
}
