//! Hooks around a loop that is not ours.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::sync::Mutex;
use vertebra_hooks::{Point, Retries};

use crate::{
    Agent, AgentState, Args, Budget, ExecutionStart, HookError, InferenceReport, Interrupted, Messages, Meter, Prompt,
    Purpose, Response, Run, RunFailed, RunInfo, RunReport, Session, Stop, StopReason, ToolCall, ToolResult,
    clock::{IdFor, millis},
    points::events::ExecutionStarted,
    run::control::Reins,
    run::end,
    run::handle::{Leave, LoopState, Parts},
    run::inference::infer,
    run::output,
    run::prompt::submit,
    run::tool_use::{close_open, use_tools},
    session::again::Memory,
    session::{ended, never_began},
    timeline::Keeper,
    timeline::feed::Front,
};

/// An existing agent loop under our hooks, without a rewrite.
///
/// The loop is any async function that makes its model and tool calls through the [`Handle`] it is given. Prompt,
/// model calls, tool calls and the end pass the same points as in [`Agent::run`], under the same limits.
pub struct HookableAgent {
    agent: Agent,
}

/// What a foreign loop does its work through.
#[derive(Clone)]
pub struct Handle {
    run: Run,
    desk: Arc<Mutex<LoopState>>,
    prompt: Arc<str>,
}

impl HookableAgent {
    /// The model, tools, hooks and limits of this agent, for another loop.
    pub fn new(agent: Agent) -> Self {
        Self { agent }
    }

    /// Runs the foreign loop on a prompt. What it returns is the run's text.
    pub async fn run<F>(
        &self,
        prompt: impl Into<Prompt>,
        foreign: impl FnOnce(Handle) -> F,
    ) -> Result<RunReport, RunFailed>
    where
        F: Future<Output = Result<String, HookError>> + Send,
    {
        let session = self.agent.session().await.map_err(never_began)?;
        let run = self.begin(&session);
        let desk = Arc::new(Mutex::new(LoopState { state: session.state().await, ..LoopState::default() }));
        let ending = Ending(Some(Open { began: run.clock().elapsed(), run: run.clone(), desk: desk.clone(), session }));
        let (text, stop) = match prompted(&run, &desk, prompt.into()).await {
            Ok(Ok(prompt)) => {
                let handle = Handle { run, desk, prompt };
                match AssertUnwindSafe(async { foreign(handle).await }).catch_unwind().await {
                    Ok(Ok(text)) => (text, Stop::soft(StopReason::Finished, "loop", "the loop returned")),
                    Ok(Err(error)) => (String::new(), Stop::hard(StopReason::Error, "loop", error.to_string())),
                    Err(_panic) => (String::new(), Stop::hard(StopReason::Error, "loop", "the loop panicked")),
                }
            }
            Ok(Err(stop)) => (String::new(), stop),
            Err(interrupted) => (String::new(), interrupted.into()),
        };
        ending.tell(text, stop).await.into_result()
    }

    fn begin(&self, session: &Session) -> Run {
        let core = self.agent.core().clone();
        let parts = Parts {
            info: RunInfo { run_id: core.ids.fresh(IdFor::Run), ..(**session.scope().info()).clone() },
            hooks: self.agent.hooks().clone(),
            budget: Budget::new(core.name.clone(), core.limits.clone()),
            reins: Reins::new(&core),
            front: Front::default(),
            system_prompt: session.system_prompt().clone(),
            tape: None,
            foreign: true,
            core,
        };
        Run::new(parts, Some(session.scope()))
    }
}

/// Tells the end once: when the loop has returned, or when whoever waited for it is gone.
struct Ending(Option<Open>);

struct Open {
    run: Run,
    desk: Arc<Mutex<LoopState>>,
    session: Session,
    began: Duration,
}

impl Ending {
    async fn tell(mut self, text: String, stop: Stop) -> RunReport {
        let open = self.0.take().expect("the end is told once, by value");
        let ids = open.run.info().clone();
        // In a task of its own, so that it is told to its end even if nobody waits for it.
        let task = tokio::spawn(open.end(text, stop)).await;
        ended(task, ids.session_id.clone(), ids.run_id.clone())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(open) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(open.end(String::new(), Interrupted::Cancelled.into()));
        }
    }
}

