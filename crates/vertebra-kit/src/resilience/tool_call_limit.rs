//! How often tools may be used.

use std::sync::Arc;

use vertebra::prelude::*;

use super::tally::{AtLimit, Tally};

/// Limits how often a tool, or all tools together, may be used. Children count into their parent's limits, also when they
/// run at the same time.
///
/// Whatever comes before the guards of a call counts: a retry, too, and a call that another guard then refuses. A call
/// that a hook has refused or answered by itself does not.
#[derive(Debug, Clone)]
pub struct ToolCallLimit {
    tool: Option<String>,
    per_run: Option<u64>,
    per_session: Option<u64>,
    at_limit: AtLimit,
}

impl ToolCallLimit {
    /// So many calls in a run.
    pub fn per_run(calls: u64) -> Self {
        Self { tool: None, per_run: Some(calls), per_session: None, at_limit: AtLimit::Continue }
    }

    /// So many calls in a session.
    pub fn per_session(calls: u64) -> Self {
        Self { per_run: None, per_session: Some(calls), ..Self::per_run(calls) }
    }

    /// So many calls in a session, besides the limit for a run.
    #[must_use]
    pub fn and_per_session(mut self, calls: u64) -> Self {
        self.per_session = Some(calls);
        self
    }

    /// Counts only the tools that match: `search`, `read_*`, `edit|write`. All of them count together.
    #[must_use]
    pub fn tool(mut self, pattern: impl Into<String>) -> Self {
        self.tool = Some(pattern.into());
        self
    }

    /// What happens at the limit; unless told otherwise the model reads that it is used up, and goes on.
    #[must_use]
    pub fn at_limit(mut self, at_limit: AtLimit) -> Self {
        self.at_limit = at_limit;
        self
    }
}

impl Capability for ToolCallLimit {
    fn install(self, kit: &mut Kit) {
        let Self { tool, per_run, per_session, at_limit } = self;
        let pattern = tool.unwrap_or_else(|| "*".to_owned());
        let name: Arc<str> = format!("tool-call-limit/{pattern}").into();
        let tally = Arc::new(Tally::new(&name, per_run, per_session));
        tally.install(kit);
        let by = name.clone();
        kit.guard(BeforeToolUse.tool(pattern).named(&*name), async move |cx| {
            if cx.record().gave(Kind::Deny) || cx.record().gave(Kind::Replace) {
                return proceed();
            }
            let Err(limit) = tally.take(cx.scope()) else { return proceed() };
            let reason = format!("the calls of `{}` are used up: {limit}", cx.tool);
            match at_limit {
                AtLimit::Continue => deny(reason),
                AtLimit::End(ending) => {
                    ending.end(cx.scope(), &by, &reason);
                    stop(reason)
                }
            }
        });
    }
}
