//! What makes a conversation shorter without a model: repeated and old tool results.

use std::collections::HashSet;

use serde_json::Value;
use vertebra::{Message, ToolResult};

/// Results shorter than this stay: what would stand in their place is no shorter.
const WORTH_IT: usize = 400;

/// Puts a pointer in the place of every result that a later call of the same tool has again, word for word.
pub(super) fn dedupe(messages: &mut [Message]) {
    let mut seen = HashSet::new();
    for message in messages.iter_mut().rev() {
        let Message::Tool { tool, result, .. } = message else { continue };
        if result.output.len() < WORTH_IT || seen.insert((tool.clone(), result.output.clone())) {
            continue;
        }
        put(result, format!("[the same as a later result of {tool}, which stands further down]"));
    }
}

/// Takes the results of all but the last `keep` calls away, and says how to have them again. What the model has not read
/// yet stays.
pub(super) fn clear(messages: &mut [Message], keep: usize, is_read_only: impl Fn(&str) -> bool) {
    let unread = messages.iter().rev().take_while(|message| !matches!(message, Message::Assistant { .. }));
    let unread = unread.filter(|message| matches!(message, Message::Tool { .. })).count();
    let results = messages.iter_mut().rev().filter_map(|message| match message {
        Message::Tool { tool, result, .. } => Some((tool, result)),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    });
    for (tool, result) in results.skip(keep.max(unread)).filter(|(_, result)| result.output.len() >= WORTH_IT) {
        let size = result.output.len();
        let again = match super::offload::handle(&result.output) {
            Some(handle) => handle.to_owned(),
            None if is_read_only(tool) => "call it again with the same arguments if you need it".to_owned(),
            None => "it did its work: call it again only if doing it twice is safe".to_owned(),
        };
        put(result, format!("[cleared to save room: {size} bytes from {tool}; {again}]"));
    }
}

fn put(result: &mut ToolResult, text: String) {
    result.output = text;
    result.data = Value::Null;
}

#[cfg(test)]
mod tests {
    use vertebra::ToolCall;

    use super::*;

    fn results(outputs: &[&str]) -> Vec<Message> {
        let result = |output: &&str| Message::tool(ToolCall::from_text("c", "read", "{}"), ToolResult::done(*output));
        outputs.iter().map(result).collect()
    }

    fn texts(messages: &[Message]) -> Vec<&str> {
        messages.iter().map(Message::text).collect()
    }

    #[test]
    fn of_results_that_are_the_same_the_last_stays() {
        let (a, b) = ("a".repeat(WORTH_IT), "b".repeat(WORTH_IT));
        let mut messages = results(&[&a, &b, "short", "short", &a]);
        dedupe(&mut messages);
        let pointer = "[the same as a later result of read, which stands further down]";
        assert_eq!(texts(&messages), [pointer, &b, "short", "short", &a]);
    }

    #[test]
    fn old_results_say_how_to_have_them_again() {
        let long = "x".repeat(WORTH_IT);
        let mut messages = results(&[&long, "short", &long]);
        messages.push(Message::assistant("read".into()));
        clear(&mut messages, 1, |_| true);
        let cleared =
            "[cleared to save room: 400 bytes from read; call it again with the same arguments if you need it]";
        assert_eq!(texts(&messages), [cleared, "short", &long, "read"]);
        clear(&mut messages, 0, |_| false);
        assert!(messages[2].text().ends_with("only if doing it twice is safe]"), "{}", messages[2].text());
        let before = messages.clone();
        clear(&mut messages, 0, |_| true);
        dedupe(&mut messages);
        assert_eq!(messages, before, "what was cleared is not cleared again");
    }

    #[test]
    fn what_the_model_has_not_read_yet_stays() {
        let long = "x".repeat(WORTH_IT);
        let mut messages = vec![Message::assistant("asks".into())];
        messages.extend(results(&[&long, &long]));
        clear(&mut messages, 1, |_| true);
        assert_eq!(texts(&messages), ["asks", &long, &long]);
    }
}
