//! Connections where commands use the network of this machine: the supervisor makes them, to the address that it has read
//! once and judged. So the services of this machine stay closed where no namespace hides them.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    net::{IpAddr, SocketAddr},
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    net::{
        AddressFamily, SocketFlags, SocketType, connect, connect_unspec, getsockname, socket_with,
        sockopt::{socket_error, socket_type},
    },
};
use seccompy::SeccompNotif;

use super::{
    super::{
        refusal::Refusal,
        rules::{Hosts, Outside},
    },
    Answer, Minder,
    address::{NAMES, Named, canonical, named, unreachable},
    task::Call,
};
use crate::{is_public, process::descendants};

/// How much of the file that names the servers for name lookups is read.
const SERVERS_BYTES: usize = 64 * 1024;

/// A port on which nothing has to listen, to ask the kernel for a route.
const ANY_PORT: u16 = 9;

/// What commands reach in the network of this machine.
pub(super) struct Reachable {
    outside: Outside,
    /// The servers that look names up. Many of them are on this machine or in a private network.
    servers: BTreeSet<IpAddr>,
}

/// A connection that is being made for a process that waits for it.
pub(super) struct Connecting {
    notification: SeccompNotif,
    socket: OwnedFd,
    /// How the process left the socket.
    flags: OFlags,
}

impl Reachable {
    pub(super) fn new(outside: &Outside) -> Self {
        let text = fs::read("/etc/resolv.conf").unwrap_or_default();
        let text = String::from_utf8_lossy(&text[..text.len().min(SERVERS_BYTES)]).into_owned();
        let servers = text.lines().filter_map(|line| line.strip_prefix("nameserver"));
        let servers = servers.filter_map(|name| name.split_whitespace().next()?.split('%').next()?.parse().ok());
        let mut servers: BTreeSet<IpAddr> = servers.collect();
        if servers.is_empty() {
            // Where the C library looks then.
            servers.insert(IpAddr::from([127, 0, 0, 1]));
        }
        Self { outside: outside.clone(), servers }
    }

    /// Whether commands reach an address; if not, what is told.
    pub(super) fn judge(&self, address: SocketAddr, kind: SocketType) -> Result<(), Refusal> {
        let Outside { hosts, ports } = &self.outside;
        let plain = canonical(address);
        let (ip, port) = (plain.ip(), plain.port());
        if port == NAMES && *hosts != Hosts::None && self.servers.contains(&ip) {
            return Ok(());
        }
        if is_here(address) {
            // Nothing listens on port 0.
            let is_open = port == 0 || ports.contains(&port) || is_own(port, kind);
            return if is_open { Ok(()) } else { Err(Refusal::Port(port)) };
        }
        match hosts {
            Hosts::All => Ok(()),
            Hosts::Public if is_public(ip) => Ok(()),
            Hosts::Public | Hosts::None => Err(Refusal::Address(plain)),
        }
    }
}

impl Minder {
    /// Makes a connection. Nothing is left to the kernel: it would read the address again.
    pub(super) fn connect(&mut self, call: &Call) -> Result<Answer, Answer> {
        let address = call.name(call.argument(1), call.small(2)).map_err(Answer::Failed)?;
        let socket = call.socket(call.descriptor(0)).map_err(Answer::Failed)?;
        match named(&address) {
            Some(Named::Internet(address)) => self.connect_to(call, socket, address),
            Some(Named::Nothing) => {
                self.still_waits(call)?;
                connect_unspec(&socket).map_err(Answer::Failed)?;
                Ok(Answer::Done)
            }
            Some(Named::File(path)) => self.connect_to_file(call, &socket, path),
            Some(Named::Kernel(_)) | None => Ok(Answer::Failed(Errno::AFNOSUPPORT)),
        }
    }

    fn connect_to(&mut self, call: &Call, socket: OwnedFd, address: SocketAddr) -> Result<Answer, Answer> {
        self.reaches(&socket, address)?;
        self.still_waits(call)?;
        let flags = fcntl_getfl(&socket).map_err(Answer::Failed)?;
        if flags.contains(OFlags::NONBLOCK) {
            connect(&socket, &address).map_err(Answer::Failed)?;
            return Ok(Answer::Done);
        }
        // Others wait for this thread meanwhile, so it does not.
        fcntl_setfl(&socket, flags | OFlags::NONBLOCK).map_err(Answer::Failed)?;
        match connect(&socket, &address) {
            Err(Errno::INPROGRESS) => {
                self.connecting.push(Connecting { notification: call.notification, socket, flags });
                Ok(Answer::Pending)
            }
            made => {
                fcntl_setfl(&socket, flags).map_err(Answer::Failed)?;
                made.map_err(Answer::Failed)?;
                Ok(Answer::Done)
            }
        }
    }

