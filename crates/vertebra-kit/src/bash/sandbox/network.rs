//! How far commands reach: nowhere, to some domains, to the public internet, or as far as this machine.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How far commands reach through the network.
///
/// Where the system gives network namespaces, the commands of a session share a private network with a loopback interface of
/// its own, unless the network is [`On`](Self::On). The only way out of it is a proxy, which knows what is allowed. The ports
/// of this machine belong to none of these: each has to be named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Network {
    /// To no other machine, and not to the loopback interface of this one.
    #[default]
    Off,
    /// To these domains, with HTTP and HTTPS. It takes network namespaces.
    Domains(BTreeSet<Domain>),
    /// To all hosts of the public internet, with HTTP and HTTPS. Where there are no network namespaces, with TCP and UDP.
    Public,
    /// To all hosts that this machine reaches, private ones included, but not to this machine: TCP and UDP. Raw sockets stay
    /// closed.
    On,
}

impl Network {
    /// Returns whether a connection to this host is allowed.
    pub(in crate::bash) fn covers(&self, host: &str) -> bool {
        match self {
            Self::Off => false,
            Self::Domains(domains) => domains.iter().any(|domain| domain.covers(host)),
            Self::Public | Self::On => true,
        }
    }

    /// Returns whether it allows everything that another one allows.
    pub fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Off) | (Self::On, _) | (Self::Public, Self::Public | Self::Domains(_)) => true,
            (Self::Domains(held), Self::Domains(wanted)) => {
                wanted.iter().all(|domain| held.iter().any(|held| held.covers(&domain.0)))
            }
            (Self::Off, _) | (Self::Domains(_), Self::Public | Self::On) | (Self::Public, Self::On) => false,
        }
    }

    /// Returns what both allow together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Domains(one), Self::Domains(two)) => Self::Domains(one.into_iter().chain(two).collect()),
            (one, two) if one.includes(&two) => one,
            (_, two) => two,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Domains(domains) => {
                let names: Vec<&str> = domains.iter().map(|domain| &*domain.0).collect();
                f.write_str(&names.join(", "))
            }
            Self::Public => f.write_str("all public hosts"),
            Self::On => f.write_str("on"),
        }
    }
}

/// What people name when they open the network: `on`, `off`, `public`, a domain, or `localhost:5432`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opened {
    /// All of this network.
    Network(Network),
    /// A port of this machine.
    Port(u16),
}

/// Why a text names no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotANetwork {
    /// It is no domain either.
    #[error("{0}; for a port of this machine, write `localhost:5432`")]
    Domain(#[from] NotADomain),
    /// What stands behind `localhost:` is no port.
    #[error("`{}` is not a port: write it like `localhost:5432`", .0.escape_default())]
    Port(String),
    /// One of the words says everything that can be said.
    #[error("`{0}` stands alone, or with ports of this machine")]
    Alone(Network),
}

impl FromStr for Opened {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let word = match text.trim() {
            "on" => Network::On,
            "off" => Network::Off,
            "public" => Network::Public,
            text => match text.strip_prefix("localhost:").or_else(|| text.strip_prefix("127.0.0.1:")) {
                None => Network::Domains([text.parse::<Domain>()?].into()),
                Some(port) => {
                    let number = port.parse().ok().filter(|port| *port != 0);
                    return number.map(Self::Port).ok_or_else(|| NotANetwork::Port(text.chars().take(300).collect()));
                }
            },
        };
        Ok(Self::Network(word))
    }
}

/// How far commands reach through the network, and to which ports of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkAccess {
    /// Other hosts.
    pub network: Network,
    /// Ports of this machine.
    pub ports: BTreeSet<u16>,
}

impl NetworkAccess {
    /// Returns whether it allows everything that another one allows.
    pub fn includes(&self, other: &Self) -> bool {
        self.network.includes(&other.network) && other.ports.is_subset(&self.ports)
    }

