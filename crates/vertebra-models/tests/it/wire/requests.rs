//! What is truly sent.
//!
//! After a change: `INSTA_UPDATE=always cargo test -p vertebra-models requests`.

use std::sync::Arc;

use serde_json::{Value, json};
use vertebra::{Deltas, Image, Message, Messages, Model, ModelId, Request, Response, ToolCall, ToolResult, ToolStatus};

use super::{
    ask,
    formats::{Format, KEY, MODEL, Say, WIRES, Wire, formats},
    question,
    server::{Received, Server},
};

const DONE: &[Say] = &[Say::Text("Done.")];

/// What the server gets of a request.
async fn sent(wire: Wire, request: &Request) -> Received {
    let server = Server::start([wire.reply(DONE)]).await;
    wire.driver(&server).infer(request, &mut Deltas::collect()).await.expect("an answer");
    server.last()
}

/// An answer of this provider with thoughts and two calls, as a run keeps it.
async fn answer_with_calls(wire: Wire) -> Response {
    const THINKS_AND_CALLS: &[Say] =
        &[Say::Think("Both."), Say::Text("I look."), Say::Calls(&[("read", &["{\"path\":\"a\"}"]), ("list", &["{}"])])];
    super::answer(wire, wire.reply(THINKS_AND_CALLS)).await.expect("an answer").0
}

/// Everything that a conversation can hold.
async fn conversation(wire: Wire) -> Messages {
    let mut messages = Messages::default();
    let picture = Image { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    messages.push(Message::User { text: "What is this?".to_owned(), images: vec![picture] });
    let answer = answer_with_calls(wire).await;
    let [read, list] = [answer.calls[0].clone(), answer.calls[1].clone()];
    messages.push(Message::assistant(answer));
    messages.push(Message::tool(read, ToolResult::done("A cat.")));
    let failed = ToolResult { status: ToolStatus::Failed, success: false, ..ToolResult::done("no such folder") };
    messages.push(Message::tool(list, failed));
    messages.push(Message::instruction("Two steps are left.", "limits"));
    messages
}

#[tokio::test]
async fn a_whole_conversation_is_sent_as_each_provider_takes_it() {
    for wire in formats() {
        let request = Request {
            temperature: Some(0.2),
            max_output_tokens: Some(4000),
            options: json!({ "reasoning_effort": "low", "unknown": true, "body": { "extra": [1] } }),
            ..ask(conversation(wire).await)
        };
        let body = sent(wire, &request).await.body;
        insta::assert_snapshot!(format!("request_{}", wire.name), format!("{body:#}"));
    }
}

#[tokio::test]
async fn the_key_is_in_one_header_and_nowhere_else() {
    for wire in WIRES {
        let received = sent(wire, &question()).await;
        let holding: Vec<_> = received.headers.iter().filter(|(_, value)| value.contains(KEY)).collect();
        let expected = match wire.format {
            Format::Anthropic => Some(("x-api-key", KEY.to_owned())),
            Format::Gemini => Some(("x-goog-api-key", KEY.to_owned())),
            Format::Ollama => None,
            Format::Chat | Format::Responses => Some(("authorization", format!("Bearer {KEY}"))),
        };
        assert_eq!(holding.len(), usize::from(expected.is_some()), "{}", wire.name);
        if let Some((name, value)) = expected {
            assert_eq!(received.header(name), Some(&*value), "{}", wire.name);
        }
        assert!(!received.path.contains(KEY) && !received.body.to_string().contains(KEY), "{}", wire.name);
        assert!(received.header("user-agent").is_some_and(|agent| agent.starts_with("vertebra/")), "{}", wire.name);
    }
}

#[tokio::test]
async fn the_path_is_the_one_that_the_provider_answers_on() {
    for wire in formats() {
        let path = match wire.format {
            Format::Chat => "/v1/chat/completions".to_owned(),
            Format::Responses => "/v1/responses".to_owned(),
            Format::Anthropic => "/v1/messages".to_owned(),
            Format::Gemini => format!("/v1/models/{MODEL}:streamGenerateContent?alt=sse"),
            Format::Ollama => "/v1/api/chat".to_owned(),
        };
        assert_eq!(sent(wire, &question()).await.path, path, "{}", wire.name);
    }
}

#[tokio::test]
async fn a_proxy_is_used_if_it_is_named() {
    let wire = WIRES[0];
    let server = Server::start([wire.reply(DONE)]).await;
    let driver = wire.driver(&server).base_url("http://provider.invalid/v1").expect("a URL");
    let driver = driver.proxy(&server.url()).expect("a proxy");
    driver.infer(&question(), &mut Deltas::collect()).await.expect("an answer");
    assert_eq!(server.last().path, "http://provider.invalid/v1/chat/completions");
    let error = wire.driver(&server).proxy("http://user:sk-planted@").expect_err("no proxy").to_string();
    assert!(!error.contains("sk-planted"), "{error}");
}

/// The model that a request names, wherever this provider has it.
pub(super) fn model_of(received: &Received) -> String {
    let in_path = || received.path.split("models/").nth(1)?.split(':').next().map(str::to_owned);
    received.body["model"].as_str().map(str::to_owned).or_else(in_path).expect("a model")
}

#[tokio::test]
async fn the_name_of_a_model_is_sent_as_it_is() {
    for wire in WIRES {
        for name in ["another-model", "qwen-max", "a::b", "org/name", "o3-mini-high"] {
            // Anthropic and Google have no such names, and for Fireworks a name without a path is short for one with it.
            let theirs = match wire.format {
                Format::Gemini | Format::Anthropic => name == "another-model",
                _ => wire.name != "fireworks" || name.contains('/'),
            };
            if !theirs {
                continue;
            }
            let request = Request { model: ModelId::new("test", name), ..question() };
            let received = sent(wire, &request).await;
            assert_eq!(model_of(&received), name, "{}", wire.name);
            assert!(received.body.get("reasoning_effort").is_none(), "{}: {}", wire.name, received.body);
        }
    }
}

#[tokio::test]
async fn an_answer_of_a_schema_is_asked_for_in_the_providers_way() {
    let schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" } },
        "required": ["n"],
        "additionalProperties": false,
    });
    let asked = json!({ "name": "the answer", "schema": schema });
    let request = Request { options: json!({ vertebra_models::RESPONSE_SCHEMA: asked }), ..question() };
    for wire in WIRES {
        let body = sent(wire, &request).await.body;
        let at = match wire.format {
            Format::Chat => "/response_format/json_schema/schema",
            Format::Responses => "/text/format/schema",
            Format::Anthropic => "/output_config/format/schema",
            Format::Gemini => "/generationConfig/responseJsonSchema",
            Format::Ollama => "/format",
        };
        assert_eq!(
            body.pointer(at).map(|schema| &schema["properties"]["n"]["type"]),
            Some(&json!("integer")),
            "{}: {body:#}",
            wire.name
        );
    }
    assert_eq!(vertebra_models::RESPONSE_SCHEMA, vertebra_kit::structured::RESPONSE_SCHEMA);
}

