//! What changed in a state: small where little did, whatever the state holds.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vertebra_hooks::{Notes, State};

use crate::{AgentState, Message, Usage};

/// How one state became another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateChange {
    /// So many messages stayed, from the first.
    pub kept: usize,
    /// These stand behind them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Arc<Message>>,
    /// Metadata that was written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<Arc<str>, Value>,
    /// Metadata that was taken away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Arc<str>>,
    /// All notes, if one of them is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Box<Notes>>,
    /// What the session has used.
    pub usage: Usage,
    /// Its steps.
    pub steps: u32,
    /// Its tool calls.
    pub tool_calls: u64,
    /// The tools used lately, if others were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_tools: Option<Arc<Vec<Arc<str>>>>,
}

/// Why a change cannot be made to a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateChangeError {
    /// The state has fewer messages than the one that was changed.
    #[error("{expected} messages should be there, and {found} are")]
    MissingMessages {
        /// The number of messages that the change keeps.
        expected: usize,
        /// The number of messages in the state.
        found: usize,
    },
}

impl StateChange {
    /// What made `after` of `before`.
    pub fn between(before: &AgentState, after: &AgentState) -> Self {
        let (kept, messages) = before.messages().tail(after.messages());
        let (metadata, removed) = before.metadata().written(after.metadata());
        Self {
            kept,
            messages,
            metadata,
            removed,
            notes: (before.notes() != after.notes()).then(|| Box::new(after.notes().clone())),
            usage: after.usage(),
            steps: after.steps(),
            tool_calls: after.tool_calls(),
            recent_tools: (before.recent_tools() != after.recent_tools()).then(|| after.recent_tools().clone()),
        }
    }

    /// Does it again. A change that was made to another state is refused.
    pub fn apply(self, state: &mut AgentState) -> Result<(), StateChangeError> {
        let found = state.messages().len();
        if self.kept > found {
            return Err(StateChangeError::MissingMessages { expected: self.kept, found });
        }
        state.restore(self);
        Ok(())
    }

    /// Roughly how many bytes it takes.
    pub(crate) fn weight(&self) -> u64 {
        let messages: usize = self.messages.iter().map(|message| message.weight()).sum();
        (256 + messages) as u64
    }
}
