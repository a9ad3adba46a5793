//! The order of parallel calls: hooks one call at a time, in call order; tools at the same time.

use tokio::sync::watch;

/// Lets the calls of one step pass their hooks in call order, so that state changes are ordered and a replay is exact.
pub(crate) struct Turns {
    calls: usize,
    /// So many calls, from the first, have passed their hooks before the tool.
    passed: watch::Sender<usize>,
    /// So many calls, from the first, are done.
    done: watch::Sender<usize>,
}

impl Turns {
    pub(crate) fn new(calls: usize) -> Self {
        Self { calls, passed: watch::Sender::new(0), done: watch::Sender::new(0) }
    }

    /// Waits until every earlier call has passed its hooks before the tool.
    pub(crate) async fn before_tool(&self, call: usize) {
        reach(&self.passed, call).await;
    }

    /// This call has passed its hooks before the tool.
    pub(crate) fn passed(&self, call: usize) {
        raise(&self.passed, call + 1);
    }

    /// Waits until every call has passed its hooks before the tool, and every earlier call is done.
    pub(crate) async fn after_tool(&self, call: usize) {
        reach(&self.passed, self.calls).await;
        reach(&self.done, call).await;
    }

    /// Waits for this call's turn after the tool, whether or not it ever passed its hooks before it.
    pub(crate) async fn cut_short(&self, call: usize) {
        self.before_tool(call).await;
        self.passed(call);
        self.after_tool(call).await;
    }

    /// This call is done, whether or not it ever came to its hooks.
    pub(crate) async fn done(&self, call: usize) {
        self.cut_short(call).await;
        raise(&self.done, call + 1);
    }
}

async fn reach(counter: &watch::Sender<usize>, goal: usize) {
    if *counter.borrow() < goal {
        // The sender is borrowed from ourselves, so it cannot be gone.
        let _ = counter.subscribe().wait_for(|reached| *reached >= goal).await;
    }
}

fn raise(counter: &watch::Sender<usize>, to: usize) {
    counter.send_if_modified(|reached| {
        let higher = to > *reached;
        *reached = (*reached).max(to);
        higher
    });
}
