//! What the supervisor sees of a process whose call it makes: the call's arguments, the paths in its memory, where it
//! stands, and under which identity it makes files.

use std::{
    cell::Cell,
    collections::HashMap,
    fs,
    io::{IoSlice, IoSliceMut},
    net::SocketAddr,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use nix::{
    sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev},
    unistd::{Gid, Pid, Uid, setfsgid, setfsuid},
};
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    net::sockopt::socket_type,
    process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open, umask},
};
use seccompy::SeccompNotif;

/// The longest path that the kernel takes, with its end.
const PATH_BYTES: usize = 4096;

/// The smallest page of memory: what lies behind its end may not be there.
const PAGE: usize = 4096;

/// The most that is read of a message.
const MEMORY_BYTES: usize = 64 * 1024;

/// How long an identity is believed. The calls that change it are seen; a process number that is used again is not.
const BELIEVED: Duration = Duration::from_millis(500);

/// One call of a process.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) notification: SeccompNotif,
}

impl Call {
    pub(super) fn number(&self) -> i64 {
        i64::from(self.notification.data.nr)
    }

    /// The thread that makes it.
    pub(super) fn thread(&self) -> i32 {
        self.notification.pid.cast_signed()
    }

    pub(super) fn argument(&self, at: usize) -> u64 {
        self.notification.data.args[at]
    }

    /// An argument of 32 bits, which is all that the kernel reads of most.
    #[expect(clippy::cast_possible_truncation, reason = "the kernel cuts it off as well")]
    pub(super) fn small(&self, at: usize) -> u32 {
        self.argument(at) as u32
    }

    pub(super) fn descriptor(&self, at: usize) -> i32 {
        self.small(at).cast_signed()
    }

    /// The text that an argument points to; `None` if the memory cannot be read. A text without an end is too long.
    pub(super) fn text(&self, at: usize) -> Option<Result<Vec<u8>, Errno>> {
        let begin = usize::try_from(self.argument(at)).ok()?;
        let mut text = Vec::new();
        let mut buffer = [0; PAGE];
        while text.len() < PATH_BYTES {
            let from = begin.checked_add(text.len())?;
            let wanted = (PAGE - from % PAGE).min(PATH_BYTES - text.len());
            let mut local = [IoSliceMut::new(&mut buffer[..wanted])];
            let remote = [RemoteIoVec { base: from, len: wanted }];
            let read = process_vm_readv(Pid::from_raw(self.thread()), &mut local, &remote).ok()?;
            if read == 0 {
                return None;
            }
            if let Some(end) = buffer[..read].iter().position(|byte| *byte == 0) {
                text.extend(&buffer[..end]);
                return Some(Ok(text));
            }
            text.extend(&buffer[..read]);
        }
        Some(Err(Errno::NAMETOOLONG))
    }

    /// The network address that an argument points to, if it is one.
    pub(super) fn address(&self, at: usize, length: u32) -> Option<SocketAddr> {
        super::address::parse(&self.name(self.argument(at), length).ok()?)
    }

    /// The bytes of an address.
    pub(super) fn name(&self, from: u64, length: u32) -> Result<Vec<u8>, Errno> {
        if length > super::address::BYTES {
            return Err(Errno::INVAL);
        }
        self.memory(from, length).ok_or(Errno::FAULT)
    }

