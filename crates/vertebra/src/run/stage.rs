//! How far a tool call has come, from the model's request to the hooks after it, and which call goes on when.
//!
//! The stages of all calls that are under way lie in the run, and not in the future that works on them: a cancelled run
//! drops that future at any moment, and what was open then still has to be closed for its hooks and for the journal.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::task::TaskTracker;
use vertebra_hooks::Name;

use crate::{
    RunError, ToolResult, ToolStatus,
    points::events::ToolAsked,
    run::{control::Control, handle::lock},
};

/// How far a call has come. A retry takes it back to [`Stage::Deciding`].
#[derive(Debug)]
pub(crate) enum Stage {
    /// The model has asked for it, and no hook has seen it.
    Requested,
    /// Hooks, guards and people decide about it.
    Deciding { asked: Arc<ToolAsked> },
    /// The journal knows that its tool has begun, and not that it has ended.
    Running { asked: Arc<ToolAsked>, work: Work },
    /// It has a result: of its tool, of a hook, or that it was not run.
    Ended { asked: Arc<ToolAsked> },
    /// The hooks after it have begun.
    Closed,
}

/// A tool at work.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// The name of the attempt in the journal.
    pub(crate) key: Arc<str>,
    /// The agents that work for it.
    pub(crate) children: TaskTracker,
}

/// What the hooks before a call make of it.
pub(crate) enum Next {
    /// Its tool runs. What the tool wants a person to agree to, a person has agreed to.
    Proceed { approved: Option<Arc<str>> },
    /// It has this result.
    End(Ended),
    /// It is decided about again, after a wait.
    Retry(Duration),
}

/// The result of a call, and who gave it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    pub(crate) blocked_by: Option<Name>,
    /// Whether the call came as far as its tool.
    pub(crate) reached: bool,
}

/// A call that was cut short between its hooks.
pub(crate) struct Open {
    pub(crate) asked: Arc<ToolAsked>,
    pub(crate) work: Option<Work>,
}

impl Ended {
    /// A call that ended without its tool.
    pub(crate) fn without_tool(status: ToolStatus, output: impl Into<String>) -> Self {
        Self { result: ToolResult::ended(status, output), blocked_by: None, reached: false }
    }

    /// A call that was refused.
    pub(crate) fn blocked(by: Name, reason: impl Into<String>) -> Self {
        Self { blocked_by: Some(by), ..Self::without_tool(ToolStatus::Blocked, reason) }
    }
}

impl Work {
    /// Waits until the agents that work for it have reported their ends, which they cannot do once the call is closed.
    pub(crate) async fn let_go(&self) {
        self.children.close();
        self.children.wait().await;
    }
}

impl Stage {
    /// Its hooks begin, or have changed its arguments.
    fn decide(&mut self, asked: Arc<ToolAsked>) -> Result<(), RunError> {
        self.advance("be decided about", |from| match from {
            Self::Running { .. } => (from, false),
            _ => (Self::Deciding { asked }, true),
        })
    }

    /// Its tool begins.
    fn start(&mut self, work: Work) -> Result<(), RunError> {
        self.advance("start", |from| match from {
            Self::Deciding { asked } => (Self::Running { asked, work }, true),
            _ => (from, false),
        })
    }

    /// It has a result.
    fn end(&mut self) -> Result<(), RunError> {
        self.advance("end", |from| match from {
            Self::Deciding { asked } | Self::Running { asked, .. } | Self::Ended { asked } => {
                (Self::Ended { asked }, true)
            }
            Self::Requested | Self::Closed => (from, false),
        })
    }

    /// The hooks after it begin.
    fn close(&mut self) -> Result<(), RunError> {
        self.advance("be closed", |from| match from {
            Self::Ended { .. } => (Self::Closed, true),
            _ => (from, false),
        })
    }

    /// Takes the call to another stage. A step that cannot be taken from here is an error, and the stage stays. `to` returns
    /// the stage and whether the step is legal.
    fn advance(&mut self, step: &str, to: impl FnOnce(Self) -> (Self, bool)) -> Result<(), RunError> {
        let (stage, legal) = to(std::mem::replace(self, Self::Closed));
        *self = stage;
        if legal {
            return Ok(());
        }
        Err(RunError::Internal { message: format!("a tool call that is {} cannot {step}", self.name()) })
    }

