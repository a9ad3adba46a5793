//! Addresses that a command connects to, and which of them a private network does not reach.

use std::{
    fs,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6},
};

use super::super::refusal::Refusal;

/// The longest address that the kernel takes.
pub(super) const BYTES: u32 = 128;

/// The port that names are looked up at.
pub(super) const NAMES: u16 = 53;

/// What an address in the memory of a process names.
pub(super) enum Named {
    Internet(SocketAddr),
    /// A Unix socket.
    File(Vec<u8>),
    /// A part of the kernel, by netlink: the number and the groups.
    Kernel((u32, u32)),
    /// Nothing: the socket is disconnected.
    Nothing,
}

/// Reads an address.
pub(super) fn named(bytes: &[u8]) -> Option<Named> {
    let word = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map(|word| u32::from_ne_bytes(*word));
    let port = || bytes.get(2..).and_then(<[u8]>::first_chunk).map(|port| u16::from_be_bytes(*port));
    Some(match i32::from(u16::from_ne_bytes(*bytes.first_chunk()?)) {
        libc::AF_INET => {
            let ip: [u8; 4] = *bytes.get(4..)?.first_chunk()?;
            Named::Internet((Ipv4Addr::from(ip), port()?).into())
        }
        libc::AF_INET6 => {
            let ip: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            // Old programs leave the last part out.
            let scope = word(24).unwrap_or_default();
            Named::Internet(SocketAddrV6::new(Ipv6Addr::from(ip), port()?, word(4)?, scope).into())
        }
        libc::AF_UNIX => {
            let path = bytes.get(2..).filter(|path| path.first().is_some_and(|first| *first != 0))?;
            Named::File(path.split(|byte| *byte == 0).next()?.to_owned())
        }
        libc::AF_NETLINK => Named::Kernel((word(4)?, word(8)?)),
        libc::AF_UNSPEC => Named::Nothing,
        _ => return None,
    })
}

/// An address in its plain form: one that stands for an older one is that one.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    (address.ip().to_canonical(), address.port()).into()
}

/// Reads the address of a host.
pub(super) fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    match named(bytes)? {
        Named::Internet(address) => Some(canonical(address)),
        Named::File(_) | Named::Kernel(_) | Named::Nothing => None,
    }
}

/// What is refused, if an address cannot be reached in the private network.
pub(super) fn unreachable(address: SocketAddr) -> Option<Refusal> {
    let is_local = address.ip().is_loopback() || address.ip().is_unspecified();
    if address.port() == 0 {
        // A way to ask for the own address, or to disconnect.
        return None;
    }
    if !is_local {
        return Some(Refusal::Address(address));
    }
    if listens(address.port()) {
        return None;
    }
    // On many systems the service that looks names up listens on the machine's loopback interface.
    Some(if address.port() == NAMES { Refusal::Address(address) } else { Refusal::Port(address.port()) })
}

/// Whether anything in this network is bound to a port.
fn listens(port: u16) -> bool {
    let tables =
        ["tcp", "tcp6", "udp", "udp6"].iter().map(|table| fs::read_to_string(format!("/proc/self/net/{table}")));
    let ending = format!(":{port:04X}");
    tables.flatten().any(|table| {
        let mut local = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
        local.any(|local| local.ends_with(&ending))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_read_and_others_are_not() {
        let family = |family: i32| u16::try_from(family).expect("a family").to_ne_bytes();
        let old = [&family(libc::AF_INET)[..], &[0x01, 0xBB, 10, 0, 0, 1], &[0; 8]].concat();
        assert_eq!(parse(&old), Some("10.0.0.1:443".parse().expect("an address")));
        let mapped: Ipv6Addr = "::ffff:10.0.0.1".parse().expect("an address");
        let new = [&family(libc::AF_INET6)[..], &[0, 80, 0, 0, 0, 0], &mapped.octets()[..], &[0; 4]].concat();
        assert_eq!(parse(&new), Some("10.0.0.1:80".parse().expect("an address")));
        assert_eq!(parse(&family(libc::AF_UNIX)), None);
        assert_eq!(parse(&new[..12]), None);
    }
}
