//! A folder opened once, and the way to a place in it: one name after another, each through the handle of the one
//! before, so that no spelling, no link and no rename leads out.
//!
//! The system could keep a whole path beneath a folder by itself (`openat2`), and `cap-std` does it in its stead. But rules
//! hold for the place that a path leads to, so the way there must be known, and neither of them tells.

use std::{
    ffi::{OsStr, OsString},
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat, readlinkat},
    io::Errno,
};
use vertebra::ToolError;

use super::{FilesError, place::Place, show};
use crate::denied::former;

/// How many symbolic links one path may pass.
const MAX_LINKS: usize = 40;

/// What may be done in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    Read,
    /// Read what is in the folder named after the session.
    ReadOwn,
    Write,
}

/// A folder opened once.
#[derive(Debug, Clone)]
pub(super) struct Root {
    may: May,
    dir: Arc<OwnedFd>,
    /// The absolute path that it is known by.
    name: PathBuf,
    /// The one that it has, which may be another if a link was on the way.
    real: PathBuf,
}

impl Root {
    pub(super) fn open(path: &Path, may: May) -> Result<Self, FilesError> {
        let failed = |source| FilesError::Open { path: path.to_owned(), source };
        let real = path.canonicalize().map_err(failed)?;
        let given = std::path::absolute(path).map_err(failed)?;
        let dir = openat(CWD, &real, folder_flags(), Mode::empty()).map_err(|errno| failed(errno.into()))?;
        // `link/..` is not where it seems to be, so such a spelling names nothing.
        let plain = given.components().all(|part| part != Component::ParentDir);
        let name = if plain { given } else { real.clone() };
        if name.to_str().is_none() {
            return Err(FilesError::NotUnicode { path: path.to_owned() });
        }
        Ok(Self { may, dir: Arc::new(dir), name, real })
    }

    /// The absolute path that people know it by.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// The absolute path that it had when it was opened, without links.
    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// The ways from here to an absolute path without links, if it lies below. There are two if the folder was renamed.
    pub(super) fn ways<'p>(&self, path: &'p Path) -> impl Iterator<Item = &'p Path> {
        let now = former::real_path(&self.dir).filter(|now| *now != self.real);
        [Some(self.real.clone()), now].into_iter().flatten().filter_map(|root| path.strip_prefix(root).ok())
    }

    pub(super) fn may(&self) -> May {
        self.may
    }

    pub(super) fn dir(&self) -> &Arc<OwnedFd> {
        &self.dir
    }

    /// The way from here to an absolute path, if it begins here.
    pub(super) fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.name).or_else(|_| path.strip_prefix(&self.real)).ok()
    }

    /// Goes there. Links are followed by hand, as text, and only within this folder; nothing is opened by a path.
    pub(super) fn go(&self, way: &Path) -> Result<Place, ToolError> {
        let outside = || ToolError::new(format!("`{}` leads out of {}", show(way), show(self.name())));
        let mut open: Vec<(OsString, Arc<OwnedFd>)> = Vec::new();
        let mut ahead: Vec<OsString> = parts(way).rev().collect();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                open.pop().ok_or_else(outside)?;
                continue;
            }
            let folder = open.last().map_or(&self.dir, |(_, dir)| dir).clone();
            let path = || open.iter().map(|(name, _)| name).chain([&name]).collect::<PathBuf>();
            match readlinkat(&folder, &name, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(ToolError::new(format!("`{}` passes too many links", show(way))));
                    }
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    let from_here = if target.is_absolute() {
                        let rest = self.below(&target).ok_or_else(outside)?;
                        open.clear();
                        rest
                    } else {
                        &target
                    };
                    ahead.extend(parts(from_here).rev());
                }
                Err(Errno::NOENT) => {
                    if ahead.iter().any(|part| part == "..") {
                        return Err(ToolError::new(format!("`{}` is not there", show(way))));
                    }
                    let missing: Vec<OsString> = [name.clone()].into_iter().chain(ahead.into_iter().rev()).collect();
                    let path = open.iter().map(|(name, _)| name).chain(&missing).collect();
                    return Ok(Place::absent(folder, missing, path));
                }
                // Not a link: the last name is left to whoever wants it, all others are folders.
                Err(Errno::INVAL) if ahead.is_empty() => {
                    let path = path();
                    return Ok(Place::new(folder, name, path));
                }
                Err(Errno::INVAL) => match open_folder(&folder, &name) {
                    Ok(dir) => open.push((name, Arc::new(dir))),
                    Err(Errno::NOTDIR | Errno::LOOP) => {
                        return Err(ToolError::new(format!("`{}` is not a folder", show(path()))));
                    }
                    Err(errno) => return Err(ToolError::new(format!("cannot open `{}`: {errno}", show(path())))),
                },
                Err(errno) => return Err(ToolError::new(format!("cannot look at `{}`: {errno}", show(path())))),
            }
        }
        let path = open.iter().map(|(name, _)| name).collect();
        let name = open.pop().map_or_else(|| OsString::from("."), |(name, _)| name);
        let folder = open.last().map_or(&self.dir, |(_, dir)| dir).clone();
        Ok(Place::new(folder, name, path))
    }
}

/// Opens a folder by its name in another, and nothing but a folder: not a link to one.
pub(super) fn open_folder(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(folder, name, folder_flags() | OFlags::NOFOLLOW, Mode::empty())
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// The names and `..` of a path.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    let step = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(move |part| step(*part)).map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::Read as _,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use rustix::fs::{RenameFlags, renameat_with};

    use super::*;

    /// Reads `dir/file` while one name and a link to the outside are swapped over and over.
    fn check(name: &str, link: &str, target: &str) {
        let dir = tempfile::tempdir().expect("a folder");
        let (home, outside) = (dir.path().join("root"), dir.path().join("outside"));
        for (folder, content) in [(home.join("dir"), "inside"), (outside.clone(), "outside")] {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("file"), content).expect("a file");
        }
        let (name, link) = (home.join(name), home.join(link));
        std::os::unix::fs::symlink(outside.join(target), &link).expect("a link");
        let root = Root::open(&home, May::Read).expect("a folder");
        let stop = AtomicBool::new(false);
        let mut came_in = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, &name, CWD, &link, RenameFlags::EXCHANGE).expect("a swap");
                    thread::yield_now();
                }
            });
            let mut outcomes = (0..20_000).map(|_| {
                let (mut file, _) = root.go(Path::new("dir/file")).ok()?.open().ok()?;
                let mut text = String::new();
                file.read_to_string(&mut text).ok()?;
                Some(text)
            });
            let escaped = outcomes.any(|text| {
                came_in += usize::from(text.is_some());
                text.is_some_and(|text| text != "inside")
            });
            stop.store(true, Ordering::Relaxed);
            assert!(!escaped, "a way out after {came_in} ways in");
        });
        assert!(came_in > 0, "nothing was ever opened");
    }

    #[test]
    fn a_folder_that_keeps_turning_into_a_link_is_never_left() {
        check("dir", "door", "");
    }

    #[test]
    fn a_file_that_keeps_turning_into_a_link_is_never_mistaken() {
        check("dir/file", "dir/link", "file");
    }
}
