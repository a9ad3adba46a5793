//! The record of a run as it happens: intent, effect, result. Only the loop writes it.

mod change;
mod checkpoint;
mod divergence;
pub(crate) mod feed;
mod memory;
mod past;
mod recorded;
pub(crate) mod redaction;
mod settled;

use std::{future::Future, ops::ControlFlow, pin::Pin, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vertebra_hooks::Record;

pub use self::{
    change::{StateChange, StateChangeError},
    checkpoint::{Checkpoint, Used},
    divergence::{Divergence, Likeness},
    memory::MemoryJournal,
};
pub(crate) use self::{
    checkpoint::Keeper,
    divergence::{Replayed, Where},
    past::{Past, RunPast},
    recorded::{Answer, Inside, Next, Place, Question, Tape},
};
use crate::{Approval, Args, Decision, ModelId, Prompt, Purpose, Response, RunError, RunReport, ToolResult, Usage};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The session.
    pub session_id: Arc<str>,
    /// The run; the session's own lines have the session's identifier here.
    pub run_id: Arc<str>,
    /// The tool call from inside which it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Arc<str>>,
    /// When.
    pub timestamp: Timestamp,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What a line of the journal says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// A session began.
    SessionBegan {
        /// Of this agent.
        agent: Arc<str>,
        /// In this folder.
        working_directory: Arc<str>,
        /// On this model.
        model: ModelId,
        /// It begins where another one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<Arc<str>>,
    },
    /// A session goes on that was left, by its process or by somebody's wish.
    SessionResumed {
        /// For the how manieth time.
        times: u32,
    },
    /// A run began.
    RunBegan {
        /// With this prompt.
        prompt: Prompt,
        /// Of this agent.
        agent: Arc<str>,
        /// This many delegations deep.
        depth: u32,
        /// For this run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Arc<str>>,
        /// For this call of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_call: Option<Arc<str>>,
        /// In a loop that is not ours, and cannot go on where it was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        foreign: bool,
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
        /// About this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<Arc<str>>,
        /// What they did.
        record: Record,
        /// What came of it, if more than going on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<Box<Left>>,
    },
    /// A model is about to be asked.
    ModelAsked {
        /// Which call; pairs it with its answer.
        key: String,
        /// On whose behalf.
        purpose: Purpose,
        /// Which model.
        model: ModelId,
    },
    /// A model has answered, or not.
    ModelAnswered {
        /// Which call.
        key: String,
        /// What it cost.
        usage: Usage,
        /// What it answered, as hooks let it through.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Box<Response>>,
        /// Whether something in the calls of the answer is hidden here, so that they cannot be made from this line.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        veiled: bool,
        /// Whether hooks at `Output` decide about its text. Do not show the text of such a line: show that of the report.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undecided: bool,
        /// Who ended the stream, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        halted: Option<(String, String)>,
        /// Why there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
    },
    /// A tool has looked at a call before anyone is asked about it.
    ToolChecked {
        /// Which call.
        call_id: Arc<str>,
        /// Why a person has to agree, whatever rules and hooks say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<String>,
        /// Why the call cannot succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// The capability that refused it; `None`: its tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    /// A tool is about to run: hooks, guards and whoever was asked have let it through.
    ToolIntended {
        /// Which call.
        call_id: Arc<str>,
        /// Names this very attempt; the tool is given it.
        key: String,
        /// Which tool.
        tool: Arc<str>,
        /// With what.
        args: Args,
        /// The fingerprint of what, if something of it may be hidden here.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        digest: String,
    },
    /// A tool begins. Durable before it does.
    ToolStarted {
        /// Which call.
        call_id: Arc<str>,
        /// Which attempt.
        key: String,
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
        /// What.
        approval: Box<Approval>,
        /// When no answer is a no.
        until: Timestamp,
    },
    /// A person, or nobody, has answered.
    Answered {
        /// About which call.
        call_id: Arc<str>,
        /// What.
        decision: Decision,
    },
    /// What the loop knows between two steps.
    Checkpoint(Box<Checkpoint>),
    /// A run waits, and nobody has to wait with it: it goes on when it is resumed.
    Suspended {
        /// What it waits for.
        message: String,
    },
    /// A run ended.
    RunEnded {
        /// How.
        report: Box<RunReport>,
        /// What the loop knew then.
        checkpoint: Box<Checkpoint>,
    },
    /// A session ended.
    #[default]
    SessionEnded,
}

/// What a dispatch left, so that it need not happen again when the run is resumed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// Every verdict that was more than going on, with its author.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rulings: Vec<(Arc<str>, Value)>,
    /// The event, if hooks changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Value>,
    /// What hooks changed in the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateChange>,
}

