//! What a run and its session have used.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{
    Budget, Clock, Meter, Usage, Working,
    budget::counters::Counts,
    run::handle::{Run, lock},
    timeline::{Checkpoint, Used},
};

/// The budget of a run, and what was spent from it.
pub(crate) struct RunBudget {
    pub(crate) tree: Budget,
    pub(crate) working: Arc<Working>,
    /// What model calls have cost. Not part of the state: a hook that fails takes back what it wrote, not what it spent.
    spent: Mutex<Usage>,
    /// Shared by all runs of a session.
    totals: Arc<Mutex<Totals>>,
    pub(crate) counters: Arc<Counts>,
}

/// What a session has used, children included.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) usage: Usage,
    pub(crate) tool_calls: u64,
    pub(crate) runs: u32,
    /// How often the session was resumed.
    pub(crate) resumed: u32,
}

impl RunBudget {
    pub(crate) fn new(tree: Budget, clock: Arc<dyn Clock>, above: Option<&Run>) -> Self {
        let above = above.map(Run::run_budget);
        Self {
            working: Arc::new(tree.work(clock, above.map(|above| above.working.clone()))),
            tree,
            spent: Mutex::default(),
            totals: above.map(|above| above.totals.clone()).unwrap_or_default(),
            counters: Counts::below(above.map(|above| above.counters.clone())),
        }
    }

    pub(crate) fn spent(&self) -> Usage {
        *lock(&self.spent)
    }

    pub(crate) fn spend(&self, usage: Usage) {
        lock(&self.totals).usage += usage;
        self.spend_again(usage);
    }

    /// Counts an answer that was paid for before. The totals of the session that is resumed include it.
    pub(crate) fn spend_again(&self, usage: Usage) {
        *lock(&self.spent) += usage;
        self.tree.pay(usage);
    }

    pub(crate) fn count_call(&self) {
        lock(&self.totals).tool_calls += 1;
    }

    pub(crate) fn count_run(&self) {
        lock(&self.totals).runs += 1;
    }

    /// Returns what the whole session has used, children included.
    pub(crate) fn totals(&self) -> Totals {
        *lock(&self.totals)
    }

    /// Continues from what the run had used. The session has counted the calls of its own runs, but not of its children.
    pub(crate) fn restore(&self, used: &Used, is_child: bool) {
        self.count_used(used);
        *lock(&self.spent) += used.usage;
        if is_child {
            lock(&self.totals).tool_calls += used.calls;
        }
    }

    /// Counts what a child had used that is not run again.
    pub(crate) fn count_child(&self, used: &Used) {
        self.count_used(used);
        lock(&self.totals).tool_calls += used.calls;
    }

    /// Continues from what the session had used.
    pub(crate) fn restore_session(&self, checkpoint: &Checkpoint, resumed: u32) {
        let Used { session: usage, session_calls: tool_calls, runs, .. } = checkpoint.used;
        *lock(&self.totals) = Totals { usage, tool_calls, runs, resumed };
        self.counters.restore(&BTreeMap::new(), &checkpoint.session_counters);
    }

    fn count_used(&self, used: &Used) {
        for (meter, amount) in
            [(Meter::Steps, used.steps), (Meter::Tokens, used.tokens), (Meter::Cost, used.cost_micros)]
        {
            self.tree.spend(meter, amount);
        }
        self.tree.worked(Duration::from_millis(used.active_ms));
    }
}
