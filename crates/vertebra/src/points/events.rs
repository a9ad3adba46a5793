//! The data of each point: exactly what a hook sees, and exactly what crosses a wire.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vertebra_hooks::Name;

use crate::{
    At, ErrorClass, Image, Limits, Metadata, ModelId, Request, Response, RunStatus, Stop, ToolCall, ToolResult, Usage,
    tool::call::InEvent,
};

/// A session is about to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What models are told before the conversation. May be changed for the whole session.
    pub system_prompt: Arc<str>,
    /// The model that is asked unless a hook changes it.
    pub model: ModelId,
    /// Whether it goes on after its process ended, or was left.
    #[serde(default)]
    pub resumed: bool,
}

/// A session ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What its model calls cost.
    pub usage: Usage,
    /// Tokens, read and written.
    pub total_tokens: u64,
    /// Tool calls, blocked ones included.
    pub total_tool_calls: u64,
    /// Runs.
    pub runs: u32,
    /// Steps.
    pub steps: u32,
    /// How long it was open.
    pub duration_ms: u64,
}

/// A prompt has come in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptSubmitted {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What was asked. May be rewritten.
    pub prompt: String,
    /// What was shown with it. May be changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What the model is told besides.
    #[serde(default)]
    pub context: Vec<String>,
}

impl PromptSubmitted {
    /// Adds something for the model to know.
    pub fn add_context(&mut self, text: impl Into<String>) {
        self.context.push(text.into());
    }
}

/// A run begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutionStarted {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// The prompt in its final form.
    pub prompt: String,
    /// The limits of the run.
    pub limits: Limits,
}

/// A run has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutionEnded {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// How the run went.
    pub status: RunStatus,
    /// Why it ended.
    pub stop: Stop,
    /// The last thing the model said.
    pub text: String,
    /// Steps of this run.
    pub steps: u32,
    /// What the model calls of this run cost.
    pub usage: Usage,
    /// How long it took.
    pub duration_ms: u64,
}

/// A step is about to begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// How many messages the conversation has.
    pub messages: usize,
    /// What the session has cost so far.
    pub usage: Usage,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepKind {
    /// The model asked for tools.
    ToolExecution,
    /// The model asked for none.
    FinalResponse,
    /// There was no answer from the model.
    NoResponse,
}

impl From<StepKind> for String {
    /// So that a matcher can be written as `AfterStep.step(StepKind::FinalResponse)`.
    fn from(kind: StepKind) -> Self {
        kind.name().to_owned()
    }
}

impl StepKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ToolExecution => "tool_execution",
            Self::FinalResponse => "final_response",
            Self::NoResponse => "no_response",
        }
    }
}

/// A step has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEnded {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What it did.
    pub kind: StepKind,
    /// What the model said.
    pub text: String,
    /// The tools it used.
    pub tools: Vec<Arc<str>>,
    /// What it cost.
    pub usage: Usage,
    /// How long it took, model and tools included.
    pub duration_ms: u64,
}

/// The run is about to end or to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Continuing {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What the last step did.
    pub kind: StepKind,
    /// What the model said.
    pub text: String,
    /// Why the run would end; empty if it would go on.
    pub stops: Vec<Stop>,
    /// How often hooks have made this run go on.
    pub continuations: u32,
}

/// A run has its final answer, which has not left the run yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputReady {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// The answer: the last text of the model. May be changed.
    pub text: String,
    /// Why the run ends.
    pub stop: Stop,
}

/// What a model call is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A step of the loop.
    Step,
    /// Something a capability needs: a critique, a summary.
    Capability(Arc<str>),
}

/// A model is about to be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InferenceAsked {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What for.
    pub purpose: Purpose,
    /// What goes out. May be changed.
    #[serde(flatten)]
    pub request: Request,
}

/// A piece of an answer has come in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeltaArrived {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// Who says it.
    pub model: ModelId,
    /// What kind of text it is.
    pub channel: Channel,
    /// Which call it is a piece of, in [`Channel::Call`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallInSight>,
    /// The text, together with what was held back before it. May be rewritten.
    pub text: String,
    /// The character it follows on the screen: the last one of this channel that was let through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<char>,
    /// What a hook takes from the end of the text to have it again in front of the next piece. Nobody else sees it: it is
    /// in no record and crosses no wire.
    #[serde(skip)]
    pub kept: String,
    /// Whether its channel ends with it: what is held back now is never shown.
    pub last: bool,
    /// How the answer ended, in the last piece of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<AnswerEnd>>,
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum AnswerEnd {
    /// It is whole.
    Finished {
        /// Why the model stopped, in the provider's word; empty if it does not say.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// The tools that the answer asks for, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// It broke off.
    BrokenOff {
        /// What happened.
        error: String,
    },
}

/// What kind of text streams in.
///
/// The list is closed: what passes pieces on has to pass all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// What the model says.
    Text,
    /// What the model thinks.
    Reasoning,
    /// The arguments of a call as the model writes them. What hooks make of them here is what people see; the call
    /// itself comes to [`BeforeToolUse`](crate::BeforeToolUse).
    Call,
}

