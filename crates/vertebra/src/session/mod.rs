//! Sessions: one conversation, many runs.

pub(crate) mod again;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod stream;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{
    sync::Mutex,
    task::{JoinError, JoinHandle},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use vertebra_hooks::{BoxFuture, Drained, Hooks, Point, Retries, State};

use crate::{
    Agent, AgentState, Budget, Checkpoint, Interrupted, Limits, Prompt, Refusable, Run, RunError, RunFailed, RunInfo,
    RunReport, RunStatus, RunStream, SessionEnd, SessionError, SessionReport, SessionStart, Stop, StopReason,
    clock::{IdFor, millis},
    conversation::compact,
    points::events::{SessionEnded, SessionStarted},
    run::control::Reins,
    run::handle::{Leave, LoopState, Parts},
    run::r#loop::{Before, execute},
    session::again::Memory,
    timeline::feed::Front,
    timeline::{Keeper, Tape, What},
};

/// An open session. Dropping it closes it in the background.
pub struct Session {
    inner: Option<Inner>,
}

struct Inner {
    agent: Agent,
    /// Held by whichever run is under way, so that runs of a session come one after the other.
    state: Arc<Mutex<AgentState>>,
    /// The session as its own hooks see it.
    scope: Run,
    /// Every run that was started: none may begin after the session has ended.
    under_way: TaskTracker,
    /// Where its end is told if it is dropped, from wherever that is.
    runtime: tokio::runtime::Handle,
    system_prompt: Arc<str>,
    began: Duration,
    /// What it is resumed or replayed from.
    tape: Option<Arc<Tape>>,
    /// The run that was left without an end.
    unfinished: Option<Unfinished>,
    /// Whether a run waits for somebody: then the session has not ended when this process is done with it.
    waits: Arc<AtomicBool>,
}

/// How a session begins.
#[derive(Default)]
pub(crate) struct Opening {
    pub(crate) session_id: Arc<str>,
    /// Its first line.
    pub(crate) first: What,
    pub(crate) state: AgentState,
    /// The latest checkpoint from before.
    pub(crate) latest: Checkpoint,
    pub(crate) tape: Option<Arc<Tape>>,
    pub(crate) unfinished: Option<Unfinished>,
    /// Whether the journal does not know the state yet.
    pub(crate) keep: bool,
}

/// A run that has no end yet.
pub(crate) struct Unfinished {
    pub(crate) run_id: Arc<str>,
    pub(crate) prompt: Prompt,
}

impl Session {
    pub(crate) fn open(agent: Agent, opening: Opening) -> BoxFuture<'static, Result<Self, SessionError>> {
        Box::pin(Self::opened(agent, opening))
    }

    async fn opened(agent: Agent, opening: Opening) -> Result<Self, SessionError> {
        let Opening { session_id, first, state, latest, tape, unfinished, keep } = opening;
        let core = agent.core().clone();
        let replayed = tape.clone().filter(|tape| tape.replayed().is_some());
        let known = if keep { AgentState::default() } else { state.clone() };
        let inner = Inner {
            scope: scope(&agent, &session_id, replayed),
            state: Arc::new(Mutex::new(state)),
            under_way: TaskTracker::new(),
            runtime: tokio::runtime::Handle::current(),
            system_prompt: core.system_prompt.clone(),
            began: core.clock.elapsed(),
            waits: Arc::default(),
            tape,
            unfinished,
            agent,
        };
        let (scope, state) = (inner.scope.clone(), inner.state.clone());
        let resumed = match first {
            What::SessionResumed { times } => times,
            _ => 0,
        };
        scope.run_budget().restore_session(&latest, resumed);
        // Made before its beginning is told: if nobody waits for that to end, its end is told all the same.
        let mut session = Self { inner: Some(inner) };
        let mut event = SessionStarted {
            at: scope.at(SessionStart::NAME),
            system_prompt: core.system_prompt.clone(),
            model: core.model.id(),
            resumed: resumed > 0,
        };
        let mut state = state.lock().await;
        let started = start(&scope, first, &mut event, (known, &mut state)).await;
        drop(state);
        if let Some(inner) = session.inner.take_if(|_| started.is_err()) {
            // A separate task, so that the journal releases the session even if the caller leaves meanwhile.
            let _ = inner.runtime.clone().spawn(inner.never_opened(resumed == 0)).await;
        }
        started?;
        if let Some(inner) = &mut session.inner {
            inner.system_prompt = event.system_prompt;
        }
        Ok(session)
    }

