//! How often something may happen, in a run with its children and in a session.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use vertebra::{Run, Stop, StopReason, Within, prelude::*};

/// What happens at a limit on tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtLimit {
    /// The call is blocked, the model reads that the tool is used up, and the run goes on.
    Continue,
    /// The run ends.
    End(Ending),
}

/// How a run ends at a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is stopped.
    Stop,
    /// It fails.
    Fail,
}

impl Ending {
    /// Ends the run after this step. No hook can make it go on.
    pub(crate) fn end(self, run: &Run, source: &str, reason: &str) {
        let why = match self {
            Self::Stop => StopReason::Requested,
            Self::Fail => StopReason::Error,
        };
        run.stop(Stop::hard(why, source, reason));
    }
}

/// Two limits and the name under which a run counts for them.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The hook that counts, and the metadata key under which a session's count is kept.
    key: Arc<str>,
    name: String,
    per_run: Option<u64>,
    per_session: Option<u64>,
}

impl Tally {
    /// Each tally counts for itself: an agent and its child may have the same limit.
    pub(crate) fn new(what: &str, per_run: Option<u64>, per_session: Option<u64>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("{what} {}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self { key: what.into(), name, per_run, per_session }
    }

    /// From each run on, it and its children count together. What a session has counted is kept in its state, and a session
    /// that is restored from there goes on counting.
    pub(crate) fn install(self: &Arc<Self>, kit: &mut Kit) {
        let tally = self.clone();
        kit.on(ExecutionStart.named(&*self.key), async move |cx| {
            cx.scope().counter(Within::Run, &tally.name);
            if let Some(before) = cx.state().metadata().read::<u64>(&tally.key)? {
                cx.scope().counter(Within::Session, &tally.name).at_least(before);
            }
            proceed()
        });
        if self.per_session.is_some() {
            let (at_step, at_end) = (self.clone(), self.clone());
            let name = format!("{}/keep", self.key);
            // A child has a state of its own, and counts for its parents.
            kit.on(AfterStep.named(&*name).own_agent_only(), async move |cx| {
                at_step.keep(cx.scope(), cx.state_mut());
                proceed()
            });
            // A step that failed has no end.
            kit.on(ExecutionEnd.named(name).own_agent_only(), async move |cx| {
                at_end.keep(cx.scope(), cx.state_mut());
                proceed()
            });
        }
    }

    fn keep(&self, run: &Run, state: &mut AgentState) {
        state.metadata_mut().set(&*self.key, run.counter(Within::Session, &self.name).count());
    }

    /// Counts one more, or says which limit is reached.
    pub(crate) fn take(&self, run: &Run) -> Result<(), String> {
        let limits = [(Within::Run, self.per_run, "run"), (Within::Session, self.per_session, "session")];
        for (within, limit, among) in limits {
            if let Some(limit) = limit
                && !run.counter(within, &self.name).take(limit)
            {
                return Err(format!("{limit} in this {among}"));
            }
        }
        Ok(())
    }
}
