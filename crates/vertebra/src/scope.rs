//! One run as its hooks and tools see it: who it is, what it may use, and how to reach the rest.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures_util::future::{Either, select};
use serde_json::Value;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use vertebra_hooks::{BoxFuture, Frame, Hooks, Outcome, Point, Retries};

use crate::{
    Agent, AgentBuilder, AgentState, At, Budget, Clock, InferenceReport, Message, Messages, Notification, Prompt,
    Purpose, Request, RunError, RunInfo, SharedModel, SharedTool, Stop, ToolSpec, Usage,
    agent::Core,
    budget::Working,
    counts::{self, Counter, Counts},
    events::Notified,
    facts::Located,
    front::{Front, News},
    inference,
    journal::{Tape, What},
    open_calls::OpenCall,
    prompt,
    result::capped,
    stop::Pending,
    taped,
    veil::Veils,
};

/// A run, as hooks reach it through [`Cx::scope`](crate::Cx::scope). A clone is another handle to the same run.
#[derive(Clone)]
pub struct Run(pub(crate) Arc<Inner>, pub(crate) Option<Arc<Inside>>);

/// The tool call from inside which a run is reached.
pub(crate) struct Inside {
    pub(crate) call_id: Arc<str>,
    /// Whether the tool may be begun again.
    pub(crate) again: bool,
    pub(crate) children: TaskTracker,
}

pub(crate) struct Inner {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) core: Arc<Core>,
    pub(crate) hooks: Hooks,
    pub(crate) budget: Budget,
    working: Arc<Working>,
    cancel: CancellationToken,
    front: Front,
    system_prompt: Arc<str>,
    /// The agents that this session has delegated to, shared by all of its runs.
    children: Arc<Mutex<Vec<Agent>>>,
    /// Calls whose hooks before the tool have begun and whose hooks after it have not.
    pub(crate) open_calls: Mutex<BTreeMap<u64, OpenCall>>,
    /// The runs of children that are under way.
    delegations: TaskTracker,
    pub(crate) events: AtomicU64,
    pub(crate) step: AtomicU32,
    /// What model calls have cost. Not part of the state: a hook that fails takes back what it wrote, not what it spent.
    pub(crate) spent: Mutex<Usage>,
    /// Shared by all runs of a session.
    pub(crate) totals: Arc<Mutex<Totals>>,
    late_stops: Mutex<Vec<Stop>>,
    pub(crate) counts: Arc<Counts>,
    /// Bytes of models' answers that were let through.
    shown: AtomicU64,
    nested: AtomicU32,
    /// The run, and the call of it, that this one works for.
    pub(crate) parent: Option<(Arc<str>, Option<Arc<str>>)>,
    /// Bytes of checkpoints since one of them said all, shared by all runs of a session.
    pub(crate) checkpointed: Arc<AtomicU64>,
    /// What the run is resumed or replayed from.
    pub(crate) tape: Option<Arc<Tape>>,
    /// Who lets a part of it wait, and what for, shared by a run and those of its children.
    pub(crate) suspended: Arc<OnceLock<(String, String)>>,
    /// Asks it to come to rest.
    pub(crate) rest: CancellationToken,
    /// Whether the run, once cancelled, is left unfinished.
    pub(crate) abandoned: Arc<AtomicBool>,
    /// Whether the loop is not ours.
    pub(crate) foreign: bool,
    /// Whether the run may be suspended: all that stands above it can be entered again.
    pub(crate) may_wait: bool,
    /// Whether the calls of the latest answer cannot be made, because something in them was hidden from the journal.
    pub(crate) veiled: AtomicBool,
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

/// How deep a hook that asks a model or notifies may cause itself.
const MAX_NESTED: u32 = 8;
const NESTED: &str = "hooks that ask a model or notify have caused each other too often";

struct Nested<'a>(&'a AtomicU32);