    /// The run that was left without an end, if one was.
    pub fn unfinished(&self) -> Option<&str> {
        self.inner().unfinished.as_ref().map(|left| &*left.run_id)
    }

    /// Finishes the run that was interrupted. Returns `None` if there was none. When the future is dropped, the run is
    /// cancelled.
    pub fn go_on(&mut self) -> BoxFuture<'_, Option<Result<RunReport, RunFailed>>> {
        Box::pin(async move {
            let left = self.take_unfinished()?;
            let started = self.begin(vec![left], &Front::default(), self.reins(), None);
            Some(started.wait().await.into_result())
        })
    }

    /// The same, telling what happens as it happens.
    pub fn stream_on(&mut self) -> Option<RunStream> {
        let left = self.take_unfinished()?;
        Some(self.streamed(vec![left]))
    }

    fn take_unfinished(&mut self) -> Option<(Option<Arc<str>>, Prompt)> {
        let inner = self.inner.as_mut()?;
        let Unfinished { run_id, prompt } = inner.unfinished.take()?;
        Some((Some(run_id), prompt))
    }

    /// The session's identifier.
    pub fn id(&self) -> &str {
        self.inner().scope.info().session_id.as_ref()
    }

    /// What the agent knows now. Waits for a run that is under way.
    pub async fn state(&self) -> AgentState {
        self.inner().state.lock().await.clone()
    }

    /// Runs a prompt. When the future is dropped, the run is cancelled.
    pub fn prompt(&mut self, prompt: impl Into<Prompt>) -> BoxFuture<'_, Result<RunReport, RunFailed>> {
        self.run(prompt.into(), self.reins(), None)
    }

    /// Runs a prompt with additional hooks for this run alone. When the future is dropped, the run is cancelled.
    pub fn prompt_with<'a>(
        &'a mut self,
        prompt: impl Into<Prompt>,
        more: &'a Hooks,
    ) -> BoxFuture<'a, Result<RunReport, RunFailed>> {
        self.run(prompt.into(), self.reins(), Some(more))
    }

    /// Runs a prompt that a token can cancel.
    pub fn prompt_until(
        &mut self,
        prompt: impl Into<Prompt>,
        cancel: &CancellationToken,
    ) -> BoxFuture<'_, Result<RunReport, RunFailed>> {
        // A child token: the end of this run must not cancel whatever else listens to the caller's token.
        let reins = Reins::with(self.inner().agent.core(), cancel.child_token());
        self.run(prompt.into(), reins, None)
    }

    fn run<'a>(
        &'a mut self,
        prompt: Prompt,
        reins: Reins,
        more: Option<&'a Hooks>,
    ) -> BoxFuture<'a, Result<RunReport, RunFailed>> {
        Box::pin(async move {
            let hooks = more.map(|more| self.inner().agent.hooks().beside(more)).transpose().map_err(|error| {
                let info = self.inner().scope.info();
                let message = format!("the hooks of this prompt do not fit beside those of the agent: {error}");
                RunFailed(Box::new(nothing(info.session_id.clone(), info.run_id.clone(), broken(message))))
            })?;
            let report = self.start(prompt, &Front::default(), reins, hooks).wait().await;
            if let Some(more) = more {
                more.drain(self.inner().agent.core().drain_time).await;
            }
            report.into_result()
        })
    }

    /// Runs a prompt and streams its events. When the stream is dropped, the run is cancelled; the session stays open.
    pub fn stream(&mut self, prompt: impl Into<Prompt>) -> RunStream {
        let prompts = self.after_unfinished(prompt.into());
        self.streamed(prompts)
    }

    fn streamed(&mut self, prompts: Vec<(Option<Arc<str>>, Prompt)>) -> RunStream {
        let (front, feed) = Front::open();
        let reins = self.reins();
        let run = self.begin(prompts, &front, reins.clone(), None);
        let task = tokio::spawn(async move {
            let report = run.wait().await;
            front.close();
            report
        });
        RunStream::of(feed, reins, task)
    }

    /// Compacts the conversation now, if the agent has a compactor; `instructions` say what to keep. Returns whether it
    /// was done: a hook may refuse it.
    pub fn compact<'a>(&'a mut self, instructions: &'a str) -> BoxFuture<'a, Result<bool, RunError>> {
        Box::pin(self.compacted(instructions))
    }

    async fn compacted(&mut self, instructions: &str) -> Result<bool, RunError> {
        let state = self.inner().state.clone();
        let mut state = state.lock().await;
        let run = Run::new(
            self.parts(None, Front::default(), self.reins(), self.inner().agent.hooks().clone()),
            Some(self.scope()),
        );
        let mut desk = LoopState { state: state.clone(), ..LoopState::default() };
        let done = compact::asked_for(&run, &mut desk, instructions).await;
        let known = std::mem::replace(&mut *state, desk.state);
        keep_state(self.scope(), known, &state).await?;
        match done {
            Ok(done) => Ok(done),
            Err(Interrupted::Cancelled | Interrupted::Suspended { .. }) => Ok(false),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    /// Closes the session: fires `SessionEnd`, then waits a bounded time for detached watches.
    pub fn close(self) -> BoxFuture<'static, SessionReport> {
        Box::pin(self.into_inner().close())
    }

    /// Releases the session without ending it, so that it can be resumed. `SessionEnd` does not fire.
    pub fn leave(self) -> BoxFuture<'static, SessionReport> {
        Box::pin(self.into_inner().leave())
    }
    pub(crate) fn start(&mut self, prompt: Prompt, front: &Front, reins: Reins, hooks: Option<Hooks>) -> Started {
        let prompts = self.after_unfinished(prompt);
        self.begin(prompts, front, reins, hooks)
    }

    /// An interrupted run is finished before a new prompt runs: the model must know its result.
    fn after_unfinished(&mut self, prompt: Prompt) -> Vec<(Option<Arc<str>>, Prompt)> {
        self.take_unfinished().into_iter().chain([(None, prompt)]).collect()
    }

    /// Runs a prompt under this name.
    pub(crate) fn start_as(&mut self, run_id: Option<Arc<str>>, prompt: Prompt) -> Started {
        self.begin(vec![(run_id, prompt)], &Front::default(), self.reins(), None)
    }

    /// Runs prompts, one after the other, as long as none of them has to wait; the report is about the last.
    fn begin(
        &mut self,
        prompts: Vec<(Option<Arc<str>>, Prompt)>,
        front: &Front,
        reins: Reins,
        hooks: Option<Hooks>,
    ) -> Started {
        let hooks = hooks.unwrap_or_else(|| self.inner().agent.hooks().clone());
        let mut runs = Vec::new();
        for (run_id, prompt) in prompts {
            let resumed = run_id.is_some();
            let run = Run::new(self.parts(run_id, front.clone(), reins.clone(), hooks.clone()), Some(self.scope()));
            if !resumed || run.replayed().is_some() {
                run.run_budget().count_run();
            }
            runs.push((run, prompt));
        }
        let inner = self.inner();
        let info = runs.last().map_or_else(|| inner.scope.info().clone(), |(run, _)| run.info().clone());
        let (state, waits) = (inner.state.clone(), inner.waits.clone());
        let none = ended_without_run(&info);
        let task = inner.under_way.spawn(async move {
            let mut state = state.lock_owned().await;
            let mut report = none;
            for (run, prompt) in runs {
                let after;
                (after, report) = execute(run, state.clone(), state.clone(), prompt).await;
                *state = after;
                if report.status == RunStatus::Suspended {
                    waits.store(true, Ordering::Release);
                    break;
                }
            }
            report
        });
        Started { task, info: (*info).clone(), _cancel_on_drop: reins.cancel.drop_guard() }
    }

    fn reins(&self) -> Reins {
        Reins::new(self.inner().agent.core())
    }

    fn parts(&self, run_id: Option<Arc<str>>, front: Front, reins: Reins, hooks: Hooks) -> Parts {
        let inner = self.inner();
        let core = inner.agent.core().clone();
        Parts {
            info: RunInfo {
                run_id: run_id.unwrap_or_else(|| core.ids.fresh(IdFor::Run)),
                ..(**inner.scope.info()).clone()
            },
            hooks,
            budget: Budget::new(core.name.clone(), core.limits.clone()),
            reins,
            front,
            system_prompt: inner.system_prompt.clone(),
            tape: inner.tape.clone(),
            foreign: false,
            core,
        }
    }

    /// Takes over what somebody else made of the state.
    pub(crate) async fn replace_state(&self, state: AgentState) {
        *self.inner().state.lock().await = state;
    }

    /// Takes over what a run left that was not started here.
    pub(crate) async fn adopt(&mut self, state: AgentState) {
        self.scope().run_budget().count_run();
        self.replace_state(state).await;
    }

    /// The session as its own hooks see it.
    pub(crate) fn scope(&self) -> &Run {
        &self.inner().scope
    }

    /// The system prompt as `SessionStart` left it.
    pub(crate) fn system_prompt(&self) -> &Arc<str> {
        &self.inner().system_prompt
    }

    fn into_inner(mut self) -> Inner {
        self.inner.take().expect("a session is closed once, by value")
    }

    fn inner(&self) -> &Inner {
        self.inner.as_ref().expect("a session lives until it is closed, by value")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            inner.runtime.clone().spawn(inner.close());
        }
    }
}