impl Open {
    async fn end(mut self, text: String, stop: Stop) -> RunReport {
        // Whoever still holds a handle can do nothing with it from here on.
        self.run.cancel();
        self.run.control().children_ended().await;
        let mut desk = self.desk.lock().await;
        close_open(&self.run, &mut desk, "cut short: the run has ended").await;
        // A loop that returns because nothing is done for it any more was stopped, whatever it makes of that.
        let asked_for = desk.pending.strongest().filter(|_| stop.reason != StopReason::Cancelled);
        let stop = asked_for.cloned().unwrap_or(stop);
        let duration = self.run.clock().elapsed().saturating_sub(self.began);
        let report = RunReport {
            session_id: self.run.info().session_id.clone(),
            run_id: self.run.info().run_id.clone(),
            status: stop.reason.into(),
            stop,
            text,
            steps: desk.state.steps(),
            tool_calls: desk.state.tool_calls(),
            usage: self.run.spent(),
            duration_ms: millis(duration),
        };
        let report = output::decide(&self.run, &mut desk, report).await;
        let report = end::tell(&self.run, &mut desk, (Memory::default(), &mut Keeper::default()), report).await;
        self.session.adopt(desk.state.clone()).await;
        self.session.close().await;
        report
    }
}

/// `PromptSubmit` and `ExecutionStart`: the final prompt, or why the loop does not begin.
async fn prompted(run: &Run, desk: &Mutex<LoopState>, prompt: Prompt) -> Result<Result<Arc<str>, Stop>, Interrupted> {
    let mut desk = desk.lock().await;
    let prompt = match submit(run, &mut desk, prompt).await? {
        Ok(prompt) => prompt,
        Err(stop) => return Ok(Err(stop)),
    };
    let final_prompt: Arc<str> = prompt.as_str().into();
    let mut started =
        ExecutionStarted { at: run.at(ExecutionStart::NAME), prompt, limits: run.budget().limits().clone() };
    let outcome =
        run.dispatch(ExecutionStart, &mut started, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    desk.take_stops(&outcome);
    Ok(match desk.pending.strongest() {
        Some(stop) => Err(stop.clone()),
        // Not what a hook may have made of it since: the guards of the prompt have not seen that.
        None => Ok(final_prompt),
    })
}

impl Handle {
    /// The prompt in its final form.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The run, its budget and its clock.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// What hooks have made of the state.
    pub async fn state(&self) -> AgentState {
        self.desk.lock().await.state.clone()
    }

    /// Asks the model, between its hooks. Counts as a step.
    pub async fn infer(&self, messages: Messages) -> Result<Response, HookError> {
        let mut desk = self.desk.lock().await;
        self.go_on(&mut desk, self.run.budget().exhausted(&**self.run.clock()))?;
        match self.run.budget().reserve(Meter::Steps, 1) {
            Ok(reserved) => reserved.settle(1),
            Err(stop) => self.go_on(&mut desk, Some(stop))?,
        }
        self.run.recorder().set_step(desk.state.begin_step());
        let mut request = self.run.request();
        request.messages = messages;
        match infer(&self.run, &mut desk, Purpose::Step, request).await {
            InferenceReport::Answered(response) => Ok(response),
            InferenceReport::NotAsked(stop) => Err(HookError::new(stop.to_string())),
            InferenceReport::Failed(error) => Err(error.into()),
            InferenceReport::Cancelled => Err(Interrupted::Cancelled.into()),
        }
    }

    /// Uses tools, between their hooks. Several at once run at the same time; results come in call order. A blocked
    /// or failed call is a result, not an error.
    pub async fn call_tools(&self, calls: Vec<ToolCall>) -> Result<Vec<ToolResult>, HookError> {
        let mut desk = self.desk.lock().await;
        self.go_on(&mut desk, self.run.budget().overrun(&**self.run.clock()))?;
        let (results, interrupted) = use_tools(&self.run, &mut desk, calls).await;
        interrupted?;
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }

    /// Refuses if the run is over, a hook has asked to stop, or a limit stands against going on.
    fn go_on(&self, desk: &mut LoopState, limit: Option<Stop>) -> Result<(), HookError> {
        if self.run.is_cancelled() {
            return Err(Interrupted::Cancelled.into());
        }
        if let Some(stop) = limit {
            desk.pending.stop(stop);
        }
        desk.pending.strongest().map_or(Ok(()), |stop| Err(HookError::new(stop.to_string())))
    }

    /// Uses one tool, between its hooks.
    pub async fn call_tool(&self, tool: &str, args: Args) -> Result<ToolResult, HookError> {
        let number = self.state().await.tool_calls() + 1;
        let call = ToolCall::new(format!("call-{number}"), tool, args);
        let results = self.call_tools(vec![call]).await?;
        results.into_iter().next().ok_or_else(|| HookError::new("a call without a result"))
    }
}
