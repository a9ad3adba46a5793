//! What a tool is given besides its arguments.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::{Agent, AgentState, InferenceReport, Request, Run, RunReport, ToolError, child, front::News, scope::Desk};

/// One use of a tool. A clone is another handle to the same use.
#[derive(Clone)]
pub struct Invocation {
    run: Run,
    desk: Arc<Mutex<Desk>>,
    call_id: Arc<str>,
    key: Arc<str>,
    approved: Option<Arc<str>>,
}

impl Invocation {
    pub(crate) fn new(run: Run, desk: Arc<Mutex<Desk>>, call_id: Arc<str>, key: String) -> Self {
        Self { run, desk, call_id, key: key.into(), approved: None }
    }

    pub(crate) fn approved_for(mut self, ask: Option<Arc<str>>) -> Self {
        self.approved = ask;
        self
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

    /// What the agent knows now.
    pub async fn state(&self) -> AgentState {
        self.desk.lock().await.state.clone()
    }

    /// Asks a model on behalf of the tool: the same points, the same budget. Hooks of other calls wait meanwhile, so that
    /// what the hooks of this one change is in order.
    pub async fn infer(&self, purpose: impl Into<Arc<str>>, request: Request) -> InferenceReport {
        let mut desk = self.desk.lock().await;
        self.run.infer(&mut desk.state, purpose, request).await
    }

    /// Lets another agent do something. This agent's hooks and guards hold for it, and it spends from this budget.
    pub async fn delegate(&self, agent: &Agent, prompt: impl Into<String>) -> Result<RunReport, ToolError> {
        child::delegate(&self.run, &self.desk, agent, prompt.into()).await
    }
}
