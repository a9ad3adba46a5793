//! The conversation as `genai` takes it.
//!
//! Providers refuse a call without its result right behind it, and a result without its call. A conversation that was
//! summed up or edited may have either, so each call is given its result here, and a result without a call is told as
//! text.

use genai::chat::{ChatMessage, ContentPart, MessageContent, ToolCall as Call, ToolResponse};
use serde_json::{Value, json};
use vertebra::{Image, Message, Request, ToolCall, ToolResult};

use super::carry::Carry;
use crate::Adapter;

/// What stands for a result that nobody has.
const NO_RESULT: &str = "There is no result of this call.";

pub(super) fn map(request: &Request, adapter: Adapter) -> Vec<ChatMessage> {
    let messages: Vec<&Message> = request.messages.iter().collect();
    let mut told = vec![false; messages.len()];
    let mut mapped = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        if told[at] {
            continue;
        }
        match message {
            Message::User { text, images } => mapped.push(said(text, images)),
            Message::Instruction { text, from } => mapped.push(instruction(text, from)),
            Message::Assistant { text, reasoning, calls, carry } => {
                let carry =
                    carry.as_ref().and_then(|carry| Carry::read(carry, adapter, &request.model.name, reasoning));
                mapped.extend(answered(text, reasoning, calls, carry.as_ref(), adapter));
                let results = calls.iter().map(|call| {
                    let at = (at + 1..messages.len()).find(|&at| !told[at] && answers(messages[at], call));
                    at.inspect(|&at| told[at] = true).map(|at| messages[at])
                });
                let results: Vec<_> = calls.iter().zip(results).collect();
                push_results(&mut mapped, &results, adapter);
            }
            Message::Tool { tool, result, .. } => {
                // Whatever it says, it is no instruction.
                mapped
                    .push(ChatMessage::user(format!("An earlier call of `{tool}` gave:\n{}", quoted(&result.output))));
            }
        }
    }
    mapped
}

fn said(text: &str, images: &[Image]) -> ChatMessage {
    let pictures =
        images.iter().map(|image| ContentPart::from_binary_base64(&*image.media_type, image.data.clone(), None));
    let text = (!text.is_empty() || images.is_empty()).then(|| ContentPart::from_text(text));
    ChatMessage::user(MessageContent::from_parts(pictures.chain(text).collect::<Vec<_>>()))
}

/// In the user's turn, but nobody's words.
fn quoted(output: &str) -> String {
    output.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// In the user's turn, where every provider takes it in its place, and marked as not the user's.
fn instruction(text: &str, from: &str) -> ChatMessage {
    ChatMessage::user(format!("<instruction from=\"{from}\">\n{text}\n</instruction>"))
}

fn answered(
    text: &str,
    reasoning: &str,
    calls: &[ToolCall],
    carry: Option<&Carry>,
    adapter: Adapter,
) -> Option<ChatMessage> {
    let mut parts: Vec<ContentPart> = Vec::new();
    match carry {
        Some(carry) => parts.extend(carry.parts()),
        None if reads_thoughts(adapter) && !reasoning.is_empty() => {
            parts.push(ContentPart::ReasoningContent(reasoning.to_owned()));
        }
        None => {}
    }
    // White space alone is refused where text is wanted.
    if !text.trim().is_empty() {
        parts.push(ContentPart::from_text(text));
    }
    parts.extend(calls.iter().map(|call| {
        ContentPart::ToolCall(Call {
            call_id: call.id.to_string(),
            fn_name: call.tool.to_string(),
            fn_arguments: arguments(call),
            thought_signatures: carry.and_then(|carry| carry.of_call(&call.id)),
        })
    }));
    (!parts.is_empty()).then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
}

/// Providers that want unsigned thoughts back while the model works with tools.
fn reads_thoughts(adapter: Adapter) -> bool {
    matches!(adapter, Adapter::DeepSeek | Adapter::Kimi | Adapter::Moonshot | Adapter::Zai | Adapter::Mistral)
}

/// Providers take an object only. What the model wrote instead stays for it to read.
fn arguments(call: &ToolCall) -> Value {
    match &call.malformed {
        Some(text) => json!({ "malformed_arguments": text }),
        None => call.args.to_value(),
    }
}

fn answers(message: &Message, call: &ToolCall) -> bool {
    matches!(message, Message::Tool { call_id, .. } if *call_id == call.id)
}

fn push_results(mapped: &mut Vec<ChatMessage>, results: &[(&ToolCall, Option<&Message>)], adapter: Adapter) {
    let mut parts = results.iter().map(|(call, message)| match message {
        Some(Message::Tool { result, .. }) => result_part(call, result, adapter),
        _ => plain_result(call, NO_RESULT.to_owned()),
    });
    // Anthropic wants the results of one turn together; Ollama's adapter keeps only the last of those.
    if matches!(adapter, Adapter::Anthropic | Adapter::MiniMax) {
        let parts: Vec<_> = parts.collect();
        if !parts.is_empty() {
            mapped.push(ChatMessage::tool(MessageContent::from_parts(parts)));
        }
    } else {
        mapped.extend(parts.by_ref().map(|part| ChatMessage::tool(MessageContent::from_parts(vec![part]))));
    }
}

fn result_part(call: &ToolCall, result: &ToolResult, adapter: Adapter) -> ContentPart {
    if result.success {
        return plain_result(call, result.output.clone());
    }
    if matches!(adapter, Adapter::Anthropic) {
        let data = json!({
            "type": "tool_result",
            "tool_use_id": &*call.id,
            "content": &*result.output,
            "is_error": true,
        });
        return ContentPart::from_custom(data, None);
    }
    plain_result(call, format!("Error: {}", result.output))
}

fn plain_result(call: &ToolCall, content: String) -> ContentPart {
    ToolResponse::new(&*call.id, content).with_fn_name(&*call.tool).into()
}
