//! What people granted to the commands of a session beyond what the sandbox gives to all of them.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    sandbox::{Network, Networks},
    signals::UnderWay,
};
use crate::is_protected;

/// The metadata under which a session keeps what it was granted, so that it holds when the session is resumed.
pub(super) const GRANTED: &str = "bash/granted";

/// More rights than the sandbox gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Granted {
    /// How far commands reach through the network.
    pub network: Network,
    /// Ports of this machine's loopback interface that commands can connect to.
    pub ports: BTreeSet<u16>,
    /// Folders outside of the working folder that file tools can read. Commands can read most of them anyway.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub read: BTreeSet<PathBuf>,
    /// Protected paths, and folders outside of the working folder, that commands and file tools can change.
    pub write: BTreeSet<PathBuf>,
}

/// How a grant is recorded with the answer of a person. No rule is written like this.
const RECORDED: &str = "grant ";

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
        self.read.extend(other.read);
        self.write.extend(other.write);
        self
    }

    /// Returns whether file tools can read what has this path.
    pub(crate) fn reads(&self, path: &Path) -> bool {
        self.writes(path) || self.read.iter().any(|held| path.starts_with(held))
    }

    /// Returns whether commands and file tools can change what has this path. A folder is granted without the protected names
    /// in it.
    pub(crate) fn writes(&self, path: &Path) -> bool {
        let holds = |below: &Path| !is_protected(&below.to_string_lossy());
        self.write.iter().any(|held| path.strip_prefix(held).is_ok_and(holds))
    }

    /// Returns how it is recorded with an answer.
    pub(crate) fn recorded(&self) -> Option<String> {
        Some(format!("{RECORDED}{}", serde_json::to_string(self).ok()?))
    }

    /// Returns what was recorded like this.
    pub(crate) fn from_record(text: &str) -> Option<Self> {
        serde_json::from_str(text.strip_prefix(RECORDED)?).ok()
    }

    /// Returns what of this is not in another one.
    #[must_use]
    pub fn beyond(&self, held: &Self) -> Self {
        let network = if held.network.includes(&self.network) { Network::Off } else { self.network.clone() };
        let ports = |port: &&u16| !held.ports.contains(port);
        Self {
            network,
            ports: self.ports.iter().filter(ports).copied().collect(),
            read: self.read.iter().filter(|path| !held.reads(path)).cloned().collect(),
            write: self.write.iter().filter(|path| !held.writes(path)).cloned().collect(),
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
            Network::On => vec!["network access to all hosts, private ones included".to_owned()],
        };
        parts.extend(self.ports.iter().map(|port| format!("port {port} of this machine")));
        parts.extend(self.read.iter().map(|path| format!("reading {}", path.display())));
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
/// The tool tells with each result what its session was granted, and a hook keeps it in the state of the session. So a
/// session that is resumed or replayed has the same grants, and its subagents share them.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    sessions: Arc<Mutex<HashMap<String, Session>>>,
    /// The private networks of the sessions.
    pub(super) networks: Arc<Networks>,
    /// The commands of the sessions that are under way.
    pub(super) under_way: UnderWay,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Session {
    /// The network in place of the one in the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Network>,
    granted: Granted,
    /// The network that a person opened to single commands. It is not recorded.
    #[serde(skip)]
    once: Network,
    /// What calls ask for, by the fingerprint of their arguments, until a person has answered.
    #[serde(skip)]
    asked: HashMap<String, Granted>,
}

/// How many calls of a session are known that ask for more.
const MAX_ASKED: usize = 64;

impl Session {
    /// Whether the record keeps anything of it.
    fn is_noted(&self) -> bool {
        self.network.is_some() || !self.granted.is_empty()
    }
}

impl Grants {
    /// Returns what the commands of a session may do, if this is what all commands may do.
    pub(super) fn held(&self, session: &str, all: Granted) -> Granted {
        match self.sessions().get(session) {
            None => all,
            Some(Session { network: None, granted, .. }) => all.and(granted.clone()),
            Some(Session { network: Some(network), granted, .. }) => {
                Granted { network: network.clone(), ports: BTreeSet::new(), ..all }.and(granted.clone())
            }
        }
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

    /// Returns what a session was granted besides, in words, if it was granted anything.
    pub(super) fn told(&self, session: &str) -> Option<String> {
        let sessions = self.sessions();
        let Session { network, granted, .. } = sessions.get(session)?;
        let all = Granted { network: network.clone().unwrap_or_default(), ..Granted::default() }.and(granted.clone());
        (!all.is_empty()).then(|| all.to_string())
    }

    /// Returns what the record of a session keeps, if the session was granted anything.
    pub(super) fn noted(&self, session: &str) -> Option<Value> {
        let sessions = self.sessions();
        serde_json::to_value(sessions.get(session).filter(|session| session.is_noted())?).ok()
    }

    /// Remembers that a person opened the network to one command of a session.
    pub(super) fn add_once(&self, session: &str, network: Network) {
        let mut sessions = self.sessions();
        let once = &mut sessions.entry(session.to_owned()).or_default().once;
        *once = std::mem::take(once).and(network);
    }

    /// Returns whether a person opened this network to a command of a session before.
    pub(super) fn was_once(&self, session: &str, network: &Network) -> bool {
        self.sessions().get(session).is_some_and(|session| session.once.includes(network))
    }

    /// Remembers what a call asks for, so that a person can grant it to the whole session.
    pub(crate) fn ask(&self, session: &str, digest: String, more: Granted) {
        let mut sessions = self.sessions();
        let asked = &mut sessions.entry(session.to_owned()).or_default().asked;
        if asked.len() >= MAX_ASKED {
            asked.clear();
        }
        asked.insert(digest, more);
    }

    /// Returns what a call asks for, if that is known.
    pub(super) fn asked(&self, session: &str, digest: &str) -> Option<Granted> {
        self.sessions().get(session)?.asked.get(digest).cloned()
    }

    /// Takes what was recorded, unless more is known about the session. Paths that may not be granted any more are left out.
    pub(super) fn restore(&self, session: &str, noted: &Value, may_be_granted: impl Fn(&PathBuf) -> bool) {
        let mut sessions = self.sessions();
        if let (false, Ok(mut noted)) =
            (sessions.get(session).is_some_and(Session::is_noted), Session::deserialize(noted))
        {
            noted.granted.write.retain(&may_be_granted);
            noted.granted.read.retain(&may_be_granted);
            let session = sessions.entry(session.to_owned()).or_default();
            (session.network, session.granted) = (noted.network, noted.granted);
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
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
            read: ["/srv/www/logs".into(), "/usr/share/doc".into()].into(),
            write: ["/srv/www".into(), "/proj/.vscode/settings.json".into()].into(),
        };
        assert_eq!(
            wanted.to_string(),
            "network access to crates.io, port 80 of this machine, port 5432 of this machine, reading \
             /srv/www/logs, reading /usr/share/doc, changes of /proj/.vscode/settings.json and changes of /srv/www"
        );
        let write = ["/proj/.vscode".into(), "/usr/share".into()].into();
        let held = Granted { network: Network::Public, ports: [80].into(), write, ..Granted::default() };
        let beyond = "port 5432 of this machine, reading /srv/www/logs and changes of /srv/www";
        assert_eq!(wanted.beyond(&held).to_string(), beyond);
        assert_eq!(wanted.recorded().and_then(|text| Granted::from_record(&text)), Some(wanted.clone()));
        assert!(wanted.beyond(&wanted).is_empty());
        assert_eq!(Granted::default().to_string(), "nothing");
    }

    #[test]
    fn grants_add_up_and_belong_to_one_session() {
        let grants = Grants::default();
        grants.add("a", Granted { ports: [1].into(), ..Granted::default() });
        grants.add("a", Granted { network: Network::Public, ..Granted::default() });
        let held = |session| grants.held(session, Granted::default());
        let on = || Granted { network: Network::On, ports: [5].into(), ..Granted::default() };
        assert_eq!(held("a"), Granted { network: Network::Public, ports: [1].into(), ..Granted::default() });
        assert!(held("b").is_empty());
        grants.set_network("a", Network::Off);
        assert!(grants.held("a", on()).is_empty(), "less than in the settings");
        grants.clear("a");
        assert_eq!(grants.held("a", on()), on());
    }

    #[test]
    fn what_was_granted_is_recorded_and_restored() {
        let grants = Grants::default();
        let domain = || Network::Domains(["crates.io".parse().expect("a domain")].into());
        grants.set_network("a", domain());
        grants.add("a", Granted { ports: [1].into(), write: ["/a".into(), "/b".into()].into(), ..Granted::default() });
        let noted = grants.noted("a").expect("something");
        let later = Grants::default();
        later.restore("a", &noted, |path| path.ends_with("a"));
        let expected =
            Granted { network: domain(), ports: [1].into(), write: ["/a".into()].into(), ..Granted::default() };
        assert_eq!(later.held("a", Granted::default()), expected);
        later.set_network("a", Network::Off);
        later.restore("a", &noted, |_| true);
        assert_eq!(later.held("a", Granted::default()).network, Network::Off, "what is known counts");
        later.restore("b", &serde_json::json!({ "network": 5 }), |_| true);
        assert_eq!((later.noted("b"), later.told("b")), (None, None), "what is no record is none");
    }
}
