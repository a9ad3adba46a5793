//! The keeper of a session's private network: a process that makes the namespace, brings its loopback interface up, and
//! stays until the agent closes the connection.
//!
//! A socket belongs to the namespace it was made in. So the keeper makes listening sockets on request and hands them to the
//! agent, which accepts connections from inside without being inside.

use std::{
    convert::Infallible,
    io::{self, IoSlice, stdin},
    mem::MaybeUninit,
    net::{Ipv4Addr, TcpListener},
    os::fd::AsFd as _,
    process::exit,
};

use nix::sched::CloneFlags;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv,
    send, sendmsg, socket_with,
};

use super::{
    launch::{CANNOT_RUN, close_inherited},
    space::enter,
};

/// What the keeper says once the network is there, without and with a user namespace.
pub(super) const READY: &str = "ready";
pub(super) const READY_AS_USER: &str = "ready as user";

/// What it says with a socket.
pub(super) const LISTENS: &str = "listens";

/// The longest message, either way.
pub(super) const MESSAGE: usize = 512;

/// Keeps a private network. Never returns.
pub(super) fn keep() -> ! {
    let Err(error) = kept();
    // An agent that is gone needs no answer.
    _ = send(stdin(), error.to_string().as_bytes(), SendFlags::NOSIGNAL);
    exit(CANNOT_RUN);
}

fn kept() -> Result<Infallible, Box<dyn std::error::Error>> {
    close_inherited()?;
    let user = enter(CloneFlags::CLONE_NEWNET)?;
    loopback_up()?;
    let agent = stdin();
    send(&agent, if user { READY_AS_USER } else { READY }.as_bytes(), SendFlags::NOSIGNAL)?;
    loop {
        let mut request = [0; 2];
        let (read, _) = recv(&agent, &mut request, RecvFlags::empty())?;
        if read != request.len() {
            // The agent is gone, or has no more use for this.
            exit(0);
        }
        match TcpListener::bind((Ipv4Addr::LOCALHOST, u16::from_be_bytes(request))) {
            Ok(listener) => {
                let handles = [listener.as_fd()];
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut message = SendAncillaryBuffer::new(&mut space);
                message.push(SendAncillaryMessage::ScmRights(&handles));
                sendmsg(&agent, &[IoSlice::new(LISTENS.as_bytes())], &mut message, SendFlags::NOSIGNAL)?;
            }
            Err(error) => _ = send(&agent, error.to_string().as_bytes(), SendFlags::NOSIGNAL)?,
        }
    }
}

/// Switches the loopback interface on: `RTM_NEWLINK` for interface 1 with the flag `IFF_UP`.
fn loopback_up() -> io::Result<()> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const ERROR: u16 = 2;
    const UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend([0; 8]); // number, sender
    message.extend([0; 4]); // family, type of the interface
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&kernel, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (read, _) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    let field = |at: usize| answer.get(at..at + 4).filter(|_| read >= at + 4).and_then(|bytes| bytes.try_into().ok());
    let (Some(head), Some(errno)) = (field(4), field(16)) else {
        return Err(io::Error::other("no answer from netlink"));
    };
    let [low, high, ..]: [u8; 4] = head;
    match i32::from_ne_bytes(errno) {
        0 if u16::from_ne_bytes([low, high]) == ERROR => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno.wrapping_neg())),
    }
}
