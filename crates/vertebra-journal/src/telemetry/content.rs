//! What was said, for those who want it in their traces: bounded, in the form of the conventions.

use serde_json::{Value, json};
use vertebra::{Prompt, Response, ToolCall};

/// How much of one text is exported.
const MAX_BYTES: usize = 16 * 1024;

/// How many calls of one answer are.
const MAX_CALLS: usize = 32;

/// Text that is not longer than it may be, and says so if it was.
pub(super) fn bounded(text: &str) -> String {
    let cut = text.floor_char_boundary(MAX_BYTES);
    match text.len() - cut {
        0 => text.to_owned(),
        more => format!("{} [{more} more bytes]", &text[..cut]),
    }
}

/// What a person said.
pub(super) fn prompt(prompt: &Prompt) -> String {
    // That there were pictures is told; they are too large to travel with every run.
    let images = prompt
        .images
        .iter()
        .map(|image| json!({ "type": "blob", "modality": "image", "mime_type": &*image.media_type, "content": "" }));
    let parts: Vec<Value> = std::iter::once(text(&prompt.text)).chain(images).collect();
    json!([{ "role": "user", "parts": parts }]).to_string()
}

/// What a model answered.
pub(super) fn response(response: &Response) -> String {
    let calls = response.calls.iter().take(MAX_CALLS).map(call);
    let said = (!response.text.is_empty()).then(|| text(&response.text));
    let parts: Vec<Value> = said.into_iter().chain(calls).collect();
    json!([{ "role": "assistant", "parts": parts, "finish_reason": response.finish }]).to_string()
}

/// What an agent said last.
pub(super) fn answer(said: &str) -> String {
    json!([{ "role": "assistant", "parts": [text(said)] }]).to_string()
}

fn text(said: &str) -> Value {
    json!({ "type": "text", "content": bounded(said) })
}

fn call(call: &ToolCall) -> Value {
    json!({ "type": "tool_call", "id": &*call.id, "name": &*call.tool, "arguments": bounded(&call.written()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters_and_say_so() {
        assert_eq!(bounded("short"), "short");
        let long = format!("{}é and more", "x".repeat(MAX_BYTES - 1));
        assert_eq!(bounded(&long), format!("{} [11 more bytes]", "x".repeat(MAX_BYTES - 1)));
    }
}
