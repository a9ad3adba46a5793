//! The pieces of an answer as they come, and what they add up to.

use std::{collections::BTreeMap, future::poll_fn, pin::Pin};

use futures_util::Stream;
use genai::chat::{ChatStream, ChatStreamEvent, StreamEnd, ToolCall as Call};
use serde_json::Value;
use tracing::Dispatch;
use vertebra::{Deltas, Halted, Message, ModelError, Request, Response, ToolCall, Usage};

use super::{carry::Carry, failure, sniff::Seen};
use crate::{Adapter, Secret};

/// Reads an answer to its end. One that has no end is broken, however much there is of it.
pub(super) async fn read(
    mut stream: ChatStream,
    request: &Request,
    adapter: Adapter,
    seen: &Seen,
    key: Option<&Secret>,
    out: &mut Deltas<'_>,
) -> Result<Response, ModelError> {
    let mut answer = Answer { response: Response::default(), calls: Vec::new() };
    while let Some(event) = next(&mut stream).await {
        let event = event.map_err(|error| failure::of_genai(&error, key))?;
        if let ChatStreamEvent::End(end) = event {
            // Some adapters of `genai` end a stream by themselves when its bytes end, and pass over what they do not know.
            if !seen.ended(&end) || answer.is_nothing(&end) {
                break;
            }
            // What is left of the pieces is shown before the answer is.
            let _ = answer.finish_calls(&end, out).await;
            return Ok(answer.finish(&end, request, adapter, seen));
        }
        if answer.take(event, out).await.is_err() {
            // Nobody wants the rest. The connection closes behind us.
            answer.response.request_id = seen.request_id();
            return Ok(answer.response);
        }
    }
    Err(failure::broken("the stream ended before the answer was complete".to_owned()))
}

/// `genai` writes providers' events and errors to its log. They may hold anything, so it has none here.
async fn next(stream: &mut ChatStream) -> Option<Result<ChatStreamEvent, genai::Error>> {
    let silence = Dispatch::none();
    poll_fn(|context| tracing::dispatcher::with_default(&silence, || Pin::new(&mut *stream).poll_next(context))).await
}

struct Answer {
    response: Response,
    calls: Vec<Shown>,
}

/// A call whose arguments are still coming.
struct Shown {
    id: String,
    /// How much of its arguments was shown.
    shown: usize,
}

impl Answer {
    /// Whether there is neither a word nor a reason: whoever sent this speaks another format.
    fn is_nothing(&self, end: &StreamEnd) -> bool {
        let Response { text, reasoning, .. } = &self.response;
        let said = !text.is_empty() || !reasoning.is_empty() || !self.calls.is_empty();
        !said && end.captured_stop_reason.is_none() && end.captured_content.is_none()
    }

    async fn take(&mut self, event: ChatStreamEvent, out: &mut Deltas<'_>) -> Result<(), Halted> {
        match event {
            ChatStreamEvent::Chunk(piece) => {
                self.response.text.push_str(&piece.content);
                out.text(&piece.content).await
            }
            ChatStreamEvent::ReasoningChunk(piece) => {
                self.response.reasoning.push_str(&piece.content);
                out.reasoning(&piece.content).await
            }
            ChatStreamEvent::ToolCallChunk(chunk) => self.show_call(&chunk.tool_call, out).await,
            ChatStreamEvent::Start
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Heartbeat
            | ChatStreamEvent::End(_) => Ok(()),
        }
    }

    /// Arguments come as far as they are written. What is new of them is shown.
    async fn show_call(&mut self, call: &Call, out: &mut Deltas<'_>) -> Result<(), Halted> {
        let at = self.calls.iter().position(|known| known.id == call.call_id).unwrap_or_else(|| {
            self.calls.push(Shown { id: call.call_id.clone(), shown: 0 });
            self.calls.len() - 1
        });
        let written = written(&call.fn_arguments);
        let Some(piece) = written.get(self.calls[at].shown..).filter(|piece| !piece.is_empty()) else { return Ok(()) };
        self.calls[at].shown = written.len();
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        out.call(index, &call.fn_name, piece).await
    }

    /// Calls that came whole, without pieces, are shown too.
    async fn finish_calls(&mut self, end: &StreamEnd, out: &mut Deltas<'_>) -> Result<(), Halted> {
        for call in end.captured_tool_calls().unwrap_or_default() {
            if !self.calls.iter().any(|known| known.id == call.call_id && known.shown > 0) {
                self.show_call(call, out).await?;
            }
        }
        Ok(())
    }

    fn finish(mut self, end: &StreamEnd, request: &Request, adapter: Adapter, seen: &Seen) -> Response {
        let mut signed = BTreeMap::new();
        let mut ids: Vec<String> = Vec::new();
        for (at, call) in end.captured_tool_calls().unwrap_or_default().into_iter().enumerate() {
            let id = own_id(&call.call_id, at, request, &ids);
            if let Some(signatures) = &call.thought_signatures {
                signed.insert(id.clone(), signatures.clone());
            }
            self.response.calls.push(ToolCall::from_text(&*id, &*call.fn_name, &written(&call.fn_arguments)));
            ids.push(id);
        }
        self.response.usage = end.captured_usage.as_ref().map(usage).unwrap_or_default();
        self.response.finish =
            end.captured_stop_reason.as_ref().map(|reason| reason.raw().to_owned()).unwrap_or_default();
        self.response.carry = Carry::write(end, &signed, adapter, &request.model.name, &self.response.reasoning);
        self.response.request_id = seen.request_id().or_else(|| end.captured_response_id.clone());
        self.response
    }
}

/// Arguments as text: they come as text, or as the JSON value it stands for.
fn written(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// The provider's name for a call, unless it has none or it is not the only one of the conversation: what `genai` makes up
/// (`call_0`, `call#bash#0`) is the same in each answer, and so are the names that some servers give.
fn own_id(id: &str, at: usize, request: &Request, taken: &[String]) -> String {
    let made_up = id.is_empty()
        || id.starts_with("call#")
        || id
            .strip_prefix("call_")
            .is_some_and(|rest| rest.len() < 4 && rest.bytes().all(|byte| byte.is_ascii_digit()));
    let earlier = |message: &Message, id: &str| match message {
        Message::Assistant { calls, .. } => calls.iter().any(|call| *call.id == *id),
        Message::User { .. } | Message::Instruction { .. } | Message::Tool { .. } => false,
    };
    let is_free = |id: &str| {
        taken.iter().all(|taken| taken != id) && !request.messages.iter().any(|message| earlier(message, id))
    };
    if !made_up && is_free(id) {
        return id.to_owned();
    }
    // A conversation that was summed up is shorter than it was, so that its length alone is no new name.
    let mut names = (request.messages.len()..).map(|number| format!("call-{number}-{at}"));
    names.find(|name| is_free(name)).unwrap_or_default()
}

fn usage(usage: &genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
    let details = usage.prompt_tokens_details.as_ref();
    Usage {
        input_tokens: count(usage.prompt_tokens),
        output_tokens: count(usage.completion_tokens),
        cache_read_tokens: count(details.and_then(|details| details.cached_tokens)),
        cache_write_tokens: count(details.and_then(|details| details.cache_creation_tokens)),
        cost_micros: 0,
    }
}
