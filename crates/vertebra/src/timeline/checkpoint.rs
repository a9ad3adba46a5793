//! What the loop knows between two steps: all that a resumed run needs besides the step it was in.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use super::StateChange;
use crate::{AgentState, Usage};

/// The loop's memory between two steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// Whether `state` says all, and not only what changed since the checkpoint before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub starts_over: bool,
    /// This many delegations deep.
    #[serde(skip_serializing_if = "none")]
    pub depth: u32,
    /// What the agent knows.
    pub state: StateChange,
    /// What the run has used so far, and what its session had used before it.
    pub used: Used,
    /// How often the run was made to go on although it would have ended.
    #[serde(skip_serializing_if = "none")]
    pub continuations: u32,
    /// How often in a row a step has failed.
    #[serde(skip_serializing_if = "none")]
    pub failures: u32,
    /// The counters of the run, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// The counters of the session, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub session_counters: BTreeMap<String, u64>,
}

impl Checkpoint {
    /// The same without what the agent knows.
    pub(crate) fn besides_state(&self) -> Self {
        let &Self { starts_over, depth, used, continuations, failures, .. } = self;
        let (counters, session_counters) = (self.counters.clone(), self.session_counters.clone());
        let state = StateChange::default();
        Self { starts_over, depth, state, used, continuations, failures, counters, session_counters }
    }
}

/// What a run has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Steps of its budget, children included.
    pub steps: u64,
    /// Tokens of its budget, children included.
    pub tokens: u64,
    /// Millionths of a dollar of its budget, children included.
    pub cost_micros: u64,
    /// Time worked, in milliseconds.
    pub active_ms: u64,
    /// What its own model calls cost.
    pub usage: Usage,
    /// Its own tool calls.
    pub calls: u64,
    /// What the session had used when the run began.
    pub usage_before: Usage,
    /// The session's steps when the run began.
    pub steps_before: u32,
    /// The session's tool calls when the run began.
    pub calls_before: u64,
    /// What the whole session has used, children included.
    pub session: Usage,
    /// The tool calls of the whole session, children included.
    pub session_calls: u64,
    /// The runs of the session so far.
    pub runs: u32,
    /// How often the session was resumed so far.
    pub resumed: u32,
}

fn none<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// How much may be written before a checkpoint says all again: so much more than all there is to say.
const SLACK: u64 = 256 * 1024;

/// Knows what the journal knows of a state, and says what is new.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    known: AgentState,
}

impl Keeper {
    /// The journal knows this state.
    pub(crate) fn knows(state: AgentState) -> Self {
        Self { known: state }
    }

    /// What the journal knows.
    pub(crate) fn known(&self) -> &AgentState {
        &self.known
    }

    /// What is new. `written` counts bytes since a checkpoint of this session said all: when they are more than that
    /// takes, it is time to say all again, so that a resume reads no more than twice what it needs.
    pub(crate) fn news(&mut self, state: &AgentState, written: Option<&AtomicU64>) -> (bool, StateChange) {
        let change = StateChange::between(&self.known, state);
        self.known = state.clone();
        let Some(written) = written else { return (false, change) };
        let since = written.fetch_add(change.weight(), Ordering::Relaxed) + change.weight();
        if since < SLACK + 2 * state.messages().bytes() {
            return (false, change);
        }
        written.store(0, Ordering::Relaxed);
        (true, StateChange::between(&AgentState::default(), state))
    }
}