impl Inner {
    /// Lets go of a session that did not open: it does not end for its hooks. One that is new is over; one that was
    /// resumed stays as it was.
    async fn never_opened(self, is_new: bool) {
        if is_new {
            // If this fails too, the first error is the one to report.
            let _ = self.scope.write(What::SessionEnded).await;
        }
        self.leave().await;
    }

    async fn leave(self) -> SessionReport {
        self.under_way.close();
        self.under_way.wait().await;
        let is_released = self.waits.swap(true, Ordering::AcqRel);
        let (agent, id) = (self.agent.clone(), self.scope.info().session_id.clone());
        let report = self.close().await;
        // A suspended run has released the session already, and another process may hold it by now.
        if !is_released && let Err(error) = agent.core().journal.release(&id).await {
            tracing::warn!(%error, "the journal did not release the session");
        }
        report
    }

    async fn close(self) -> SessionReport {
        self.under_way.close();
        self.under_way.wait().await;
        let mut state = self.state.lock().await;
        let duration = self.scope.clock().elapsed().saturating_sub(self.began);
        let totals = self.scope.run_budget().totals();
        let mut event = SessionEnded {
            at: self.scope.at(SessionEnd::NAME),
            usage: totals.usage,
            total_tokens: totals.usage.total_tokens(),
            total_tool_calls: totals.tool_calls,
            runs: totals.runs,
            steps: state.steps(),
            duration_ms: millis(duration),
        };
        if !self.waits.load(Ordering::Acquire) {
            let known = state.clone();
            let _ = self.scope.dispatch(SessionEnd, &mut event, &mut state, Retries::Allowed, Leave::Never).await;
            let _ = keep_state(&self.scope, known, &state).await;
            let _ = self.scope.write(What::SessionEnded).await;
        }
        let agents = std::iter::once(self.agent.clone()).chain(self.scope.control().children());
        let drain_time = self.agent.core().drain_time;
        let drained = join_all(agents.map(|agent| async move { agent.hooks().drain(drain_time).await })).await;
        let watches = drained.into_iter().fold(Drained::default(), |sum, one| sum + one);
        if watches.dropped + watches.unfinished > 0 {
            tracing::warn!(?watches, "detached watches missed events");
        }
        SessionReport {
            session_id: self.scope.info().session_id.clone(),
            usage: event.usage,
            tool_calls: event.total_tool_calls,
            runs: event.runs,
            steps: event.steps,
            duration_ms: event.duration_ms,
            watches,
        }
    }
}

