//! What came of a tool call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolOutput;

/// What a journal says of a use of a tool whose arounds went on without it.
const LEFT: &str = "cut short: what stood around it went on without it";

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolStatus {
    /// It ran.
    Done,
    /// It was tried and failed: an error, a panic, arguments that do not fit.
    Failed,
    /// A hook, a guard or a person refused it; it did not run.
    Blocked,
    /// It did not run because the run was ending.
    NotRun,
    /// It was cancelled while it ran.
    Cancelled,
    /// It had begun when its process ended. Whether it did anything is not known, and it was not done again.
    Unknown,
}

impl fmt::Display for ToolStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::NotRun => "not run",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        })
    }
}

/// What came of a tool call, as hooks and the model see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// How it ended.
    pub status: ToolStatus,
    /// Whether it did what it was asked.
    pub success: bool,
    /// What the model reads.
    pub output: String,
    /// The exit code, if it ran a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// Data that the model does not read.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl ToolResult {
    /// A result as if the tool had run and said this.
    pub fn done(output: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Done,
            success: true,
            output: output.into(),
            exit_code: None,
            duration_ms: 0,
            data: Value::Null,
        }
    }

    pub(crate) fn ended(status: ToolStatus, output: impl Into<String>) -> Self {
        Self { status, success: false, ..Self::done(output) }
    }

    /// What came of a use whose arounds went on without it.
    pub(crate) fn left() -> Self {
        Self::ended(ToolStatus::Cancelled, LEFT)
    }

    /// Whether nobody ever saw what came of it, because its arounds had gone on.
    pub(crate) fn is_left(&self) -> bool {
        self.status == ToolStatus::Cancelled && self.output == LEFT
    }

    pub(crate) fn took(mut self, duration_ms: u64) -> Self {
        self.duration_ms = duration_ms;
        self
    }

    /// Cuts the output to what a model's context may take, and says so in it.
    pub(crate) fn capped(mut self, bytes: usize) -> Self {
        self.output = capped(self.output, bytes);
        self
    }
}

/// Text cut to so many bytes, with a word about the cut in it.
pub(crate) fn capped(mut text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    let cut = text.floor_char_boundary(bytes);
    let left_out = text.len() - cut;
    text.truncate(cut);
    format!("{text}\n[{left_out} more bytes were cut: the limit is {bytes}]")
}

impl From<ToolOutput> for ToolResult {
    fn from(output: ToolOutput) -> Self {
        let success = output.exit_code.is_none_or(|code| code == 0);
        Self { success, exit_code: output.exit_code, data: output.data, ..Self::done(output.text) }
    }
}

impl From<&str> for ToolResult {
    fn from(output: &str) -> Self {
        Self::done(output)
    }
}

impl From<String> for ToolResult {
    fn from(output: String) -> Self {
        Self::done(output)
    }
}