    /// Closes the call wherever it is. Returns what is still owed to its hooks, if they have seen it.
    fn cut_short(&mut self) -> Option<Open> {
        match std::mem::replace(self, Self::Closed) {
            Self::Requested | Self::Closed => None,
            Self::Deciding { asked } | Self::Ended { asked } => Some(Open { asked, work: None }),
            Self::Running { asked, work } => Some(Open { asked, work: Some(work) }),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Deciding { .. } => "deciding",
            Self::Running { .. } => "running",
            Self::Ended { .. } => "ended",
            Self::Closed => "closed",
        }
    }
}

/// The calls of a run that are under way, each with the number of its first event, in call order. They are few.
pub(crate) type Calls = Vec<(u64, Stage)>;

impl Control {
    /// Forgets all calls. Returns what is still owed to their hooks.
    pub(crate) fn forget_all(&self) -> Vec<Open> {
        let calls = std::mem::take(&mut *lock(&self.calls));
        calls.into_iter().filter_map(|(_, mut stage)| stage.cut_short()).collect()
    }
}

/// One call of an answer: its stage, and its place in the order.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    control: &'a Control,
    order: &'a Order,
    index: usize,
    /// The number of its first event.
    number: u64,
}

impl<'a> Turn<'a> {
    /// A call is requested, under a number of its own.
    pub(crate) fn request(control: &'a Control, order: &'a Order, index: usize, number: u64) -> Self {
        lock(&control.calls).push((number, Stage::Requested));
        Self { control, order, index, number }
    }

    /// Waits until hooks may decide about the call.
    pub(crate) async fn comes(&self) {
        self.order.before_tool(self.index).await;
    }

    /// Its hooks begin, or have changed its arguments.
    pub(crate) fn decide(&self, asked: Arc<ToolAsked>) -> Result<(), RunError> {
        self.advance(|stage| stage.decide(asked))
    }

    /// It is decided about, and runs like this from now on. Waits for the tools that must not run beside it.
    pub(crate) async fn decided(&self, company: Company) {
        self.order.passed(self.index, company).await;
    }

    /// Its tool begins.
    pub(crate) fn start(&self, work: Work) -> Result<(), RunError> {
        self.advance(|stage| stage.start(work))
    }

    /// It has a result.
    pub(crate) fn end(&self) -> Result<(), RunError> {
        self.advance(Stage::end)
    }

    /// Waits until the hooks after it may begin.
    pub(crate) async fn may_close(&self) {
        self.order.after_tool(self.index).await;
    }

    /// The hooks after it begin.
    pub(crate) fn close(&self) -> Result<(), RunError> {
        self.advance(Stage::close)
    }

    /// The calls before this one that have not ended, as a range of indices.
    pub(crate) fn earlier(&self) -> std::ops::Range<usize> {
        self.order.done.reached.load(Ordering::Acquire).min(self.index)..self.index
    }

    /// Whether no hook has seen the call.
    pub(crate) fn is_unseen(&self) -> bool {
        self.with(|calls, place| place.is_some_and(|place| matches!(calls[place].1, Stage::Requested)))
    }

    /// Waits for the agents that work for the call, if its tool is at work.
    pub(crate) async fn let_go(&self) {
        let work = self.with(|calls, place| match &calls[place?].1 {
            Stage::Running { work, .. } => Some(work.clone()),
            _ => None,
        });
        if let Some(work) = work {
            work.let_go().await;
        }
    }

    /// Forgets the call. Returns what is still owed to its hooks.
    pub(crate) fn forget(&self) -> Option<Open> {
        self.with(|calls, place| calls.remove(place?).1.cut_short())
    }

    /// Waits until the hooks after it may begin, whether or not it ever passed those before it.
    pub(crate) async fn cut_short(&self) {
        self.order.cut_short(self.index).await;
    }

    /// The call is done, whether or not it ever came to its hooks. Later calls go on.
    pub(crate) async fn done(self) {
        self.order.cut_short(self.index).await;
        self.order.passed.raise(self.index + 1);
        self.order.done.raise(self.index + 1);
    }

    fn advance(&self, step: impl FnOnce(&mut Stage) -> Result<(), RunError>) -> Result<(), RunError> {
        self.with(|calls, place| {
            let place = place.unwrap_or_else(|| {
                calls.push((self.number, Stage::Requested));
                calls.len() - 1
            });
            step(&mut calls[place].1)
        })
    }

