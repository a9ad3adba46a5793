//! Each call that changes files, made by handle on behalf of the process that asked for it.

use std::{
    io::{Read as _, Write as _},
    os::fd::{AsRawFd as _, OwnedFd},
    path::Path,
    time::SystemTime,
};

use rustix::{
    fs::{
        Access, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, accessat, fcntl_getfl, fcntl_setfl, fstat,
        ftruncate, mkdirat, mknodat, openat, renameat_with, unlinkat,
    },
    io::Errno,
};

use super::{
    super::{
        calls::{self, UnixSockets},
        refusal::Refusal,
    },
    Answer, Minder, PROBE, PROBED,
    attributes::Attribute,
    checked::Checked,
    guard::{Change, Content, Verdict},
    place::{Last, Name, Place, find},
    task::{Call, Identities, Identity, is_ours},
};

/// The bit of `O_TMPFILE` that no other flag has.
const TMPFILE: u32 = 0o20_000_000;

/// How often a name is looked at again that somebody else exchanged meanwhile.
const TRIES: usize = 8;

/// A way to what the call wants: nothing to do, or an error, ends it.
pub(super) type Step<T> = Result<T, Answer>;

impl Minder {
    /// Makes a call, or says why not.
    pub(super) fn act(&mut self, call: &Call) -> Answer {
        self.guard.refresh();
        self.made(call).unwrap_or_else(|answer| answer)
    }

    #[rustfmt::skip]
    fn made(&mut self, call: &Call) -> Step<Answer> {
        let here = libc::AT_FDCWD;
        match call.number() {
            libc::SYS_openat => self.open(call, call.descriptor(0), 1, call.small(2), call.small(3)),
            libc::SYS_mkdirat => self.make_folder(call, call.descriptor(0), 1, call.small(2)),
            libc::SYS_mknodat => self.make_node(call, call.descriptor(0), 1, call.small(2), call.argument(3)),
            libc::SYS_symlinkat => self.make_link(call, 0, call.descriptor(1), 2),
            libc::SYS_linkat => self.share(call, (call.descriptor(0), 1), (call.descriptor(2), 3), call.small(4)),
            libc::SYS_renameat2 => self.rename(call, (call.descriptor(0), 1), (call.descriptor(2), 3), call.small(4)),
            libc::SYS_unlinkat => self.remove(call, call.descriptor(0), 1, call.small(2)),
            libc::SYS_truncate => self.truncate(call),
            libc::SYS_fchmodat => self.set(call, call.descriptor(0), 1, Attribute::Mode(call.small(2)), 0),
            libc::SYS_fchmod => self.set_open(call, call.descriptor(0), Attribute::Mode(call.small(1))),
            libc::SYS_fchownat => self.set(call, call.descriptor(0), 1, Attribute::owner(call, 2), call.small(4)),
            libc::SYS_fchown => self.set_open(call, call.descriptor(0), Attribute::owner(call, 1)),
            libc::SYS_umask | libc::SYS_setuid | libc::SYS_setgid | libc::SYS_setreuid | libc::SYS_setregid
            | libc::SYS_setresuid | libc::SYS_setresgid | libc::SYS_setfsuid | libc::SYS_setfsgid
            | libc::SYS_setgroups => {
                self.identities.changing(call.thread());
                Ok(Answer::Kernel)
            }
            libc::SYS_prlimit64 | libc::SYS_sched_setaffinity | libc::SYS_sched_setattr | libc::SYS_sched_setparam
            | libc::SYS_sched_setscheduler | libc::SYS_migrate_pages | libc::SYS_move_pages => {
                Ok(if is_ours(call.descriptor(0)) { Answer::Kernel } else { Answer::Failed(Errno::PERM) })
            }
            libc::SYS_setpriority | libc::SYS_ioprio_set => {
                Ok(if is_ours(call.descriptor(1)) { Answer::Kernel } else { Answer::Failed(Errno::PERM) })
            }
            libc::SYS_kill => Ok(self.kill(call)),
            libc::SYS_pidfd_send_signal => Ok(self.kill_by_handle(call)),
            libc::SYS_socket => {
                // Only with a network that is closed. Others look here for services of the system, and do without.
                if [libc::AF_INET, libc::AF_INET6].contains(&call.descriptor(0)) {
                    self.refusals.tell(Refusal::Socket);
                }
                Ok(Answer::Failed(Errno::PERM))
            }
            libc::SYS_bind => self.bind(call),
            libc::SYS_connect if self.reachable.is_some() || self.unix_sockets == UnixSockets::Supervised => {
                self.connect(call)
            }
            libc::SYS_sendto if self.reachable.is_some() => self.send_to(call),
            libc::SYS_sendmsg => self.send_message(call),
            libc::SYS_sendmmsg => self.send_messages(call),
            libc::SYS_connect => Ok(self.connects(call, 1, call.small(2))),
            libc::SYS_sendto => Ok(self.connects(call, 4, call.small(5))),
            #[cfg(target_arch = "x86_64")]
            number => match number {
                libc::SYS_open => self.open(call, here, 0, call.small(1), call.small(2)),
                libc::SYS_creat => {
                    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                    self.open(call, here, 0, flags.cast_unsigned(), call.small(1))
                }
                libc::SYS_mkdir => self.make_folder(call, here, 0, call.small(1)),
                libc::SYS_mknod => self.make_node(call, here, 0, call.small(1), call.argument(2)),
                libc::SYS_symlink => self.make_link(call, 0, here, 1),
                libc::SYS_link => self.share(call, (here, 0), (here, 1), 0),
                libc::SYS_rename => self.rename(call, (here, 0), (here, 1), 0),
                libc::SYS_renameat => self.rename(call, (call.descriptor(0), 1), (call.descriptor(2), 3), 0),
                libc::SYS_unlink => self.remove(call, here, 0, 0),
                libc::SYS_rmdir => self.remove(call, here, 0, libc::AT_REMOVEDIR.cast_unsigned()),
                libc::SYS_chmod => self.set(call, here, 0, Attribute::Mode(call.small(1)), 0),
                libc::SYS_chown => self.set(call, here, 0, Attribute::owner(call, 1), 0),
                libc::SYS_lchown => {
                    let flags = libc::AT_SYMLINK_NOFOLLOW.cast_unsigned();
                    self.set(call, here, 0, Attribute::owner(call, 1), flags)
                }
                _ => Ok(self.refused(call)),
            },
            #[cfg(not(target_arch = "x86_64"))]
            _ => Ok(self.refused(call)),
        }
    }

