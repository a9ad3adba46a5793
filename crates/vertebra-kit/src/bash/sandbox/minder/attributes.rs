//! Modes and owners. Landlock knows neither, so the kernel is never asked about a path that could be exchanged meanwhile.

use std::{os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fstat, openat},
    io::Errno,
};

use super::{
    Answer, Minder,
    act::Step,
    guard::Change,
    place::{Last, Place, path_of, set_mode},
    task::{Call, Identity},
};

/// What a call sets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attribute {
    Mode(u32),
    /// One that is missing stays as it is.
    Owner(Option<Uid>, Option<Gid>),
}

impl Attribute {
    /// The owner that two arguments name.
    pub(super) fn owner(call: &Call, at: usize) -> Self {
        let named = |at: usize| Some(call.small(at)).filter(|id| *id != u32::MAX);
        Self::Owner(named(at).map(Uid::from_raw), named(at + 1).map(Gid::from_raw))
    }

    /// What it means for what has another one.
    fn changes(self, found: &Stat) -> Vec<Change> {
        let Self::Mode(mode) = self else { return Vec::new() };
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        let taken = found.st_mode & !mode;
        [
            (is_file && mode & 0o111 != 0, Change::Execute),
            (is_file && taken & 0o100 != 0, Change::Disarm),
            (taken & if is_file { 0o400 } else { 0o500 } != 0, Change::Close),
        ]
        .into_iter()
        .filter_map(|(holds, change)| holds.then_some(change))
        .collect()
    }

    /// Sets it for what a handle leads to.
    fn set(self, file: &OwnedFd) -> rustix::io::Result<()> {
        match self {
            Self::Mode(mode) => set_mode(file, mode),
            Self::Owner(user, group) => chownat(file, "", user, group, AtFlags::EMPTY_PATH),
        }
    }
}

impl Minder {
    /// Sets an attribute of what a path leads to.
    pub(super) fn set(
        &mut self,
        call: &Call,
        descriptor: i32,
        at: usize,
        attribute: Attribute,
        flags: u32,
    ) -> Step<Answer> {
        let refused = |answer| if let Answer::Kernel = answer { Answer::Failed(Errno::ACCESS) } else { answer };
        let flags = AtFlags::from_bits_retain(flags);
        let path = Self::path(call, at).map_err(refused)?;
        if path.is_empty() && flags.contains(AtFlags::EMPTY_PATH) && descriptor != libc::AT_FDCWD {
            return self.set_open(call, descriptor, attribute);
        }
        let identity = self.identity(call).map_err(refused)?;
        let last = if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { Last::Keep } else { Last::Follow };
        match self.place(call, identity, descriptor, path, last) {
            Place::Name(name) if self.guard.zone(&name.path).is_some() && name.found.is_some() => {
                if name.found.is_some_and(|found| self.guard.is_foreign(&name.path, &found)) {
                    return Ok(Answer::Failed(Errno::PERM));
                }
                for change in name.found.iter().flat_map(|found| attribute.changes(found)) {
                    self.allowed(&name, change)?;
                }
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                self.done(call, identity, || {
                    let file = openat(&name.folder, &name.last, flags, Mode::empty())?;
                    if name.found.is_none_or(|found| fstat(&file).is_ok_and(|now| now.st_ino != found.st_ino)) {
                        return Err(Errno::ACCESS);
                    }
                    attribute.set(&file)
                })?;
                Ok(Answer::Done)
            }
            Place::Open(path, file) => self.set_of(call, identity, &path, &file, attribute),
            // Where a command cannot write, it sets nothing either: Landlock would not stop it.
            Place::Name(name) if name.found.is_some() => Ok(Answer::Failed(Errno::PERM)),
            Place::Name(_) | Place::Nowhere(_) => Ok(Answer::Failed(Errno::NOENT)),
            Place::Unknown => Ok(Answer::Failed(Errno::ACCESS)),
        }
    }

    /// Sets an attribute of what the process has open.
    pub(super) fn set_open(&mut self, call: &Call, descriptor: i32, attribute: Attribute) -> Step<Answer> {
        let identity = self.identity(call).map_err(|_| Answer::Failed(Errno::ACCESS))?;
        let file = call.open_file(descriptor).ok_or(Answer::Failed(Errno::BADF))?;
        let path = path_of(&file).unwrap_or_default();
        self.set_of(call, identity, &path, &file, attribute)
    }

    fn set_of(
        &self,
        call: &Call,
        identity: Identity,
        path: &Path,
        file: &OwnedFd,
        attribute: Attribute,
    ) -> Step<Answer> {
        let found = fstat(file).map_err(Answer::Failed)?;
        let allowed = |change| self.guard.judge_open(path, &found, change);
        // A pipe has none, and what is removed has none any more.
        let has_name = path.is_absolute() && found.st_nlink > 0;
        match self.guard.zone(path) {
            None if has_name => return Ok(Answer::Failed(Errno::PERM)),
            Some(_) if self.guard.is_foreign(path, &found) => return Ok(Answer::Failed(Errno::PERM)),
            Some(_) if !attribute.changes(&found).into_iter().all(allowed) => return Ok(self.protected(path)),
            None | Some(_) => {}
        }
        self.done(call, identity, || attribute.set(file))?;
        Ok(Answer::Done)
    }
}
