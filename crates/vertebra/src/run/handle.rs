//! One run as its hooks and tools see it: who it is, what it may use, and how to reach the rest.

use std::{
    borrow::Cow,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{Either, select};
use serde_json::Value;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use vertebra_hooks::{BoxFuture, Frame, Hooks, Outcome, Point, Retries};

use crate::{
    AgentBuilder, AgentState, At, Budget, Clock, InferenceReport, Message, Messages, Notification, Prompt, Purpose,
    Request, RunError, RunInfo, SharedModel, SharedTool, Stop, ToolSpec, Usage,
    agent::Core,
    budget::counters::{self, Counter},
    budget::run_budget::RunBudget,
    points::attributes::Located,
    points::events::Notified,
    run::control::{Control, Reins},
    run::decision::Pending,
    run::identity::{Identity, ParentCall},
    run::inference,
    run::output,
    run::prompt,
    run::recorder,
    run::recorder::Recorder,
    timeline::feed::{Front, News},
    timeline::redaction::Veils,
    timeline::{Tape, What},
    tool::result::capped,
};

/// A run, as hooks reach it through [`Cx::scope`](crate::Cx::scope). A clone is another handle to the same run.
#[derive(Clone)]
pub struct Run {
    inner: Arc<Inner>,
    inside: Option<Arc<InsideCall>>,
}

/// The tool call from inside which a run is reached.
pub(crate) struct InsideCall {
    pub(crate) call_id: Arc<str>,
    /// Whether the tool may be begun again.
    pub(crate) again: bool,
    pub(crate) children: TaskTracker,
}

struct Inner {
    identity: Identity,
    recorder: Recorder,
    budget: RunBudget,
    control: Control,
}

pub(crate) const NESTED: &str = "hooks that ask a model, notify or fire points have caused each other too often";

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks at once if the mutex is free, as it nearly always is: queueing for it costs five times as much.
pub(crate) async fn locked<T>(mutex: &tokio::sync::Mutex<T>) -> tokio::sync::MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(_) => mutex.lock().await,
    }
}

/// What a run is made of.
pub(crate) struct Parts {
    pub(crate) info: RunInfo,
    pub(crate) core: Arc<Core>,
    pub(crate) hooks: Hooks,
    pub(crate) budget: Budget,
    pub(crate) reins: Reins,
    pub(crate) front: Front,
    pub(crate) system_prompt: Arc<str>,
    pub(crate) tape: Option<Arc<Tape>>,
    /// Whether a loop outside this crate drives the run.
    pub(crate) foreign: bool,
}

