//! Unix sockets with a name: the supervisor makes the name and the connections, and connects only to sockets that the same
//! command has made, or another one of the session that listens there. Docker, tmux, agents of keys and others listen in folders that commands may write, and obey.

use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::{
    fs::{FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, openat},
    io::Errno,
    net::{SocketAddrUnix, bind, connect},
    process::fchdir,
};

use super::{
    super::{calls::UnixSockets, refusal::Refusal},
    Answer, Minder,
    address::{Named, named},
    guard::Change,
    listening::listens_here,
    place::{Last, Name, Place},
    task::Call,
};

/// How many named sockets of one command are known at the same time.
const MOST: usize = 256;

impl Minder {
    /// Gives a Unix socket its name. All other names are left to the kernel: Landlock lets it make no socket in a folder.
    pub(super) fn bind(&mut self, call: &Call) -> Result<Answer, Answer> {
        let address = call.name(call.argument(1), call.small(2)).map_err(Answer::Failed)?;
        let Some(Named::File(path)) = named(&address) else { return Ok(Answer::Kernel) };
        let socket = call.socket(call.descriptor(0)).map_err(Answer::Failed)?;
        let identity = self.identity(call)?;
        let name = match self.place(call, identity, libc::AT_FDCWD, path.clone(), Last::Keep) {
            Place::Name(name) if self.guard.zone(&name.path).is_some() => name,
            Place::Name(name) => return Ok(self.outside(&name, identity)),
            Place::Nowhere(path) => return Ok(self.nowhere(&path)),
            Place::Open(..) | Place::Unknown => return Ok(Answer::Failed(Errno::ACCESS)),
        };
        if name.found.is_some() {
            return Ok(Answer::Failed(Errno::ADDRINUSE));
        }
        self.allowed(&name, Change::MakeOther)?;
        self.named.retain(|socket| fstat(socket).is_ok_and(|found| found.st_nlink > 0));
        if self.named.len() >= MOST {
            return Ok(Answer::Failed(Errno::NFILE));
        }
        // Programs ask for the name that they gave, so it is made by that. The supervisor itself can write nowhere but in
        // the folders of the command.
        let here = if path.starts_with(b"/") { None } else { call.base(libc::AT_FDCWD) };
        let address = SocketAddrUnix::new(&*path).map_err(Answer::Failed)?;
        self.done(call, identity, || {
            here.as_ref().map_or(Ok(()), fchdir)?;
            bind(&socket, &address)
        })?;
        self.named.extend(opened(&name).filter(is_socket));
        Ok(Answer::Done)
    }

    /// Connects to a Unix socket by its name.
    pub(super) fn connect_to_file(&mut self, call: &Call, socket: &OwnedFd, path: Vec<u8>) -> Result<Answer, Answer> {
        let identity = self.identity(call)?;
        let name = match self.place(call, identity, libc::AT_FDCWD, path, Last::Follow) {
            Place::Name(name) if name.found.is_some() => name,
            Place::Name(_) | Place::Nowhere(_) => return Ok(Answer::Failed(Errno::NOENT)),
            Place::Open(..) | Place::Unknown => return Ok(Answer::Failed(Errno::ACCESS)),
        };
        let Some(file) = self.identities.acting(identity, || opened(&name)) else {
            return Ok(Answer::Failed(Errno::ACCESS));
        };
        let is_own = fstat(&file).is_ok_and(|found| self.has_made(&found));
        if self.unix_sockets != UnixSockets::Open && !is_own {
            // The C library looks here for services of the system, and does without.
            let is_usual = ["nscd", "systemd"].iter().any(|part| name.path.iter().any(|name| name == *part));
            if !is_usual && is_socket(&file) {
                self.refusals.tell_path(&name.path, Refusal::UnixSocket);
            }
            return Ok(Answer::Failed(Errno::ACCESS));
        }
        // By the handle, so it is the one that was looked at.
        let address = SocketAddrUnix::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(Answer::Failed)?;
        let flags = fcntl_getfl(socket).map_err(Answer::Failed)?;
        fcntl_setfl(socket, flags | OFlags::NONBLOCK).map_err(Answer::Failed)?;
        let made = self.done(call, identity, || connect(socket, &address));
        fcntl_setfl(socket, flags).map_err(Answer::Failed)?;
        match made {
            Ok(()) => Ok(Answer::Done),
            // Whoever listens has too many connections to take. Others wait for this thread meanwhile, so it does not.
            Err(Answer::Failed(Errno::AGAIN)) if !flags.contains(OFlags::NONBLOCK) => Ok(Answer::Later),
            Err(answer) => Err(answer),
        }
    }

    /// Whether this command has made a socket, or another one of the session that is still running.
    fn has_made(&self, found: &Stat) -> bool {
        let is_it = |made: Stat| (made.st_dev, made.st_ino) == (found.st_dev, found.st_ino);
        self.named.iter().any(|made| fstat(made).is_ok_and(is_it)) || (self.is_private && listens_here(found))
    }

    /// Whether a name is that of a socket that somebody else has made. It stays where it is: the command could move it to a
    /// name that it is just giving to a socket of its own, and the supervisor would take it for that one.
    pub(super) fn is_foreign_socket(&self, name: &Name) -> bool {
        let is_socket = name.kind() == Some(FileType::Socket) && self.unix_sockets != UnixSockets::Open;
        is_socket && !name.found.as_ref().is_some_and(|found| self.has_made(found))
    }
}

/// What has a name, by a handle.
fn opened(name: &Name) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(&name.folder, &name.last, flags, Mode::empty()).ok()
}

fn is_socket(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Socket)
}