    /// The answer to a call that is refused whatever its arguments.
    fn refused(&self, call: &Call) -> Answer {
        let Some(refused) = calls::told(call.number()) else { return Answer::Kernel };
        self.refusals.tell(refused);
        Answer::Failed(Errno::PERM)
    }

    /// The path that an argument points to.
    pub(super) fn path(call: &Call, at: usize) -> Step<Vec<u8>> {
        match call.text(at) {
            Some(Ok(path)) if path == PROBE.as_bytes() => Err(Answer::Failed(PROBED)),
            Some(Ok(path)) => Ok(path),
            Some(Err(errno)) => Err(Answer::Failed(errno)),
            None => Err(Answer::Kernel),
        }
    }

    pub(super) fn identity(&mut self, call: &Call) -> Step<Identity> {
        self.identities.of(call.thread()).ok_or(Answer::Kernel)
    }

    /// Where a path leads, looked up with the rights of the process.
    pub(super) fn place(&self, call: &Call, identity: Identity, descriptor: i32, path: Vec<u8>, last: Last) -> Place {
        self.identities.acting(identity, || find(call, descriptor, path, last))
    }

    /// A name in a writable folder. Elsewhere the kernel knows best.
    pub(super) fn name(&mut self, call: &Call, descriptor: i32, at: usize, last: Last) -> Step<(Name, Identity)> {
        let path = Self::path(call, at)?;
        let identity = self.identity(call)?;
        match self.place(call, identity, descriptor, path, last) {
            Place::Name(name) if self.guard.zone(&name.path).is_some() => Ok((name, identity)),
            Place::Name(mut name) => {
                _ = self.identities.acting(identity, || name.look());
                Err(self.outside(&name, identity))
            }
            Place::Nowhere(path) => Err(self.nowhere(&path)),
            Place::Open(..) | Place::Unknown => Err(Answer::Kernel),
        }
    }

