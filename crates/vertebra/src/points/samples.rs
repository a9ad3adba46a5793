//! Parts of the sample events in the table of points.

use serde_json::{Value, json};

use crate::{ModelId, StopReason};

pub(super) const SYSTEM_PROMPT: &str = "You are a careful engineer.";

/// The fields of both objects.
pub(super) fn with(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

pub(super) fn no_model() -> ModelId {
    ModelId::new("none", "none")
}

pub(super) fn blank_call() -> Value {
    json!({ "call_id": "call-1", "tool": "", "args": {} })
}

pub(super) fn blank_request() -> Value {
    json!({ "model": no_model(), "system_prompt": "", "messages": [], "tools": [] })
}

pub(super) fn blank_stop() -> Value {
    json!({ "reason": StopReason::Finished, "message": "", "source": "", "hard": false })
}

pub(super) fn model() -> ModelId {
    ModelId::new("anthropic", "claude-sonnet")
}

pub(super) fn call() -> Value {
    json!({
        "call_id": "call-1", "tool": "bash", "aliases": ["Bash"], "args": { "command": "git push --force" },
        "recent_tools": ["read_file"],
    })
}

pub(super) fn request() -> Value {
    json!({
        "model": model(), "system_prompt": SYSTEM_PROMPT, "messages": [{ "role": "user", "text": "Release it." }],
        "tools": [{ "name": "bash", "description": "Runs a command.", "schema": { "type": "object" } }],
        "max_output_tokens": 4096, "temperature": 0.5, "options": { "seed": 7 },
    })
}

pub(super) fn usage() -> Value {
    json!({
        "input_tokens": 1200, "output_tokens": 80, "cache_read_tokens": 1000, "cache_write_tokens": 0, "cost_micros": 900,
    })
}

pub(super) fn response() -> Value {
    json!({
        "text": "I push it.", "reasoning": "It was asked for.",
        "calls": [{ "id": "call-1", "tool": "bash", "args": { "command": "git push --force" } }],
        "usage": usage(), "finish": "tool_use", "request_id": "req-1",
    })
}

pub(super) fn finished() -> Value {
    json!({ "reason": "finished", "message": "no tool was asked for", "source": "model", "hard": false })
}
