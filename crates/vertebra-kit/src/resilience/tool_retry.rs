//! A failing tool is tried again.

use vertebra::prelude::*;

use super::Backoff;

/// Tries a tool again that has failed, after a wait; the model reads the last failure. Hooks and guards see each attempt.
///
/// Only tools that say running them twice is as good as once, unless tools are named. Calls whose arguments do not fit are
/// not tried again. The agent's `retry_limit` (3 unless told otherwise) stands above this.
#[derive(Debug, Clone)]
pub struct ToolRetry {
    /// How often.
    pub retries: u32,
    /// After which waits.
    pub backoff: Backoff,
    /// Which tools.
    pub tools: Repeatable,
}

/// Which tools may be tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeatable {
    /// Those that say running them twice is as good as once.
    Idempotent,
    /// Those that match, whatever they say of themselves: `fetch`, `read_*`, `search|fetch`.
    Named(String),
}

impl Default for ToolRetry {
    fn default() -> Self {
        Self { retries: 2, backoff: Backoff::default(), tools: Repeatable::Idempotent }
    }
}

impl ToolRetry {
    /// The tools that match.
    pub fn of(pattern: impl Into<String>) -> Self {
        Self { tools: Repeatable::Named(pattern.into()), ..Self::default() }
    }
}

impl Capability for ToolRetry {
    fn install(self, kit: &mut Kit) {
        let Self { retries, backoff, tools } = self;
        let named = tools != Repeatable::Idempotent;
        let pattern = match tools {
            Repeatable::Idempotent => "*".to_owned(),
            Repeatable::Named(pattern) => pattern,
        };
        let name = format!("tool-retry/{pattern}");
        kit.on(ToolUseFailed.tool(pattern).when(|failed| failed.reached).named(name).fail_open(), async move |cx| {
            let is_idempotent = || cx.scope().tool_spec(&cx.tool).is_some_and(|spec| spec.idempotent);
            if cx.attempts > retries || !(named || is_idempotent()) {
                return proceed();
            }
            let who = format!("{} {}", cx.at.run.run_id, cx.call.id);
            retry(backoff.wait(cx.attempts, &who))
        });
    }
}