    /// The answer to a path that does not exist. The kernel is not asked where commands may write: it looks a moment later,
    /// and Landlock refuses what another thread has made possible meanwhile.
    pub(super) fn nowhere(&self, path: &Path) -> Answer {
        if self.guard.zone(path).is_some() { Answer::Failed(Errno::NOENT) } else { Answer::Kernel }
    }

    /// A name outside of the writable folders is left to the kernel, where Landlock refuses the change. That is told, if
    /// the change would be possible without the sandbox.
    pub(super) fn outside(&self, name: &Name, identity: Identity) -> Answer {
        let path = &name.path;
        let is_system = ["/dev", "/proc", "/sys"].iter().any(|system| path.starts_with(system));
        // Python tries to write these beside every module.
        let is_usual = path.components().any(|part| part.as_os_str() == "__pycache__");
        let folder = || accessat(&name.folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok();
        let file = || {
            name.kind() == Some(FileType::RegularFile)
                && accessat(&name.folder, &name.last, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
        };
        if !is_system && !is_usual && self.identities.acting(identity, || folder() || file()) {
            self.refusals.tell_path(path, Refusal::Outside);
        }
        Answer::Kernel
    }

    /// The answer to a change of a protected name.
    pub(super) fn protected(&self, path: &Path) -> Answer {
        self.refusals.tell_path(path, Refusal::Protected);
        Answer::Failed(Errno::ACCESS)
    }

    /// A connection is left to the kernel: the private network leads nowhere. Only what it cannot reach is told.
    fn connects(&self, call: &Call, at: usize, length: u32) -> Answer {
        if let Some(refusal) = call.address(at, length).and_then(super::address::unreachable) {
            self.refusals.tell(refusal);
        }
        Answer::Kernel
    }

    /// Does it, if the process still waits: what was read of it then was its own.
    pub(super) fn done<T>(
        &self,
        call: &Call,
        identity: Identity,
        act: impl FnOnce() -> rustix::io::Result<T>,
    ) -> Step<T> {
        if !self.is_valid(&call.notification) {
            return Err(Answer::Failed(Errno::INTR));
        }
        self.identities.acting(identity, act).map_err(Answer::Failed)
    }

    /// Judges a change that needs no look at a content.
    pub(super) fn allowed(&self, name: &Name, change: Change) -> Step<()> {
        match self.guard.judge(name, change) {
            Verdict::Yes => Ok(()),
            Verdict::No | Verdict::IfHarmless(_) => Err(self.protected(&name.path)),
        }
    }

    /// The answer to a change that would make a protected name, if it is not there already.
    fn not_made(&self, name: &mut Name, identity: Identity) -> Answer {
        match self.identities.acting(identity, || name.look()) {
            Ok(()) if name.found.is_some() => Answer::Failed(Errno::EXIST),
            _ => self.protected(&name.path),
        }
    }

    fn open(&mut self, call: &Call, descriptor: i32, at: usize, flags: u32, mode: u32) -> Step<Answer> {
        let asked = OFlags::from_bits_retain(flags);
        if asked.contains(OFlags::PATH) {
            return Ok(Answer::Kernel);
        }
        let path = Self::path(call, at)?;
        let identity = self.identity(call)?;
        let creates = asked.contains(OFlags::CREATE);
        let is_new = creates && asked.contains(OFlags::EXCL);
        let last = match asked.contains(OFlags::NOFOLLOW) {
            _ if is_new => Last::New,
            true => Last::Keep,
            false => Last::Follow,
        };
        for _ in 0..TRIES {
            let mut name = match self.place(call, identity, descriptor, path.clone(), last) {
                Place::Name(name) if self.guard.zone(&name.path).is_some() => name,
                Place::Open(path, file) if self.guard.zone(&path).is_some() => {
                    return self.reopen(call, identity, &path, &file, asked);
                }
                Place::Name(name)
                    if !self.has_terminals && name.path.starts_with("/dev") && name.path.ends_with("ptmx") =>
                {
                    self.refusals.tell(Refusal::Terminal);
                    return Ok(Answer::Kernel);
                }
                Place::Name(mut name) => {
                    let looked = self.identities.acting(identity, || name.look());
                    let is_told = looked.is_ok() && changes(&name, asked);
                    return Ok(if is_told { self.outside(&name, identity) } else { Answer::Kernel });
                }
                Place::Nowhere(path) => return Ok(self.nowhere(&path)),
                Place::Open(..) | Place::Unknown => return Ok(Answer::Kernel),
            };
            if flags & TMPFILE != 0 {
                return Ok(Answer::Failed(Errno::OPNOTSUPP));
            }
            let only_reads = (asked & OFlags::RWMODE) == OFlags::RDONLY && !asked.contains(OFlags::TRUNC);
            let change = match name.kind() {
                None if !creates => return Ok(Answer::Failed(Errno::NOENT)),
                None if name.slash => return Ok(Answer::Kernel),
                None => Change::MakeFile,
                Some(_) if only_reads => return Ok(Answer::Kernel),
                Some(FileType::RegularFile | FileType::Fifo) => Change::Write,
                Some(FileType::Symlink) => return Ok(Answer::Failed(Errno::LOOP)),
                Some(_) => return Ok(Answer::Kernel),
            };
            let judged = self.judged(&name);
            match self.guard.judge(&name, change) {
                Verdict::Yes => {}
                Verdict::No if is_new => return Ok(self.not_made(&mut name, identity)),
                Verdict::No => return Ok(self.protected(&name.path)),
                Verdict::IfHarmless(content) => {
                    let looked = self.identities.acting(identity, || name.look());
                    if is_new && (looked.is_err() || name.found.is_some()) {
                        return Ok(Answer::Failed(Errno::EXIST));
                    }
                    return self.open_checked(call, identity, name, asked, mode, content);
                }
            }
            // Never follows a link that appeared meanwhile, and never waits for the other end of a pipe, which a new file
            // is not.
            let mut opened = asked | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
            let makes = change == Change::MakeFile;
            opened.set(OFlags::EXCL, makes);
            opened.set(OFlags::CREATE, makes);
            opened.set(OFlags::NONBLOCK, !makes || asked.contains(OFlags::NONBLOCK));
            let mode = Mode::from_raw_mode(mode);
            match self.done(call, identity, || openat(&name.folder, &name.last, opened, mode)) {
                Ok(file) if makes => {
                    self.settle(&name, judged)?;
                    self.guard.note_made(&name.path, &file);
                    return Ok(Answer::Opened(file, asked.contains(OFlags::CLOEXEC)));
                }
                Ok(file) => {
                    self.settle(&name, judged)?;
                    return handed(file, asked);
                }
                Err(Answer::Failed(Errno::NXIO)) if !asked.contains(OFlags::NONBLOCK) => return Ok(Answer::Later),
                // Somebody else was faster: it has to be looked at again.
                Err(Answer::Failed(Errno::LOOP | Errno::NOENT)) if change == Change::Write => {}
                Err(Answer::Failed(Errno::EXIST)) if !is_new => {}
                Err(answer) => return Ok(answer),
            }
        }
        Ok(Answer::Failed(Errno::ACCESS))
    }

    /// Opens what the process has open already, for writing this time.
    fn reopen(&self, call: &Call, identity: Identity, path: &Path, file: &OwnedFd, asked: OFlags) -> Step<Answer> {
        let found = fstat(file).map_err(Answer::Failed)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Ok(Answer::Kernel);
        }
        if !self.guard.judge_open(path, &found, Change::Write) {
            return Ok(self.protected(path));
        }
        let opened = (asked | OFlags::CLOEXEC | OFlags::NONBLOCK) - OFlags::CREATE - OFlags::EXCL - OFlags::NOFOLLOW;
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        let file = self.done(call, identity, || openat(CWD, &*link, opened, Mode::empty()))?;
        handed(file, asked)
    }

    /// Gives the process a pipe in place of a file whose content has to be looked at.
    fn open_checked(
        &mut self,
        call: &Call,
        identity: Identity,
        name: Name,
        asked: OFlags,
        mode: u32,
        content: Content,
    ) -> Step<Answer> {
        let starts_anew = name.found.is_none() || asked.contains(OFlags::TRUNC);
        if (asked & OFlags::RWMODE) != OFlags::WRONLY || asked.contains(OFlags::APPEND) || !starts_anew {
            return Ok(self.protected(&name.path));
        }
        let (path, folder) = (name.path, name.folder);
        let mode = Identities::masked(identity, Mode::from_raw_mode(mode));
        let (to, checked) = Checked::begin(folder, path, mode, content).map_err(Answer::Failed)?;
        self.checked.push(checked);
        if !self.is_valid(&call.notification) {
            return Ok(Answer::Failed(Errno::INTR));
        }
        Ok(Answer::Opened(to, asked.contains(OFlags::CLOEXEC)))
    }

    fn make_folder(&mut self, call: &Call, descriptor: i32, at: usize, mode: u32) -> Step<Answer> {
        let (mut name, identity) = self.name(call, descriptor, at, Last::New)?;
        let judged = self.judged(&name);
        if self.guard.judge(&name, Change::MakeFolder) != Verdict::Yes {
            return Ok(self.not_made(&mut name, identity));
        }
        self.done(call, identity, || mkdirat(&name.folder, &name.last, Mode::from_raw_mode(mode)))?;
        self.settle(&name, judged)?;
        Ok(Answer::Done)
    }

    fn make_node(&mut self, call: &Call, descriptor: i32, at: usize, mode: u32, device: u64) -> Step<Answer> {
        let (name, identity) = self.name(call, descriptor, at, Last::Keep)?;
        if name.found.is_some() {
            return Ok(Answer::Failed(Errno::EXIST));
        }
        let kind = match FileType::from_raw_mode(mode) {
            FileType::Unknown | FileType::RegularFile => FileType::RegularFile,
            kind @ FileType::Fifo => kind,
            // Sockets and devices: the kernel says no, or makes a socket where that is open.
            _ => return Ok(Answer::Kernel),
        };
        let judged = self.judged(&name);
        self.allowed(&name, if kind == FileType::Fifo { Change::MakeOther } else { Change::MakeFile })?;
        let mode = Mode::from_raw_mode(mode);
        self.done(call, identity, || mknodat(&name.folder, &name.last, kind, mode, device))?;
        self.settle(&name, judged)?;
        Ok(Answer::Done)
    }

    fn rename(&mut self, call: &Call, from: (i32, usize), to: (i32, usize), flags: u32) -> Step<Answer> {
        let (old, identity) = self.name(call, from.0, from.1, Last::Keep)?;
        let (new, _) = self.name(call, to.0, to.1, Last::Keep)?;
        let flags = RenameFlags::from_bits_retain(flags);
        if flags.contains(RenameFlags::WHITEOUT) {
            return Ok(Answer::Kernel);
        }
        if old.found.is_none() {
            return Ok(Answer::Failed(Errno::NOENT));
        }
        let exchanges = flags.contains(RenameFlags::EXCHANGE);
        if self.is_foreign_socket(&old) || (exchanges && self.is_foreign_socket(&new)) {
            return Ok(Answer::Failed(Errno::PERM));
        }
        let is_folder = |name: &Name| name.kind() == Some(FileType::Directory);
        if (old.slash && !is_folder(&old)) || (new.slash && !is_folder(&old)) {
            return Ok(Answer::Failed(Errno::NOTDIR));
        }
        let judged = [self.judged(&old), self.judged(&new)];
        self.allowed(&old, Change::Leave)?;
        if exchanges {
            self.allowed(&old, Change::Arrive)?;
            self.allowed(&new, Change::Leave)?;
        }
        let is_file = !exchanges && old.kind() == Some(FileType::RegularFile);
        let content = match self.guard.judge(&new, if is_file { Change::ArriveFile } else { Change::Arrive }) {
            Verdict::Yes => None,
            Verdict::IfHarmless(content) if !exchanges && !is_folder(&old) => Some(content),
            Verdict::No | Verdict::IfHarmless(_) => return Ok(self.protected(&new.path)),
        };
        let moves = |old: &Name, new: &Name| !is_folder(old) || self.guard.may_move_folder(&old.path, &new.path);
        if !moves(&old, &new) || (exchanges && !moves(&new, &old)) {
            // Programs that move a folder then copy what is in it.
            return Ok(Answer::Failed(Errno::XDEV));
        }
        if let Some(content) = content {
            self.replace(call, identity, &old, &new, content)?;
        } else {
            let act = || renameat_with(&old.folder, &old.last, &new.folder, &new.last, flags);
            self.done(call, identity, act)?;
        }
        self.settle(&new, judged[1])?;
        if exchanges {
            self.settle(&old, judged[0])?;
        }
        Ok(Answer::Done)
    }

    /// Puts a copy in the place of a file, if it is harmless: who has the original open could write to it afterwards.
    fn replace(&self, call: &Call, identity: Identity, from: &Name, to: &Name, content: Content) -> Step<()> {
        let refused = || self.protected(&to.path);
        if from.kind() != Some(FileType::RegularFile) {
            return Err(refused());
        }
        let read = |name: &Name| -> Step<(Vec<u8>, Option<SystemTime>)> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = openat(&name.folder, &name.last, flags, Mode::empty()).map_err(Answer::Failed)?;
            let mut bytes = Vec::new();
            let (file, most) = (std::fs::File::from(file), content.most_bytes());
            let modified = file.metadata().and_then(|found| found.modified()).ok();
            file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|_| refused())?;
            if bytes.len() > most { Err(refused()) } else { Ok((bytes, modified)) }
        };
        let (new, modified) = read(from)?;
        // Only a configuration is judged by what it changes.
        let old = if to.found.is_some() && content == Content::Config { read(to)?.0 } else { Vec::new() };
        if !content.is_harmless(&to.path, &old, &new) {
            return Err(refused());
        }
        let mode = Mode::from_raw_mode(from.found.map_or(0o644, |found| found.st_mode) & 0o7777);
        self.done(call, identity, || {
            unlinkat(&from.folder, &from.last, AtFlags::empty())?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&from.folder, &from.last, flags, mode)?;
            let mut file = std::fs::File::from(file);
            file.write_all(&new).map_err(|_| Errno::IO)?;
            rustix::fs::fchmod(&file, mode)?;
            // Git tells by the time of its index which files changed after it was written.
            if let Some(modified) = modified {
                file.set_modified(modified).map_err(|_| Errno::IO)?;
            }
            renameat_with(&from.folder, &from.last, &to.folder, &to.last, RenameFlags::empty())
        })
    }

    fn remove(&mut self, call: &Call, descriptor: i32, at: usize, flags: u32) -> Step<Answer> {
        let (name, identity) = self.name(call, descriptor, at, Last::Keep)?;
        if name.found.is_none() {
            return Ok(Answer::Failed(Errno::NOENT));
        }
        let flags = AtFlags::from_bits_retain(flags);
        if name.slash && !flags.contains(AtFlags::REMOVEDIR) {
            return Ok(Answer::Kernel);
        }
        self.allowed(&name, Change::Remove)?;
        self.done(call, identity, || unlinkat(&name.folder, &name.last, flags))?;
        Ok(Answer::Done)
    }

    fn truncate(&mut self, call: &Call) -> Step<Answer> {
        let path = Self::path(call, 0)?;
        let identity = self.identity(call)?;
        let name = match self.place(call, identity, libc::AT_FDCWD, path, Last::Follow) {
            Place::Name(name) => name,
            Place::Nowhere(path) => return Ok(self.nowhere(&path)),
            Place::Open(..) | Place::Unknown => return Ok(Answer::Kernel),
        };
        match name.kind() {
            Some(FileType::RegularFile) => {}
            Some(_) => return Ok(Answer::Kernel),
            None => return Ok(self.nowhere(&name.path)),
        }
        if self.guard.zone(&name.path).is_none() {
            return Ok(self.outside(&name, identity));
        }
        self.allowed(&name, Change::Write)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let length = call.argument(1);
        self.done(call, identity, || {
            let file = openat(&name.folder, &name.last, flags, Mode::empty())?;
            ftruncate(&file, length)
        })?;
        Ok(Answer::Done)
    }
}

/// Whether an open would change what is there, or make it.
fn changes(name: &Name, asked: OFlags) -> bool {
    let writes = (asked & OFlags::RWMODE) != OFlags::RDONLY || asked.contains(OFlags::TRUNC);
    if name.found.is_some() { writes && !asked.contains(OFlags::EXCL) } else { asked.contains(OFlags::CREATE) }
}

/// A file as the process asked for it.
fn handed(file: OwnedFd, asked: OFlags) -> Step<Answer> {
    if !asked.contains(OFlags::NONBLOCK) {
        let flags = fcntl_getfl(&file).map_err(Answer::Failed)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(Answer::Failed)?;
    }
    Ok(Answer::Opened(file, asked.contains(OFlags::CLOEXEC)))
}
