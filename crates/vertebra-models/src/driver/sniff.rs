//! What is read of an event before `genai` reads it: its end, its errors, the provider's name for it.

use std::sync::{Mutex, PoisonError};

use genai::chat::StreamEnd;
use serde_json::Value;
use vertebra::ModelError;

use super::{
    failure::{self, broken},
    frames::Frame,
};
use crate::Secret;

/// More calls than that are no answer.
const MAX_CALLS: usize = 256;

/// How long a provider's name for a request may be.
const ID_BYTES: usize = 200;

/// What was seen of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<Facts>);

#[derive(Debug, Default)]
struct Facts {
    request_id: Option<String>,
    ended: bool,
    unread: bool,
    /// The indices of calls, in the order in which they came.
    calls: Vec<u64>,
}

impl Seen {
    /// The provider's name for the request.
    pub(super) fn request_id(&self) -> Option<String> {
        self.facts().request_id.clone()
    }

    /// Whether the provider said that the answer is over: in a format that is not read here, by giving a reason.
    pub(super) fn ended(&self, end: &StreamEnd) -> bool {
        let facts = self.facts();
        facts.ended || facts.unread && end.captured_stop_reason.is_some()
    }

    /// Notes that the answer comes in a format that is not read here, so that its end cannot be seen.
    pub(super) fn unread(&self) {
        self.facts().unread = true;
    }

    /// Notes a name, unless there is one.
    pub(super) fn name(&self, id: &str) {
        if !id.is_empty() && id.len() <= ID_BYTES && !id.contains(char::is_control) {
            self.facts().request_id.get_or_insert_with(|| id.to_owned());
        }
    }

    fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at an event. An error in it ends the answer.
    pub(super) fn look(&self, frame: &mut Frame, key: Option<&Secret>) -> Result<(), ModelError> {
        if frame.data.trim() == "[DONE]" {
            self.facts().ended = true;
            return Ok(());
        }
        let mut event: Value = serde_json::from_str(&frame.data)
            .map_err(|error| broken(format!("an event that is not JSON, at its column {}", error.column())))?;
        if let Some(error) = error_in(&event) {
            return Err(failure::of_event(error, key));
        }
        if self.count_calls(&mut event)? {
            frame.data = event.to_string();
        }
        let ids = ["/id", "/message/id", "/response/id", "/responseId"];
        if let Some(id) = ids.iter().find_map(|path| event.pointer(path)?.as_str()) {
            self.name(id);
        }
        if ends(&event) {
            self.facts().ended = true;
        }
        Ok(())
    }

    /// Numbers calls from 0 without a gap, and says whether that changes anything: some servers count their text as the
    /// first, and `genai` fills a gap with copies of the call behind it.
    fn count_calls(&self, event: &mut Value) -> Result<bool, ModelError> {
        let known = &mut self.facts().calls;
        let mut changed = false;
        let calls = event.pointer_mut("/choices/0/delta/tool_calls").and_then(Value::as_array_mut);
        for index in calls.into_iter().flatten().filter_map(|call| call.get_mut("index")) {
            let Some(told) = index.as_u64() else { continue };
            let at = known.iter().position(|known| *known == told).unwrap_or_else(|| {
                known.push(told);
                known.len() - 1
            });
            if known.len() > MAX_CALLS {
                return Err(broken(format!("an answer with more than {MAX_CALLS} calls")));
            }
            *index = at.into();
            changed |= *index != told;
        }
        Ok(changed)
    }
}

fn ends(event: &Value) -> bool {
    const LAST: [&str; 5] =
        ["message_stop", "response.completed", "response.incomplete", "stream-end", "interaction.completed"];
    let kind = event["type"].as_str().or_else(|| event["event_type"].as_str()).unwrap_or_default();
    LAST.contains(&kind)
        || event["done"] == true
        || event.pointer("/candidates/0/finishReason").is_some_and(Value::is_string)
}

fn error_in(event: &Value) -> Option<&Value> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Some(error);
    }
    match event["type"].as_str() {
        Some("error") => Some(event),
        Some("response.failed") => Some(event.pointer("/response/error").unwrap_or(event)),
        _ => event.get("promptFeedback").filter(|feedback| feedback["blockReason"].is_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(data: &str) -> (Result<(), ModelError>, bool, Option<String>) {
        let seen = Seen::default();
        let looked = seen.look(&mut Frame { event: None, data: data.to_owned() }, None);
        (looked, seen.ended(&StreamEnd::default()), seen.request_id())
    }

    #[test]
    fn every_provider_says_in_its_own_way_that_an_answer_is_over() {
        for (data, over) in [
            ("[DONE]", true),
            (r#"{"type":"message_stop"}"#, true),
            (r#"{"type":"response.completed","response":{}}"#, true),
            (r#"{"candidates":[{"finishReason":"STOP"}]}"#, true),
            (r#"{"done":true}"#, true),
            (r#"{"event_type":"stream-end","is_finished":true}"#, true),
            (r#"{"candidates":[{"finishReason":null}]}"#, false),
            (r#"{"done":false}"#, false),
            (r#"{"type":"message_delta"}"#, false),
            ("[]", false),
        ] {
            let (looked, ended, _) = looked(data);
            assert_eq!((looked, ended), (Ok(()), over), "{data}");
        }
    }

    #[test]
    fn names_of_requests_are_taken_from_wherever_they_stand_if_they_can_be_shown() {
        let id = |data: &str| looked(data).2;
        assert_eq!(id(r#"{"type":"message_start","message":{"id":"msg_1"}}"#).as_deref(), Some("msg_1"));
        assert_eq!(id(r#"{"responseId":"r-1"}"#).as_deref(), Some("r-1"));
        assert_eq!(id("{\"id\":\"a\\u001b[31m\"}"), None);
        assert_eq!(id(&format!("{{\"id\":\"{}\"}}", "x".repeat(1000))), None);
    }
}
