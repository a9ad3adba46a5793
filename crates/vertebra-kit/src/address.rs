//! Which addresses belong to everybody: not this machine, not its network, not the metadata of a cloud.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address belongs to the public internet, so that a request to it reaches neither this machine nor the
/// networks around it.
///
/// ```
/// assert!(vertebra_kit::is_public("1.1.1.1".parse().expect("an address")));
/// assert!(!vertebra_kit::is_public("169.254.169.254".parse().expect("an address")));
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match inner(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let of_protocols = a == 192 && b == 0 && c == 0;
    let benchmarks = a == 198 && (18..20).contains(&b);
    // Azure answers for itself at a public address.
    let of_azure = address.octets() == [168, 63, 129, 16];
    // Addresses for documentation lead nowhere, and test networks use them as public ones.
    !(a == 0
        || of_azure
        || address.is_loopback()
        || address.is_private()
        // The metadata of most clouds is here.
        || address.is_link_local()
        || shared
        || of_protocols
        || benchmarks
        // Multicast, reserved, broadcast.
        || a >= 224)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Of all that has been given out, the internet is in here; documentation and private tunnels are not of it.
    first & 0xe000 == 0x2000 && !(first == 0x2001 && (second == 0xdb8 || second < 0x200)) && first != 0x3fff
}

/// The older address that a newer one stands for: mapped, compatible, translated (`64:ff9b::`), by 6to4.
fn inner(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        let private = [
            "0.0.0.0",
            "10.1.2.3",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for address in private {
            assert!(!is_public(address.parse().expect(address)), "{address}");
        }
        for address in ["1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "2a00::1"] {
            assert!(is_public(address.parse().expect(address)), "{address}");
        }
    }
}