    /// Some memory of the process, but not more than a message may have.
    pub(super) fn memory(&self, from: u64, length: u32) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok()?.min(MEMORY_BYTES)];
        if bytes.is_empty() {
            return Some(bytes);
        }
        let remote = [RemoteIoVec { base: usize::try_from(from).ok()?, len: bytes.len() }];
        let mut local = [IoSliceMut::new(&mut bytes)];
        let read = process_vm_readv(Pid::from_raw(self.thread()), &mut local, &remote).ok()?;
        (read == bytes.len()).then_some(bytes)
    }

    /// Writes to the memory of the process.
    pub(super) fn write(&self, to: u64, bytes: &[u8]) -> Option<()> {
        let remote = [RemoteIoVec { base: usize::try_from(to).ok()?, len: bytes.len() }];
        let written = process_vm_writev(Pid::from_raw(self.thread()), &[IoSlice::new(bytes)], &remote).ok()?;
        (written == bytes.len()).then_some(())
    }

    /// A socket of the process, by a handle of our own: whatever the process does with its number, this is the one.
    pub(super) fn socket(&self, descriptor: i32) -> Result<OwnedFd, Errno> {
        let socket = self.file(descriptor)?;
        socket_type(&socket)?;
        Ok(socket)
    }

    /// A file of the process.
    pub(super) fn file(&self, descriptor: i32) -> Result<OwnedFd, Errno> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread())).map_err(|_| Errno::SRCH)?;
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
        let process = process.and_then(rustix::process::Pid::from_raw).ok_or(Errno::SRCH)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        pidfd_getfd(&process, descriptor, PidfdGetfdFlags::empty())
    }

    /// The folder that relative paths begin in: the one that the process stands in, or one that it has open.
    pub(super) fn base(&self, descriptor: i32) -> Option<OwnedFd> {
        if descriptor == libc::AT_FDCWD {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            return open(format!("/proc/{}/cwd", self.thread()), flags, Mode::empty()).ok();
        }
        self.open_file(descriptor)
    }

    /// What the process has open under a number.
    pub(super) fn open_file(&self, descriptor: i32) -> Option<OwnedFd> {
        if descriptor < 0 {
            return None;
        }
        open(format!("/proc/{}/fd/{descriptor}", self.thread()), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
    }
}

/// Under which identity a process makes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    umask: u32,
    user: u32,
    group: u32,
}

impl Identity {
    fn read(thread: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        // Real, effective, saved, and for files.
        let last = |name: &str| field(name)?.split_whitespace().nth(3)?.parse().ok();
        let umask = u32::from_str_radix(field("Umask")?.trim(), 8).ok()?;
        Some(Self { umask, user: last("Uid")?, group: last("Gid")? })
    }
}

/// The identities of the processes that make calls.
pub(super) struct Identities {
    known: HashMap<i32, (Identity, Instant)>,
    /// Threads that were about to change theirs.
    changing: Vec<i32>,
    own: (Uid, Gid),
    /// The mask of this process now.
    umask: Cell<u32>,
}

impl Identities {
    pub(super) fn new() -> Self {
        Self {
            known: HashMap::new(),
            changing: Vec::new(),
            own: (Uid::effective(), Gid::effective()),
            umask: Cell::new(u32::MAX),
        }
    }

    /// The thread is about to change the identity of its process.
    pub(super) fn changing(&mut self, thread: i32) {
        self.known.clear();
        self.changing.push(thread);
    }

    pub(super) fn of(&mut self, thread: i32) -> Option<Identity> {
        if let Some(at) = self.changing.iter().position(|changing| *changing == thread) {
            self.changing.swap_remove(at);
            self.known.clear();
        }
        if let Some((identity, since)) = self.known.get(&thread)
            && since.elapsed() < BELIEVED
        {
            return Some(*identity);
        }
        let identity = Identity::read(thread)?;
        if self.known.len() > 1000 {
            self.known.clear();
        }
        self.known.insert(thread, (identity, Instant::now()));
        Some(identity)
    }

    /// A mode without what the mask of a process takes away.
    pub(super) fn masked(identity: Identity, mode: Mode) -> Mode {
        mode - Mode::from_raw_mode(identity.umask)
    }

    /// Does something as somebody else: with their mask, and where a superuser has become another user with their rights.
    pub(super) fn acting<T>(&self, identity: Identity, act: impl FnOnce() -> T) -> T {
        let (user, group) = self.own;
        let is_other = (identity.user, identity.group) != (user.as_raw(), group.as_raw());
        if self.umask.replace(identity.umask) != identity.umask {
            umask(Mode::from_raw_mode(identity.umask));
        }
        if is_other {
            setfsgid(Gid::from_raw(identity.group));
            setfsuid(Uid::from_raw(identity.user));
        }
        let done = act();
        if is_other {
            setfsuid(user);
            setfsgid(group);
        }
        done
    }
}

/// Whether a process or thread belongs to the command: it descends from this process.
pub(super) fn is_ours(thread: i32) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut at = thread;
    // Deeper trees than this do not occur, and a circle cannot.
    for _ in 0..10_000 {
        let Ok(status) = fs::read_to_string(format!("/proc/{at}/status")) else { return false };
        let Some(parent) =
            status.lines().find_map(|line| line.strip_prefix("PPid:")).and_then(|parent| parent.trim().parse().ok())
        else {
            return false;
        };
        if parent == own {
            return true;
        }
        if parent <= 1 {
            return false;
        }
        at = parent;
    }
    false
}
