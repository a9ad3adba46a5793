//! What people granted to the commands of a session beyond what the sandbox gives to all of them.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::sandbox::Network;

/// More rights than the sandbox gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// How far commands reach through the network.
    pub network: Network,
    /// Ports of this machine's loopback interface that commands can connect to.
    pub ports: BTreeSet<u16>,
    /// Protected paths, and folders outside of the working folder, that commands can change.
    pub write: BTreeSet<PathBuf>,
}

impl Granted {
    /// Returns whether it grants nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.network = self.network.and(other.network);
        self.ports.extend(other.ports);
        self.write.extend(other.write);
        self
    }

    /// Returns what of this is not in another one.
    #[must_use]
    pub fn beyond(&self, held: &Self) -> Self {
        let network = if held.network.includes(&self.network) { Network::Off } else { self.network.clone() };
        // Whoever has the network of this machine has its ports too.
        let ports = |port: &&u16| held.network != Network::On && !held.ports.contains(port);
        let write = |path: &&PathBuf| !held.write.iter().any(|held| path.starts_with(held));
        Self {
            network,
            ports: self.ports.iter().filter(ports).copied().collect(),
            write: self.write.iter().filter(write).cloned().collect(),
        }
    }
}

/// In words: `network access to crates.io, port 5432 of this machine and changes of /srv/www`.
impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = match &self.network {
            Network::Off => Vec::new(),
            Network::Domains(_) => vec![format!("network access to {}", self.network)],
            Network::Public => vec!["network access to all public hosts".to_owned()],
            Network::On => vec!["the network of this machine".to_owned()],
        };
        parts.extend(self.ports.iter().map(|port| format!("port {port} of this machine")));
        parts.extend(self.write.iter().map(|path| format!("changes of {}", path.display())));
        match parts.split_last() {
            None => f.write_str("nothing"),
            Some((last, [])) => f.write_str(last),
            Some((last, others)) => write!(f, "{} and {last}", others.join(", ")),
        }
    }
}

/// A handle to what people granted to sessions. A clone is another handle to the same.
///
/// Nothing of it is stored: a grant ends with the session or the program.
#[derive(Debug, Clone, Default)]
pub struct Grants(Arc<Mutex<HashMap<String, Session>>>);

#[derive(Debug, Default)]
struct Session {
    /// The network in place of the one in the settings.
    network: Option<Network>,
    granted: Granted,
}

impl Grants {
    /// Returns what the commands of a session may do, if this is what all commands may do.
    pub(super) fn held(&self, session: &str, network: &Network) -> Granted {
        let sessions = self.sessions();
        let Some(session) = sessions.get(session) else {
            return Granted { network: network.clone(), ..Granted::default() };
        };
        let network = session.network.as_ref().unwrap_or(network).clone();
        Granted { network, ..Granted::default() }.and(session.granted.clone())
    }

    /// Grants more to a session.
    pub fn add(&self, session: &str, more: Granted) {
        let mut sessions = self.sessions();
        let session = sessions.entry(session.to_owned()).or_default();
        session.granted = std::mem::take(&mut session.granted).and(more);
    }

    /// Sets the network of a session, whatever was granted before.
    pub(super) fn set_network(&self, session: &str, network: Network) {
        let mut sessions = self.sessions();
        let session = sessions.entry(session.to_owned()).or_default();
        session.granted.network = Network::Off;
        session.granted.ports.clear();
        session.network = Some(network);
    }

    /// Takes back what a session was granted.
    pub fn clear(&self, session: &str) {
        self.sessions().remove(session);
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_grant_is_told_in_words() {
        let wanted = Granted {
            network: Network::Domains(["crates.io".parse().expect("a domain")].into()),
            ports: [5432, 80].into(),
            write: ["/srv/www".into(), "/proj/.vscode/settings.json".into()].into(),
        };
        assert_eq!(
            wanted.to_string(),
            "network access to crates.io, port 80 of this machine, port 5432 of this machine, changes of \
             /proj/.vscode/settings.json and changes of /srv/www"
        );
        let held = Granted { network: Network::Public, ports: [80].into(), write: ["/proj/.vscode".into()].into() };
        assert_eq!(wanted.beyond(&held).to_string(), "port 5432 of this machine and changes of /srv/www");
        assert!(wanted.beyond(&wanted).is_empty());
        assert_eq!(Granted::default().to_string(), "nothing");
    }

    #[test]
    fn grants_add_up_and_belong_to_one_session() {
        let grants = Grants::default();
        grants.add("a", Granted { ports: [1].into(), ..Granted::default() });
        grants.add("a", Granted { network: Network::Public, ..Granted::default() });
        let held = |session| grants.held(session, &Network::Off);
        assert_eq!(held("a"), Granted { network: Network::Public, ports: [1].into(), write: [].into() });
        assert!(held("b").is_empty());
        grants.set_network("a", Network::Off);
        assert!(grants.held("a", &Network::On).is_empty(), "less than in the settings");
        grants.clear("a");
        assert_eq!(grants.held("a", &Network::On).network, Network::On);
    }
}
