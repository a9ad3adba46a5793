//! Hooks around a loop that is not ours.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vertebra_hooks::{Point, Retries};

use crate::{
    Agent, AgentState, Args, Budget, ExecutionEnd, ExecutionStart, HookError, InferenceReport, Interrupted, Message,
    Messages, PromptSubmit, Purpose, Refusable, Response, Run, RunFailed, RunInfo, RunReport, Stop, StopReason,
    ToolCall, ToolResult,
    clock::IdFor,
    events::{ExecutionEnded, ExecutionStarted, PromptSubmitted},
    front::Front,
    inference::infer,
    journal::What,
    scope::{Desk, Leave, Parts},
    tool_use::use_tools,
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
    desk: Arc<Mutex<Desk>>,
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
        prompt: impl Into<String>,
        foreign: impl FnOnce(Handle) -> F,
    ) -> Result<RunReport, RunFailed>
    where
        F: Future<Output = Result<String, HookError>> + Send,
    {
        let session = self.agent.session().await;
        let run = self.begin(session.id());
        let began = run.clock().elapsed();
        let desk = Arc::new(Mutex::new(Desk::default()));
        let (text, stop) = match prompted(&run, &desk, prompt.into()).await {
            Ok(Ok(prompt)) => {
                let handle = Handle { run: run.clone(), desk: desk.clone(), prompt };
                match AssertUnwindSafe(foreign(handle)).catch_unwind().await {
                    Ok(Ok(text)) => (text, Stop::soft(StopReason::Finished, "loop", "the loop returned")),
                    Ok(Err(error)) => (String::new(), Stop::hard(StopReason::Error, "loop", error.to_string())),
                    Err(_panic) => (String::new(), Stop::hard(StopReason::Error, "loop", "the loop panicked")),
                }
            }
            Ok(Err(stop)) => (String::new(), stop),
            Err(interrupted) => (String::new(), interrupted.into()),
        };
        let mut desk = desk.lock().await;
        let duration = run.clock().elapsed().saturating_sub(began);
        let mut event = ExecutionEnded {
            at: run.at(ExecutionEnd::NAME),
            status: stop.reason.into(),
            stop,
            text,
            steps: desk.state.steps(),
            usage: desk.state.usage(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        };
        let _ = run.fire(ExecutionEnd, &mut event, &mut desk.state, Retries::Allowed, Leave::Never).await;
        session.close().await;
        RunReport {
            session_id: run.info().session_id.clone(),
            run_id: run.info().run_id.clone(),
            status: event.status,
            stop: event.stop,
            text: event.text,
            steps: event.steps,
            tool_calls: desk.state.tool_calls(),
            usage: event.usage,
            duration_ms: event.duration_ms,
        }
        .into_result()
    }

    fn begin(&self, session_id: &str) -> Run {
        let core = self.agent.core().clone();
        let info = RunInfo {
            session_id: session_id.into(),
            run_id: core.ids.fresh(IdFor::Run),
            agent: core.name.clone(),
            depth: 0,
            working_directory: core.working_directory.clone(),
        };
        let parts = Parts {
            info,
            hooks: self.agent.hooks().clone(),
            budget: Budget::new(core.name.clone(), core.limits.clone()),
            cancel: CancellationToken::new(),
            front: Front::default(),
            system_prompt: core.system_prompt.clone(),
            core,
        };
        Run::new(parts, None)
    }
}

/// `PromptSubmit` and `ExecutionStart`: the final prompt, or why the loop does not begin.
async fn prompted(run: &Run, desk: &Mutex<Desk>, prompt: String) -> Result<Result<Arc<str>, Stop>, Interrupted> {
    let mut desk = desk.lock().await;
    run.write(What::RunBegan { prompt: prompt.clone(), depth: 0 }).await?;
    let mut event = PromptSubmitted { at: run.at(PromptSubmit::NAME), prompt, context: Vec::new() };
    let outcome = run.fire(PromptSubmit, &mut event, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    if let Refusable::Deny { reason } = outcome.verdict() {
        let by = outcome.record.decided_by.unwrap_or_default();
        return Ok(Err(Stop::soft(StopReason::Requested, &*by, format!("the prompt was refused: {reason}"))));
    }
    desk.state.push(Message::user(event.prompt.clone()));
    for context in event.context {
        desk.state.push(Message::instruction(context, PromptSubmit::NAME));
    }
    let mut started = ExecutionStarted {
        at: run.at(ExecutionStart::NAME),
        prompt: event.prompt,
        limits: run.budget().limits().clone(),
    };
    let outcome = run.fire(ExecutionStart, &mut started, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    desk.take_stops(&outcome);
    Ok(match desk.pending.strongest() {
        Some(stop) => Err(stop.clone()),
        None => Ok(started.prompt.into()),
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

    /// Asks the model, between its hooks.
    pub async fn infer(&self, messages: Messages) -> Result<Response, HookError> {
        let mut desk = self.desk.lock().await;
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
        let (results, interrupted) = use_tools(&self.run, &mut desk, calls).await;
        interrupted?;
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }

    /// Uses one tool, between its hooks.
    pub async fn call_tool(&self, tool: &str, args: Args) -> Result<ToolResult, HookError> {
        let number = self.state().await.tool_calls() + 1;
        let call = ToolCall { id: format!("call-{number}").into(), tool: tool.into(), args, malformed: None };
        let results = self.call_tools(vec![call]).await?;
        results.into_iter().next().ok_or_else(|| HookError::new("a call without a result"))
    }
}
