//! A request as `genai` takes it.

use genai::chat::{CacheControl, ChatMessage, ChatOptions, ChatRequest, ReasoningEffort, Tool};
use serde_json::{Map, Value};
use vertebra::{Offer, Request};

use super::{conversation, options, schema};
use crate::Adapter;

/// What `genai` is asked.
pub(super) struct Call {
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
    /// What is merged into what it makes of it.
    pub(super) patch: Map<String, Value>,
}

pub(super) fn map(request: &Request, adapter: Adapter) -> Call {
    let marks = takes_cache_marks(adapter);
    let mut messages = conversation::map(request, adapter);
    let mut tools: Vec<Tool> = request.tools.iter().map(|offer| tool(offer, adapter)).collect();
    let mut system = Some(request.system_prompt.to_string()).filter(|prompt| !prompt.is_empty());
    if marks {
        // What stays the same from step to step comes first, and each mark says: what is before me may be kept.
        if let Some(last) = tools.last_mut() {
            last.cache_control = Some(CacheControl::Ephemeral);
        }
        if let Some(last) = messages.last_mut() {
            last.options = Some(CacheControl::Ephemeral.into());
        }
        // Only a system prompt that is a message can carry a mark.
        if let Some(prompt) = system.take() {
            messages.insert(0, ChatMessage::system(prompt).with_options(CacheControl::Ephemeral));
        }
    }
    let chat = ChatRequest { system, messages, tools: (!tools.is_empty()).then_some(tools), ..ChatRequest::default() };
    Call { chat, options: options::map(request, adapter), patch: options::patch(request, adapter) }
}

/// The others keep prompts in a cache by themselves, or not at all.
fn takes_cache_marks(adapter: Adapter) -> bool {
    matches!(adapter, Adapter::Anthropic)
}

fn tool(offer: &Offer, adapter: Adapter) -> Tool {
    let description = &*offer.description;
    Tool::new(&*offer.name).with_description(description).with_schema(schema::clean(&offer.schema, adapter))
}

/// The name such that `genai` sends exactly this one: it takes what stands before `::` for a word of its own.
pub(super) fn exact_name(name: &str) -> String {
    if name.contains("::") { format!("exactly::{name}") } else { name.to_owned() }
}

/// Whether `genai` would take the end of the name, as in `qwen-max`, for an effort, and send the rest.
pub(super) fn ends_like_an_effort(name: &str) -> bool {
    ReasoningEffort::from_model_name(name).0.is_some()
}
