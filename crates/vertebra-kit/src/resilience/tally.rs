//! How often something may happen, in a run with its children and in a session.

use std::sync::atomic::{AtomicU64, Ordering};

use vertebra::{Run, Stop, StopReason, Within};

/// What happens at a limit on tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    name: String,
    per_run: Option<u64>,
    per_session: Option<u64>,
}

impl Tally {
    /// Each tally counts for itself: an agent and its child may have the same limit.
    pub(crate) fn new(what: &str, per_run: Option<u64>, per_session: Option<u64>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("{what} {}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self { name, per_run, per_session }
    }

    /// From this run on, it and its children count together.
    pub(crate) fn open(&self, run: &Run) {
        run.counter(Within::Run, &self.name);
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
