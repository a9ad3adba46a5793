//! What may not be read: one capability says it in a note, and tools that are held by other means than rules read it there.
//!
//! The tool knows nothing of rules and the rules nothing of sandboxes. A note lasts for the step, is written anew before
//! each call and goes where hooks go, so it also holds in children.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vertebra::{AgentState, State as _};

/// The hook whose note it is. Nobody else can write it.
pub(crate) const HOOK: &str = "permissions/reads";

/// Paths that may not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeniedReads {
    /// What is there of them. A folder counts with all that is in it.
    pub(crate) paths: Vec<PathBuf>,
    /// Rules of which not everything is among the paths, because there was too much to look through.
    pub(crate) beyond: Vec<String>,
}

impl DeniedReads {
    /// What was noted for the calls of this step. A note that cannot be read is an error: it may deny anything.
    pub(crate) fn noted(state: &AgentState) -> Result<Self, serde_json::Error> {
        state.notes().get(HOOK).map_or_else(|| Ok(Self::default()), Self::deserialize)
    }
}
