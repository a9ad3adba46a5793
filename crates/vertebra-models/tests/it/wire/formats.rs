//! The published wire formats of providers, spoken from one script.

use serde_json::{Value, json};
use vertebra_models::{Adapter, Driver, Provider, Secret};

use super::server::{Reply, Server};

/// The key that must be found nowhere but in one header.
pub(crate) const KEY: &str = "sk-planted-0123456789abcdef";

/// The model that is asked.
pub(crate) const MODEL: &str = "gpt-5-test";

/// What a model says, whoever it is.
#[derive(Clone, Copy)]
pub(crate) enum Say {
    Think(&'static str),
    Text(&'static str),
    /// Calls that are written at the same time: name and pieces of the arguments.
    Calls(&'static [(&'static str, &'static [&'static str])]),
}

/// How a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
}

/// A provider under test.
#[derive(Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) name: &'static str,
    pub(crate) adapter: Adapter,
    pub(crate) format: Format,
}

const fn wire(name: &'static str, adapter: Adapter, format: Format) -> Wire {
    Wire { name, adapter, format }
}

/// Everybody.
pub(crate) const WIRES: [Wire; 12] = [
    wire("openai", Adapter::OpenAI, Format::Chat),
    wire("openai-responses", Adapter::OpenAIResp, Format::Responses),
    wire("anthropic", Adapter::Anthropic, Format::Anthropic),
    wire("gemini", Adapter::Gemini, Format::Gemini),
    wire("ollama", Adapter::Ollama, Format::Ollama),
    wire("openrouter", Adapter::OpenRouter, Format::Chat),
    wire("groq", Adapter::Groq, Format::Chat),
    wire("deepseek", Adapter::DeepSeek, Format::Chat),
    wire("xai", Adapter::Xai, Format::Chat),
    wire("mistral", Adapter::Mistral, Format::Chat),
    wire("together", Adapter::Together, Format::Chat),
    wire("fireworks", Adapter::Fireworks, Format::Chat),
];

/// One of each format.
pub(crate) fn formats() -> impl Iterator<Item = Wire> {
    WIRES.into_iter().take(5)
}

impl Wire {
    /// A driver for this provider that speaks to our server.
    pub(crate) fn driver(&self, server: &Server) -> Driver {
        let provider = Provider {
            name: self.name,
            adapter: self.adapter,
            default_model: Some(MODEL),
            ..*Provider::find("openai").expect("a provider")
        };
        let driver = Driver::new(&provider).expect("a driver").base_url(&server.url()).expect("a URL");
        driver.key(Secret::new(KEY))
    }

    pub(crate) fn content_type(&self) -> &'static str {
        if self.format == Format::Ollama { "application/x-ndjson" } else { "text/event-stream" }
    }

    /// The script as this provider says it, with the end it puts behind.
    pub(crate) fn body(&self, script: &[Say]) -> String {
        self.events(script).concat()
    }

    pub(crate) fn reply(&self, script: &[Say]) -> Reply {
        Reply::stream(self.content_type(), vec![self.body(script).into_bytes()])
    }

    /// The events of the script, one a string.
    pub(crate) fn events(&self, script: &[Say]) -> Vec<String> {
        match self.format {
            Format::Chat => chat(script, self.name),
            Format::Responses => responses(script),
            Format::Anthropic => anthropic(script),
            Format::Gemini => gemini(script),
            Format::Ollama => ollama(script),
        }
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn called(script: &[Say]) -> bool {
    script.iter().any(|say| matches!(say, Say::Calls(_)))
}

fn chat(script: &[Say], name: &str) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        data(&json!({ "id": "req-of-body", "object": "chat.completion.chunk", "model": MODEL, "choices": [choice] }))
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    let thought = if name == "deepseek" { "reasoning_content" } else { "reasoning" };
    for say in script {
        match say {
            Say::Think(text) => events.push(chunk(json!({ thought: text }), Value::Null)),
            Say::Text(text) => events.push(chunk(json!({ "content": text }), Value::Null)),
            Say::Calls(calls) => {
                for (index, (tool, _)) in calls.iter().enumerate() {
                    let function = json!({ "name": tool, "arguments": "" });
                    let call = json!({ "index": index, "id": format!("id-{index}"), "type": "function", "function": function });
                    events.push(chunk(json!({ "tool_calls": [call] }), Value::Null));
                }
                let longest = calls.iter().map(|(_, pieces)| pieces.len()).max().unwrap_or(0);
                for at in 0..longest {
                    let pieces = calls.iter().enumerate().filter_map(|(index, (_, pieces))| {
                        Some(json!({ "index": index, "function": { "arguments": pieces.get(at)? } }))
                    });
                    events.push(chunk(json!({ "tool_calls": pieces.collect::<Vec<_>>() }), Value::Null));
                }
            }
        }
    }
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": { "cached_tokens": 40 },
    });
    let finish = if called(script) { "tool_calls" } else { "stop" };
    if name == "groq" {
        let choice = json!({ "index": 0, "delta": {}, "finish_reason": finish });
        events.push(data(&json!({ "id": "req-of-body", "choices": [choice], "x_groq": { "usage": usage } })));
    } else {
        events.push(chunk(json!({}), json!(finish)));
        events.push(data(&json!({ "id": "req-of-body", "choices": [], "usage": usage })));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn responses(script: &[Say]) -> Vec<String> {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().expect("a type"));
    let response = |status: &str, usage: Value| json!({ "id": "req-of-body", "object": "response", "model": MODEL, "status": status, "output": [], "usage": usage });
    let mut events =
        vec![event(json!({ "type": "response.created", "response": response("in_progress", Value::Null) }))];
    let mut at = 0;
    for say in script {
        match say {
            Say::Think(text) => {
                events.push(event(
                    json!({ "type": "response.reasoning_summary_text.delta", "output_index": at, "delta": text }),
                ));
                let item = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed" });
                events.push(event(json!({ "type": "response.output_item.done", "output_index": at, "item": item })));
                at += 1;
            }
            Say::Text(text) => {
                events.push(event(json!({ "type": "response.output_text.delta", "output_index": at, "delta": text })));
            }
            Say::Calls(calls) => {
                for (index, (tool, pieces)) in calls.iter().enumerate() {
                    at += 1;
                    let item = |arguments: &str| {
                        json!({
                            "type": "function_call", "id": format!("fc_{index}"), "call_id": format!("id-{index}"),
                            "name": tool, "arguments": arguments,
                        })
                    };
                    events.push(event(
                        json!({ "type": "response.output_item.added", "output_index": at, "item": item("") }),
                    ));
                    for piece in *pieces {
                        let kind = "response.function_call_arguments.delta";
                        events.push(event(json!({ "type": kind, "output_index": at, "delta": piece })));
                    }
                    let item = item(&pieces.concat());
                    events
                        .push(event(json!({ "type": "response.output_item.done", "output_index": at, "item": item })));
                }
            }
        }
    }
    let usage = json!({
        "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
        "input_tokens_details": { "cached_tokens": 40 },
    });
    events.push(event(json!({ "type": "response.completed", "response": response("completed", usage) })));
    events
}

