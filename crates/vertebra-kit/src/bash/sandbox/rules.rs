//! What a command may reach, as data: it travels from the agent to the launcher.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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

/// What steers agents and tools, in the folder that commands belong to: no command writes it, whether it is there or not.
pub const PROTECT: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".vertebra",
    "vertebra.toml",
    ".claude",
    ".mcp.json",
    ".codex",
    ".gemini",
    ".cursor",
    ".vscode",
    ".idea",
    ".envrc",
];

/// Whether a command may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No sockets of the internet, of the kernel or of other machines: neither TCP nor UDP nor raw.
    Off,
    /// TCP and UDP. Raw sockets stay closed.
    On,
}

/// Whether a command may open Unix sockets by name. Docker, D-Bus and agents of keys listen on such sockets, and obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnixSockets {
    /// Only where the kernel can hold them to the writable folders (Linux 7.1); connected pairs always.
    Held,
    /// Everywhere.
    Open,
}

/// What the launcher applies.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rules {
    /// Readable by nobody, whether they are there yet or not.
    pub(super) deny_read: Vec<PathBuf>,
    /// Writable, with all that is below.
    pub(super) write: Vec<PathBuf>,
    /// Not writable all the same, each with the folders between it and the one it was named in.
    pub(super) protect: Vec<Protected>,
    pub(super) network: Network,
    pub(super) unix_sockets: UnixSockets,
}

/// A path that steers agents and tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Protected {
    /// The folders above it that must not be exchanged either, the uppermost first.
    pub(super) above: Vec<PathBuf>,
    /// The path itself. It is there, if only by a placeholder.
    pub(super) path: PathBuf,
}

/// A path as people write it, made absolute. Nothing if it needs a home folder and there is none.
pub(super) fn expanded(path: &Path, home: Option<&Path>, folder: &Path) -> Option<PathBuf> {
    match path.strip_prefix("~") {
        Ok(rest) => home.map(|home| home.join(rest)),
        Err(_) => Some(folder.join(path)),
    }
}

/// A path with all of it that exists resolved. What does not exist yet keeps its name in the folder it would be in.
pub(super) fn resolved(path: &Path) -> PathBuf {
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
