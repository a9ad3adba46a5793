//! Remembers which file is where, so that a rule about a path holds for the file after it or a folder above it is renamed.
//!
//! Whoever looks for what rules deny tells the paths that exist. Each of them, and each folder above, is remembered by device,
//! inode and time of creation. When a file is opened later, its *former paths* are judged too: of the file itself, and of
//! every folder above it followed by the rest of the way. What is remembered is a fact about the file system and no rule, so
//! one memory serves all agents of a process.

use std::{
    collections::HashMap,
    fs::{File, Metadata},
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// How many files and folders are remembered. Nothing is forgotten in favour of something else: a command could make as
/// many denied names as it takes.
const MAX_KNOWN: usize = 50_000;

/// How many denied paths are held open, so that it is known where they are now.
const MAX_HELD: usize = 200;

/// How many paths one file may have had.
const MAX_FORMER: usize = 8;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Known {
    paths: HashMap<Identity, Vec<PathBuf>>,
    held: Vec<(PathBuf, Identity, File)>,
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a file is, whatever it is called. The time of creation tells it apart from a later file with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    born: Option<SystemTime>,
}

impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino(), born: found.created().ok() }
    }
}

/// Remembers the denied file or folder at an absolute path, what it leads to if it is a link, and all folders above.
pub(crate) fn remember(path: &Path) {
    let itself = path.symlink_metadata();
    let led = itself.as_ref().is_ok_and(Metadata::is_symlink).then(|| path.metadata());
    for found in [Some(itself), led].into_iter().flatten().flatten() {
        know(Identity::from(&found), path, true);
    }
    for folder in path.ancestors().skip(1).take_while(|folder| folder.parent().is_some()) {
        if let Ok(found) = folder.metadata() {
            know(Identity::from(&found), folder, false);
        }
    }
}

/// Remembers something in a denied folder, which was remembered already.
pub(crate) fn remember_entry(path: &Path) {
    if let Ok(found) = path.symlink_metadata() {
        know(Identity::from(&found), path, false);
    }
}

fn know(identity: Identity, path: &Path, is_denied: bool) {
    let mut known = known();
    let room = known.paths.len() < MAX_KNOWN;
    let Known { paths, held } = &mut *known;
    match paths.get_mut(&identity) {
        Some(former) if former.iter().any(|other| other == path) || former.len() >= MAX_FORMER => {}
        Some(former) => former.push(path.to_owned()),
        None if room => drop(paths.insert(identity, vec![path.to_owned()])),
        None => {}
    }
    if is_denied && held.len() < MAX_HELD && !held.iter().any(|(_, other, _)| *other == identity) {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // What is held is what was remembered, or nothing.
        if let Ok(file) = openat(CWD, path, flags, Mode::empty()).map(File::from)
            && file.metadata().is_ok_and(|found| Identity::from(&found) == identity)
        {
            held.push((path.to_owned(), identity, file));
        }
    }
}

/// Returns where files are now that were remembered at other paths, as (former path, path now).
pub(crate) fn moved() -> Vec<(PathBuf, PathBuf)> {
    let mut known = known();
    // Nobody can reach a file without a name any more.
    known.held.retain(|(_, _, file)| file.metadata().is_ok_and(|found| found.is_dir() || found.nlink() > 0));
    let held = known.held.iter();
    let places = held.filter_map(|(former, _, file)| Some((former.clone(), real_path(file)?)));
    places.filter(|(former, now)| former != now).collect()
}

/// Returns the former paths of what lies at an absolute path.
pub(crate) fn of_path(path: &Path) -> Vec<PathBuf> {
    if known().paths.is_empty() {
        return Vec::new();
    }
    let mut former = Vec::new();
    for above in path.ancestors() {
        let Ok(found) = above.symlink_metadata() else { continue };
        add_former(&mut former, Identity::from(&found), path, above);
    }
    former
}

/// Returns every path of something in an open folder: the one it has, then the former ones.
///
/// `opened` is the thing itself if it was opened. The folders above are reached by their handles, so that no rename in
/// between leads to others.
pub(crate) fn of_opened(folder: &OwnedFd, name: &Path, opened: Option<&File>) -> Option<Vec<PathBuf>> {
    let path = match opened {
        Some(file) => real_path(file)?,
        None => real_path(folder)?.join(name),
    };
    let mut paths = vec![path.clone()];
    if known().paths.is_empty() {
        return Some(paths);
    }
    if let Some(found) = opened.and_then(|file| file.metadata().ok()) {
        add_former(&mut paths, Identity::from(&found), &path, &path);
    }
    let mut above = File::from(folder.try_clone().ok()?);
    for folder in path.ancestors().skip(1) {
        let found = above.metadata().ok()?;
        add_former(&mut paths, Identity::from(&found), &path, folder);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        above = openat(&above, "..", flags, Mode::empty()).ok()?.into();
    }
    Some(paths)
}

/// Returns whether anything is remembered at all.
pub(crate) fn is_any() -> bool {
    !known().paths.is_empty()
}

/// Adds the former paths of something that is open; the first of `paths` is the one it has.
pub(crate) fn add(paths: &mut Vec<PathBuf>, opened: &File) {
    let (Ok(found), Some(path)) = (opened.metadata(), paths.first().cloned()) else { return };
    add_former(paths, Identity::from(&found), &path, &path);
}

/// Adds the former paths of `path` by those of `above`, a folder on the way to it or itself.
fn add_former(paths: &mut Vec<PathBuf>, identity: Identity, path: &Path, above: &Path) {
    let Ok(rest) = path.strip_prefix(above) else { return };
    for former in known().paths.get(&identity).into_iter().flatten().filter(|former| *former != above) {
        let former = if rest.as_os_str().is_empty() { former.clone() } else { former.join(rest) };
        if !paths.contains(&former) {
            paths.push(former);
        }
    }
}

/// Returns the path that an open file or folder has now.
pub(crate) fn real_path(file: &impl std::os::fd::AsFd) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;

    #[cfg(target_os = "linux")]
    let path = {
        use std::os::fd::AsRawFd as _;
        rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()), Vec::new()).ok()?
    };
    #[cfg(not(target_os = "linux"))]
    let path = rustix::fs::getpath(file.as_fd()).ok()?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_known_by_its_former_paths_after_every_kind_of_rename() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join("a/b")).expect("folders");
        fs::write(root.join("a/b/key"), "x").expect("a file");
        remember(&root.join("a/b/key"));
        fs::rename(root.join("a"), root.join("z")).expect("a rename");
        fs::hard_link(root.join("z/b/key"), root.join("link")).expect("a link");
        fs::write(root.join("z/b/new"), "x").expect("a file");
        let paths = |path: &str| {
            let path = root.join(path);
            let folder = File::open(path.parent().expect("a folder")).expect("a folder").into();
            let file = File::open(&path).expect("a file");
            let name = Path::new(path.file_name().expect("a name"));
            let found = of_opened(&folder, name, Some(&file)).expect("paths");
            assert!(of_path(&path).iter().all(|former| found.contains(former)), "{found:?}");
            found.iter().map(|path| path.strip_prefix(&root).expect("below").display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(paths("z/b/key"), ["z/b/key", "a/b/key"]);
        assert_eq!(paths("z/b/new"), ["z/b/new", "a/b/new"]);
        assert_eq!(paths("link"), ["link", "a/b/key"]);
        let moved: Vec<_> = moved().into_iter().filter(|(_, now)| now.starts_with(&root)).collect();
        assert_eq!(moved, [(root.join("a/b/key"), root.join("z/b/key"))]);
    }
}