/// A call that a model is writing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallInSight {
    /// The how manieth call of the answer, from 0.
    pub index: u32,
    /// The tool.
    pub tool: Arc<str>,
}

/// A model has answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inferred {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What for.
    pub purpose: Purpose,
    /// What went out.
    pub request: Request,
    /// What came back. May be changed.
    pub response: Response,
    /// How long it took.
    pub duration_ms: u64,
}

/// A tool is about to be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolAsked {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// The call. Its arguments may be changed.
    #[serde(flatten, with = "InEvent")]
    pub call: ToolCall,
    /// How long the tool itself may take; as long as it likes unless a hook says. Then it is dropped, and has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Duration>,
    /// The tools used before this call, the latest last.
    #[serde(default)]
    pub recent_tools: Arc<Vec<Arc<str>>>,
}

impl ToolAsked {
    /// The same call at a later event.
    #[must_use]
    pub fn later(&self, at: At) -> Self {
        let Self { at: _, call, time_limit, recent_tools } = self;
        Self { at, call: call.clone(), time_limit: *time_limit, recent_tools: recent_tools.clone() }
    }

    /// Takes back everything but the arguments.
    pub(crate) fn become_again(&mut self, original: &Self) {
        let ToolCall { args, malformed, .. } = std::mem::replace(self, original.clone()).call;
        (self.call.args, self.call.malformed) = (args, malformed);
    }
}

/// A person is about to be asked about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// Who, where, when, and the call in its final form.
    #[serde(flatten)]
    pub asked: ToolAsked,
    /// Why somebody has to decide.
    pub reason: String,
    /// Which hook asked.
    pub asked_by: Name,
}

/// A tool call has ended, one way or another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUsed {
    /// Who, where, when, and the call in its final form.
    #[serde(flatten)]
    pub asked: ToolAsked,
    /// What came of it. May be changed.
    pub result: ToolResult,
    /// Who blocked it, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Name>,
}

/// A tool has failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolFailed {
    /// Who, where, when, and the call in its final form.
    #[serde(flatten)]
    pub asked: ToolAsked,
    /// What the tool said.
    pub error: String,
    /// Whether the tool itself was reached. It is not if the arguments do not fit.
    pub reached: bool,
    /// How often this call was tried.
    pub attempts: u32,
    /// How long it took.
    pub duration_ms: u64,
}

macro_rules! derefs {
    ($($event:ident { $field:ident: $target:ty }),*) => {$(
        impl Deref for $event {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.$field
            }
        }

        impl DerefMut for $event {
            fn deref_mut(&mut self) -> &mut $target {
                &mut self.$field
            }
        }
    )*};
}

derefs!(
    ToolAsked { call: ToolCall },
    PermissionAsked { asked: ToolAsked },
    ToolUsed { asked: ToolAsked },
    ToolFailed { asked: ToolAsked }
);

/// Something failed outside a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What kind of failure.
    pub class: ErrorClass,
    /// What it says.
    pub message: String,
    /// How often the step was tried.
    pub attempts: u32,
    /// How long the provider asks us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Duration>,
}

/// A child agent is about to begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubagentStarted {
    /// Who, where, when: the parent.
    #[serde(flatten)]
    pub at: At,
    /// The child's name.
    pub subagent: Arc<str>,
    /// What it is asked. May be changed.
    pub prompt: String,
    /// What it may use, out of what the parent has. May be changed.
    pub limits: Limits,
    /// What its state holds from the start: nothing, unless a hook hands something down.
    #[serde(default)]
    pub metadata: Metadata,
}

/// A child agent has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubagentStopped {
    /// Who, where, when: the parent.
    #[serde(flatten)]
    pub at: At,
    /// The child's name.
    pub subagent: Arc<str>,
    /// How it went.
    pub status: RunStatus,
    /// Why it ended.
    pub stop: Stop,
    /// What the parent reads. May be changed.
    pub text: String,
    /// What it cost.
    pub usage: Usage,
    /// Its steps.
    pub steps: u32,
}

/// The conversation is about to be, or has been, made shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compacting {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// Why.
    pub reason: String,
    /// How many messages there are.
    pub messages: usize,
    /// Roughly how many tokens.
    pub tokens: u64,
    /// What whoever shortens it should keep in mind. May be changed before.
    #[serde(default)]
    pub instructions: String,
}

/// Something a person may want to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notified {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What kind of news.
    pub kind: String,
    /// The news.
    pub message: String,
    /// Data that goes with it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl DeltaArrived {
    /// Shows nothing of the text from this byte on yet: it comes again in front of the next piece.
    pub fn keep_from(&mut self, byte: usize) {
        let byte = self.text.floor_char_boundary(byte);
        let later = std::mem::take(&mut self.kept);
        self.kept = self.text.split_off(byte) + &later;
    }
}
