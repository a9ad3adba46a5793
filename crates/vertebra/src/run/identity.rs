//! What stays the same for as long as a run lasts: the agent, its hooks, and the call that the run works for.

use std::sync::Arc;

use vertebra_hooks::Hooks;

use crate::{RunInfo, agent::Core};

/// Which run this is, and what it runs with.
pub(crate) struct Identity {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) core: Arc<Core>,
    pub(crate) hooks: Hooks,
    pub(crate) system_prompt: Arc<str>,
    pub(crate) parent: Option<ParentCall>,
    /// Whether a loop outside this crate drives the run.
    pub(crate) foreign: bool,
}

/// The run that a child works for, and the tool call of it.
#[derive(Clone)]
pub(crate) struct ParentCall {
    pub(crate) run_id: Arc<str>,
    pub(crate) call_id: Option<Arc<str>>,
}
