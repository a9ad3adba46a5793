//! Addresses that a command connects to, and which of them the private network does not reach.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::super::refusal::Refusal;

/// The longest network address: `sockaddr_in6`.
pub(super) const BYTES: usize = 28;

/// The port that names are looked up at.
const NAMES: u16 = 53;

/// Reads a `sockaddr_in` or `sockaddr_in6`.
pub(super) fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let address: IpAddr = match i32::from(family) {
        libc::AF_INET => <[u8; 4]>::try_from(bytes.get(4..8)?).map(Ipv4Addr::from).ok()?.into(),
        libc::AF_INET6 => <[u8; 16]>::try_from(bytes.get(8..24)?).map(Ipv6Addr::from).ok()?.into(),
        _ => return None,
    };
    Some((address.to_canonical(), port).into())
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
