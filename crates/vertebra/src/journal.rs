//! The record of a run as it happens: intent, effect, result. Only the loop writes it.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vertebra_hooks::Record;

use crate::{Args, ModelId, RunReport, ToolResult, Usage};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The session.
    pub session_id: Arc<str>,
    /// The run; the session's own lines have the session's identifier here.
    pub run_id: Option<Arc<str>>,
    /// When.
    pub timestamp: Timestamp,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What a line of the journal says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum What {
    /// A session began.
    SessionBegan,
    /// A run began.
    RunBegan {
        /// With this prompt.
        prompt: String,
        /// This many delegations deep.
        depth: u32,
    },
    /// A step began.
    StepBegan {
        /// Which.
        step: u32,
    },
    /// Hooks ran.
    Dispatched {
        /// On this event.
        event_id: String,
        /// What they did.
        record: Record,
    },
    /// A model is about to be asked.
    ModelAsked {
        /// Which call; pairs it with its answer.
        key: String,
        /// Which model.
        model: ModelId,
    },
    /// A model has answered, or not.
    ModelAnswered {
        /// Which call.
        key: String,
        /// What it cost.
        usage: Usage,
        /// Why there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A tool is about to run. Durable before the tool begins.
    ToolIntended {
        /// Which call.
        call_id: Arc<str>,
        /// Names this very attempt; the tool is given it.
        key: String,
        /// Which tool.
        tool: Arc<str>,
        /// With what.
        args: Args,
    },
    /// A tool has run.
    ToolEnded {
        /// Which call.
        call_id: Arc<str>,
        /// Which attempt.
        key: String,
        /// What came of it.
        result: ToolResult,
    },
    /// An around answered in place of a call, or failed before it: the tool did not run.
    ToolLeftOut {
        /// Which call.
        call_id: Arc<str>,
        /// What the model reads of it.
        result: ToolResult,
    },
    /// A person was asked.
    Asked {
        /// About which call.
        call_id: Arc<str>,
        /// The fingerprint of the arguments shown.
        digest: String,
        /// Why.
        reason: String,
    },
    /// A person, or nobody, has answered.
    Answered {
        /// About which call.
        call_id: Arc<str>,
        /// What.
        answer: String,
    },
    /// A run ended.
    RunEnded {
        /// How.
        report: RunReport,
    },
    /// A session ended.
    SessionEnded,
}

/// The journal did not take a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal did not take a record: {message}")]
pub struct JournalError {
    /// Why.
    pub message: String,
}

/// Where a run is recorded.
pub trait Journal: Send + Sync + 'static {
    /// Takes a line. When this returns, the line is as safe as the journal makes it.
    fn append(&self, entry: Entry) -> impl Future<Output = Result<(), JournalError>> + Send;
}

/// [`Journal`] with its future boxed.
pub(crate) trait ErasedJournal: Send + Sync {
    fn append<'a>(&'a self, entry: Entry) -> Pin<Box<dyn Future<Output = Result<(), JournalError>> + Send + 'a>>;
}

impl<J: Journal> ErasedJournal for J {
    fn append<'a>(&'a self, entry: Entry) -> Pin<Box<dyn Future<Output = Result<(), JournalError>> + Send + 'a>> {
        Box::pin(Journal::append(self, entry))
    }
}

/// A journal in memory. A clone is another handle to the same lines.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal(Arc<Mutex<Vec<Entry>>>);

impl MemoryJournal {
    /// The lines so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Journal for MemoryJournal {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        Ok(())
    }
}

/// Forgets everything: for agents that nobody will ask about.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    async fn append(&self, _entry: Entry) -> Result<(), JournalError> {
        Ok(())
    }
}
