//! Coming to rest: a run that somebody outside suspends ends what has begun, begins nothing more, and waits in its journal.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures_util::future::{Either, select};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use vertebra_hooks::BoxFuture;

use crate::{
    Agent, AgentState, Interrupted, Purpose, Run, RunError, Stop, agent::Core, clock::millis, run::handle::lock,
    run::stage::Calls, timeline::feed::News,
};

/// Who suspends a run whose question is put off.
pub(crate) const APPROVER: &str = "approver";

/// A model call that failed and is made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryNotice {
    /// Why it failed.
    pub message: String,
    /// Which retry this will be, from 1.
    pub retry: u32,
    /// How long the wait before it is.
    pub wait: Duration,
    /// Whether a part of the failed answer was shown.
    pub cut_off: bool,
}

/// How a run is reached from outside.
#[derive(Clone)]
pub(crate) struct Reins {
    pub(crate) cancel: CancellationToken,
    /// Suspends it.
    pub(crate) rest: CancellationToken,
    /// Whether a cancelled run is left unfinished: see [`RunStream::abandon`](crate::RunStream::abandon).
    pub(crate) abandoned: Arc<AtomicBool>,
    /// Whether there is a journal that it can be resumed from.
    pub(crate) keeps: bool,
}

impl Reins {
    pub(crate) fn new(core: &Core) -> Self {
        Self::with(core, CancellationToken::new())
    }

    /// Where nothing is kept that a run could be resumed from, it is cancelled instead of suspended.
    pub(crate) fn with(core: &Core, cancel: CancellationToken) -> Self {
        let keeps = core.journal.keeps();
        let rest = if keeps { CancellationToken::new() } else { cancel.clone() };
        Self { cancel, rest, abandoned: Arc::default(), keeps }
    }

    /// Cancels what is under way and leaves the run unfinished, if its journal keeps it.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(self.keeps, Ordering::Release);
        self.cancel.cancel();
    }
}

/// What ends, suspends or extends a run while it is under way.
pub(crate) struct Control {
    pub(crate) reins: Reins,
    /// Who suspended a part of the run, and what for, shared by a run and those of its children.
    suspended: Arc<OnceLock<(String, String)>>,
    /// Whether the run may be suspended: every call around it can be entered again.
    pub(crate) may_wait: bool,
    late_stops: Mutex<Vec<Stop>>,
    /// The agents that this session has delegated to, shared by all of its runs.
    children: Arc<Mutex<Vec<Agent>>>,
    /// The runs of children that are under way.
    pub(crate) delegations: TaskTracker,
    /// The tool calls that are under way.
    pub(crate) calls: Mutex<Calls>,
    nested: AtomicU32,
}

/// How deep a hook that asks a model or notifies may cause itself.
const MAX_NESTED: u32 = 8;

/// One level of hooks that call back into their run.
pub(crate) struct Nested<'a>(&'a AtomicU32);

impl Drop for Nested<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Control {
    pub(crate) fn new(reins: Reins, foreign: bool, above: Option<&Run>, parent: Option<&Run>) -> Self {
        Self {
            reins,
            suspended: parent.map(|run| run.control().suspended.clone()).unwrap_or_default(),
            may_wait: !foreign && parent.is_none_or(|run| run.control().may_wait && run.can_be_entered_again()),
            late_stops: Mutex::default(),
            children: above.map(|run| run.control().children.clone()).unwrap_or_default(),
            delegations: TaskTracker::new(),
            calls: Mutex::default(),
            nested: AtomicU32::default(),
        }
    }

    pub(crate) fn cancel(&self) {
        self.reins.cancel.cancel();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.reins.cancel.is_cancelled()
    }

    pub(crate) fn stop(&self, stop: Stop) {
        lock(&self.late_stops).push(stop);
    }

    /// Whether something new may begin. Asked where the loop begins something, and not inside a hook or a tool: what they
    /// were asked to do has begun.
    pub(crate) fn may_begin(&self) -> Result<(), Interrupted> {
        if self.is_to_rest() {
            return Err(self.rest());
        }
        if self.is_suspended() { Err(self.interrupted()) } else { Ok(()) }
    }

