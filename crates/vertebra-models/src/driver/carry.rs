//! What a provider wants back unread: signatures of its thoughts.

use std::{collections::BTreeMap, sync::Arc};

use genai::chat::{ContentPart, MessageContent, StreamEnd};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Adapter;

/// Signed thoughts of one answer, and of whom.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Carry {
    adapter: String,
    model: String,
    parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    calls: BTreeMap<String, Vec<String>>,
    /// The thoughts as they were told, where the parts do not hold them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    told: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    Signature(String),
    Thought(String),
    Sealed(Value),
}

impl Carry {
    /// What must go back with this answer, if anything. `calls` are its calls with the names we gave them.
    pub(super) fn write(
        end: &StreamEnd,
        calls: &BTreeMap<String, Vec<String>>,
        adapter: Adapter,
        model: &str,
        reasoning: &str,
    ) -> Option<Arc<Value>> {
        let parts: Vec<Part> = end.captured_content.iter().flat_map(MessageContent::parts).filter_map(part).collect();
        if parts.is_empty() && calls.is_empty() {
            return None;
        }
        let calls = if signs_calls(adapter) { calls.clone() } else { BTreeMap::new() };
        let mut carry =
            Self { adapter: adapter.to_string(), model: model.to_owned(), parts, calls, told: String::new() };
        if carry.thoughts() != reasoning {
            reasoning.clone_into(&mut carry.told);
        }
        serde_json::to_value(carry).ok().map(Arc::new)
    }

    /// The carry, if this provider wrote it and the thoughts it is about are as they were.
    pub(super) fn read(carry: &Value, adapter: Adapter, model: &str, reasoning: &str) -> Option<Self> {
        let carry = Self::deserialize(carry).ok()?;
        // Anthropic's models read each other's signatures; elsewhere those of another model are refused.
        let theirs = carry.adapter == adapter.to_string() && (carry.model == model || adapter == Adapter::Anthropic);
        let told = if carry.told.is_empty() { carry.thoughts() } else { carry.told.clone() };
        (theirs && told == reasoning).then_some(carry)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = ContentPart> {
        self.parts.iter().cloned().map(|part| match part {
            Part::Signature(signature) => ContentPart::ThoughtSignature(signature),
            Part::Thought(thought) => ContentPart::ReasoningContent(thought),
            Part::Sealed(data) => ContentPart::from_custom(data, None),
        })
    }

    /// The signatures that go with a call.
    pub(super) fn of_call(&self, id: &str) -> Option<Vec<String>> {
        self.calls.get(id).cloned()
    }

    fn thoughts(&self) -> String {
        let thought = |part: &Part| match part {
            Part::Thought(thought) => Some(thought.clone()),
            Part::Signature(_) | Part::Sealed(_) => None,
        };
        self.parts.iter().filter_map(thought).collect()
    }
}

fn part(part: &ContentPart) -> Option<Part> {
    match part {
        ContentPart::ThoughtSignature(signature) => Some(Part::Signature(signature.clone())),
        ContentPart::ReasoningContent(thought) => Some(Part::Thought(thought.clone())),
        ContentPart::Custom(custom) => Some(Part::Sealed(custom.data.clone())),
        ContentPart::Text(_) | ContentPart::Binary(_) | ContentPart::ToolCall(_) | ContentPart::ToolResponse(_) => None,
    }
}

/// Gemini signs single calls. Elsewhere `genai` only repeats at a call what the parts have.
fn signs_calls(adapter: Adapter) -> bool {
    matches!(adapter, Adapter::Gemini | Adapter::Vertex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(adapter: Adapter, reasoning: &str) -> Arc<Value> {
        let parts =
            [ContentPart::ThoughtSignature("s".to_owned()), ContentPart::ReasoningContent("because".to_owned())];
        let content = Some(MessageContent::from_parts(parts.to_vec()));
        let end = StreamEnd { captured_content: content, ..StreamEnd::default() };
        Carry::write(&end, &BTreeMap::new(), adapter, "m", reasoning).expect("signatures")
    }

    #[test]
    fn a_signature_goes_back_only_with_the_thoughts_it_signs_to_whom_it_came_from() {
        let carry = written(Adapter::Anthropic, "because");
        let reads = |adapter, model, reasoning| Carry::read(&carry, adapter, model, reasoning).is_some();
        assert!(reads(Adapter::Anthropic, "m", "because"));
        assert!(reads(Adapter::Anthropic, "another", "because"));
        assert!(!reads(Adapter::Anthropic, "m", "because [redacted]"));
        assert!(!reads(Adapter::Gemini, "m", "because"));
        let carry = written(Adapter::OpenAIResp, "a summary");
        assert!(Carry::read(&carry, Adapter::OpenAIResp, "m", "a summary").is_some());
        assert!(Carry::read(&carry, Adapter::OpenAIResp, "m", "because").is_none());
        assert!(Carry::read(&carry, Adapter::OpenAIResp, "another", "a summary").is_none());
        assert!(Carry::read(&Value::Null, Adapter::OpenAIResp, "m", "").is_none());
    }
}