/// Why a phase has no result.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
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
pub(crate) struct LoopState {
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
        let Parts { info, core, hooks, budget, reins, front, system_prompt, tape, foreign } = parts;
        let parent = above.filter(|above| above.info().run_id != info.session_id);
        let budget = RunBudget::new(budget, core.clock.clone(), above);
        let recorder = Recorder::new(front, tape, above);
        let control = Control::new(reins, foreign, above, parent);
        let parent =
            parent.map(|run| ParentCall { run_id: run.info().run_id.clone(), call_id: run.inside_of().cloned() });
        let identity = Identity { info: Arc::new(info), core, hooks, system_prompt, parent, foreign };
        Self { inner: Arc::new(Inner { identity, recorder, budget, control }), inside: None }
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.inner.identity
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.inner.recorder
    }

    pub(crate) fn run_budget(&self) -> &RunBudget {
        &self.inner.budget
    }

    pub(crate) fn control(&self) -> &Control {
        &self.inner.control
    }

    /// Returns the same run, as reached from inside a tool call.
    pub(crate) fn inside(&self, call_id: &Arc<str>, again: bool, children: TaskTracker) -> Self {
        let inside = InsideCall { call_id: call_id.clone(), again, children };
        Self { inner: self.inner.clone(), inside: Some(Arc::new(inside)) }
    }

    /// Holds the tool call from inside which a run is reached, until it is dropped.
    pub(crate) fn hold_call(&self) -> Option<TaskTrackerToken> {
        self.inside.as_ref().map(|inside| inside.children.token())
    }

    pub(crate) fn inside_of(&self) -> Option<&Arc<str>> {
        self.inside.as_ref().map(|inside| &inside.call_id)
    }

    pub(crate) fn can_be_entered_again(&self) -> bool {
        self.inside.as_ref().is_some_and(|inside| inside.again)
    }

    /// Who and where.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.inner.identity.info
    }

    /// What the run may use.
    pub fn budget(&self) -> &Budget {
        &self.inner.budget.tree
    }

    /// The hooks in force.
    pub fn hooks(&self) -> &Hooks {
        &self.inner.identity.hooks
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.identity.core.clock
    }

    /// The model of the agent that runs, for a child of it.
    pub fn model(&self) -> SharedModel {
        SharedModel(self.inner.identity.core.model.clone())
    }

    /// The tools of the agent that runs, in the order they were given: for a child of it.
    pub fn tools(&self) -> impl Iterator<Item = SharedTool> {
        self.inner.identity.core.tools.shared()
    }

    /// A builder for a child of the agent that runs: its model, folder, policies and bounds, but no tools, hooks or
    /// limits of its own. The hooks and limits of the parent hold in a child anyway.
    pub fn child(&self) -> AgentBuilder {
        AgentBuilder::like(&self.inner.identity.core)
    }

    /// What is known of the tool of this name, if the agent that runs has it.
    pub fn tool_spec(&self, name: &str) -> Option<&ToolSpec> {
        self.inner.identity.core.tools.spec(name)
    }

    /// Asks the run to end. What has begun is cancelled.
    pub fn cancel(&self) {
        self.control().cancel();
    }

    /// Whether somebody has asked the run to end.
    pub fn is_cancelled(&self) -> bool {
        self.control().is_cancelled()
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
        let Some(_nested) = self.control().nest() else {
            return InferenceReport::Failed(RunError::Internal { message: NESTED.to_owned() });
        };
        // A copy, which costs nothing: if this is dropped half way, the state is still there.
        let mut desk = LoopState { state: state.clone(), pending: Pending::default() };
        let report = inference::infer(self, &mut desk, purpose, request).await;
        *state = desk.state;
        desk.pending.stops().iter().for_each(|stop| self.stop(stop.clone()));
        report
    }

    /// Takes a person's message into the conversation of a run that is under way, through the hooks at
    /// [`PromptSubmit`](crate::PromptSubmit). Answers with who refused it, if somebody did.
    pub async fn submit(
        &self,
        state: &mut AgentState,
        prompt: impl Into<Prompt>,
    ) -> Result<Result<(), Stop>, Interrupted> {
        let Some(_nested) = self.control().nest() else {
            return Err(RunError::Internal { message: NESTED.to_owned() }.into());
        };
        // A copy, which costs nothing: if this is dropped half way, the state is still there.
        let mut after = state.clone();
        let taken = prompt::take(self, &mut after, prompt.into()).await?;
        *state = after;
        Ok(taken.map(drop))
    }

    /// A request to this run's model with nothing in it but what the agent always sends.
    pub fn request(&self) -> Request {
        Request {
            model: self.inner.identity.core.model.id(),
            system_prompt: self.inner.identity.system_prompt.clone(),
            messages: Messages::default(),
            tools: self.inner.identity.core.tools.offers().clone(),
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
        let Some(_nested) = self.control().nest() else {
            return Err(RunError::Internal { message: NESTED.to_owned() });
        };
        let at = self.at(Notification::NAME);
        let mut event = Notified { at, kind, message, data: Value::Null };
        let outcome = self.dispatch(Notification, &mut event, state, Retries::Allowed, Leave::OnCancel).await;
        self.tell(|| news(event.kind, event.message));
        match outcome {
            Ok(_) | Err(Interrupted::Cancelled | Interrupted::Suspended { .. }) => Ok(()),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    /// Ends the run for this reason, once the step that is under way has ended.
    pub fn stop(&self, stop: Stop) {
        self.control().stop(stop);
    }

    /// A counter under this name, shared by all of the session, or by a run and the runs of its children. Whichever of
    /// those runs asks for it first has it for itself and all below: ask at [`ExecutionStart`](crate::ExecutionStart).
    pub fn counter(&self, within: counters::Within, name: &str) -> Counter {
        self.inner.budget.counters.counter(within, name)
    }

    /// How many bytes of models' answers this run has let through so far, so that whoever asks a model again knows
    /// whether somebody has seen a part of the first answer.
    pub fn shown_bytes(&self) -> u64 {
        self.recorder().shown_bytes()
    }

    /// What model calls of this run have cost so far, children not included.
    pub fn spent(&self) -> Usage {
        self.run_budget().spent()
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.inner.identity.core
    }

    /// The head of the next event.
    pub(crate) fn at(&self, point: &'static str) -> At {
        At {
            run: self.inner.identity.info.clone(),
            point: Cow::Borrowed(point),
            number: self.recorder().next_event(),
            step: self.recorder().step(),
            timestamp: self.clock().now(),
        }
    }

    /// Runs the hooks of a point, and keeps what they did.
    pub(crate) async fn dispatch<P>(
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
            let dispatch =
                pin!(self.inner.identity.hooks.dispatch(point, Frame { event, state, scope: self, retries }));
            match leave {
                Leave::OnCancel => self.control().unless_cancelled(dispatch).await?,
                Leave::OnceBegun => self.control().until_cancelled(dispatch).await?,
                Leave::Never => dispatch.await,
            }
        };
        if !outcome.is_empty() {
            let record = outcome.record();
            let news =
                || News::Hooks { record: record.clone(), subject: subject(event), call_id: event.call_id().cloned() };
            if output::is_of_answer(P::NAME) {
                self.send_or_hold(news);
            } else {
                self.tell(news);
            }
            let (event_id, call_id) = (event.at().event_id(), event.call_id().cloned());
            let left = recorder::left_by(&outcome, event, state);
            self.write(What::Dispatched { event_id, call_id, record, left }).await?;
        }
        Ok(outcome)
    }

    /// Tells the front end, if there is one.
    pub(crate) fn tell(&self, news: impl FnOnce() -> News) {
        self.recorder().front.tell(&self.inner.identity.info, || {
            let mut news = news();
            self.veils().news(&mut news);
            news
        });
    }

    pub(crate) fn veils(&self) -> &Veils {
        &self.inner.identity.core.veils
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
        let left = self.inner.budget.tree.time_left(&**self.clock()).unwrap_or(Duration::MAX);
        self.control().unless_cancelled(self.clock().sleep(duration.min(left))).await
    }

    /// Waits for somebody outside: a person, or a provider that is not there. Does not count as time worked.
    pub(crate) async fn unpaid<T>(&self, answer: impl Future<Output = T>) -> Result<T, Interrupted> {
        self.run_budget().working.paused(self.control().unless_cancelled(answer)).await
    }

    /// Whether the operation tried for the `attempt`th time may be retried once more.
    pub(crate) fn retries(&self, attempt: u32) -> Retries {
        if attempt > self.inner.identity.core.retry_limit { Retries::Exhausted } else { Retries::Allowed }
    }
}

/// What an event is about, in a few words: the tool and its command.
fn subject(event: &impl Located) -> String {
    let words = event.call().map(|call| [Some(&*call.tool), call.command()]);
    words.into_iter().flatten().flatten().collect::<Vec<_>>().join(" ")
}

/// Something for the model to read, cut to what its context may take.
pub(crate) fn instruction(run: &Run, text: impl Into<String>, from: impl Into<String>) -> Message {
    Message::instruction(capped(text.into(), run.core().max_result_bytes), from)
}

impl LoopState {
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