    /// Whether an address is reached. What is not fails as it would without a route to it.
    pub(super) fn reaches(&self, socket: &OwnedFd, address: SocketAddr) -> Result<(), Answer> {
        let kind = socket_type(socket).map_err(Answer::Failed)?;
        let Some(reachable) = &self.reachable else {
            // The private network leads nowhere. What it cannot reach is told.
            if let Some(refusal) = unreachable(canonical(address)) {
                self.refusals.tell(refusal);
            }
            return Ok(());
        };
        reachable.judge(address, kind).map_err(|refusal| {
            let errno = if let Refusal::Port(_) = refusal { Errno::CONNREFUSED } else { Errno::NETUNREACH };
            self.refusals.tell(refusal);
            Answer::Failed(errno)
        })
    }

    /// The process still waits, so what was read of it was its own.
    pub(super) fn still_waits(&self, call: &Call) -> Result<(), Answer> {
        if self.is_valid(&call.notification) { Ok(()) } else { Err(Answer::Failed(Errno::INTR)) }
    }

    /// Answers processes whose connections have been made, or could not be.
    pub(super) fn finish_connecting(&mut self) {
        for waiting in std::mem::take(&mut self.connecting) {
            let is_over = is_ready(&waiting.socket);
            if !is_over && self.is_valid(&waiting.notification) {
                self.connecting.push(waiting);
                continue;
            }
            let Connecting { notification, socket, flags } = waiting;
            // What was changed for the connection is as it was before the process goes on.
            let made = fcntl_setfl(&socket, flags).and_then(|()| socket_error(&socket)?);
            self.respond(notification, made.map_or_else(Answer::Failed, |()| Answer::Done));
        }
    }
}

impl Connecting {
    pub(super) fn polled(&self) -> PollFd<'_> {
        PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::OUT)
    }
}

fn is_ready(socket: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::new(socket, PollFlags::OUT)];
    poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Whether an address is one of this machine: what is sent there comes from the same address.
fn is_here(address: SocketAddr) -> bool {
    let ip = canonical(address).ip();
    if ip.is_loopback() || ip.is_unspecified() {
        return true;
    }
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut asked = address;
    asked.set_port(ANY_PORT);
    let route = || {
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        // It only finds the route; nothing is sent.
        connect(&socket, &asked)?;
        getsockname(&socket)
    };
    route().is_ok_and(|from| SocketAddr::try_from(from).is_ok_and(|from| canonical(from).ip() == ip))
}

/// Whether the command itself is the only one that listens on a port of this machine.
fn is_own(port: u16, kind: SocketType) -> bool {
    const LISTENS: &str = "0A";
    let (tables, state) =
        if kind == SocketType::STREAM { (["tcp", "tcp6"], Some(LISTENS)) } else { (["udp", "udp6"], None) };
    let ending = format!(":{port:04X}");
    let mut bound: Vec<String> = Vec::new();
    for table in tables.iter().flat_map(|table| fs::read_to_string(format!("/proc/self/net/{table}"))) {
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(is), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9)) else { continue };
            if local.ends_with(&ending) && state.is_none_or(|state| state == *is) {
                bound.push(format!("socket:[{inode}]"));
            }
        }
    }
    let own: HashSet<String> = descendants(rustix::process::getpid())
        .into_iter()
        .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten())
        .filter_map(|entry| fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok())
        .collect();
    !bound.is_empty() && bound.iter().all(|socket| own.contains(socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reachable(hosts: Hosts) -> Reachable {
        let outside = Outside { hosts, ports: [5432].into() };
        Reachable { outside, servers: [IpAddr::from([127, 0, 0, 53]), IpAddr::from([10, 0, 0, 2])].into() }
    }

    #[test]
    fn this_machine_is_reached_only_on_ports_that_were_named() {
        for (hosts, address, expected) in [
            (Hosts::All, "192.0.2.1:22", true),
            (Hosts::All, "10.0.0.1:22", true),
            (Hosts::Public, "192.0.2.1:22", true),
            (Hosts::Public, "10.0.0.1:22", false),
            (Hosts::Public, "169.254.169.254:80", false),
            (Hosts::Public, "[fd00::1]:80", false),
            (Hosts::None, "192.0.2.1:22", false),
            (Hosts::All, "127.0.0.1:5432", true),
            (Hosts::None, "[::1]:5432", true),
            (Hosts::All, "127.0.0.1:1", false),
            (Hosts::All, "127.9.9.9:1", false),
            (Hosts::All, "0.0.0.0:1", false),
            (Hosts::All, "[::1]:1", false),
            (Hosts::All, "[::]:1", false),
            (Hosts::All, "[::ffff:127.0.0.1]:1", false),
            (Hosts::All, "127.0.0.53:53", true),
            (Hosts::Public, "10.0.0.2:53", true),
            (Hosts::Public, "10.0.0.2:54", false),
            (Hosts::None, "127.0.0.53:53", false),
        ] {
            let judged = reachable(hosts).judge(address.parse().expect("an address"), SocketType::STREAM);
            assert_eq!(judged.is_ok(), expected, "{hosts:?} {address}");
        }
    }
}
