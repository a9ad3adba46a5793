//! What a tool is given besides its arguments.

use std::sync::Arc;

use tokio::sync::Mutex;
use vertebra_hooks::{Event, Outcome};

use crate::{
    Agent, AgentPoint, AgentState, InferenceReport, OwnEvent, Request, Run, RunReport, ToolError, ToolOutput,
    ToolResult, ToolStatus,
    agent::child,
    run::handle::{LoopState, lock},
    timeline::feed::News,
};

/// One use of a tool. A clone is another handle to the same use.
#[derive(Clone)]
pub struct Invocation {
    run: Run,
    desk: Arc<Mutex<LoopState>>,
    known: AgentState,
    call_id: Arc<str>,
    key: Arc<str>,
    approved: Option<Arc<str>>,
    remains: Remains,
}

/// What there is to say of a use that is cut short.
#[derive(Clone, Default)]
pub(crate) struct Remains(Arc<std::sync::Mutex<Option<Said>>>);

type Said = Box<dyn FnOnce() -> ToolOutput + Send>;

impl Remains {
    /// The result of a use that was cut short: why, then what the tool left to say.
    pub(crate) fn result(&self, status: ToolStatus, why: String) -> ToolResult {
        let said = lock(&self.0).take();
        let said = said.and_then(|said| std::panic::catch_unwind(std::panic::AssertUnwindSafe(said)).ok());
        let Some(ToolOutput { text, exit_code, data }) = said else { return ToolResult::ended(status, why) };
        let text = if text.is_empty() { why } else { format!("{why}\n{text}") };
        ToolResult { exit_code, data, ..ToolResult::ended(status, text) }
    }
}

impl Invocation {
    pub(crate) fn new(
        run: Run,
        desk: Arc<Mutex<LoopState>>,
        known: AgentState,
        call_id: Arc<str>,
        key: Arc<str>,
    ) -> Self {
        Self { run, desk, known, call_id, key, approved: None, remains: Remains::default() }
    }

    pub(crate) fn approved_for(mut self, ask: Option<Arc<str>>) -> Self {
        self.approved = ask;
        self
    }

    pub(crate) fn remains(&self) -> Remains {
        self.remains.clone()
    }

    /// The call; the same for its retries.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Names this very attempt. Pass it on as an idempotency key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The text of [`Checked::ask`](crate::Checked::ask) that a person said yes to, for exactly this call.
    pub fn approved(&self) -> Option<&str> {
        self.approved.as_deref()
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The folder the agent works in.
    pub fn working_directory(&self) -> &str {
        &self.run.info().working_directory
    }

    /// Shows output to front ends while the tool still runs.
    pub fn say(&self, text: impl Into<String>) {
        self.run.tell(|| News::ToolSays { call_id: self.call_id.clone(), text: text.into() });
    }

    /// Tells people something, through the hooks at [`Notification`](crate::Notification).
    pub async fn notify(&self, kind: impl Into<String>, message: impl Into<String>) -> Result<(), ToolError> {
        let mut desk = self.desk.lock().await;
        Ok(self.run.notify(&mut desk.state, kind, message).await?)
    }

    /// What the agent knew when the call was let through.
    pub fn state(&self) -> &AgentState {
        &self.known
    }

    /// Sets what the model reads if the use is cut short, by a person or because it takes too long: what the tool has found
    /// so far. It is called after the tool's future was dropped.
    pub fn if_cut_short(&self, said: impl FnOnce() -> ToolOutput + Send + 'static) {
        *lock(&self.remains.0) = Some(Box::new(said));
    }

    /// Asks a model on behalf of the tool: the same points, the same budget. Hooks of other calls wait meanwhile, so that
    /// what the hooks of this one change is in order.
    pub async fn infer(&self, purpose: impl Into<Arc<str>>, request: Request) -> InferenceReport {
        let mut desk = self.desk.lock().await;
        self.run.infer(&mut desk.state, purpose, request).await
    }

    /// Fires a point of your own, as [`Run::fire`] does: in order with the hooks of other calls, and with the state that they
    /// left.
    pub async fn fire<P, E>(&self, point: P, event: E) -> Result<(E, Outcome<P>), ToolError>
    where
        P: AgentPoint<Event = OwnEvent<E>>,
        E: Event,
    {
        let mut desk = self.desk.lock().await;
        Ok(self.run.fire(point, event, &mut desk.state).await?)
    }

    /// Lets another agent do something. This agent's hooks and guards hold for it, and it spends from this budget.
    pub async fn delegate(&self, agent: &Agent, prompt: impl Into<String>) -> Result<RunReport, ToolError> {
        child::delegate(&self.run, &self.desk, agent, prompt.into()).await
    }
}
