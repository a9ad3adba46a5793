//! What the tools of a run said, for a critic to read.

use std::collections::HashMap;

use vertebra::{Message, Messages, ToolCall};

use crate::summary::head_and_tail;

/// The calls and results since the run's prompt, cut to so many characters. The prompt is known by its place: its text
/// may have been cut.
pub(super) fn of_run(messages: &Messages, chars: usize) -> String {
    let since: Vec<&Message> =
        messages.iter().rev().take_while(|message| !matches!(message, Message::User { .. })).collect();
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut lines = Vec::new();
    for message in since.into_iter().rev() {
        match message {
            Message::Assistant { calls: asked, .. } => calls.extend(asked.iter().map(|call| (&*call.id, call))),
            Message::Tool { call_id, tool, result } => {
                let args = calls.get(&**call_id).map(|call| call.args.to_value().to_string()).unwrap_or_default();
                lines.push(format!("{tool}{args} ({}): {}", result.status, result.output));
            }
            Message::User { .. } | Message::Instruction { .. } => {}
        }
    }
    head_and_tail(&lines.join("\n"), chars)
}