    /// Adds up what was named. Ports alone leave the network off.
    pub fn of(named: impl IntoIterator<Item = Opened>) -> Result<Self, NotANetwork> {
        let (mut networks, mut ports) = (Vec::new(), BTreeSet::new());
        for named in named {
            match named {
                Opened::Network(network) => networks.push(network),
                Opened::Port(port) => _ = ports.insert(port),
            }
        }
        let word = networks.iter().find(|network| !matches!(network, Network::Domains(_)));
        if let (Some(word), true) = (word, networks.len() > 1) {
            return Err(NotANetwork::Alone(word.clone()));
        }
        Ok(Self { network: networks.into_iter().fold(Network::Off, Network::and), ports })
    }
}

/// A domain with all domains below it, such as `crates.io`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Domain(String);

/// Why a text is not a domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a domain: write it like `example.org`", .0.escape_default())]
pub struct NotADomain(String);

impl Domain {
    fn covers(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        host.strip_suffix(&self.0).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    }
}

impl FromStr for Domain {
    type Err = NotADomain;

    fn from_str(text: &str) -> Result<Self, NotADomain> {
        let name = text.trim().trim_start_matches("*.").trim_end_matches('.').to_ascii_lowercase();
        let is_label = |label: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            !label.is_empty() && label.len() <= 63 && label.bytes().all(plain)
        };
        // The whole of `org` is no domain that anybody means, and an address is none.
        let labels = name.split('.').count();
        let is_number = name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        if name.len() <= 253 && labels > 1 && !is_number && name.split('.').all(is_label) {
            Ok(Self(name))
        } else {
            Err(NotADomain(text.chars().take(300).collect()))
        }
    }
}

impl TryFrom<String> for Domain {
    type Error = NotADomain;

    fn try_from(text: String) -> Result<Self, NotADomain> {
        text.parse()
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domains(names: &[&str]) -> Network {
        Network::Domains(names.iter().map(|name| name.parse().expect("a domain")).collect())
    }

    #[test]
    fn a_domain_covers_itself_and_what_is_below_it() {
        let network = domains(&["Crates.io.", "*.example.org"]);
        for (host, expected) in [
            ("crates.io", true),
            ("www.crates.io", true),
            ("WWW.crates.io", true),
            ("example.org", true),
            ("badcrates.io", false),
            ("crates.io.evil.org", false),
            ("io", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(network.covers(host), expected, "{host}");
        }
    }

    #[test]
    fn what_is_no_domain_is_refused() {
        let long = "a.".repeat(200);
        for text in ["", "io", "https://crates.io", "crates.io/path", "a..b", "1.2.3.4", "[::1]", "a b.org", "*", &long]
        {
            assert!(text.parse::<Domain>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_people_name_is_a_network_and_ports_of_this_machine() {
        let opened = |words: &[&str]| {
            let named = words.iter().map(|word| word.parse()).collect::<Result<Vec<Opened>, _>>()?;
            NetworkAccess::of(named)
        };
        let access = |network, port| Ok(NetworkAccess { network, ports: [port].into() });
        assert_eq!(opened(&["crates.io", "localhost:5432"]), access(domains(&["crates.io"]), 5432));
        assert_eq!(opened(&["on", "127.0.0.1:80"]), access(Network::On, 80));
        assert_eq!(opened(&["localhost:80"]), access(Network::Off, 80));
        for (words, said) in [
            (&["on", "crates.io"][..], "`on` stands alone"),
            (&["on", "off"], "`on` stands alone"),
            (&["localhost:0"], "is not a port"),
            (&["localhost:99999"], "is not a port"),
            (&["localhost"], "write `localhost:5432`"),
        ] {
            assert!(opened(words).is_err_and(|error| error.to_string().contains(said)), "{words:?}");
        }
    }

    #[test]
    fn networks_are_ordered_and_add_up() {
        let (one, two) = (domains(&["crates.io"]), domains(&["example.org"]));
        assert!(
            Network::On.includes(&Network::Public) && Network::Public.includes(&one) && one.includes(&Network::Off)
        );
        assert!(!Network::Public.includes(&Network::On) && !one.includes(&two) && !Network::Off.includes(&one));
        assert!(one.includes(&domains(&["www.crates.io"])));
        assert_eq!(one.clone().and(two), domains(&["crates.io", "example.org"]));
        assert_eq!(one.clone().and(Network::Public), Network::Public);
        assert_eq!(Network::Off.and(one.clone()), one);
    }
}
