//! What is left when a step, a run or a session has ended.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use vertebra_hooks::Drained;

use crate::{StepKind, Stop, StopReason, Usage};

/// How a run went. About the run: a tool that failed or was blocked on the way does not fail it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// The model finished.
    Completed,
    /// A hook or a limit ended it.
    Stopped,
    /// Somebody cancelled it.
    Cancelled,
    /// Something failed that nobody made good.
    Failed,
    /// It has not ended: it waits for somebody, and goes on when it is resumed.
    Suspended,
}

impl From<StopReason> for RunStatus {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::Finished => Self::Completed,
            StopReason::Error => Self::Failed,
            StopReason::Cancelled => Self::Cancelled,
            StopReason::Suspended => Self::Suspended,
            StopReason::Retries
            | StopReason::Cost
            | StopReason::Deadline
            | StopReason::Time
            | StopReason::Tokens
            | StopReason::Steps
            | StopReason::Requested => Self::Stopped,
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Suspended => "suspended",
        })
    }
}

/// What a step did.
#[derive(Debug, Clone, PartialEq)]
pub struct StepReport {
    /// What kind of step it was.
    pub kind: StepKind,
    /// What the model said.
    pub text: String,
    /// The tools it used.
    pub tools: Vec<Arc<str>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The session.
    pub session_id: Arc<str>,
    /// The run.
    pub run_id: Arc<str>,
    /// How it went.
    pub status: RunStatus,
    /// Why it ended, and who ended it.
    pub stop: Stop,
    /// The last thing the model said.
    pub text: String,
    /// Its steps.
    pub steps: u32,
    /// Its tool calls, blocked ones included.
    pub tool_calls: u64,
    /// What its model calls cost, without its children's, which count only in the budget.
    pub usage: Usage,
    /// How long it took.
    pub duration_ms: u64,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionReport {
    /// The session.
    pub session_id: Arc<str>,
    /// What its model calls cost.
    pub usage: Usage,
    /// Its tool calls, blocked ones included.
    pub tool_calls: u64,
    /// Its runs.
    pub runs: u32,
    /// Its steps.
    pub steps: u32,
    /// How long it was open.
    pub duration_ms: u64,
    /// What detached watches missed.
    pub watches: Drained,
}

/// A run that failed. The report says how far it came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.stop)]
pub struct RunFailed(pub Box<RunReport>);

impl RunReport {
    /// This run and one that went on after it, as one.
    pub(crate) fn and(self, next: Self) -> Self {
        Self {
            steps: self.steps + next.steps,
            tool_calls: self.tool_calls + next.tool_calls,
            usage: self.usage + next.usage,
            duration_ms: self.duration_ms + next.duration_ms,
            ..next
        }
    }

    /// The report, or the failure if the run failed.
    pub fn into_result(self) -> Result<Self, RunFailed> {
        match self.status {
            RunStatus::Failed => Err(RunFailed(Box::new(self))),
            RunStatus::Completed | RunStatus::Stopped | RunStatus::Cancelled | RunStatus::Suspended => Ok(self),
        }
    }
}