    /// Does something with the calls and the place of this one among them.
    fn with<T>(&self, with: impl FnOnce(&mut Calls, Option<usize>) -> T) -> T {
        let mut calls = lock(&self.control.calls);
        let place = calls.iter().position(|(number, _)| *number == self.number);
        with(&mut calls, place)
    }
}

/// How a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// After all earlier calls, and before all later ones.
    Alone,
    /// At the same time as its neighbours that may, too.
    Together,
}

/// The order of the calls of one answer. Hooks run one call at a time, in call order, so that state changes are ordered and a
/// replay is exact. A call that changes something runs alone; neighbours that only read, or only delegate, run at the same
/// time. Nothing is locked while a call waits.
pub(crate) struct Order {
    companies: Vec<Company>,
    /// So many calls, from the first, have passed their hooks before the tool. One that runs alone has when it is done.
    passed: Counter,
    /// The tools of so many calls, from the first, have ended.
    ran: Counter,
    /// So many calls, from the first, are done.
    done: Counter,
}

impl Order {
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
    async fn passed(&self, call: usize, company: Company) {
        match (self.company(call), company) {
            (Company::Alone, _) => {}
            (Company::Together, Company::Together) => self.passed.raise(call + 1),
            (Company::Together, Company::Alone) => self.ran.reach(call).await,
        }
    }

    /// Waits until the neighbours of this call have passed their hooks before the tool, and every earlier call is done.
    async fn after_tool(&self, call: usize) {
        // Its tool has ended, or never ran; a neighbour may go on that waits for that.
        if self.company(call) == Company::Together {
            self.passed.raise(call + 1);
            self.ran.reach(call).await;
        }
        self.ran.raise(call + 1);
        let neighbours = self.companies.iter().skip(call).take_while(|company| **company == Company::Together).count();
        self.passed.reach(call + neighbours).await;
        self.done.reach(call).await;
    }

    async fn cut_short(&self, call: usize) {
        self.before_tool(call).await;
        self.after_tool(call).await;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    type Step = fn(&mut Stage) -> Result<(), RunError>;

    const DECIDE: Step = |stage| stage.decide(Arc::new(call("bash", serde_json::json!({ "command": "ls" }))));
    const START: Step = |stage| stage.start(Work { key: "r1-1".into(), children: TaskTracker::new() });
    const END: Step = Stage::end;
    const CLOSE: Step = Stage::close;

    /// Takes a new call through these steps. Returns the name of its last stage, or the error.
    fn through(steps: &[Step]) -> Result<&'static str, String> {
        let mut stage = Stage::Requested;
        steps.iter().try_for_each(|step| step(&mut stage)).map_err(|error| error.to_string())?;
        Ok(stage.name())
    }

    #[test]
    fn a_call_is_decided_runs_ends_and_is_closed_and_may_be_tried_again() {
        for (steps, last) in [
            ([DECIDE, START, END, CLOSE].as_slice(), "closed"),
            (&[DECIDE, DECIDE, END, CLOSE], "closed"),
            (&[DECIDE, START, END, DECIDE], "deciding"),
            (&[DECIDE, END, CLOSE, DECIDE, START], "running"),
        ] {
            assert_eq!(through(steps), Ok(last));
        }
    }

    #[test]
    fn no_tool_starts_without_a_decision_or_twice_and_no_call_is_closed_without_a_result() {
        for (steps, wrong) in [
            ([START].as_slice(), "requested cannot start"),
            (&[END], "requested cannot end"),
            (&[CLOSE], "requested cannot be closed"),
            (&[DECIDE, CLOSE], "deciding cannot be closed"),
            (&[DECIDE, START, START], "running cannot start"),
            (&[DECIDE, START, CLOSE], "running cannot be closed"),
            (&[DECIDE, START, DECIDE], "running cannot be decided about"),
            (&[DECIDE, END, CLOSE, CLOSE], "closed cannot be closed"),
        ] {
            let error = through(steps).expect_err(wrong);
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn a_call_that_is_cut_short_owes_its_hooks_an_end_once() {
        let mut stage = Stage::Requested;
        assert!(stage.cut_short().is_none());
        DECIDE(&mut stage).and_then(|()| START(&mut stage)).expect("legal");
        assert!(stage.cut_short().is_some_and(|open| open.work.is_some()));
        assert!(stage.cut_short().is_none());
    }
}
