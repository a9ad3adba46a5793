//! What a command asks for beyond what the sandbox gives: a person has to say yes to it.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{AgentState, ToolError};

use super::{
    Bash,
    environment::Variables,
    grants::Granted,
    sandbox::{Need, Network, Sandbox, expanded, resolved},
};
use crate::{
    denied::DeniedReads,
    protected::{Protection, git, is_policy},
};

/// How much can be asked for at once.
const EACH: usize = 32;

/// The longest reason that is shown.
const REASON: usize = 300;

/// How a question about more rights begins.
pub(crate) const ASKS_FOR: &str = "the command asks for ";

/// What the model passes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Needs {
    /// True for HTTP and HTTPS to all public hosts.
    network: bool,
    /// Instead of `network`: the domains that are enough, such as `crates.io`.
    domains: Vec<String>,
    /// Ports of this machine's loopback interface to connect to, such as 5432.
    ports: Vec<u16>,
    /// Protected files, and folders outside of the working folder, to change. A folder that does not exist is made.
    write: Vec<String>,
    /// Why, in a few words, for the person who is asked.
    reason: String,
}

/// What a call needs.
pub(super) struct Wanted {
    /// All of it.
    pub(super) all: Granted,
    /// What a person has to say yes to, and why.
    pub(super) question: Option<String>,
}

impl Needs {
    /// Finds out what a person has to grant. The error says what nobody can.
    pub(super) fn wanted(
        &self,
        bash: &Bash,
        held: &Granted,
        folder: &Path,
        (variables, state): (&Variables, &AgentState),
    ) -> Result<Wanted, ToolError> {
        let all = self.granted(bash, held, folder, (variables, state))?;
        let missing = all.beyond(held);
        if missing.is_empty() || bash.sandbox.need == Need::Off {
            return Ok(Wanted { all, question: None });
        }
        let fixed = |is_fixed: bool, what: &str| {
            let text = format!("`needs` asks for {missing}, but the settings of this machine fix {what} for everyone");
            if is_fixed { Err(ToolError::new(text)) } else { Ok(()) }
        };
        let is_network = missing.network != Network::Off || !missing.ports.is_empty();
        fixed(bash.sandbox.fixed.network && is_network, "the network")?;
        fixed(bash.sandbox.fixed.write && !missing.write.is_empty(), "what commands can write")?;
        let reason: String = self.reason.trim().chars().take(REASON).collect();
        let why = if reason.is_empty() { "it gives no reason".to_owned() } else { reason };
        Ok(Wanted { all, question: Some(format!("{ASKS_FOR}{missing}: {why}")) })
    }

    /// Asks for changes besides.
    pub(super) fn and_write(&mut self, paths: impl IntoIterator<Item = PathBuf>, why: &str) {
        self.write.extend(paths.into_iter().map(|path| path.to_string_lossy().into_owned()));
        if self.reason.trim().is_empty() {
            why.clone_into(&mut self.reason);
        }
    }

    /// Asks for changes of protected files, which the command makes by itself.
    pub(super) fn and_change(&mut self, paths: Vec<PathBuf>) {
        let why = if paths.len() == 1 { "it is protected" } else { "they are protected" };
        if !paths.is_empty() {
            self.and_write(paths, why);
        }
    }

    /// The network and the ports that are asked for.
    pub(super) fn outside(&self) -> Option<Granted> {
        let (network, ports) = (self.network().ok()?, self.ports.iter().copied().filter(|port| *port != 0).collect());
        Some(Granted { network, ports, ..Granted::default() })
    }

    /// The network that is asked for.
    fn network(&self) -> Result<Network, ToolError> {
        let domains = self.domains.iter().map(|domain| domain.parse()).collect::<Result<_, _>>();
        let domains = domains.map_err(|error| ToolError::new(format!("`domains` in `needs`: {error}")))?;
        Ok(match (self.network, self.domains.is_empty()) {
            (_, false) => Network::Domains(domains),
            (true, true) => Network::Public,
            (false, true) => Network::Off,
        })
    }

    fn granted(
        &self,
        bash: &Bash,
        held: &Granted,
        folder: &Path,
        (variables, state): (&Variables, &AgentState),
    ) -> Result<Granted, ToolError> {
        let counts = [self.domains.len(), self.ports.len(), self.write.len()];
        if counts.iter().any(|count| *count > EACH) {
            return Err(ToolError::new(format!("`needs` may name at most {EACH} of each")));
        }
        if self.ports.contains(&0) {
            return Err(ToolError::new("`ports` in `needs` names port 0, which nothing listens on"));
        }
        let network = self.network()?;
        let here = state.metadata().get(super::CWD).and_then(|cwd| cwd.as_str()).map_or(folder, Path::new);
        let home = variables.folder("HOME");
        let named = self.write.iter().map(|text| {
            let path = expanded(Path::new(text), home.as_deref(), here)
                .ok_or_else(|| ToolError::new(format!("`write` in `needs`: there is no home folder for `{text}`")))?;
            Ok(resolved(&path))
        });
        let write = named.collect::<Result<std::collections::BTreeSet<_>, ToolError>>()?;
        let denied = DeniedReads::noted(state).unwrap_or_default();
        for path in &write {
            let is_below = |other: &PathBuf| path != other && path.starts_with(other);
            let may = match closed(bash, path, folder, (variables, &denied)) {
                Some(why) => Err(why),
                None => may_be_granted(bash, path, folder, variables),
            };
            match may {
                // A protected file in a folder outside.
                Err(NotGrantable::NoFolder) if write.iter().chain(&held.write).any(is_below) => {}
                Err(why) => return Err(ToolError::new(format!("`write` in `needs`: {} {why}", path.display()))),
                Ok(()) => {}
            }
        }
        Ok(Granted { network, ports: self.ports.iter().copied().collect(), write, ..Granted::default() })
    }
}

