//! How long tools may take.

use std::time::Duration;

use vertebra::prelude::*;

/// Stops tools that take too long: the tool is dropped, and the model reads why. Waiting for permission does not count.
///
/// A tool that several limits name has the shortest. Children are under the limits of their parents.
#[derive(Debug, Clone, Default)]
pub struct ToolTimeout {
    limits: Vec<(String, Duration)>,
    others: Option<Duration>,
}

impl ToolTimeout {
    /// Every tool may take so long, unless it is named.
    pub fn all(limit: Duration) -> Self {
        Self { others: Some(limit), ..Self::default() }
    }

    /// The tools that match may take so long: `search`, `read_*`.
    pub fn of(pattern: impl Into<String>, limit: Duration) -> Self {
        Self::default().and(pattern, limit)
    }

    /// The tools that match may take so long, besides what was said before.
    #[must_use]
    pub fn and(mut self, pattern: impl Into<String>, limit: Duration) -> Self {
        self.limits.push((pattern.into(), limit));
        self
    }
}

impl Capability for ToolTimeout {
    fn install(self, kit: &mut Kit) {
        for (pattern, limit) in self.limits {
            let name = format!("tool-timeout/{pattern}");
            kit.on(BeforeToolUse.tool(pattern).named(name), async move |cx| {
                cx.time_limit = Some(cx.time_limit.map_or(limit, |shorter| shorter.min(limit)));
                proceed()
            });
        }
        if let Some(limit) = self.others {
            kit.on(
                BeforeToolUse.when(|asked| asked.time_limit.is_none()).named("tool-timeout/others"),
                async move |cx| {
                    cx.time_limit = Some(limit);
                    proceed()
                },
            );
        }
    }
}