    /// Waits for something that the run may leave at any moment; `None` if it is suspended meanwhile.
    pub(crate) async fn until_resting<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        if !self.may_wait {
            return Some(work.await);
        }
        match select(pin!(work), pin!(self.reins.rest.cancelled())).await {
            Either::Left((done, _)) => Some(done),
            // Cancelled at the same time, it is cancelled.
            Either::Right(((), work)) if self.is_cancelled() => Some(work.await),
            Either::Right(_) => None,
        }
    }

    /// Why the run does not go on, if it does not.
    pub(crate) fn interrupted(&self) -> Interrupted {
        if !self.is_suspended() {
            return Interrupted::Cancelled;
        }
        let abandoned = || ("caller".to_owned(), "the process was ended before the run was".to_owned());
        let (by, message) = self.suspended.get().cloned().unwrap_or_else(abandoned);
        Interrupted::Suspended { by, message }
    }

    /// A run inside a tool that cannot be entered again goes on, and the tool ends.
    fn is_to_rest(&self) -> bool {
        self.may_wait && self.reins.rest.is_cancelled() && !self.is_cancelled()
    }

    fn rest(&self) -> Interrupted {
        self.wait_for("caller", "the run was suspended".to_owned())
    }

    /// Whether a part of the run waits: nothing ends, and nothing more begins.
    pub(crate) fn is_suspended(&self) -> bool {
        let abandoned = || self.reins.abandoned.load(Ordering::Acquire);
        let waits = self.suspended.get().is_some();
        // Cancellation is checked last, because that takes a lock, and most runs are neither cancelled nor suspended.
        self.may_wait && (waits || abandoned()) && if self.is_cancelled() { abandoned() } else { waits }
    }

    /// Whether the run waits for answers of people, so that the other calls of the same answer may be asked about too.
    pub(crate) fn still_asks(&self) -> bool {
        let by_approver = self.suspended.get().is_some_and(|(by, _)| by == APPROVER);
        by_approver && self.is_suspended() && !self.reins.rest.is_cancelled()
    }

    /// A part of the run waits, and so does all of it. The first reason is told.
    pub(crate) fn wait_for(&self, by: &str, message: String) -> Interrupted {
        self.suspended.get_or_init(|| (by.to_owned(), message));
        self.interrupted()
    }

    /// Stops that were asked for beside the verdicts of the loop's own points.
    pub(crate) fn late_stops(&self) -> Vec<Stop> {
        std::mem::take(&mut *lock(&self.late_stops))
    }

    /// One level deeper into hooks that call back into their run; `None` if that is too deep.
    pub(crate) fn nest(&self) -> Option<Nested<'_>> {
        let nested = Nested(&self.nested);
        (nested.0.fetch_add(1, Ordering::AcqRel) < MAX_NESTED).then_some(nested)
    }

    /// Remembers an agent that was delegated to, if the session has to wait for detached watches of its own. Others are
    /// let go: some are built for one task, and a session may have many.
    pub(crate) fn had_child(&self, agent: &Agent) {
        if !agent.hooks().list().iter().any(|hook| hook.detached) {
            return;
        }
        let mut children = lock(&self.children);
        if !children.iter().any(|child| Arc::ptr_eq(child.core(), agent.core())) {
            children.push(agent.clone());
        }
    }

    /// The agents that this session has delegated to.
    pub(crate) fn children(&self) -> Vec<Agent> {
        lock(&self.children).clone()
    }

    /// Waits for children that were cancelled to tell their ends.
    pub(crate) async fn children_ended(&self) {
        self.delegations.close();
        self.delegations.wait().await;
    }

    /// Does something unless the run is cancelled, before or meanwhile.
    pub(crate) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        if self.is_cancelled() {
            return Err(Interrupted::Cancelled);
        }
        self.until_cancelled(work).await
    }

    /// Begins something, and drops it if the run is cancelled meanwhile.
    pub(crate) async fn until_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        let mut work = pin!(work);
        // The work goes first: most of it is ready at once, and then nobody has to listen for a cancellation.
        let mut cancelled = pin!(async { self.reins.cancel.cancelled().await });
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => cancelled.as_mut().poll(cx).map(|()| Err(Interrupted::Cancelled)),
        })
        .await
    }
}

impl Run {
    /// Suspends the run: what has begun ends, nothing more begins, and the run continues when its session is resumed.
    /// Returns whether that is possible. A run without a journal, one whose loop is not ours, and one inside a tool that
    /// cannot be entered again cannot be suspended; nothing happens to them. Neither is a replay, which has no future.
    pub fn suspend(&self, by: &str, message: impl Into<String>) -> bool {
        let possible =
            self.control().may_wait && self.core().journal.keeps() && self.replayed().is_none() && !self.is_cancelled();
        if possible {
            self.control().wait_for(by, message.into());
        }
        possible
    }

    /// Tells people that a model call failed and is made again after a wait, through the hooks at
    /// [`Notification`](crate::Notification) under this kind.
    pub fn notify_retry<'a>(
        &'a self,
        state: &'a mut AgentState,
        kind: &'a str,
        again: RetryNotice,
    ) -> BoxFuture<'a, Result<(), RunError>> {
        let RetryNotice { message, retry, wait, cut_off } = again;
        let wait_ms = millis(wait);
        let news = move |_, message| News::Retry { message, retry, wait_ms, cut_off };
        Box::pin(self.notified(state, kind.to_owned(), message, news))
    }

    /// Takes time out of the active time that was spent on a provider that could not be reached.
    pub fn was_idle(&self, time: Duration) {
        self.budget().idled(&**self.clock(), time);
    }

    /// Waits before a provider is asked again that could not be reached. The wait is not active time. A run that is
    /// suspended meanwhile asks when it is resumed; what a hook or a tool asks is a part of what they were asked to do.
    pub async fn wait_for_provider(&self, purpose: &Purpose, duration: Duration) -> Result<(), Interrupted> {
        let wait = self.unpaid(self.clock().sleep(duration));
        match purpose {
            Purpose::Step => self.control().until_resting(wait).await.unwrap_or_else(|| Err(self.control().rest())),
            Purpose::Capability(_) => wait.await,
        }
    }

    /// Waits before a model is asked again because a hook said so, as [`wait`](Self::wait) does. A run that is suspended
    /// meanwhile asks when it is resumed; what a hook or a tool asks is a part of what they were asked to do.
    pub(crate) async fn wait_to_ask(&self, purpose: &Purpose, duration: Duration) -> Result<(), Interrupted> {
        match purpose {
            Purpose::Step => self.pause(duration).await,
            Purpose::Capability(_) => self.wait(duration).await,
        }
    }

    /// Waits before something is done again; a run that is suspended meanwhile does not wait to the end.
    pub(crate) async fn pause(&self, duration: Duration) -> Result<(), Interrupted> {
        self.control().until_resting(self.wait(duration)).await.unwrap_or_else(|| Err(self.control().rest()))
    }
}
