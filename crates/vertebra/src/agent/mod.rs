//! An agent: a model, its tools, and the hooks that every step passes.

pub(crate) mod builder;
pub(crate) mod capability;
pub(crate) mod child;
pub(crate) mod foreign;
pub(crate) mod unmatched;

use std::{fmt, sync::Arc, time::Duration};

use vertebra_hooks::{BoxFuture, Hooks};

use crate::{
    AgentBuilder, Clock, ErrorPolicy, Ids, Limits, Model, Points, Prompt, RunFailed, RunReport, RunStream, Session,
    SessionError, ToolSpec,
    approval::ErasedApprover,
    conversation::compact::ErasedCompactor,
    run::inference::ErasedModel,
    session::{Opening, never_began},
    timeline::ErasedJournal,
    timeline::redaction::Veils,
    tool::check::Checks,
    tool::registry::Tools,
};

/// An agent. A clone is another handle to the same agent.
#[derive(Clone)]
pub struct Agent {
    core: Arc<Core>,
    hooks: Hooks,
}

/// What an agent is made of, besides its hooks.
#[derive(Clone)]
pub(crate) struct Core {
    pub(crate) name: Arc<str>,
    pub(crate) model: Arc<dyn ErasedModel>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) system_prompt: Arc<str>,
    pub(crate) working_directory: Option<Arc<str>>,
    pub(crate) limits: Limits,
    pub(crate) retry_limit: u32,
    pub(crate) continuation_limit: u32,
    pub(crate) max_depth: u32,
    pub(crate) max_result_bytes: usize,
    pub(crate) drain_time: Duration,
    pub(crate) error_policy: ErrorPolicy,
    pub(crate) approval_timeout: Duration,
    pub(crate) wait_limit: Duration,
    pub(crate) approver: Option<Arc<dyn ErasedApprover>>,
    pub(crate) journal: Arc<dyn ErasedJournal>,
    pub(crate) compactor: Option<Arc<dyn ErasedCompactor>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) veils: Veils,
    pub(crate) checks: Checks,
    pub(crate) points: Points,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("name", &self.core.name).field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent on this model, to be given tools and hooks.
    pub fn builder(model: impl Model) -> AgentBuilder {
        AgentBuilder::new(model)
    }

    pub(crate) fn new(core: Core, hooks: Hooks) -> Self {
        Self { core: Arc::new(core), hooks }
    }

    /// Its hooks: list them, add some, remove some, while it runs.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Its tools.
    pub fn tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.core.tools.specs()
    }

    /// The points that it knows: the built-in ones, and those that were registered.
    pub fn points(&self) -> &Points {
        &self.core.points
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// Opens a session: one conversation of many prompts. A hook at [`SessionStart`](crate::SessionStart) may deny it.
    pub fn session(&self) -> BoxFuture<'_, Result<Session, SessionError>> {
        Session::open(self.clone(), Opening::of(self, None))
    }

    /// Runs one prompt in a session of its own.
    ///
    /// Needs a tokio runtime: the run is a task of its own, so that its end is told even if nobody waits for it. When
    /// the future is dropped, the run is cancelled.
    pub fn run(&self, prompt: impl Into<Prompt>) -> BoxFuture<'_, Result<RunReport, RunFailed>> {
        self.run_prompt(prompt.into())
    }

    fn run_prompt(&self, prompt: Prompt) -> BoxFuture<'_, Result<RunReport, RunFailed>> {
        Box::pin(async move {
            let mut session = self.session().await.map_err(never_began)?;
            let result = session.prompt(prompt).await;
            session.close().await;
            result
        })
    }

    /// Runs one prompt in a session of its own, and tells what happens as it happens.
    pub fn stream(&self, prompt: impl Into<Prompt>) -> RunStream {
        RunStream::start(self.clone(), prompt.into())
    }

    /// The same agent with room for hooks of its own: those that are added to it are added to nobody else, and what is added
    /// to this one holds there too. Tools, capabilities and all else are shared, so that it costs next to nothing.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { core: self.core.clone(), hooks: self.hooks.apart() }
    }

    /// The same agent on another model.
    #[must_use]
    pub fn asking(&self, model: impl Model) -> Self {
        let core = Core { model: Arc::new(model), ..Core::clone(&self.core) };
        Self { core: Arc::new(core), hooks: self.hooks.clone() }
    }

    /// The same agent, whose model is told this too before the conversation.
    #[must_use]
    pub fn also_told(&self, text: &str) -> Self {
        let system_prompt = [&*self.core.system_prompt, text].join("\n\n").trim_start().into();
        let core = Core { system_prompt, ..Core::clone(&self.core) };
        Self { core: Arc::new(core), hooks: self.hooks.clone() }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

impl Core {
    /// This agent as a child of another: one tree of runs has one clock, one journal and one source of identifiers, or
    /// times could not be compared, effects would go unrecorded and identifiers would meet. Whoever decides for the
    /// parent decides here too, unless the child has somebody of its own; and what the parent hides, the child hides.
    pub(crate) fn under(&self, parent: &Self) -> Self {
        // A name that both know counts as the child knows it: its own code fires it.
        let mut points = self.points.clone();
        points.add_missing(&parent.points);
        Self {
            clock: parent.clock.clone(),
            ids: parent.ids.clone(),
            journal: parent.journal.clone(),
            approver: self.approver.clone().or_else(|| parent.approver.clone()),
            max_depth: self.max_depth.min(parent.max_depth),
            veils: parent.veils.and(&self.veils),
            checks: parent.checks.and(&self.checks),
            points,
            ..self.clone()
        }
    }
}
