//! What the sandbox forbids to the commands of a session, for front ends: they show it, and people lift it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use vertebra::{Approval, Args};

use super::{
    Bash, TOOL,
    grants::Granted,
    needs::{Needs, NotGrantable, may_be_granted},
    packages::{self, fetches},
    sandbox::{Fixed, Need, Network, NetworkAccess, Sandbox, expanded, resolved},
};

/// A handle to the rights of commands. Get it from [`Bash::lift`] before the tool is installed.
#[derive(Debug, Clone)]
pub struct Lift(Arc<Bash>);

/// Why the rights of a session's commands cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiftError {
    /// The settings of this machine fix the network.
    #[error("the settings of this machine fix the network for everyone")]
    NetworkFixed,
    /// The settings of this machine fix what commands can write.
    #[error("the settings of this machine fix what commands can write for everyone")]
    WritesFixed,
    /// The path begins with `~`, and the home folder is not known.
    #[error("the home folder is not known; write an absolute path")]
    NoHome,
    /// A person cannot grant changes of this path.
    #[error("{} {why}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// Why not.
        why: NotGrantable,
    },
}

impl Bash {
    /// Returns a handle to show and change what commands of a session can do.
    pub fn lift(&self) -> Lift {
        Lift(Arc::new(self.clone()))
    }
}

impl Lift {
    /// Returns whether commands run in a sandbox, as far as it is available.
    pub fn is_on(&self) -> bool {
        self.0.sandbox.need != Need::Off
    }

    /// Returns the network that a person would open to a command that asks for none: the registries of its package managers
    /// if they are known, else all public hosts. Without network namespaces there are no lists of domains.
    pub async fn usual_network(&self, approval: &Approval) -> Network {
        let command = approval.call.args.text("command").filter(|_| &*approval.call.tool == TOOL);
        let found = command.filter(|_| self.is_on()).and_then(|command| self.registries(command));
        match found {
            Some(found) if self.0.private_network(&approval.at.run.session_id).await.is_ok() => found,
            Some(_) | None => Network::Public,
        }
    }

    /// Returns why a command is refused without a question: it changes a file that stays closed whatever a person answers.
    pub fn refusal(&self, command: &str) -> Option<String> {
        let folder = self.0.folder.as_deref().unwrap_or(Path::new("."));
        let changes = self.0.check_changes(command, (folder, folder), &self.0.environment.variables());
        changes.err().map(|refused| refused.to_string())
    }

    /// Returns whether the commands of a session reach what this one fetches, as far as that is known.
    pub(crate) fn reaches(&self, session: &str, command: &str) -> bool {
        let held = self.network(session);
        held != Network::Off
            && (held.includes(&Network::Public) || self.registries(command).is_none_or(|wanted| held.includes(&wanted)))
    }

    /// Returns whether the commands of a session can send data to nobody: they have no network, or only that of registries, which
    /// take packages from those who are known to them.
    pub(crate) fn sends_nowhere(&self, session: &str) -> bool {
        self.is_on()
            && match self.network(session) {
                Network::Off => true,
                Network::Domains(domains) => domains.iter().all(packages::is_registry),
                Network::Public | Network::On => false,
            }
    }

    fn registries(&self, command: &str) -> Option<Network> {
        packages::registries(
            command,
            &self.0.environment.variables(),
            self.0.folder.as_deref().unwrap_or(Path::new(".")),
        )
    }

    /// Returns in words how the sandbox limits the network of a command, if a person could open the
    /// [usual](Self::usual_network) one.
    pub fn lacks_network(&self, approval: &Approval, usual: &Network) -> Option<String> {
        let asks_for_none =
            &*approval.call.tool == TOOL && self.wanted(approval).is_some_and(|wanted| wanted.is_empty());
        let held = self.network(&approval.at.run.session_id);
        match &held {
            _ if !asks_for_none || self.0.sandbox.fixed.network => None,
            Network::Off => Some("runs without network".to_owned()),
            Network::Domains(_) if !held.includes(usual) && approval.call.args.text("command").is_some_and(fetches) => {
                Some(format!("reaches only {held}"))
            }
            Network::Domains(_) | Network::Public | Network::On => None,
        }
    }

