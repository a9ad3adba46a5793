//! A place below a root: the open folder it lies in, and its name there. What is done to a file is done through this.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, statat},
    io::Errno,
};
use vertebra::ToolError;

use super::{root::open_folder, show};
use crate::denied::former;

/// The open folder a file lies in, and its name there.
#[derive(Debug, Clone)]
pub(super) struct Place {
    folder: Arc<OwnedFd>,
    name: OsString,
    /// The real way from the root, all links resolved.
    path: PathBuf,
    /// Folders between the open one and the name that are not there.
    missing: Vec<OsString>,
}

impl Place {
    pub(super) fn new(folder: Arc<OwnedFd>, name: OsString, path: PathBuf) -> Self {
        Self { folder, name, path, missing: Vec::new() }
    }

    /// Where nothing is yet: the last of the names, after folders that are missing.
    pub(super) fn absent(folder: Arc<OwnedFd>, mut names: Vec<OsString>, path: PathBuf) -> Self {
        let name = names.pop().unwrap_or_default();
        Self { folder, name, path, missing: names }
    }

    pub(super) fn folder(&self) -> &Arc<OwnedFd> {
        &self.folder
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A path to the open folder itself, wherever it is by now.
    pub(super) fn folder_path(&self) -> Option<PathBuf> {
        if cfg!(target_os = "linux") {
            return Some(format!("/proc/self/fd/{}", self.folder.as_raw_fd()).into());
        }
        former::real_path(&self.folder)
    }

    /// The way from the open folder.
    pub(super) fn way(&self) -> PathBuf {
        self.missing.iter().chain([&self.name]).filter(|name| *name != ".").collect()
    }

    pub(super) fn lacks_folders(&self) -> bool {
        !self.missing.is_empty()
    }

    /// What is there, itself and not what it may point to.
    pub(super) fn kind(&self) -> Result<Option<FileType>, ToolError> {
        if self.lacks_folders() {
            return Ok(None);
        }
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed("look at", errno)),
        }
    }

    /// Opens a file to read it. What is not a file is refused without waiting for it, and so is a link that somebody
    /// has put here since the way was found.
    pub(super) fn open(&self) -> Result<(File, Metadata), ToolError> {
        let kind = self.kind()?.ok_or_else(|| self.says("is not there"))?;
        self.want_file(kind)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.folder, &self.name, flags, Mode::empty());
        let file = File::from(file.map_err(|errno| self.failed("open", errno))?);
        let metadata = file.metadata().map_err(|error| self.failed("look at", error))?;
        // The look before was at a name; this one is at what was opened.
        if !metadata.is_file() {
            return Err(self.says("is not a file any more"));
        }
        Ok((file, metadata))
    }

    fn want_file(&self, kind: FileType) -> Result<(), ToolError> {
        let what = match kind {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => "is a folder: use list_dir",
            FileType::Symlink => "has become a link: try again",
            FileType::Fifo => "is a named pipe, not a file",
            FileType::Socket => "is a socket, not a file",
            FileType::CharacterDevice | FileType::BlockDevice => "is a device, not a file",
            FileType::Unknown => "is not a file",
        };
        Err(self.says(what))
    }

    /// Opens a folder to look into it.
    pub(super) fn open_folder(&self) -> Result<Arc<OwnedFd>, ToolError> {
        if self.kind()?.is_none() {
            return Err(self.says("is not there"));
        }
        match open_folder(&self.folder, &self.name) {
            Ok(dir) => Ok(Arc::new(dir)),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(self.says("is not a folder")),
            Err(errno) => Err(self.failed("open", errno)),
        }
    }

    /// The same place with the folders made that were missing.
    pub(super) fn with_folders(mut self) -> Result<Self, ToolError> {
        for name in std::mem::take(&mut self.missing) {
            match mkdirat(&self.folder, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(self.failed("make the folders of", errno)),
            }
            let made = open_folder(&self.folder, &name).map_err(|errno| self.failed("open the folders of", errno))?;
            self.folder = Arc::new(made);
        }
        Ok(self)
    }

    /// An error about this place: `src/a.rs` *is not there*.
    pub(super) fn says(&self, what: &str) -> ToolError {
        ToolError::new(format!("`{}` {what}", show(&self.path)))
    }

    /// An error of the system: cannot *open* `src/a.rs`.
    pub(super) fn failed(&self, doing: &str, error: impl std::fmt::Display) -> ToolError {
        ToolError::new(format!("cannot {doing} `{}`: {error}", show(&self.path)))
    }
}

/// One name in a folder.
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: FileType,
}

/// The names in a folder, in order. At most so many; the second value says whether there are more.
pub(super) fn entries(folder: &OwnedFd, limit: usize) -> Result<(Vec<Entry>, bool), Errno> {
    use std::os::unix::ffi::OsStrExt;

    let mut found = Vec::new();
    let mut more = false;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if found.len() == limit {
            more = true;
            break;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_gone) => continue,
            },
            kind => kind,
        };
        found.push(Entry { name: name.to_owned(), kind });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((found, more))
}