impl Drop for Nested<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a run is made of.
pub(crate) struct Parts {
    pub(crate) info: RunInfo,
    pub(crate) core: Arc<Core>,
    pub(crate) hooks: Hooks,
    pub(crate) budget: Budget,
    pub(crate) cancel: CancellationToken,
    pub(crate) rest: CancellationToken,
    pub(crate) abandoned: Arc<AtomicBool>,
    pub(crate) front: Front,
    pub(crate) system_prompt: Arc<str>,
    pub(crate) tape: Option<Arc<Tape>>,
    /// Whether the loop is not ours.
    pub(crate) foreign: bool,
}

/// Why a phase has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Interrupted {
    /// Somebody cancelled the run.
    #[error("the run was cancelled")]
    Cancelled,
    /// The run waits, and nobody has to wait with it.
    #[error("{message}")]
    Suspended {
        /// Who wants it: a person who answers later, or whoever runs it.
        by: String,
        /// What it waits for.
        message: String,
    },
    /// Something failed outside a tool.
    #[error(transparent)]
    Failed(#[from] RunError),
}

/// What the loop may change. Phases are given it, and give it back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Desk {
    pub(crate) state: AgentState,
    pub(crate) pending: Pending,
}

/// Whether a cancelled run may leave a dispatch half way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It may.
    OnCancel,
    /// It may, but the dispatch begins in any case: its end will be told.
    OnceBegun,
    /// It may not: the end is always told.
    Never,
}

impl Run {
    pub(crate) fn new(parts: Parts, above: Option<&Run>) -> Self {
        let Parts { info, core, hooks, budget, cancel, rest, abandoned, front, system_prompt, tape, foreign } = parts;
        let parent = above.filter(|above| above.info().run_id != info.session_id);
        let working = Arc::new(budget.work(core.clock.clone(), above.map(|run| run.0.working.clone())));
        let inner = Inner {
            info: Arc::new(info),
            core,
            hooks,
            budget,
            working,
            cancel,
            front,
            system_prompt,
            children: above.map(|run| run.0.children.clone()).unwrap_or_default(),
            open_calls: Mutex::default(),
            delegations: TaskTracker::new(),
            events: AtomicU64::new(tape.as_ref().map_or(0, |tape| tape.first_number())),
            step: AtomicU32::default(),
            spent: Mutex::default(),
            totals: above.map(|run| run.0.totals.clone()).unwrap_or_default(),
            late_stops: Mutex::default(),
            counts: Counts::below(above.map(|run| run.0.counts.clone())),
            shown: AtomicU64::default(),
            nested: AtomicU32::default(),
            parent: parent.map(|parent| (parent.info().run_id.clone(), parent.inside_of().cloned())),
            checkpointed: above.map(|run| run.0.checkpointed.clone()).unwrap_or_default(),
            tape,
            suspended: parent.map(|run| run.0.suspended.clone()).unwrap_or_default(),
            rest,
            abandoned,
            may_wait: !foreign && parent.is_none_or(|run| run.0.may_wait && run.can_be_entered_again()),
            foreign,
            veiled: AtomicBool::default(),
        };
        Self(Arc::new(inner), None)
    }