    /// Returns what a person could grant to the session of a call: what the call asks for, or the usual network if it is a
    /// command that asks for nothing and [lacks](Self::lacks_network) it.
    pub fn offered(&self, approval: &Approval, usual: &Network) -> Option<Granted> {
        let mut offered = self.wanted(approval)?;
        if offered.is_empty() && self.lacks_network(approval, usual).is_some() {
            offered.network = usual.clone();
        }
        let Fixed { network, write } = self.0.sandbox.fixed;
        if network {
            (offered.network, offered.ports) = (Network::Off, [].into());
        }
        if write {
            offered.write.clear();
        }
        let missing = offered.beyond(&self.0.held(&approval.at.run.session_id));
        (!missing.is_empty()).then_some(missing)
    }

    /// What a call asks for. `None` if no person can grant anything to it.
    fn wanted(&self, approval: &Approval) -> Option<Granted> {
        if let Some(asked) = self.0.grants.asked(&approval.at.run.session_id, &approval.digest) {
            return Some(asked);
        }
        if &*approval.call.tool != TOOL || self.0.sandbox.need == Need::Off {
            return None;
        }
        let needs = approval.call.args.get("needs").cloned().unwrap_or_default();
        if needs.is_null() {
            return Some(Granted::default());
        }
        serde_json::from_value::<Needs>(needs).ok()?.outside()
    }

    /// Returns the arguments of a call with a wish for this network.
    pub(crate) fn with_network(args: &Args, network: &Network) -> Args {
        let mut args = args.clone();
        let mut needs = args.get("needs").cloned().unwrap_or_default();
        if !needs.is_object() {
            needs = json!({});
        }
        match network {
            Network::Domains(domains) => needs["domains"] = domains.iter().map(ToString::to_string).collect(),
            Network::Off | Network::Public | Network::On => needs["network"] = json!(true),
        }
        args.set("needs", needs);
        args
    }

    /// Remembers that a person opened the network to one command of a session.
    pub(crate) fn opened_once(&self, session: &str, network: Network) {
        self.0.grants.add_once(session, network);
    }

    /// Returns whether a person opened this network to a command of a session before.
    pub(crate) fn was_opened(&self, session: &str, network: &Network) -> bool {
        self.0.grants.was_once(session, network)
    }

    /// Returns what commands and file tools of a session may use besides the working folder.
    pub(crate) fn held(&self, session: &str) -> Granted {
        let mut held = self.0.held(session);
        let (variables, folder) = (self.0.environment.variables(), self.0.folder.clone().unwrap_or_default());
        let named = self.0.sandbox.write.iter();
        let named = named.filter_map(|path| expanded(path, variables.folder("HOME").as_deref(), &folder));
        held.write.extend(named.map(|path| resolved(&path)));
        held
    }

    /// Remembers which folders outside a call of a file tool asks for, if a person can grant all of them.
    pub(crate) fn ask(&self, session: &str, digest: String, more: Granted) {
        let (variables, folder) = (self.0.environment.variables(), self.0.folder.clone().unwrap_or_default());
        let may = |path: &PathBuf| may_be_granted(&self.0, path, &folder, &variables).is_ok();
        if more.read.iter().chain(&more.write).all(may) {
            self.0.grants.ask(session, digest, more);
        }
    }

    /// Returns what the record of a session keeps, if the session was granted anything.
    pub(crate) fn noted(&self, session: &str) -> Option<Value> {
        self.0.grants.noted(session)
    }

    /// Returns how far the commands of a session reach through the network.
    pub fn network(&self, session: &str) -> Network {
        self.0.held(session).network
    }

    /// Sets how far they reach, and to which ports of this machine.
    pub fn set_network(&self, session: &str, access: NetworkAccess) -> Result<(), LiftError> {
        let Sandbox { fixed, network, ports, .. } = &self.0.sandbox;
        let most = NetworkAccess { network: network.clone(), ports: ports.clone() };
        if fixed.network && !most.includes(&access) {
            return Err(LiftError::NetworkFixed);
        }
        let NetworkAccess { network, ports } = access;
        self.0.grants.set_network(session, network);
        self.0.grants.add(session, Granted { ports, ..Granted::default() });
        Ok(())
    }

