//! What may not be read or changed: one capability says it in a note, and tools that are held by other means than rules read
//! it there.
//!
//! The rules know nothing of sandboxes, and tools know of rules only what this note says. A note lasts for the step, is
//! written anew before each call and goes where hooks go, so it also holds in children.

pub(crate) mod former;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vertebra::{AgentState, State as _};

/// The hook whose note it is. No other hook can write it.
pub(crate) const HOOK: &str = "permissions/reads";

/// Paths that may not be read, and the rules about paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeniedReads {
    /// The ones that exist. A folder counts with everything in it.
    pub(crate) paths: Vec<PathBuf>,
    /// Existing paths that may not be changed. A folder counts with everything in it.
    #[serde(default)]
    pub(crate) unchanged: Vec<PathBuf>,
    /// Rules of which not everything is among the paths, because there were too many names to check.
    pub(crate) beyond: Vec<String>,
    /// Whether git is not to look for renames when it merges: it would write a hidden file under another name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) without_renames: bool,
    /// The rules, for tools that open files: they are judged by what was opened.
    #[serde(default)]
    pub(crate) rules: PathRules,
}

/// The deny and ask rules about paths as text, and the folders that they refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct PathRules {
    /// The deny rules.
    pub(crate) deny: Vec<String>,
    /// The ask rules.
    pub(crate) ask: Vec<String>,
    /// All paths of the working folder.
    pub(crate) folders: Vec<String>,
    /// All paths of the home folder.
    pub(crate) home: Vec<String>,
}

impl DeniedReads {
    /// Returns the variables that git gets besides those in `count`, which is the value of `GIT_CONFIG_COUNT`.
    pub(crate) fn git_variables(&self, count: Option<&str>) -> Vec<(String, String)> {
        if !self.without_renames {
            return Vec::new();
        }
        let before: usize = count.and_then(|count| count.parse().ok()).unwrap_or_default();
        // Git before 2.50 follows renames of folders even if it is not to look for renames.
        let keys = ["merge.renames", "merge.directoryRenames"];
        let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), (before + keys.len()).to_string())];
        for (at, key) in (before..).zip(keys) {
            variables.push((format!("GIT_CONFIG_KEY_{at}"), key.to_owned()));
            variables.push((format!("GIT_CONFIG_VALUE_{at}"), "false".to_owned()));
        }
        variables
    }

    /// Returns what was noted for the calls of this step. A note that cannot be read is an error: it may deny anything.
    pub(crate) fn noted(state: &AgentState) -> Result<Self, serde_json::Error> {
        state.notes().get(HOOK).map_or_else(|| Ok(Self::default()), Self::deserialize)
    }
}
