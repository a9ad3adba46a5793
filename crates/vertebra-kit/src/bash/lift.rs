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
    needs::{Needs, may_be_granted},
    sandbox::{Need, Network, NetworkAccess, Sandbox, expanded, resolved},
};

/// A handle to the rights of commands. Get it from [`Bash::lift`] before the tool is installed.
#[derive(Debug, Clone)]
pub struct Lift(Arc<Bash>);

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

    /// Returns whether a call would run without network although a person could grant it.
    pub fn lacks_network(&self, approval: &Approval) -> bool {
        self.wanted(approval).is_some_and(|wanted| wanted.is_empty())
            && self.network(&approval.at.run.session_id) == Network::Off
    }

    /// Returns what a person could grant to the session of a call: the network and the ports that the call asks for, or all
    /// public hosts if it asks for none.
    pub fn offered(&self, approval: &Approval) -> Option<Granted> {
        let mut offered = self.wanted(approval)?;
        if offered.is_empty() {
            offered.network = Network::Public;
        }
        let missing = offered.beyond(&self.0.held(&approval.at.run.session_id));
        (!missing.is_empty()).then_some(missing)
    }

    /// The network and the ports that a call asks for. Nothing if no person can grant any.
    fn wanted(&self, approval: &Approval) -> Option<Granted> {
        let sandbox = &self.0.sandbox;
        if &*approval.tool != TOOL || sandbox.need == Need::Off || sandbox.fixed.network {
            return None;
        }
        let needs = approval.args.get("needs").cloned().unwrap_or_default();
        if needs.is_null() {
            return Some(Granted::default());
        }
        serde_json::from_value::<Needs>(needs).ok()?.outside()
    }

    /// Returns the arguments of a call with a wish for network.
    pub fn with_network(args: &Args) -> Args {
        let mut args = args.clone();
        let mut needs = args.get("needs").cloned().unwrap_or_default();
        if !needs.is_object() {
            needs = json!({});
        }
        needs["network"] = json!(true);
        args.set("needs", needs);
        args
    }

    /// Returns how far the commands of a session reach through the network.
    pub fn network(&self, session: &str) -> Network {
        self.0.held(session).network
    }

    /// Sets how far they reach, and to which ports of this machine. The error says why they cannot.
    pub fn set_network(&self, session: &str, access: NetworkAccess) -> Result<(), String> {
        let Sandbox { fixed, network, ports, .. } = &self.0.sandbox;
        let most = NetworkAccess { network: network.clone(), ports: ports.clone() };
        if fixed.network && !most.includes(&access) {
            return Err("the settings of this machine fix the network for everyone".to_owned());
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
    pub(super) fn restore(&self, session: &str, noted: &Value) {
        let (variables, folder) = (self.0.environment.variables(), self.0.folder.clone().unwrap_or_default());
        let may = |path: &PathBuf| may_be_granted(&self.0, path, &folder, &variables).is_ok();
        self.0.grants.restore(session, noted, may);
    }

    /// Lets the commands of a session change a protected path, or what is in a folder outside. Returns the whole path. The
    /// error says why they cannot.
    pub fn grant_write(&self, session: &str, path: &Path) -> Result<PathBuf, String> {
        if self.0.sandbox.fixed.write {
            return Err("the settings of this machine fix what commands can write for everyone".to_owned());
        }
        let variables = self.0.environment.variables();
        let folder = self.0.folder.clone().unwrap_or_default();
        let path = expanded(path, variables.folder("HOME").as_deref(), &folder);
        let path = resolved(&path.ok_or("there is no home folder")?);
        may_be_granted(&self.0, &path, &folder, &variables).map_err(|why| format!("{} {why}", path.display()))?;
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
        if !held.ports.is_empty() {
            let ports: Vec<String> = held.ports.iter().map(u16::to_string).collect();
            lines.push(("ports of this machine", ports.join(", ")));
        }
        lines.push(("does not read", format!("{} paths, such as ~/.ssh", sandbox.deny_read.len())));
        lines
    }
}
