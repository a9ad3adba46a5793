//! What a command may reach, as data: it travels from the agent to the launcher.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use vertebra::ToolError;

/// How long the rules may be: what the buffer of a connection takes, with some room.
const RULES_BYTES: usize = 120 * 1024;

/// What no command reads unless it is taken off the list. `~/` is the home folder.
pub const DENY_READ: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.config/hub",
    "~/.config/op",
    "~/.config/rclone",
    "~/.config/vertebra",
    "~/.vertebra",
    "~/.kube",
    "~/.docker",
    "~/.netrc",
    "~/.npmrc",
    "~/.pypirc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.gem/credentials",
    "~/.pgpass",
    "~/.my.cnf",
    "~/.s3cfg",
    "~/.boto",
    "~/.vault-token",
    "~/.terraform.d",
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.mozilla",
    "~/.thunderbird",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.config/BraveSoftware",
    "~/.bash_history",
    "~/.zsh_history",
    "~/.python_history",
    "~/.psql_history",
    "~/.claude",
    "~/.claude.json",
    "~/.codex",
    "~/.gemini",
    "/run/secrets",
    "/run/credentials",
    "/var/run/secrets",
];

/// The network of a command, as the launcher arranges it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reach {
    /// No sockets but connected pairs.
    Closed,
    /// The private network of a session, which has only a loopback interface.
    Private(Space),
    /// The network of this machine, as far as the supervisor lets connections pass.
    Machine(Outside),
}

/// What commands reach in the network of this machine, besides what they listen on themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outside {
    pub(super) hosts: Hosts,
    /// Ports of this machine.
    pub(super) ports: BTreeSet<u16>,
}

/// Other machines that commands reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hosts {
    None,
    /// Those of the public internet.
    Public,
    All,
}

/// The private network of a session: the namespace of the process that keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bash) struct Space {
    pub(super) keeper: u32,
    /// The identity of the namespace: a process number can be used again.
    pub(super) inode: u64,
    /// Whether a user namespace has to be joined first.
    pub(super) user: bool,
}

/// Whether a command may open Unix sockets by name. Docker, D-Bus and agents of keys listen on such sockets, and obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnixSockets {
    /// Those that the command itself makes in the writable folders, and where the kernel can hold them to these (Linux 7.1)
    /// all that are there; connected pairs always.
    Held,
    /// Everywhere.
    Open,
}

/// What the launcher applies.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each of them is given or not, by itself")]
pub(super) struct Rules {
    /// Not readable, whether they are there yet or not.
    pub(super) deny_read: Vec<PathBuf>,
    /// Writable, with all that is below.
    pub(super) write: Vec<Folder>,
    /// Not changed all the same, besides the names that are protected everywhere.
    pub(super) protect: Vec<PathBuf>,
    /// Protected names, with all below them, that a person has allowed to change.
    pub(super) allowed: Vec<PathBuf>,
    /// Writable folders that a person has granted to this command, and that it may remove.
    pub(super) removable: Vec<PathBuf>,
    /// Not readable either, in writable folders. They are there, and mounts hide them.
    pub(super) hide: Vec<PathBuf>,
    /// Layers over folders that may be read: what is written there goes to the layer.
    pub(super) layers: Option<Layers>,
    pub(super) network: Reach,
    pub(super) unix_sockets: UnixSockets,
    /// Whether the kernel has Landlock to hold files with.
    pub(super) landlock: bool,
    /// Whether a supervisor makes the changes of files, so that names can be protected. It takes Landlock.
    pub(super) minded: bool,
    /// Whether other commands of its session are under way, to which it may send signals.
    pub(super) neighbours: bool,
    /// Whether the command gets pseudo-terminals of its own. It takes a mount namespace.
    pub(super) terminals: bool,
    /// The program that makes the mounts, if the launcher is not to make them itself.
    pub(super) bubblewrap: Option<PathBuf>,
}

/// Layers over folders of the person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bash) struct Layers {
    /// Where the layers are kept.
    pub(in crate::bash) folder: PathBuf,
    pub(in crate::bash) over: Vec<Over>,
}

/// One folder that a layer lies over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bash) struct Over {
    /// The name of its layer.
    pub(in crate::bash) name: String,
    pub(in crate::bash) at: PathBuf,
}

/// A writable folder: the one that was opened when the session began, whatever stands at its path by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bash) struct Folder {
    pub(in crate::bash) path: PathBuf,
    pub(in crate::bash) device: u64,
    pub(in crate::bash) inode: u64,
    pub(in crate::bash) used: Use,
}

/// What a writable folder is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::bash) enum Use {
    /// People work in it: the names that steer agents and tools are protected.
    Work,
    /// It is for temporary files: of those names only git's are.
    Temporary,
    /// All processes share it: a command reaches only what it made itself.
    Shared,
}

impl Rules {
    /// Whether they take a mount namespace.
    pub(super) fn needs_mounts(&self) -> bool {
        !self.hide.is_empty() || self.layers.is_some()
    }

    /// As a launcher reads them.
    pub(super) fn to_text(&self) -> Result<String, ToolError> {
        let text = serde_json::to_string(self)
            .map_err(|error| ToolError::new(format!("the sandbox cannot be told its rules: {error}")))?;
        let bytes = text.len();
        if bytes > RULES_BYTES {
            let limit = format!("at most {RULES_BYTES} fit: deny folders in place of files");
            return Err(ToolError::new(format!("the rules of the sandbox take {bytes} bytes; {limit}")));
        }
        Ok(text)
    }
}

/// A path as people write it, made absolute. Nothing if it needs a home folder and there is none.
pub(in crate::bash) fn expanded(path: &Path, home: Option<&Path>, folder: &Path) -> Option<PathBuf> {
    match path.strip_prefix("~") {
        Ok(rest) => home.map(|home| home.join(rest)),
        Err(_) => Some(folder.join(path)),
    }
}

/// A path with all of it that exists resolved. What does not exist yet keeps its name in the folder it would be in.
pub(in crate::bash) fn resolved(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(found) = there.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                there = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_and_a_missing_one_keeps_its_name() {
        let (home, folder) = (Some(Path::new("/home/a")), Path::new("/proj"));
        assert_eq!(expanded(Path::new("~/.ssh"), home, folder), Some("/home/a/.ssh".into()));
        assert_eq!(expanded(Path::new("~/.ssh"), None, folder), None);
        assert_eq!(expanded(Path::new(".env"), home, folder), Some("/proj/.env".into()));
        assert_eq!(expanded(Path::new("/etc/x"), home, folder), Some("/etc/x".into()));
        assert_eq!(resolved(Path::new("/proc/../no such folder/file")), Path::new("/no such folder/file"));
    }
}
