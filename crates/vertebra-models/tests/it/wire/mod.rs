//! Drivers against a server of ours that speaks the providers' formats.

mod agents;
mod answers;
mod bedrock;
mod bounds;
mod errors;
mod formats;
mod requests;
pub(crate) mod server;

use std::sync::Arc;

use serde_json::{Value, json};
use vertebra::{Deltas, Message, Messages, Model, ModelError, ModelId, Offer, Request, Response};

use formats::{MODEL, Wire};
use server::{Reply, Server};

/// A question, with a system prompt and two tools.
fn question() -> Request {
    let mut messages = Messages::default();
    messages.push(Message::user("What is in the file?"));
    ask(messages)
}

fn ask(messages: Messages) -> Request {
    let offer = |name: &str| Offer {
        name: name.into(),
        description: format!("The tool {name}").into(),
        schema: Arc::new(json!({ "type": "object", "properties": { "path": { "type": "string" } } })),
    };
    Request {
        model: ModelId::new("test", MODEL),
        system_prompt: "Be brief.".into(),
        messages,
        tools: [offer("read"), offer("list")].into(),
        max_output_tokens: Some(1000),
        temperature: None,
        options: Value::Null,
    }
}

/// What a driver makes of a reply, and what it streamed of the text.
async fn answer(wire: Wire, reply: Reply) -> Result<(Response, String), ModelError> {
    let server = Server::start([reply]).await;
    let mut deltas = Deltas::collect();
    let response = wire.driver(&server).infer(&question(), &mut deltas).await?;
    Ok((response, deltas.shown().to_owned()))
}

/// Why a driver makes nothing of a reply.
async fn failure(wire: Wire, reply: Reply) -> ModelError {
    match answer(wire, reply).await {
        Ok((response, _)) => panic!("{}: an answer instead of an error: {response:?}", wire.name),
        Err(error) => error,
    }
}
