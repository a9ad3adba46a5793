//! Whose hook runs: hooks of a parent run in its children too, which may lack the capability or have one of their own.

use std::sync::Arc;

use vertebra::{Run, Tool};

/// Whether the agent that runs has this very tool: not one of the same name, but the one with this very name in memory.
pub(crate) fn has_tool(run: &Run, name: &Arc<str>) -> bool {
    run.tools().any(|tool| Arc::ptr_eq(&tool.spec().name, name))
}
