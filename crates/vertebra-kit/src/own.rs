//! Whose hook runs: hooks of a parent run in its children too, which may lack the capability or have one of their own.

use std::sync::Arc;

use vertebra::Run;

/// Whether the agent that runs has this very tool: not one of the same name, but the one with this very name in memory.
///
/// [`Reach::Own`](vertebra::Reach::Own) is for hooks that belong to an agent. These belong to a tool, and go where it goes:
/// a subagent may have been given it.
pub(crate) fn has_tool(run: &Run, name: &Arc<str>) -> bool {
    run.tool_spec(name).is_some_and(|spec| Arc::ptr_eq(&spec.name, name))
}
