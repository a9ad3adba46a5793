//! What can go wrong outside a tool, and what is done about it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use vertebra_hooks::{Name, RegisterError};

use crate::{Interrupted, JournalError, ModelError, PointError, Stop, StopReason};

/// A failure outside a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The journal did not take a record. Nothing goes on unrecorded.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Code of the model, of an around or of the runtime itself failed.
    #[error("{message}")]
    Internal {
        /// What it said.
        message: String,
    },
}

/// Kinds of failure that are treated alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// The provider wants us to wait.
    ModelBusy,
    /// The same request will never succeed.
    ModelRejected,
    /// The conversation is too long.
    TooLong,
    /// The provider does not know us.
    Unauthorised,
    /// The provider was not reached.
    Network,
    /// The answer broke off.
    Broken,
    /// The journal failed.
    Journal,
    /// Code failed.
    Internal,
}

impl RunError {
    /// Its class.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Model(error) => error.class(),
            Self::Journal(_) => ErrorClass::Journal,
            Self::Internal { .. } => ErrorClass::Internal,
        }
    }

    pub(crate) fn wait(&self) -> Option<Duration> {
        match self {
            Self::Model(ModelError::Busy { wait, .. }) => *wait,
            Self::Model(_) | Self::Journal(_) | Self::Internal { .. } => None,
        }
    }
}

/// What is done about a failure that no hook made good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnFailure {
    /// The run ends.
    Stop,
    /// The step is taken again, so often, after a wait that doubles each time.
    Retry {
        /// How often.
        times: u32,
        /// The first wait, unless the provider names one.
        wait: Duration,
    },
    /// The run goes on with the next step; the model is told.
    Ignore,
}

/// What is done about each class of failure.
#[derive(Debug, Clone)]
pub struct ErrorPolicy {
    rules: HashMap<ErrorClass, OnFailure>,
}

impl Default for ErrorPolicy {
    /// Waits and retries where waiting helps, and stops elsewhere.
    fn default() -> Self {
        let retry = OnFailure::Retry { times: 3, wait: Duration::from_secs(1) };
        let rules = [(ErrorClass::ModelBusy, retry), (ErrorClass::Network, retry), (ErrorClass::Broken, retry)];
        Self { rules: rules.into() }
    }
}

impl ErrorPolicy {
    /// Ends the run at every failure.
    pub fn stop() -> Self {
        Self { rules: HashMap::new() }
    }

    /// Changes what is done about one class. A failing journal always ends the run.
    #[must_use]
    pub fn on(mut self, class: ErrorClass, action: OnFailure) -> Self {
        self.rules.insert(class, action);
        self
    }

    pub(crate) fn action(&self, class: ErrorClass) -> OnFailure {
        match class {
            ErrorClass::Journal => OnFailure::Stop,
            class => self.rules.get(&class).copied().unwrap_or(OnFailure::Stop),
        }
    }
}

/// Why a session did not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A hook or a guard at [`SessionStart`](crate::SessionStart) denied it.
    #[error("the session was denied by {by}: {reason}")]
    Denied {
        /// The session, as its journal knows it.
        session_id: Arc<str>,
        /// The name of the hook.
        by: Name,
        /// Its reason.
        reason: String,
    },
    /// The journal did not take its beginning, or has no such session.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Code of the runtime itself failed.
    #[error("{message}")]
    Internal {
        /// What it said.
        message: String,
    },
}

impl SessionError {
    /// The stop of a run that never began because its session did not open.
    pub(crate) fn into_stop(self) -> Stop {
        let message = self.to_string();
        match self {
            Self::Denied { by, .. } => Stop::hard(StopReason::Requested, &*by, message),
            Self::Journal(error) => Interrupted::from(RunError::from(error)).into(),
            Self::Internal { message } => Interrupted::from(RunError::Internal { message }).into(),
        }
    }
}

impl From<Interrupted> for SessionError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Failed(RunError::Journal(error)) => Self::Journal(error),
            other => Self::Internal { message: other.to_string() },
        }
    }
}

/// Why an agent was not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The tools and hooks have gone to another agent.
    #[error("this builder has built its agent already: clone the agent, or begin another builder")]
    AlreadyBuilt,
    /// Its hooks do not fit together.
    #[error(transparent)]
    Hooks(#[from] RegisterError),
    /// A point cannot be registered.
    #[error(transparent)]
    Point(#[from] PointError),
    /// A hook is for tools that the agent does not have, so it never runs.
    #[error(
        "`{hook}` never runs: it matches tool `{pattern}`, and no tool has that name{}; correct the name, or mark the hook \
         `.optional()` if the agent need not have the tool", tool_meant(.nearest.as_deref(), .known)
    )]
    NoSuchTool {
        /// The hook.
        hook: Name,
        /// The pattern in its matcher.
        pattern: String,
        /// The tool whose name is most like it.
        nearest: Option<String>,
        /// The names and aliases of all tools.
        known: Vec<String>,
    },
    /// Two tools share a name or an alias.
    #[error("two tools are called `{name}`: rename one, or drop the alias")]
    DuplicateTool {
        /// The name.
        name: String,
    },
    /// A tool's schema is not a JSON schema.
    #[error("the schema of tool `{tool}` is not valid: {message}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        message: String,
    },
    /// A tool's name is one that models cannot use.
    #[error("`{name}` cannot be a tool's name: use 1 to 64 letters, digits, `_` or `-`")]
    ToolName {
        /// The name.
        name: String,
    },
}

/// Which tool a hook may be for.
fn tool_meant(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!(" (did you mean `{name}`?)"),
        None => format!(" (there are `{}`)", known.join("`, `")),
    }
}