/// The first line of a session, then `SessionStart`.
async fn start(
    scope: &Run,
    first: What,
    event: &mut SessionStarted,
    (known, state): (AgentState, &mut AgentState),
) -> Result<(), SessionError> {
    scope.write(first).await.map_err(Interrupted::from)?;
    let outcome = scope.dispatch(SessionStart, event, state, Retries::Allowed, Leave::Never).await?;
    if let Refusable::Deny { reason } = outcome.verdict() {
        let by = outcome.decided_by().cloned().unwrap_or_default();
        return Err(SessionError::Denied { session_id: scope.info().session_id.clone(), by, reason });
    }
    Ok(keep_state(scope, known, state).await.map_err(Interrupted::from)?)
}

/// Tells the journal what changed in the state outside a run.
async fn keep_state(scope: &Run, known: AgentState, state: &AgentState) -> Result<(), RunError> {
    if known.changes(state).is_empty() {
        return Ok(());
    }
    let totals = scope.run_budget().totals();
    let before = Before { usage: totals.usage, steps: state.steps(), tool_calls: state.tool_calls() };
    let desk = LoopState { state: state.clone(), ..LoopState::default() };
    let memory = Memory { before, ..Memory::default() };
    scope.write(What::Checkpoint(memory.checkpoint(scope, &desk, &mut Keeper::knows(known)))).await
}

