//! How often models may be asked.

use std::sync::Arc;

use vertebra::prelude::*;

use super::tally::{Ending, Tally};

const NAME: &str = "model-call-limit/count";

/// Limits how often models may be asked, whatever for: a step, a retry, a fallback, a critique. Children count into their
/// parent's limits. An answer that a hook gives in place of a model does not count.
#[derive(Debug, Clone, Copy)]
pub struct ModelCallLimit {
    /// In a run and the runs of its children.
    pub per_run: Option<u64>,
    /// In a session.
    pub per_session: Option<u64>,
    /// What happens then.
    pub at_limit: Ending,
}

impl Default for ModelCallLimit {
    fn default() -> Self {
        Self { per_run: Some(50), per_session: None, at_limit: Ending::Stop }
    }
}

impl Capability for ModelCallLimit {
    fn install(self, kit: &mut Kit) {
        let tally = Arc::new(Tally::new(NAME, self.per_run, self.per_session));
        tally.install(kit);
        kit.guard(BeforeInference.named(NAME), async move |cx| {
            if cx.record().gave(Kind::Deny) || cx.record().gave(Kind::Replace) {
                return proceed();
            }
            let Err(limit) = tally.take(cx.scope()) else { return proceed() };
            let reason = format!("the model calls are used up: {limit}");
            self.at_limit.end(cx.scope(), NAME, &reason);
            deny(reason)
        });
    }
}