#[tokio::test]
async fn calls_and_results_that_lost_each_other_are_still_taken() {
    let call = |id: &str, malformed: Option<&str>| ToolCall {
        malformed: malformed.map(str::to_owned),
        ..ToolCall::new(id, "read", vertebra::Args::default())
    };
    let asked = |calls| Message::Assistant { text: String::new(), reasoning: String::new(), calls, carry: None };
    let mut messages = Messages::default();
    messages.push(Message::tool(call("gone", None), ToolResult::done("an orphan\n</instruction>")));
    messages.push(asked(vec![call("late", None), call("never", None), call("torn", Some("{oops"))]));
    messages.push(Message::instruction("in between", "test"));
    messages.push(Message::tool(call("late", None), ToolResult::done("here I am")));
    messages.push(Message::user("go on"));
    let wire = WIRES[0];
    let body = sent(wire, &Request { system_prompt: "".into(), tools: Arc::new([]), ..ask(messages) }).await.body;
    let told = |message: &Value| {
        let calls = message["tool_calls"].as_array().map(|calls| {
            let call = |call: &Value| format!("{}{}", call["id"], call["function"]["arguments"]);
            calls.iter().map(call).collect::<Vec<_>>().join(" ")
        });
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        let parts =
            [message["role"].to_string(), id.to_owned(), message["content"].to_string(), calls.unwrap_or_default()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let told: Vec<_> = body["messages"].as_array().expect("messages").iter().map(told).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    "user" "An earlier call of `read` gave:\n> an orphan\n> </instruction>"
    "assistant" "" "late""{}" "never""{}" "torn""{\"malformed_arguments\":\"{oops\"}"
    "tool" late "here I am"
    "tool" never "There is no result of this call."
    "tool" torn "There is no result of this call."
    "user" "<instruction from=\"test\">\nin between\n</instruction>"
    "user" "go on"
    "#);
}

#[tokio::test]
async fn a_signature_of_thoughts_goes_back_unless_the_thoughts_were_changed() {
    for wire in formats().filter(|wire| matches!(wire.format, Format::Anthropic | Format::Responses | Format::Gemini)) {
        let signed = |body: &Value| body.to_string().contains("sealed");
        let messages = conversation(wire).await;
        assert!(signed(&sent(wire, &ask(messages.clone())).await.body), "{}", wire.name);
        let mut changed = messages.clone();
        let Some(Message::Assistant { text, calls, carry, .. }) = messages.get(1).cloned() else { panic!("an answer") };
        changed.set(1, Message::Assistant { text, reasoning: "[redacted]".to_owned(), calls, carry });
        assert!(!signed(&sent(wire, &ask(changed)).await.body), "{}", wire.name);
    }
}
