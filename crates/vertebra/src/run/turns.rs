//! The order of the calls of one answer: hooks one call at a time, in call order. A call that changes something runs alone;
//! neighbours that only read, or only delegate, run at the same time.

use std::{
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// How a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// After all earlier calls, and before all later ones.
    Alone,
    /// At the same time as its neighbours that may, too.
    Together,
}

/// Lets the calls of one step pass their hooks in call order, so that state changes are ordered and a replay is exact.
pub(crate) struct Turns {
    companies: Vec<Company>,
    /// So many calls, from the first, have passed their hooks before the tool. One that runs alone has when it is done.
    passed: Counter,
    /// The tools of so many calls, from the first, have ended.
    ran: Counter,
    /// So many calls, from the first, are done.
    done: Counter,
}

impl Turns {
    pub(crate) fn new(companies: Vec<Company>) -> Self {
        Self { companies, passed: Counter::default(), ran: Counter::default(), done: Counter::default() }
    }

    /// Waits until every earlier call has passed its hooks before the tool; one that runs alone, until every earlier call is
    /// done.
    pub(crate) async fn before_tool(&self, call: usize) {
        self.passed.reach(call).await;
        if self.company(call) == Company::Alone {
            self.done.reach(call).await;
        }
    }

    /// This call has passed its hooks before the tool. They say how it runs now: they may have made one that reads into one
    /// that changes something, and then it waits for the tools of earlier calls.
    pub(crate) async fn passed(&self, call: usize, company: Company) {
        match (self.company(call), company) {
            (Company::Alone, _) => {}
            (Company::Together, Company::Together) => self.passed.raise(call + 1),
            (Company::Together, Company::Alone) => self.ran.reach(call).await,
        }
    }

    /// Waits until the neighbours of this call have passed their hooks before the tool, and every earlier call is done.
    pub(crate) async fn after_tool(&self, call: usize) {
        self.tool_ended(call).await;
        let neighbours = self.companies.iter().skip(call).take_while(|company| **company == Company::Together).count();
        self.passed.reach(call + neighbours).await;
        self.done.reach(call).await;
    }

    /// How many calls, from the first, are done.
    pub(crate) fn ended(&self) -> usize {
        self.done.reached.load(Ordering::Acquire)
    }

    /// Waits for this call's turn after the tool, whether or not it ever passed its hooks before it.
    pub(crate) async fn cut_short(&self, call: usize) {
        self.before_tool(call).await;
        self.after_tool(call).await;
    }

    /// This call is done, whether or not it ever came to its hooks.
    pub(crate) async fn done(&self, call: usize) {
        self.cut_short(call).await;
        self.passed.raise(call + 1);
        self.done.raise(call + 1);
    }

    /// The tool of this call has ended, or never ran; a neighbour may go on that waits for that.
    async fn tool_ended(&self, call: usize) {
        if self.company(call) == Company::Together {
            self.passed.raise(call + 1);
            self.ran.reach(call).await;
        }
        self.ran.raise(call + 1);
    }

    fn company(&self, call: usize) -> Company {
        self.companies.get(call).copied().unwrap_or(Company::Alone)
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
