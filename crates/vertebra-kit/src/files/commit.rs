//! Writing a file whole or not at all: a new file beside the old one, synced, then renamed over it.
//!
//! The old file is never written to. So a hard link to it elsewhere keeps what it had, and a crash leaves one of the
//! two, never half of each.

use std::{
    collections::hash_map::RandomState,
    ffi::OsString,
    fs::{File, Metadata},
    hash::{BuildHasher, Hasher},
    io::Write as _,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    process,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, fsync, linkat, openat, renameat, renameat_with,
        unlinkat,
    },
    io::Errno,
};
use vertebra::ToolError;

use super::{effort::Effort, place::Place};

/// What is to be replaced.
pub(super) enum Onto {
    /// Nothing: the file is new, and stays away if one has appeared.
    Nothing,
    /// The file that was read, as it was then.
    This(Metadata),
}

/// Puts these bytes at this place.
pub(super) fn commit(place: &Place, bytes: &[u8], onto: &Onto, effort: &Effort) -> Result<(), ToolError> {
    let failed = |errno: Errno| place.failed("write", errno);
    let (mut draft, mut file) = Draft::begin(place.folder(), onto).map_err(failed)?;
    file.write_all(bytes).map_err(|error| place.failed("write", error))?;
    if let Onto::This(old) = onto {
        let new = file.metadata().map_err(|error| place.failed("write", error))?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            // Without the right to give files away, the file becomes ours; its content matters more.
            let _ = fchown(&file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
        }
        fchmod(&file, Mode::from_raw_mode(old.mode() & 0o777)).map_err(failed)?;
    }
    file.sync_all().map_err(|error| place.failed("write", error))?;
    // The last moment at which a call that was given up leaves nothing behind.
    effort.check()?;
    match onto {
        Onto::Nothing => draft.become_new(place)?,
        Onto::This(old) => {
            let (_, now) = place.open()?;
            if !same(old, &now) {
                return Err(place.says("was changed by somebody else just now: read it again"));
            }
            renameat(place.folder(), &draft.name, place.folder(), place.name()).map_err(failed)?;
            draft.there = false;
        }
    }
    // The content is safe; whether its name survives a power cut is up to the folder.
    let _ = fsync(place.folder());
    Ok(())
}

fn same(a: &Metadata, b: &Metadata) -> bool {
    let facts = |m: &Metadata| (m.dev(), m.ino(), m.len(), m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec());
    facts(a) == facts(b)
}

/// A file that is not yet what it will be. It goes away if it never becomes that.
struct Draft {
    folder: Arc<OwnedFd>,
    name: OsString,
    there: bool,
}

impl Draft {
    fn begin(folder: &Arc<OwnedFd>, onto: &Onto) -> Result<(Self, File), Errno> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // Only the owner reads it until it has the mode of the file it replaces.
        let mode = match onto {
            Onto::Nothing => Mode::from_raw_mode(0o666),
            Onto::This(_) => Mode::from_raw_mode(0o600),
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let name = format!(".vertebra-{}-{}.tmp", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            match openat(folder, &name, flags, mode) {
                Ok(file) => {
                    let draft = Self { folder: folder.clone(), name: name.into(), there: true };
                    return Ok((draft, file.into()));
                }
                // Left behind by a process of the same number that was killed.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Takes a name that nobody has, and never one that somebody has.
    fn become_new(&mut self, place: &Place) -> Result<(), ToolError> {
        let folder = place.folder();
        let mut done = renameat_with(folder, &self.name, folder, place.name(), RenameFlags::NOREPLACE);
        if done.is_ok() {
            self.there = false;
        } else if matches!(done, Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)) {
            // File systems without such a rename know links, which never replace either.
            done = linkat(folder, &self.name, folder, place.name(), AtFlags::empty());
        }
        done.map_err(|errno| match errno {
            Errno::EXIST => place.says("has been made by somebody else just now: read it first"),
            errno => place.failed("write", errno),
        })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.there {
            let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Does something to a place while nobody else in this process changes it.
pub(super) fn alone<T>(place: &Place, work: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    // A fixed number of locks, shared by places: two files that meet wait for each other, and nothing grows.
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let folder = rustix::fs::fstat(place.folder()).map_err(|errno| place.failed("look at", errno))?;
    let mut hasher = KEYS.build_hasher();
    hasher.write_u64(folder.st_ino);
    hasher.write(place.name().as_bytes());
    let index = usize::try_from(hasher.finish() % 64).unwrap_or_default();
    let _lock = LOCKS[index].lock().unwrap_or_else(PoisonError::into_inner);
    work()
}