/// A session as its own events name it: they belong to no run.
pub(crate) fn info(agent: &Agent, session_id: &Arc<str>) -> RunInfo {
    let core = agent.core();
    RunInfo {
        session_id: session_id.clone(),
        run_id: session_id.clone(),
        agent: core.name.clone(),
        depth: 0,
        working_directory: core.working_directory.clone().unwrap_or_else(|| "/".into()),
    }
}

/// The session itself as a scope.
fn scope(agent: &Agent, session_id: &Arc<str>, tape: Option<Arc<Tape>>) -> Run {
    let core = agent.core().clone();
    let parts = Parts {
        info: info(agent, session_id),
        hooks: agent.hooks().clone(),
        budget: Budget::new(core.name.clone(), Limits::none()),
        reins: Reins::new(&core),
        front: Front::default(),
        system_prompt: core.system_prompt.clone(),
        tape,
        foreign: false,
        core,
    };
    Run::new(parts, None)
}

/// A run under way, in a task of its own.
pub(crate) struct Started {
    task: JoinHandle<RunReport>,
    info: RunInfo,
    _cancel_on_drop: DropGuard,
}

impl Started {
    pub(crate) async fn wait(self) -> RunReport {
        ended(self.task.await, self.info.session_id, self.info.run_id)
    }
}

/// The report of a run's task. The loop catches panics, so a task without one is of a runtime that is shutting down.
pub(crate) fn ended(
    task: Result<RunReport, JoinError>,
    session_id: impl Into<Arc<str>>,
    run_id: impl Into<Arc<str>>,
) -> RunReport {
    task.unwrap_or_else(|error| nothing(session_id.into(), run_id.into(), broken(error.to_string())))
}

fn ended_without_run(info: &RunInfo) -> RunReport {
    nothing(info.session_id.clone(), info.run_id.clone(), broken("there was nothing to run".to_owned()))
}

fn broken(message: String) -> Stop {
    Stop::hard(StopReason::Error, "runtime", message)
}

/// The failure of a run whose session did not open.
pub(crate) fn never_began(error: SessionError) -> RunFailed {
    let session_id = match &error {
        SessionError::Denied { session_id, .. } => session_id.clone(),
        SessionError::Journal(_) | SessionError::Internal { .. } => Arc::default(),
    };
    RunFailed(Box::new(nothing(session_id.clone(), session_id, error.into_stop())))
}

/// The report of a run that did not begin.
fn nothing(session_id: Arc<str>, run_id: Arc<str>, stop: Stop) -> RunReport {
    RunReport {
        session_id,
        run_id,
        status: RunStatus::Failed,
        stop,
        text: String::new(),
        steps: 0,
        tool_calls: 0,
        usage: crate::Usage::default(),
        duration_ms: 0,
    }
}
