//! What is protected and not there yet: an empty folder holds its place while commands run. Git does not see those.
//!
//! A placeholder is known by its mode, which nobody gives a folder by accident, and who needs it holds a lock on it. So
//! agents share one, and one that nobody holds was left by an agent that was killed: the next takes it over, and away.

use std::{
    collections::HashMap,
    fs, io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, fstat, lstat},
    io::Errno,
};

use super::rules::Protected;

/// A folder in which nobody can make anything and which is marked (sticky) all the same.
const MODE: u32 = 0o1555;

/// What of the mode is the mark: a mask of whoever runs this may take the rest away.
const MARK: (u32, u32) = (0o1222, 0o1000);

/// How often another agent may take a placeholder away at the moment that it is wanted.
const TRIES: usize = 8;

/// The placeholders that commands of this process need. One that is taken away frees its place, also inside of sandboxes.
static NEEDED: Mutex<Option<HashMap<PathBuf, Needed>>> = Mutex::new(None);

struct Needed {
    commands: usize,
    lock: OwnedFd,
    /// Whether somebody else put it there.
    was_there: bool,
}

fn needed() -> MutexGuard<'static, Option<HashMap<PathBuf, Needed>>> {
    NEEDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The placeholders of one command. They go when nobody needs them.
#[derive(Default)]
pub(in crate::bash) struct Placeholders(Vec<PathBuf>);

/// What came of protecting paths.
pub(super) struct Put {
    pub(super) placeholders: Placeholders,
    /// What can be mounted: what is there, and what has a placeholder now.
    pub(super) protected: Vec<Protected>,
    /// What cannot, because it is a link or behind one: a mount holds where a link leads, not the link.
    pub(super) links: Vec<PathBuf>,
}

impl Placeholders {
    /// Protects what can be protected of these paths in a folder.
    pub(super) fn put(folder: &Path, paths: &[PathBuf]) -> Put {
        let mut needed = needed();
        let needed = needed.get_or_insert_default();
        let mut put = Put { placeholders: Self::default(), protected: Vec::new(), links: Vec::new() };
        for relative in paths {
            let (path, above) = (folder.join(relative), above(folder, relative));
            if above.iter().chain([&path]).any(|path| path.is_symlink()) {
                put.links.push(relative.clone());
            }
            // A path below a folder that is not there protects nothing.
            if !above.iter().all(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir())) {
                continue;
            }
            if let Some(needed) = needed.get_mut(&path) {
                needed.commands += 1;
                put.placeholders.0.push(path.clone());
            } else if let Some(held) = hold(&path) {
                needed.insert(path.clone(), held);
                put.placeholders.0.push(path.clone());
            } else if !path.exists() {
                // A link to nowhere, or a folder in which no command can make anything either.
                continue;
            }
            put.protected.push(Protected { above, path });
        }
        put
    }

    /// Takes away what agents that were killed have left in a folder.
    pub(super) fn clear(folder: &Path, paths: &[PathBuf]) {
        let mut left = Self::default();
        let mut needed = needed();
        let needed_now = needed.get_or_insert_default();
        for path in paths.iter().map(|relative| folder.join(relative)) {
            if !needed_now.contains_key(&path)
                && is_placeholder(&path)
                && let Some(lock) = lock(&path)
            {
                needed_now.insert(path.clone(), Needed { commands: 1, lock, was_there: true });
                left.0.push(path);
            }
        }
        drop(needed);
        drop(left);
    }
}

/// The folders between, the uppermost first.
fn above(folder: &Path, relative: &Path) -> Vec<PathBuf> {
    let mut above: Vec<PathBuf> = relative.ancestors().skip(1).map(|path| folder.join(path)).collect();
    above.pop();
    above.reverse();
    above
}

/// Makes a placeholder, or takes over one that is there; `None` if something else is, or nothing can be.
fn hold(path: &Path) -> Option<Needed> {
    for _ in 0..TRIES {
        let was_there = match fs::DirBuilder::new().mode(MODE).create(path) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_placeholder(path) => true,
            Err(_) => return None,
        };
        if let Some(lock) = lock(path) {
            return Some(Needed { commands: 1, lock, was_there });
        }
    }
    None
}

/// Whether one of us put it there, and nobody put anything into it.
fn is_placeholder(path: &Path) -> bool {
    let marked = |found: &fs::Metadata| found.is_dir() && found.mode() & MARK.0 == MARK.1;
    let ours = |found: &fs::Metadata| found.uid() == rustix::process::geteuid().as_raw();
    path.symlink_metadata().is_ok_and(|found| marked(&found) && ours(&found))
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Says that a placeholder is needed, for as long as this is kept or this process lives; `None` if it was taken away
/// meanwhile.
fn lock(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    // Some file systems know no locks: then everybody takes away what he put.
    _ = flock(&open, FlockOperation::LockShared);
    let (locked, now) = (fstat(&open).ok()?, lstat(path).ok()?);
    ((locked.st_dev, locked.st_ino) == (now.st_dev, now.st_ino)).then_some(open)
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut needed = needed();
        let Some(needed) = needed.as_mut() else { return };
        for path in &self.0 {
            let Some(held) = needed.get_mut(path) else { continue };
            held.commands -= 1;
            if held.commands > 0 {
                continue;
            }
            let Some(Needed { lock, was_there, .. }) = needed.remove(path) else { continue };
            let alone = flock(&lock, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK);
            // Commands of an agent that was killed may live on, and their sandbox must not come apart.
            if alone && !(was_there && is_mounted_elsewhere(path)) {
                // Fails if somebody outside has put something into it meanwhile: then it is theirs.
                _ = fs::remove_dir(path);
            }
        }
    }
}

/// Whether something is mounted there in the namespace of some process.
fn is_mounted_elsewhere(path: &Path) -> bool {
    let escaped = path.to_string_lossy().replace('\\', r"\134").replace(' ', r"\040");
    let escaped = escaped.replace('\t', r"\011").replace('\n', r"\012");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut mounts = processes.filter_map(|process| fs::read_to_string(process.path().join("mountinfo")).ok());
    mounts.any(|mounts| mounts.lines().any(|mount| mount.split(' ').nth(4) == Some(&*escaped)))
}
