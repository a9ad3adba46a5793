//! Child agents: a run inside a run, under the parent's hooks and out of the parent's budget.

use std::{pin::Pin, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Mutex;
use vertebra_hooks::{Hooks, Point, Retries};

use crate::{
    Agent, AgentState, Args, Budget, CancellationToken, Invocation, Metadata, Refusable, Run, RunInfo, RunReport,
    RunStatus, SubagentStart, SubagentStop, SubagentVerdict, Tool, ToolError, ToolOutput, ToolSpec,
    clock::IdFor,
    points::events::{SubagentStarted, SubagentStopped},
    run::control::Reins,
    run::handle::{Interrupted, Leave, LoopState, Parts},
    run::r#loop::execute,
};

/// Runs `agent` as a child of `parent`. When the future is dropped, the child is cancelled.
pub(crate) async fn delegate(
    parent: &Run,
    desk: &Arc<Mutex<LoopState>>,
    agent: &Agent,
    prompt: String,
) -> Result<RunReport, ToolError> {
    let depth = parent.info().depth + 1;
    if depth > parent.core().max_depth {
        return Err(ToolError::new(format!("agents may be nested {} deep, no deeper", parent.core().max_depth)));
    }
    let hooks = Hooks::layered(parent.hooks(), agent.hooks()).map_err(|error| {
        ToolError::new(format!("the hooks of `{}` do not fit under those of its parent: {error}", agent.core().name))
    })?;
    let started = {
        let mut desk = desk.lock().await;
        let mut event = SubagentStarted {
            at: parent.at(SubagentStart::NAME),
            subagent: agent.core().name.clone(),
            prompt,
            limits: agent.core().limits.clone(),
            metadata: Metadata::default(),
        };
        let fired =
            parent.dispatch(SubagentStart, &mut event, &mut desk.state, Retries::Allowed, Leave::OnCancel).await;
        let outcome = fired?;
        if let Refusable::Deny { reason } = outcome.verdict() {
            let by = outcome.decided_by().cloned().unwrap_or_default();
            return Err(ToolError::new(format!("blocked by {by}: {reason}")));
        }
        event
    };
    if parent.control().delegations.is_closed() {
        return Err(ToolError::new("the run has ended"));
    }
    let child = Child {
        parent: parent.clone(),
        agent: agent.clone(),
        hooks,
        budget: parent.budget().child(agent.core().name.clone(), started.limits),
        cancel: parent.control().reins.cancel.child_token(),
    };
    let cancel_on_drop = child.cancel.clone().drop_guard();
    // In a task of its own, which the parent waits for at its end: the child's end is told even if the tool is dropped.
    let mut state = AgentState::default();
    *state.metadata_mut() = started.metadata;
    let (desk, call) = (desk.clone(), parent.hold_call());
    let delegation = async move {
        let _call = call;
        let report = accompany(&child, desk, state, started.prompt).await;
        child.parent.control().had_child(&child.agent);
        report
    };
    let report = parent.control().delegations.spawn(delegation).await??;
    cancel_on_drop.disarm();
    Ok(report)
}

/// A child agent, whose runs share a budget and can be cancelled together.
struct Child {
    parent: Run,
    agent: Agent,
    hooks: Hooks,
    budget: Budget,
    cancel: CancellationToken,
}

/// Runs a child to its end, as often as hooks at its end say. The report is about all of its runs together.
async fn accompany(
    child: &Child,
    desk: Arc<Mutex<LoopState>>,
    mut state: AgentState,
    mut prompt: String,
) -> Result<RunReport, Interrupted> {
    let parent = &child.parent;
    let mut continuations = 0;
    let mut before: Option<RunReport> = None;
    loop {
        let report;
        (state, report) = execute_boxed(child.begin(), state, prompt).await;
        if report.status == RunStatus::Suspended {
            return Err(parent.control().interrupted());
        }
        let report = match before.take() {
            Some(before) => before.and(report),
            None => report,
        };
        let mut desk = desk.lock().await;
        let mut event = SubagentStopped {
            at: parent.at(SubagentStop::NAME),
            subagent: child.agent.core().name.clone(),
            status: report.status,
            stop: report.stop.clone(),
            text: report.text.clone(),
            usage: report.usage,
            steps: report.steps,
        };
        let fired = parent.dispatch(SubagentStop, &mut event, &mut desk.state, Retries::Allowed, Leave::Never).await;
        let outcome = fired?;
        match outcome.verdict() {
            SubagentVerdict::GoOn { instruction }
                if continuations < parent.core().continuation_limit && report.status == RunStatus::Completed =>
            {
                continuations += 1;
                prompt = instruction;
                before = Some(report);
            }
            SubagentVerdict::GoOn { .. } | SubagentVerdict::Proceed | SubagentVerdict::Skip => {
                return Ok(RunReport { text: event.text, ..report });
            }
        }
    }
}

impl Child {
    fn begin(&self) -> Run {
        let Self { parent, agent, hooks, budget, cancel } = self;
        let core = Arc::new(agent.core().under(parent.core()));
        let info = RunInfo {
            session_id: parent.info().session_id.clone(),
            run_id: parent
                .tape()
                .and_then(|tape| tape.child(parent.place()))
                .unwrap_or_else(|| core.ids.fresh(IdFor::Run)),
            agent: core.name.clone(),
            depth: parent.info().depth + 1,
            working_directory: core
                .working_directory
                .clone()
                .unwrap_or_else(|| parent.info().working_directory.clone()),
        };
        let parts = Parts {
            info,
            hooks: hooks.clone(),
            budget: budget.clone(),
            reins: Reins { cancel: cancel.clone(), ..parent.control().reins.clone() },
            front: parent.recorder().front.clone(),
            system_prompt: core.system_prompt.clone(),
            tape: parent.tape().cloned(),
            foreign: false,
            core,
        };
        Run::new(parts, Some(parent))
    }
}

/// Boxed, because a run contains tools, which contain runs.
fn execute_boxed(
    run: Run,
    state: AgentState,
    prompt: String,
) -> Pin<Box<dyn Future<Output = (AgentState, RunReport)> + Send>> {
    Box::pin(execute(run, state, AgentState::default(), prompt.into()))
}

/// An agent as a tool of another: takes a prompt, gives back what the agent said.
pub struct AgentTool {
    agent: Agent,
    spec: ToolSpec,
}

/// What an [`AgentTool`] is asked.
#[derive(Debug, Deserialize, JsonSchema)]
struct Task {
    /// What the agent is to do, in full: it knows nothing of this conversation.
    prompt: String,
}

impl AgentTool {
    /// The agent under this name.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, agent: Agent) -> Self {
        Self { agent, spec: ToolSpec::new(name, description).input::<Task>().delegates() }
    }
}

impl Tool for AgentTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let task: Task = args.parse()?;
        invocation.delegate(&self.agent, task.prompt).await?.into_output(self.agent.name())
    }
}

impl RunReport {
    /// What a parent reads of the run of a child of this name. One that was stopped gives what it has and says so; one
    /// that failed is a tool's error.
    pub fn into_output(self, child: &str) -> Result<ToolOutput, ToolError> {
        let said = if self.text.trim().is_empty() { format!("[`{child}` said nothing]") } else { self.text.clone() };
        let text = match self.status {
            RunStatus::Completed => said,
            RunStatus::Stopped | RunStatus::Cancelled | RunStatus::Suspended => {
                format!("[{}: {}]\n{said}", self.status, self.stop)
            }
            RunStatus::Failed => return Err(ToolError::new(format!("`{child}` failed: {}\n{said}", self.stop))),
        };
        Ok(ToolOutput { text, exit_code: None, data: serde_json::to_value(&self)? })
    }
}