impl What {
    /// Its name, as it is written.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionBegan { .. } => "session_began",
            Self::SessionResumed { .. } => "session_resumed",
            Self::RunBegan { .. } => "run_began",
            Self::StepBegan { .. } => "step_began",
            Self::Dispatched { .. } => "dispatched",
            Self::ModelAsked { .. } => "model_asked",
            Self::ModelAnswered { .. } => "model_answered",
            Self::ToolChecked { .. } => "tool_checked",
            Self::ToolIntended { .. } => "tool_intended",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolEnded { .. } => "tool_ended",
            Self::ToolLeftOut { .. } => "tool_left_out",
            Self::Asked { .. } => "asked",
            Self::Answered { .. } => "answered",
            Self::Checkpoint(_) => "checkpoint",
            Self::Suspended { .. } => "suspended",
            Self::RunEnded { .. } => "run_ended",
            Self::SessionEnded => "session_ended",
        }
    }

    /// Whether the run waits until this line is safe, with all before it: what it says is about to have an effect, or has
    /// had one.
    pub fn must_last(&self) -> bool {
        matches!(
            self,
            Self::SessionBegan { .. }
                | Self::SessionResumed { .. }
                | Self::ToolStarted { .. }
                | Self::ToolEnded { .. }
                | Self::Asked { .. }
                | Self::Suspended { .. }
                | Self::RunEnded { .. }
                | Self::SessionEnded
        )
    }

    /// Whether nothing before this line is needed to resume the session.
    pub fn starts_over(&self) -> bool {
        match self {
            Self::Checkpoint(checkpoint) | Self::RunEnded { checkpoint, .. } => checkpoint.starts_over,
            _ => false,
        }
    }
}

/// Why the journal did not do as it was asked. Match on its [kind](Self::kind): the message may be redacted, and is for
/// people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{kind}: {message}")]
pub struct JournalError {
    /// What kind of failure.
    pub kind: JournalFault,
    /// What exactly, and what helps.
    pub message: String,
}

impl JournalError {
    /// An error of this kind.
    pub fn new(kind: JournalFault, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// How a journal fails. One variant per thing a caller would do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JournalFault {
    /// There is no room for another line.
    #[error("the journal's disk is full")]
    Full,
    /// It can be read and not be written.
    #[error("the journal cannot be written")]
    ReadOnly,
    /// It is not what was written to it.
    #[error("the journal is damaged")]
    Corrupt,
    /// Somebody else has taken the session over since.
    #[error("the session was taken over")]
    Fenced,
    /// Somebody else runs the session.
    #[error("the session is in use")]
    Busy,
    /// It has no such session.
    #[error("no such session")]
    Unknown,
    /// Anything else.
    #[error("the journal did not take a record")]
    Failed,
}

/// Where a run is recorded.
pub trait Journal: Send + Sync + 'static {
    /// Takes a line, behind all lines it was given before. A line that [must last](What::must_last) is safe when this
    /// returns, and all before it are; the others may still be on their way.
    fn append(&self, entry: Entry) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Does the same for a journal that need not wait for anything: breaks with the result. Another one continues with the
    /// line, which is then appended.
    fn append_now(&self, entry: Entry) -> ControlFlow<Result<(), JournalError>, Entry> {
        ControlFlow::Continue(entry)
    }

    /// Takes a session over for this handle alone, and gives back its lines from the latest one that
    /// [starts over](What::starts_over) on. Its first line claims a new session.
    ///
    /// A journal that is only written has no session to give back.
    fn claim(&self, session_id: &str) -> impl Future<Output = Result<Vec<Entry>, JournalError>> + Send {
        let error = JournalError::new(JournalFault::Unknown, format!("`{session_id}`: this journal cannot be read"));
        std::future::ready(Err(error))
    }

    /// Lets a session go, for whoever resumes it.
    fn release(&self, session_id: &str) -> impl Future<Output = Result<(), JournalError>> + Send {
        let _ = session_id;
        std::future::ready(Ok(()))
    }

    /// Whether anything is kept that a session could be resumed from.
    fn keeps(&self) -> bool {
        true
    }
}

pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// [`Journal`] with its futures boxed.
pub(crate) trait ErasedJournal: Send + Sync {
    fn append(&self, entry: Entry) -> Boxed<'_, ()>;
    fn append_now(&self, entry: Entry) -> ControlFlow<Result<(), JournalError>, Entry>;
    fn claim<'a>(&'a self, session_id: &'a str) -> Boxed<'a, Vec<Entry>>;
    fn release<'a>(&'a self, session_id: &'a str) -> Boxed<'a, ()>;
    fn keeps(&self) -> bool;
}

impl<J: Journal> ErasedJournal for J {
    fn append(&self, entry: Entry) -> Boxed<'_, ()> {
        Box::pin(Journal::append(self, entry))
    }

    fn append_now(&self, entry: Entry) -> ControlFlow<Result<(), JournalError>, Entry> {
        Journal::append_now(self, entry)
    }

    fn claim<'a>(&'a self, session_id: &'a str) -> Boxed<'a, Vec<Entry>> {
        Box::pin(Journal::claim(self, session_id))
    }

    fn release<'a>(&'a self, session_id: &'a str) -> Boxed<'a, ()> {
        Box::pin(Journal::release(self, session_id))
    }

    fn keeps(&self) -> bool {
        Journal::keeps(self)
    }
}

/// Forgets everything: for agents that nobody will ask about.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    async fn append(&self, _entry: Entry) -> Result<(), JournalError> {
        Ok(())
    }

    fn append_now(&self, _entry: Entry) -> ControlFlow<Result<(), JournalError>, Entry> {
        ControlFlow::Break(Ok(()))
    }

    fn keeps(&self) -> bool {
        false
    }
}
