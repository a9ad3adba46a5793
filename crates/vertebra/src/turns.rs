//! The order of parallel calls: hooks one call at a time, in call order; tools at the same time.

use std::{
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// Lets the calls of one step pass their hooks in call order, so that state changes are ordered and a replay is exact.
pub(crate) struct Turns {
    calls: usize,
    /// So many calls, from the first, have passed their hooks before the tool.
    passed: Counter,
    /// So many calls, from the first, are done.
    done: Counter,
}

impl Turns {
    pub(crate) fn new(calls: usize) -> Self {
        Self { calls, passed: Counter::default(), done: Counter::default() }
    }

    /// Waits until every earlier call has passed its hooks before the tool.
    pub(crate) async fn before_tool(&self, call: usize) {
        self.passed.reach(call).await;
    }

    /// This call has passed its hooks before the tool.
    pub(crate) fn passed(&self, call: usize) {
        self.passed.raise(call + 1);
    }

    /// Waits until every call has passed its hooks before the tool, and every earlier call is done.
    pub(crate) async fn after_tool(&self, call: usize) {
        self.passed.reach(self.calls).await;
        self.done.reach(call).await;
    }

    /// How many calls, from the first, are done.
    pub(crate) fn ended(&self) -> usize {
        self.done.reached.load(Ordering::Acquire)
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
        self.done.raise(call + 1);
    }
}

/// A number that only grows, and that can be waited for.
#[derive(Default)]
struct Counter {
    reached: AtomicUsize,
    raised: Notify,
}

impl Counter {
    async fn reach(&self, goal: usize) {
        while self.reached.load(Ordering::Acquire) < goal {
            let mut raised = pin!(self.raised.notified());
            // Listens before it looks, so that no raise falls in between.
            raised.as_mut().enable();
            if self.reached.load(Ordering::Acquire) < goal {
                raised.await;
            }
        }
    }

    fn raise(&self, to: usize) {
        if self.reached.fetch_max(to, Ordering::AcqRel) < to {
            self.raised.notify_waiters();
        }
    }
}
