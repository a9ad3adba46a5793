//! Messages where commands use the network of this machine: one that names an address is sent by the supervisor, to the
//! address that it has judged. Whether a message names one stands in the memory of the process, so the supervisor sends all
//! of those that could.

use std::{
    io::IoSlice,
    mem::MaybeUninit,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::{
    fs::{OFlags, fcntl_getfl},
    io::Errno,
    net::{
        SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketType, netlink::SocketAddrNetlink, send, sendmsg,
        sendmsg_addr, sendto, sockopt::socket_type,
    },
};

use super::{
    Answer, Minder,
    address::{Named, named},
    task::Call,
};

/// The most that is sent at once. A datagram is no longer, and of a stream a part may be sent.
const BYTES: usize = 64 * 1024;

/// How many pieces a message may have, as in the kernel.
const PIECES: u64 = 1024;

/// How many messages are sent at once.
const MESSAGES: u64 = 64;

/// How many files a message may carry, as in the kernel.
const FILES: usize = 253;

/// The sizes of `msghdr` and `mmsghdr`, and where the latter says how much was sent.
const HEAD: u32 = 56;
const HEADS_APART: u64 = 64;
const SENT_AT: u64 = 56;

/// Flags that mean the same when somebody else sends.
const KEPT: SendFlags =
    SendFlags::CONFIRM.union(SendFlags::DONTROUTE).union(SendFlags::EOR).union(SendFlags::MORE).union(SendFlags::OOB);

/// Connects with the first message.
const FAST_OPEN: u32 = 0x2000_0000;

/// What one message says.
struct Message {
    to: Option<Named>,
    bytes: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl Minder {
    /// `sendto` with an address.
    pub(super) fn send_to(&self, call: &Call) -> Result<Answer, Answer> {
        let (socket, flags) = (Self::sending(call)?, call.small(3));
        let fault = || Answer::Failed(Errno::FAULT);
        let name = call.name(call.argument(4), call.small(5)).map_err(Answer::Failed)?;
        let to = Some(named(&name).ok_or(Answer::Failed(Errno::AFNOSUPPORT))?);
        let length = usize::try_from(call.argument(2)).unwrap_or(usize::MAX);
        let bytes = call.memory(call.argument(1), cut(&socket, length)?).ok_or_else(fault)?;
        let message = Message { to, bytes, files: Vec::new() };
        self.sent(call, &socket, &message, flags).map(Answer::Returned)
    }

    /// `sendmsg`.
    pub(super) fn send_message(&self, call: &Call) -> Result<Answer, Answer> {
        let (socket, flags) = (Self::sending(call)?, call.small(2));
        let message = Self::message(call, &socket, call.argument(1))?;
        self.sent(call, &socket, &message, flags).map(Answer::Returned)
    }

    /// `sendmmsg`: one after the other, until one of them cannot be sent.
    pub(super) fn send_messages(&self, call: &Call) -> Result<Answer, Answer> {
        let (socket, flags) = (Self::sending(call)?, call.small(3));
        let mut count = 0;
        for at in 0..u64::from(call.small(2)).min(MESSAGES) {
            let head = call.argument(1).wrapping_add(at * HEADS_APART);
            let sent = Self::message(call, &socket, head)
                .and_then(|message| self.sent(call, &socket, &message, flags))
                .and_then(|sent| {
                    let length = u32::try_from(sent).unwrap_or_default().to_ne_bytes();
                    call.write(head.wrapping_add(SENT_AT), &length).ok_or(Answer::Failed(Errno::FAULT))
                });
            match sent {
                Ok(()) => count += 1,
                Err(answer) if count == 0 => return Err(answer),
                Err(_) => break,
            }
        }
        Ok(Answer::Returned(count))
    }

    fn sending(call: &Call) -> Result<OwnedFd, Answer> {
        call.socket(call.descriptor(0)).map_err(Answer::Failed)
    }

    /// The message that a `msghdr` in the memory of the process describes.
    fn message(call: &Call, socket: &OwnedFd, head: u64) -> Result<Message, Answer> {
        let fault = || Answer::Failed(Errno::FAULT);
        let head = call.memory(head, HEAD).ok_or_else(fault)?;
        let word = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let (name, pieces, count, control, control_length) = (word(0), word(16), word(24), word(32), word(40));
        let name_length = head[8..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        let to = if name == 0 || name_length == 0 {
            None
        } else {
            let name = call.name(name, name_length).map_err(Answer::Failed)?;
            Some(named(&name).ok_or(Answer::Failed(Errno::AFNOSUPPORT))?)
        };
        if count > PIECES {
            return Err(Answer::Failed(Errno::MSGSIZE));
        }
        let pieces = call.memory(pieces, u32::try_from(count * 16).unwrap_or_default()).ok_or_else(fault)?;
        let pieces = pieces.chunks_exact(16).map(|piece| {
            let word = |at: usize| piece[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
            (word(0), word(8))
        });
        let pieces: Vec<(u64, u64)> = pieces.collect();
        let length = pieces.iter().fold(0_u64, |sum, (_, length)| sum.saturating_add(*length));
        let wanted = cut(socket, usize::try_from(length).unwrap_or(usize::MAX))?;
        let mut bytes = Vec::new();
        for (at, length) in pieces {
            let left = u64::from(wanted).saturating_sub(bytes.len() as u64).min(length);
            bytes.extend(call.memory(at, u32::try_from(left).unwrap_or_default()).ok_or_else(fault)?);
        }
        let length = u32::try_from(control_length).unwrap_or(u32::MAX);
        let files = if control == 0 { Vec::new() } else { Self::files(call, control, length)? };
        Ok(Message { to, bytes, files })
    }

    /// The files that go with a message. What else is said about it is about how it travels, and left out; except how it
    /// would be cut, without which it would be another one.
    fn files(call: &Call, control: u64, length: u32) -> Result<Vec<OwnedFd>, Answer> {
        const HEAD: usize = 16;
        let control = call.memory(control, length).ok_or(Answer::Failed(Errno::FAULT))?;
        let mut rest = &control[..];
        let mut files = Vec::new();
        while let Some((head, _)) = rest.split_first_chunk::<HEAD>() {
            let number = |at: usize| head[at..].first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
            let length = head.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let Some(content) = rest.get(HEAD..length) else { return Err(Answer::Failed(Errno::INVAL)) };
            match (number(8), number(12)) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                    for descriptor in content.chunks_exact(4) {
                        let descriptor = descriptor.first_chunk().map_or(-1, |bytes| i32::from_ne_bytes(*bytes));
                        files.push(call.file(descriptor).map_err(Answer::Failed)?);
                    }
                }
                (libc::SOL_UDP, _) => return Err(Answer::Failed(Errno::IO)),
                _ => {}
            }
            if files.len() > FILES {
                return Err(Answer::Failed(Errno::INVAL));
            }
            rest = rest.get(length.next_multiple_of(8)..).unwrap_or_default();
        }
        Ok(files)
    }

    fn sent(&self, call: &Call, socket: &OwnedFd, message: &Message, flags: u32) -> Result<i64, Answer> {
        if flags & FAST_OPEN != 0 {
            return Err(Answer::Failed(Errno::OPNOTSUPP));
        }
        let asked = SendFlags::from_bits_retain(flags);
        // Others wait for this thread meanwhile, so it does not.
        let now = (asked & KEPT) | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let Message { to, bytes, files } = message;
        if let Some(Named::Internet(address)) = to {
            self.reaches(socket, *address)?;
        }
        self.still_waits(call)?;
        let handles: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let with_files = !handles.is_empty() && control.push(SendAncillaryMessage::ScmRights(&handles));
        let pieces = [IoSlice::new(bytes)];
        let sent = match to {
            Some(Named::Internet(address)) => sendmsg_addr(socket, address, &pieces, &mut control, now),
            Some(Named::Kernel((id, groups))) => sendto(socket, bytes, now, &SocketAddrNetlink::new(*id, *groups)),
            Some(Named::File(_) | Named::Nothing) => return Err(Answer::Failed(Errno::ACCESS)),
            None if with_files => sendmsg(socket, &pieces, &mut control, now),
            None => send(socket, bytes, now),
        };
        match sent {
            Ok(sent) => Ok(i64::try_from(sent).unwrap_or(i64::MAX)),
            Err(Errno::AGAIN) if waits(socket, asked) => Err(Answer::Later),
            Err(errno) => Err(Answer::Failed(errno)),
        }
    }
}

/// How much of a message is sent. A stream takes a part of it.
fn cut(socket: &OwnedFd, length: usize) -> Result<u32, Answer> {
    let kind = socket_type(socket).map_err(Answer::Failed)?;
    if length > BYTES && kind != SocketType::STREAM {
        return Err(Answer::Failed(Errno::MSGSIZE));
    }
    Ok(u32::try_from(length.min(BYTES)).unwrap_or_default())
}

/// Whether the process wants to wait until there is room.
fn waits(socket: &OwnedFd, asked: SendFlags) -> bool {
    !asked.contains(SendFlags::DONTWAIT) && fcntl_getfl(socket).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK))
}