    /// Who and where.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.0.info
    }

    /// What the run may use.
    pub fn budget(&self) -> &Budget {
        &self.0.budget
    }

    /// The hooks in force.
    pub fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.core.clock
    }

    /// The model of the agent that runs, for a child of it.
    pub fn model(&self) -> SharedModel {
        SharedModel(self.0.core.model.clone())
    }

    /// The tools of the agent that runs, in the order they were given: for a child of it.
    pub fn tools(&self) -> impl Iterator<Item = SharedTool> {
        self.0.core.tools.shared()
    }

    /// A builder for a child of the agent that runs: its model, folder, policies and bounds, but no tools, hooks or
    /// limits of its own. The hooks and limits of the parent hold in a child anyway.
    pub fn child(&self) -> AgentBuilder {
        AgentBuilder::like(&self.0.core)
    }

    /// What is known of the tool of this name, if the agent that runs has it.
    pub fn tool_spec(&self, name: &str) -> Option<&ToolSpec> {
        self.0.core.tools.spec(name)
    }

    /// Asks the run to end. What has begun is cancelled.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
    }

    /// Whether somebody has asked the run to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Asks a model on behalf of a capability, through the same points and the same budget. `state` is the current state.
    pub fn infer<'a>(
        &'a self,
        state: &'a mut AgentState,
        purpose: impl Into<Arc<str>>,
        request: Request,
    ) -> BoxFuture<'a, InferenceReport> {
        self.infer_for(state, Purpose::Capability(purpose.into()), request)
    }

    fn infer_for<'a>(
        &'a self,
        state: &'a mut AgentState,
        purpose: Purpose,
        request: Request,
    ) -> BoxFuture<'a, InferenceReport> {
        Box::pin(self.inferred(state, purpose, request))
    }

    async fn inferred(&self, state: &mut AgentState, purpose: Purpose, request: Request) -> InferenceReport {
        let Some(_nested) = self.nest() else {
            return InferenceReport::Failed(RunError::Internal { message: NESTED.to_owned() });
        };
        // A copy, which costs nothing: if this is dropped half way, the state is still there.
        let mut desk = Desk { state: state.clone(), pending: Pending::default() };
        let report = inference::infer(self, &mut desk, purpose, request).await;
        *state = desk.state;
        lock(&self.0.late_stops).extend(desk.pending.stops().iter().cloned());
        report
    }

    /// Takes a person's message into the conversation of a run that is under way, through the hooks at
    /// [`PromptSubmit`](crate::PromptSubmit). Answers with who refused it, if somebody did.
    pub async fn submit(
        &self,
        state: &mut AgentState,
        prompt: impl Into<Prompt>,
    ) -> Result<Result<(), Stop>, Interrupted> {
        let Some(_nested) = self.nest() else { return Err(RunError::Internal { message: NESTED.to_owned() }.into()) };
        // A copy, which costs nothing: if this is dropped half way, the state is still there.
        let mut after = state.clone();
        let taken = prompt::take(self, &mut after, prompt.into()).await?;
        *state = after;
        Ok(taken.map(drop))
    }

    /// A request to this run's model with nothing in it but what the agent always sends.
    pub fn request(&self) -> Request {
        Request {
            model: self.0.core.model.id(),
            system_prompt: self.0.system_prompt.clone(),
            messages: Messages::default(),
            tools: self.0.core.tools.offers().clone(),
            max_output_tokens: None,
            temperature: None,
            options: Value::Null,
        }
    }

    /// Notifies people, through the hooks at [`Notification`](crate::Notification).
    pub fn notify<'a>(
        &'a self,
        state: &'a mut AgentState,
        kind: impl Into<String>,
        message: impl Into<String>,
    ) -> BoxFuture<'a, Result<(), RunError>> {
        let (kind, message) = (kind.into(), message.into());
        Box::pin(self.notified(state, kind, message, |kind, message| News::Notice { kind, message }))
    }

    pub(crate) async fn notified(
        &self,
        state: &mut AgentState,
        kind: String,
        message: String,
        news: impl FnOnce(String, String) -> News,
    ) -> Result<(), RunError> {
        let Some(_nested) = self.nest() else { return Err(RunError::Internal { message: NESTED.to_owned() }) };
        let at = self.at(Notification::NAME);
        let mut event = Notified { at, kind, message, data: Value::Null };
        let outcome = self.fire(Notification, &mut event, state, Retries::Allowed, Leave::OnCancel).await;
        self.tell(|| news(event.kind, event.message));
        match outcome {
            Ok(_) | Err(Interrupted::Cancelled | Interrupted::Suspended { .. }) => Ok(()),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    /// Ends the run for this reason, once the step that is under way has ended.
    pub fn stop(&self, stop: Stop) {
        lock(&self.0.late_stops).push(stop);
    }

    /// A counter under this name, shared by all of the session, or by a run and the runs of its children. Whichever of
    /// those runs asks for it first has it for itself and all below: ask at [`ExecutionStart`](crate::ExecutionStart).
    pub fn counter(&self, within: counts::Within, name: &str) -> Counter {
        self.0.counts.counter(within, name)
    }

    /// How many bytes of models' answers this run has let through so far, so that whoever asks a model again knows
    /// whether somebody has seen a part of the first answer.
    pub fn shown_bytes(&self) -> u64 {
        self.0.shown.load(Ordering::Acquire)
    }

    pub(crate) fn has_shown(&self, text: &str) {
        self.0.shown.fetch_add(text.len() as u64, Ordering::AcqRel);
    }

    /// What model calls of this run have cost so far, children not included.
    pub fn spent(&self) -> Usage {
        *lock(&self.0.spent)
    }

    pub(crate) fn spend(&self, usage: Usage) {
        *lock(&self.0.spent) += usage;
        lock(&self.0.totals).usage += usage;
        self.0.budget.pay(usage);
    }

    pub(crate) fn count_call(&self) {
        lock(&self.0.totals).tool_calls += 1;
    }

    pub(crate) fn count_run(&self) {
        lock(&self.0.totals).runs += 1;
    }

    /// What the whole session has used, children included.
    pub(crate) fn totals(&self) -> Totals {
        *lock(&self.0.totals)
    }

    /// Stops that were asked for beside the verdicts of the loop's own points.
    pub(crate) fn late_stops(&self) -> Vec<Stop> {
        std::mem::take(&mut *lock(&self.0.late_stops))
    }

    /// One level deeper into hooks that call back into their run; `None` if that is too deep.
    fn nest(&self) -> Option<Nested<'_>> {
        let nested = Nested(&self.0.nested);
        (nested.0.fetch_add(1, Ordering::AcqRel) < MAX_NESTED).then_some(nested)
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0.cancel
    }

    pub(crate) fn front(&self) -> &Front {
        &self.0.front
    }

    /// Remembers an agent that was delegated to, if the session has to wait for detached watches of its own. Others are
    /// let go: some are built for one task, and a session may have many.
    pub(crate) fn had_child(&self, agent: &Agent) {
        if !agent.hooks().list().iter().any(|hook| hook.detached) {
            return;
        }
        let mut children = lock(&self.0.children);
        if !children.iter().any(|child| Arc::ptr_eq(child.core(), agent.core())) {
            children.push(agent.clone());
        }
    }

    /// The agents that this session has delegated to.
    pub(crate) fn children(&self) -> Vec<Agent> {
        lock(&self.0.children).clone()
    }

    pub(crate) fn delegations(&self) -> &TaskTracker {
        &self.0.delegations
    }

    /// Waits for children that were cancelled to tell their ends.
    pub(crate) async fn children_ended(&self) {
        self.0.delegations.close();
        self.0.delegations.wait().await;
    }

    /// The head of the next event.
    pub(crate) fn at(&self, point: &'static str) -> At {
        At {
            run: self.0.info.clone(),
            point: Cow::Borrowed(point),
            number: self.0.events.fetch_add(1, Ordering::Relaxed) + 1,
            step: self.0.step.load(Ordering::Relaxed),
            timestamp: self.clock().now(),
        }
    }

    pub(crate) fn set_step(&self, step: u32) {
        self.0.step.store(step, Ordering::Relaxed);
    }

    /// Runs the hooks of a point, and keeps what they did.
    pub(crate) async fn fire<P>(
        &self,
        point: P,
        event: &mut P::Event,
        state: &mut AgentState,
        retries: Retries,
        leave: Leave,
    ) -> Result<Outcome<P>, Interrupted>
    where
        P: Point<State = AgentState, Event: Located>,
    {
        if let Some(outcome) = self.recall(event, state) {
            return Ok(outcome);
        }
        let outcome = {
            // Stays where it is: it has room for all that a dispatch needs, and would be copied as a whole.
            let dispatch = pin!(self.0.hooks.dispatch(point, Frame { event, state, scope: self, retries }));
            match leave {
                Leave::OnCancel => self.unless_cancelled(dispatch).await?,
                Leave::OnceBegun => self.until_cancelled(dispatch).await?,
                Leave::Never => dispatch.await,
            }
        };
        if !outcome.is_empty() {
            let record = outcome.record();
            self.tell(|| News::Hooks {
                record: record.clone(),
                subject: subject(event),
                call_id: event.call_id().cloned(),
            });
            let (event_id, call_id) = (event.at().event_id(), event.call_id().cloned());
            let left = taped::left_by(&outcome, event, state);
            self.write(What::Dispatched { event_id, call_id, record, left }).await?;
        }
        Ok(outcome)
    }

    /// Tells the front end, if there is one.
    pub(crate) fn tell(&self, news: impl FnOnce() -> News) {
        self.0.front.tell(&self.0.info, || {
            let mut news = news();
            self.veils().news(&mut news);
            news
        });
    }

    pub(crate) fn veils(&self) -> &Veils {
        &self.0.core.veils
    }

    /// Does something unless the run is cancelled, before or meanwhile.
    pub(crate) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        if self.is_cancelled() {
            return Err(Interrupted::Cancelled);
        }
        self.until_cancelled(work).await
    }

    /// Begins something, and drops it if the run is cancelled meanwhile.
    async fn until_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        let mut work = pin!(work);
        let mut cancelled = pin!(self.0.cancel.cancelled());
        // The work goes first: most of it is ready at once, and then nobody has to listen for a cancellation.
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => cancelled.as_mut().poll(cx).map(|()| Err(Interrupted::Cancelled)),
        })
        .await
    }

    /// Does something, or drops it if it takes longer than it may by the run's clock.
    pub async fn within<T>(&self, limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
        let Some(limit) = limit else { return Some(work.await) };
        match select(pin!(work), self.clock().sleep(limit)).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    /// Waits because a hook or a provider asked to. Counts as time worked, and takes no longer than there is time left.
    pub async fn wait(&self, duration: Duration) -> Result<(), Interrupted> {
        let left = self.0.budget.time_left(&**self.clock()).unwrap_or(Duration::MAX);
        self.unless_cancelled(self.clock().sleep(duration.min(left))).await
    }

    /// Waits for somebody outside: a person, or a provider that is not there. Does not count as time worked.
    pub(crate) async fn unpaid<T>(&self, answer: impl Future<Output = T>) -> Result<T, Interrupted> {
        self.0.working.paused(self.unless_cancelled(answer)).await
    }

    /// Whether the operation tried for the `attempt`th time may be retried once more.
    pub(crate) fn retries(&self, attempt: u32) -> Retries {
        if attempt > self.0.core.retry_limit { Retries::Exhausted } else { Retries::Allowed }
    }
}

/// What an event is about, in a few words: the tool and its command.
fn subject(event: &impl vertebra_hooks::Event) -> String {
    let words = [event.tool(), event.command()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Something for the model to read, cut to what its context may take.
pub(crate) fn instruction(run: &Run, text: impl Into<String>, from: impl Into<String>) -> Message {
    Message::instruction(capped(text.into(), run.core().max_result_bytes), from)
}

impl Desk {
    /// Lets the model read something that a hook or the runtime says, cut to what its context may take.
    pub(crate) fn instruct(&mut self, run: &Run, text: impl Into<String>, from: impl Into<String>) {
        self.state.push(instruction(run, text, from));
    }

    /// Takes the stops that hooks asked for in a dispatch, whatever else was decided.
    pub(crate) fn take_stops<P: Point>(&mut self, outcome: &Outcome<P>) {
        use vertebra_hooks::{Kind, Verdict};
        for ruling in outcome.of_kind(Kind::Stop) {
            self.pending.stop(crate::Stop::requested(&ruling.by, ruling.verdict.reason().unwrap_or_default()));
        }
    }
}
