//! Sessions: one conversation, many runs.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
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
use vertebra_hooks::{Drained, Hooks, Point, Retries};

use crate::{
    Agent, AgentState, Budget, Interrupted, Limits, Prompt, Run, RunError, RunEvent, RunFailed, RunInfo, RunReport,
    SessionEnd, SessionReport, SessionStart, Stop, StopReason,
    clock::{IdFor, millis},
    compact,
    events::{SessionEnded, SessionStarted},
    front::{Feed, Front, News},
    journal::What,
    run::execute,
    scope::{Desk, Leave, Parts},
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
    runs: u32,
}

impl Session {
    pub(crate) async fn open(agent: Agent) -> Self {
        let core = agent.core().clone();
        let session_id = core.ids.fresh(IdFor::Session);
        let inner = Inner {
            scope: scope(&agent, &session_id),
            state: Arc::default(),
            under_way: TaskTracker::new(),
            runtime: tokio::runtime::Handle::current(),
            system_prompt: core.system_prompt.clone(),
            began: core.clock.elapsed(),
            runs: 0,
            agent,
        };
        let (scope, state) = (inner.scope.clone(), inner.state.clone());
        // Made before its beginning is told: if nobody waits for that to end, its end is told all the same.
        let mut session = Self { inner: Some(inner) };
        let mut event = SessionStarted {
            at: scope.at(SessionStart::NAME),
            system_prompt: core.system_prompt.clone(),
            model: core.model.id(),
        };
        let mut state = state.lock().await;
        // A journal that fails here fails again at the first run, which says so.
        let info = scope.info();
        let (agent, working_directory) = (info.agent.clone(), info.working_directory.clone());
        let model = core.model.id();
        let _ = scope.write(What::SessionBegan { agent, working_directory, model, forked_from: None }).await;
        let _ = scope.fire(SessionStart, &mut event, &mut state, Retries::Allowed, Leave::Never).await;
        drop(state);
        if let Some(inner) = &mut session.inner {
            inner.system_prompt = event.system_prompt;
        }
        session
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
    pub async fn prompt(&mut self, prompt: impl Into<Prompt>) -> Result<RunReport, RunFailed> {
        self.start(prompt.into(), Front::default(), CancellationToken::new(), None).wait().await.into_result()
    }

    /// Runs a prompt with these hooks beside those of the agent, for this run alone. When the future is dropped, the
    /// run is cancelled.
    pub async fn prompt_with(&mut self, prompt: impl Into<Prompt>, more: &Hooks) -> Result<RunReport, RunFailed> {
        let run = self.start(prompt.into(), Front::default(), CancellationToken::new(), Some(more));
        let report = run.wait().await;
        more.drain(self.inner().agent.core().drain_time).await;
        report.into_result()
    }

    /// Runs a prompt, and lets it be cancelled through a token.
    pub async fn prompt_until(
        &mut self,
        prompt: impl Into<Prompt>,
        cancel: CancellationToken,
    ) -> Result<RunReport, RunFailed> {
        // A child of theirs: what ends this run must not end what else hangs on their token.
        self.start(prompt.into(), Front::default(), cancel.child_token(), None).wait().await.into_result()
    }

    /// Runs a prompt, and tells what happens as it happens. When the stream is dropped, the run is cancelled; the session
    /// goes on.
    pub fn stream(&mut self, prompt: impl Into<Prompt>) -> RunStream {
        let (front, feed) = Front::open();
        let cancel = CancellationToken::new();
        let run = self.start(prompt.into(), front.clone(), cancel.clone(), None);
        let task = tokio::spawn(async move {
            let report = run.wait().await;
            front.close();
            report
        });
        RunStream { feed, cancel: cancel.clone(), task, _cancel_on_drop: cancel.drop_guard() }
    }

    /// Makes the conversation shorter now, if the agent has somebody who can; `instructions` say what to keep. Answers
    /// with whether it was done: a hook may stand against it.
    pub async fn compact(&mut self, instructions: &str) -> Result<bool, RunError> {
        let state = self.inner().state.clone();
        let mut state = state.lock().await;
        let run = Run::new(self.parts(Front::default(), CancellationToken::new(), None), Some(self.scope()));
        let mut desk = Desk { state: state.clone(), ..Desk::default() };
        let done = compact::asked_for(&run, &mut desk, instructions).await;
        *state = desk.state;
        match done {
            Ok(done) => Ok(done),
            Err(Interrupted::Cancelled | Interrupted::Suspended { .. }) => Ok(false),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    /// Closes the session: `SessionEnd`, then detached watches are waited for, for a bounded time.
    pub async fn close(self) -> SessionReport {
        self.into_inner().close().await
    }

    pub(crate) fn start(
        &mut self,
        prompt: Prompt,
        front: Front,
        cancel: CancellationToken,
        more: Option<&Hooks>,
    ) -> Started {
        let inner = self.inner.as_mut().expect("a session lives until it is closed, by value");
        inner.runs += 1;
        let inner = self.inner();
        let parts = self.parts(front, cancel.clone(), more);
        let run_info = parts.info.clone();
        let state = inner.state.clone();
        let run = Run::new(parts, Some(&inner.scope));
        let task = inner.under_way.spawn(async move {
            let mut state = state.lock_owned().await;
            let (after, report) = execute(run, state.clone(), prompt).await;
            *state = after;
            report
        });
        Started { task, info: run_info, _cancel_on_drop: cancel.drop_guard() }
    }

    fn parts(&self, front: Front, cancel: CancellationToken, more: Option<&Hooks>) -> Parts {
        let inner = self.inner();
        let core = inner.agent.core().clone();
        Parts {
            info: RunInfo { run_id: core.ids.fresh(IdFor::Run), ..(**inner.scope.info()).clone() },
            hooks: more.map_or_else(|| inner.agent.hooks().clone(), |more| inner.agent.hooks().beside(more)),
            budget: Budget::new(core.name.clone(), core.limits.clone()),
            cancel,
            front,
            system_prompt: inner.system_prompt.clone(),
            core,
        }
    }

    /// Takes over what a run left that was not started here.
    pub(crate) async fn adopt(&mut self, state: AgentState) {
        let inner = self.inner.as_mut().expect("a session lives until it is closed, by value");
        inner.runs += 1;
        *inner.state.lock().await = state;
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
    async fn close(self) -> SessionReport {
        self.under_way.close();
        self.under_way.wait().await;
        let mut state = self.state.lock().await;
        let duration = self.scope.clock().elapsed().saturating_sub(self.began);
        let totals = self.scope.totals();
        let mut event = SessionEnded {
            at: self.scope.at(SessionEnd::NAME),
            usage: totals.usage,
            total_tokens: totals.usage.total_tokens(),
            total_tool_calls: totals.tool_calls,
            runs: self.runs,
            steps: state.steps(),
            duration_ms: millis(duration),
        };
        let _ = self.scope.fire(SessionEnd, &mut event, &mut state, Retries::Allowed, Leave::Never).await;
        let _ = self.scope.write(What::SessionEnded).await;
        let agents = std::iter::once(self.agent.clone()).chain(self.scope.children());
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

/// The session itself as a scope: its events belong to no run.
fn scope(agent: &Agent, session_id: &Arc<str>) -> Run {
    let core = agent.core().clone();
    let info = RunInfo {
        session_id: session_id.clone(),
        run_id: session_id.clone(),
        agent: core.name.clone(),
        depth: 0,
        working_directory: core.working_directory.clone().unwrap_or_else(|| "/".into()),
    };
    let parts = Parts {
        info,
        hooks: agent.hooks().clone(),
        budget: Budget::new(core.name.clone(), Limits::none()),
        cancel: CancellationToken::new(),
        front: Front::default(),
        system_prompt: core.system_prompt.clone(),
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
    task.unwrap_or_else(|error| {
        let stop = Stop::hard(StopReason::Error, "runtime", error.to_string());
        RunReport {
            session_id: session_id.into(),
            run_id: run_id.into(),
            status: stop.reason.into(),
            stop,
            text: String::new(),
            steps: 0,
            tool_calls: 0,
            usage: crate::Usage::default(),
            duration_ms: 0,
        }
    })
}

/// A run as a stream of what happens in it. Dropping it cancels the run.
pub struct RunStream {
    feed: Feed,
    cancel: CancellationToken,
    task: JoinHandle<RunReport>,
    _cancel_on_drop: DropGuard,
}

impl RunStream {
    pub(crate) fn start(agent: Agent, prompt: Prompt) -> Self {
        let (front, feed) = Front::open();
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let task = tokio::spawn(async move {
            let mut session = agent.session().await;
            let info = session.scope().info().clone();
            let report = session.start(prompt, front.clone(), token, None).wait().await;
            let closed = session.close().await;
            if closed.watches.dropped + closed.watches.unfinished > 0 {
                let message = format!("detached watches missed events: {:?}", closed.watches);
                front.tell(&info, || News::Notice { kind: "watches".to_owned(), message });
            }
            front.close();
            report
        });
        Self { feed, cancel: cancel.clone(), task, _cancel_on_drop: cancel.drop_guard() }
    }

    /// The next event; `None` when the session is over.
    pub async fn next(&mut self) -> Option<RunEvent> {
        std::future::poll_fn(|cx| self.feed.poll_next(cx)).await
    }

    /// Asks the run to end.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// A token that cancels the run, for a signal handler.
    pub fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Waits for the end without looking at the rest.
    pub async fn finish(self) -> Result<RunReport, RunFailed> {
        let Self { task, _cancel_on_drop, .. } = self;
        ended(task.await, String::new(), String::new()).into_result()
    }
}

impl futures_util::Stream for RunStream {
    type Item = RunEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        self.feed.poll_next(cx)
    }
}
