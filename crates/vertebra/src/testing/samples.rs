//! Events as a run would make them, for hooks that are fired alone. Every field can be changed afterwards.

use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;
use vertebra_hooks::Point;

use crate::{
    AfterInference, AfterStep, AfterToolUse, Args, At, BeforeInference, BeforeToolUse, Messages, ModelId, Output,
    PromptSubmit, Purpose, Request, Response, RunInfo, StepKind, Stop, StopReason, ToolCall, ToolResult, Usage,
    points::events::{InferenceAsked, Inferred, OutputReady, PromptSubmitted, StepEnded, ToolAsked, ToolUsed},
};

/// The head of an event at a point: first step of `run-1` in `session-1`, in the folder `/repo`.
pub fn at<P: Point>(_point: P) -> At {
    At {
        run: Arc::new(RunInfo {
            session_id: "session-1".into(),
            run_id: "run-1".into(),
            agent: "agent".into(),
            depth: 0,
            working_directory: "/repo".into(),
        }),
        point: Cow::Borrowed(P::NAME),
        number: 1,
        step: 1,
        timestamp: Timestamp::UNIX_EPOCH,
    }
}

/// A tool is about to be used. Arguments that are not an object count as malformed.
pub fn call(tool: &str, args: Value) -> ToolAsked {
    let (args, malformed) = match Args::try_from(args) {
        Ok(args) => (args, None),
        Err(not_an_object) => (Args::default(), Some(not_an_object.0.to_string())),
    };
    let call = ToolCall { malformed, ..ToolCall::new("call-1", tool, args) };
    ToolAsked { at: at(BeforeToolUse), call, time_limit: None, recent_tools: Arc::default() }
}

/// A tool was used.
pub fn used(tool: &str, args: Value, result: impl Into<ToolResult>) -> ToolUsed {
    ToolUsed { asked: call(tool, args).later(at(AfterToolUse)), result: result.into(), blocked_by: None }
}

/// A prompt has come in.
pub fn prompt(text: impl Into<String>) -> PromptSubmitted {
    PromptSubmitted { at: at(PromptSubmit), prompt: text.into(), images: Vec::new(), context: Vec::new() }
}

/// A model is about to be asked.
pub fn request(messages: Messages) -> InferenceAsked {
    InferenceAsked { at: at(BeforeInference), purpose: Purpose::Step, request: sample_request(messages) }
}

/// A model has answered.
pub fn response(response: impl Into<Response>) -> Inferred {
    Inferred {
        at: at(AfterInference),
        purpose: Purpose::Step,
        request: sample_request(Messages::default()),
        response: response.into(),
        duration_ms: 0,
    }
}

/// A step has ended.
pub fn step_ended(kind: StepKind, text: impl Into<String>) -> StepEnded {
    StepEnded { at: at(AfterStep), kind, text: text.into(), tools: Vec::new(), usage: Usage::default(), duration_ms: 0 }
}

/// A run that finished has its final answer.
pub fn output(text: impl Into<String>) -> OutputReady {
    let stop = Stop::soft(StopReason::Finished, "model", "finished");
    OutputReady { at: at(Output), text: text.into(), stop }
}

fn sample_request(messages: Messages) -> Request {
    Request {
        model: ModelId::new("script", "script-1"),
        system_prompt: "".into(),
        messages,
        tools: Arc::new([]),
        max_output_tokens: None,
        temperature: None,
        options: Value::Null,
    }
}