    /// Grants more to the commands of a session, as [`offered`](Self::offered) to a person.
    pub fn grant(&self, session: &str, more: Granted) {
        self.0.grants.add(session, more);
    }

    /// Returns what a session was granted besides what all commands may do, in words. Nothing if it was granted nothing.
    pub fn granted(&self, session: &str) -> Option<String> {
        self.0.grants.told(session)
    }

    /// The folders besides the working folder that commands of a session may write: by the settings, and by a person's yes.
    pub(crate) fn writable(&self, session: &str) -> Vec<String> {
        let home = self.0.environment.variables().folder("HOME").unwrap_or_default();
        let whole = |path: &PathBuf| path.strip_prefix("~").map_or(path.clone(), |rest| home.join(rest));
        let all = self.0.sandbox.write.iter().map(whole).chain(self.0.held(session).write);
        all.map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// Takes up what a session was granted before it was resumed.
    pub(crate) fn restore(&self, session: &str, noted: &Value) {
        let (variables, folder) = (self.0.environment.variables(), self.0.folder.clone().unwrap_or_default());
        let may = |path: &PathBuf| may_be_granted(&self.0, path, &folder, &variables).is_ok();
        self.0.grants.restore(session, noted, may);
    }

    /// Lets the commands of a session change a protected path, or what is in a folder outside. Returns the whole path. The
    /// error says why they cannot.
    pub fn grant_write(&self, session: &str, path: &Path) -> Result<PathBuf, LiftError> {
        if self.0.sandbox.fixed.write {
            return Err(LiftError::WritesFixed);
        }
        let variables = self.0.environment.variables();
        let folder = self.0.folder.clone().unwrap_or_default();
        let path = expanded(path, variables.folder("HOME").as_deref(), &folder);
        let path = resolved(&path.ok_or(LiftError::NoHome)?);
        may_be_granted(&self.0, &path, &folder, &variables)
            .map_err(|why| LiftError::Path { path: path.clone(), why })?;
        self.0.grants.add(session, Granted { write: [path.clone()].into(), ..Granted::default() });
        Ok(path)
    }

    /// Returns what the sandbox lets the commands of a session do: a line for each.
    pub fn lines(&self, session: &str) -> Vec<(&'static str, String)> {
        let sandbox = &self.0.sandbox;
        if sandbox.need == Need::Off {
            return vec![("sandbox", "off: commands can do what you can".to_owned())];
        }
        let held = self.0.held(session);
        let variables = self.0.environment.variables();
        let shown = |path: &Path| path.display().to_string();
        let folder = self.0.folder.iter().map(|folder| shown(folder));
        let besides = sandbox.write.iter().map(|path| shown(path)).chain([shown(&variables.temporary())]);
        let write: Vec<String> = folder.chain(besides).chain(held.write.iter().map(|path| shown(path))).collect();
        let network = match &held.network {
            Network::Off => "off, but for a loopback interface of the session".to_owned(),
            Network::Domains(_) => format!("{} (HTTP and HTTPS)", held.network),
            Network::Public => "all public hosts (HTTP and HTTPS)".to_owned(),
            Network::On => "on: all hosts, private ones included (not the ports of this machine)".to_owned(),
        };
        let mut lines = vec![("network", network), ("writes", write.join(", "))];
        if !held.read.is_empty() {
            let read: Vec<String> = held.read.iter().map(|path| shown(path)).collect();
            lines.push(("file tools also read", read.join(", ")));
        }
        if !held.ports.is_empty() {
            let ports: Vec<String> = held.ports.iter().map(u16::to_string).collect();
            lines.push(("ports of this machine", ports.join(", ")));
        }
        lines.push(("does not read", format!("{} paths, such as ~/.ssh", sandbox.deny_read.len())));
        lines
    }
}
