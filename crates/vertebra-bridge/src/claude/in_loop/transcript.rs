//! The conversation as a file in Claude Code's form, which hooks read.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use vertebra::{At, Message, Messages, ToolStatus};

use super::names::{tool_input, tool_name};

/// A folder of transcripts.
#[derive(Debug, Clone)]
pub(super) struct Transcripts(pub(super) PathBuf);

impl Transcripts {
    /// The transcript of whoever an event belongs to: a session, or a child of one.
    pub(super) fn path(&self, at: &At) -> PathBuf {
        let session = named(&at.run.session_id);
        match at.run.depth {
            0 => self.0.join(format!("{session}.jsonl")),
            _ => self.0.join(session).join("subagents").join(format!("agent-{}.jsonl", named(&at.run.run_id))),
        }
    }

    /// The transcript of the session.
    pub(super) fn of_session(&self, at: &At) -> PathBuf {
        self.0.join(format!("{}.jsonl", named(&at.run.session_id)))
    }

    /// Adds what is not in the file yet: all from this message on. A conversation that was made shorter begins anew.
    /// Answers with how many messages are in it now.
    pub(super) fn add(&self, at: &At, messages: &Messages, written: usize) -> io::Result<usize> {
        let path = self.path(at);
        let from = if messages.len() < written { 0 } else { written };
        let mut lines = String::new();
        for (index, message) in messages.iter().enumerate().skip(from) {
            lines.push_str(&line(at, index, message).to_string());
            lines.push('\n');
        }
        if !lines.is_empty() || !path.exists() {
            append(&path, &lines)?;
        }
        Ok(messages.len())
    }
}

fn append(path: &Path, lines: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(lines.as_bytes())
}

/// An identifier as a name of a file.
fn named(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// One message, in one line.
fn line(at: &At, index: usize, message: &Message) -> Value {
    let cwd = &*at.run.working_directory;
    let id = |index: usize| format!("{}-{index}", at.run.run_id);
    let (kind, message, more) = match message {
        Message::User { text, .. } | Message::Instruction { text, .. } => {
            ("user", json!({ "role": "user", "content": text }), None)
        }
        Message::Assistant { text, calls, .. } => {
            let said = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
            let used = calls.iter().map(|call| {
                let (name, input) = (tool_name(&call.tool, &[]), tool_input(&call.tool, &call.args, cwd));
                json!({ "type": "tool_use", "id": call.id, "name": name, "input": input })
            });
            let content: Vec<Value> = said.into_iter().chain(used).collect();
            let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
            let message = json!({
                "id": format!("msg_{}", id(index)), "type": "message", "role": "assistant", "content": content,
                "stop_reason": stop,
            });
            ("assistant", message, None)
        }
        Message::Tool { call_id, result, .. } => {
            let is_error = !result.success || result.status != ToolStatus::Done;
            let content = json!([{
                "tool_use_id": call_id, "type": "tool_result", "content": result.output, "is_error": is_error,
            }]);
            ("user", json!({ "role": "user", "content": content }), Some(result.output.clone()))
        }
    };
    let parent = index.checked_sub(1).map(id);
    let mut line = json!({
        "parentUuid": parent, "isSidechain": at.run.depth > 0, "userType": "external", "cwd": cwd,
        "sessionId": at.run.session_id, "type": kind, "message": message, "uuid": id(index),
        "timestamp": at.timestamp.to_string(),
    });
    if let Some(result) = more {
        line["toolUseResult"] = result.into();
    }
    line
}