/// Why a person cannot grant changes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotGrantable {
    /// It is closed by the settings, or it is a policy.
    #[error("stays closed whatever a person answers")]
    Closed,
    /// It decides what git runs.
    #[error("stays closed whatever a person answers, because it decides what git runs: a person has to change it")]
    DecidesGit,
    /// A permission rule denies changes of it.
    #[error("stays closed: a rule denies changes of it")]
    Denied,
    /// It holds the working folder or the home folder.
    #[error("is too much: name the file or folder that is to change")]
    TooMuch,
    /// It is a file outside of the working folder.
    #[error("is outside of the working folder and not a folder: name a folder, or a new one in a folder that exists")]
    NoFolder,
}

/// Why a path stays as it is whatever a person answers, if it does.
pub(super) fn closed(
    bash: &Bash,
    path: &Path,
    folder: &Path,
    (variables, denied): (&Variables, &DeniedReads),
) -> Option<NotGrantable> {
    if denied.unchanged.iter().any(|denied| path.starts_with(resolved(denied))) {
        return Some(NotGrantable::Denied);
    }
    let why = may_be_granted(bash, path, folder, variables).err()?;
    match why {
        NotGrantable::Closed | NotGrantable::DecidesGit | NotGrantable::Denied => Some(why),
        NotGrantable::TooMuch | NotGrantable::NoFolder => None,
    }
}

/// Whether a person can grant changes of a path.
pub(super) fn may_be_granted(
    bash: &Bash,
    path: &Path,
    folder: &Path,
    variables: &Variables,
) -> Result<(), NotGrantable> {
    let home = variables.folder("HOME");
    let named = |paths: &[PathBuf]| -> Vec<PathBuf> {
        let all = paths.iter().filter_map(|path| expanded(path, home.as_deref(), folder));
        all.map(|path| resolved(&path)).collect()
    };
    let sandbox = &bash.sandbox;
    let closed = [named(&sandbox.protect), named(&sandbox.closed), named(&sandbox.deny_read)].concat();
    let folder = resolved(folder);
    let is_policy = is_policy(path.strip_prefix(&folder).unwrap_or(path));
    if is_policy || closed.iter().any(|closed| path.starts_with(closed)) {
        return Err(NotGrantable::Closed);
    }
    if folder.starts_with(path) || home.as_ref().is_some_and(|home| resolved(home).starts_with(path)) {
        return Err(NotGrantable::TooMuch);
    }
    let is_inside = bash.is_inside(path, &folder, variables);
    let is_for_git = match git::protection(path, &git::has_head) {
        Protection::Free => false,
        // A folder outside, such as the repository of a worktree, holds more than that.
        Protection::GitEntry | Protection::Kept => is_inside || path.ends_with("hooks"),
        _ => true,
    };
    let leads_git = || git::targets(&folder, &|name| std::env::var_os(name)).iter().any(|to| path.starts_with(to));
    if is_for_git || leads_git() {
        return Err(NotGrantable::DecidesGit);
    }
    if is_inside {
        return Ok(());
    }
    if named(&sandbox.closed).iter().any(|closed| closed.starts_with(path)) {
        return Err(NotGrantable::Closed);
    }
    if path.is_dir() || is_new(path) { Ok(()) } else { Err(NotGrantable::NoFolder) }
}

/// Whether a folder can be made here.
pub(super) fn is_new(path: &Path) -> bool {
    let is_free = path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    is_free && path.parent().is_some_and(Path::is_dir)
}

impl Bash {
    /// What all commands of a session may do without a question.
    pub(super) fn held(&self, session: &str) -> Granted {
        let Sandbox { network, ports, fixed, .. } = &self.sandbox;
        let all = Granted { network: network.clone(), ports: ports.clone(), ..Granted::default() };
        let mut held = self.grants.held(session, all.clone());
        // What a session was granted before may be fixed by now.
        if fixed.network && !(all.network.includes(&held.network) && held.ports.is_subset(&all.ports)) {
            held = Granted { write: held.write, ..all };
        }
        if fixed.write {
            held.write.clear();
        }
        held
    }

    /// Whether a path lies in a folder that commands may write anyway.
    pub(super) fn is_inside(&self, path: &Path, folder: &Path, variables: &Variables) -> bool {
        let besides = self.sandbox.write_besides(variables, folder, &[]);
        let writable = besides.iter().map(|(writable, _)| resolved(writable)).chain([resolved(folder)]);
        writable.into_iter().any(|writable| path.starts_with(writable))
    }
}