fn anthropic(script: &[Say]) -> Vec<String> {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().expect("a type"));
    let usage = json!({ "input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10, "output_tokens": 1 });
    let message = json!({ "id": "req-of-body", "type": "message", "role": "assistant", "content": [], "usage": usage });
    let mut events = vec![event(json!({ "type": "message_start", "message": message }))];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(event(json!({ "type": "content_block_start", "index": index, "content_block": start })));
        for delta in deltas {
            events.push(event(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        events.push(event(json!({ "type": "content_block_stop", "index": index })));
        index += 1;
    };
    for say in script {
        match say {
            Say::Think(text) => block(
                json!({ "type": "thinking", "thinking": "" }),
                vec![
                    json!({ "type": "thinking_delta", "thinking": text }),
                    json!({ "type": "signature_delta", "signature": "sealed" }),
                ],
            ),
            Say::Text(text) => {
                block(json!({ "type": "text", "text": "" }), vec![json!({ "type": "text_delta", "text": text })]);
            }
            Say::Calls(calls) => {
                for (index, (tool, pieces)) in calls.iter().enumerate() {
                    let deltas =
                        pieces.iter().map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
                    let start = json!({ "type": "tool_use", "id": format!("id-{index}"), "name": tool, "input": {} });
                    block(start, deltas.collect());
                }
            }
        }
    }
    let reason = if called(script) { "tool_use" } else { "end_turn" };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(event(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 20 } })));
    events.push(event(json!({ "type": "message_stop" })));
    events
}

/// Gemini ends its lines as mail does.
fn gemini(script: &[Say]) -> Vec<String> {
    let usage = json!({
        "promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120, "cachedContentTokenCount": 40,
    });
    let chunk = |parts: Value, finish: Option<&str>| {
        let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        let chunk = json!({ "candidates": [candidate], "usageMetadata": usage, "responseId": "req-of-body" });
        format!("data: {chunk}\r\n\r\n")
    };
    let mut events = Vec::new();
    for say in script {
        let parts = match say {
            Say::Think(text) => json!([{ "text": text, "thought": true }]),
            Say::Text(text) => json!([{ "text": text }]),
            Say::Calls(calls) => {
                let part = |(index, (tool, pieces)): (usize, &(&str, &[&str]))| {
                    let args: Value = serde_json::from_str(&pieces.concat()).expect("whole arguments");
                    let mut part = json!({ "functionCall": { "name": tool, "args": args } });
                    if index == 0 {
                        part["thoughtSignature"] = json!("sealed");
                    }
                    part
                };
                calls.iter().enumerate().map(part).collect()
            }
        };
        events.push(chunk(parts, None));
    }
    events.push(chunk(json!([{ "text": "" }]), Some("STOP")));
    events
}

fn ollama(script: &[Say]) -> Vec<String> {
    let line = |message: Value| format!("{}\n", json!({ "model": MODEL, "message": message, "done": false }));
    let mut events = Vec::new();
    for say in script {
        events.push(line(match say {
            Say::Think(text) => json!({ "role": "assistant", "content": "", "thinking": text }),
            Say::Text(text) => json!({ "role": "assistant", "content": text }),
            Say::Calls(calls) => {
                let call = |(index, (tool, pieces)): (usize, &(&str, &[&str]))| {
                    let args: Value = serde_json::from_str(&pieces.concat()).expect("whole arguments");
                    json!({ "id": format!("id-{index}"), "function": { "name": tool, "arguments": args } })
                };
                let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
                json!({ "role": "assistant", "content": "", "tool_calls": calls })
            }
        }));
    }
    let end = json!({
        "model": MODEL, "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
        "prompt_eval_count": 100, "prompt_eval_cached_count": 40, "eval_count": 20,
    });
    events.push(format!("{end}\n"));
    events
}
