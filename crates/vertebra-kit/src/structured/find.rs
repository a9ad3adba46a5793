//! JSON in what a model writes: alone, in a code fence, or among prose.

use serde_json::{Deserializer, Value};

/// At how many places of a text a value is looked for: a text of braces alone must not take for ever.
const MAX_PLACES: usize = 64;

/// The values in a text. If it is one as a whole, there are no others; then those in code fences count, then objects and
/// lists among prose.
pub(super) fn values(text: &str) -> Vec<Value> {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return vec![value];
    }
    let fenced: Vec<Value> = fences(text).filter_map(|inside| serde_json::from_str(inside.trim()).ok()).collect();
    if fenced.is_empty() { among_prose(text) } else { fenced }
}

/// What stands between each pair of fences, without the word behind the first.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").skip(1).step_by(2).map(|block| match block.split_once('\n') {
        Some((word, inside)) if !word.contains(['{', '[', '"']) => inside,
        _ => block,
    })
}

fn among_prose(text: &str) -> Vec<Value> {
    let mut values = Vec::new();
    let mut from = 0;
    for _ in 0..MAX_PLACES {
        let Some(at) = text[from..].find(['{', '[']) else { break };
        let rest = &text[from + at..];
        let mut stream = Deserializer::from_str(rest).into_iter::<Value>();
        let read = match stream.next() {
            Some(Ok(value)) => {
                values.push(value);
                stream.byte_offset()
            }
            Some(Err(_)) | None => 1,
        };
        from += at + read;
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_alone_fenced_and_among_prose() {
        let one = json!({"a": [1, "}"]});
        let cases = [
            "{\"a\": [1, \"}\"]}",
            "  \n{\"a\":[1,\"}\"]}\n",
            "```json\n{\"a\": [1, \"}\"]}\n```",
            "```{\"a\": [1, \"}\"]}```",
            "Sure, here it is:\n```\n{\"a\": [1, \"}\"]}\n```\nAnything else?",
            "I think {so}: {\"a\": [1, \"}\"]} is it.",
            "The {\"a\": [1, \"}\"]}",
        ];
        for text in cases {
            assert_eq!(values(text), std::slice::from_ref(&one), "{text}");
        }
    }

    #[test]
    fn what_is_no_value_is_not_made_one() {
        for text in ["", "no idea", "{\"a\": ", "```json\n{\"a\": \n```", "{'a': 1}", "\"half"] {
            assert_eq!(values(text), Vec::<Value>::new(), "{text}");
        }
        assert_eq!(values("see [1] and {\"a\": 2}"), [json!([1]), json!({"a": 2})]);
        assert_eq!(values("7"), [json!(7)]);
    }

    #[test]
    fn a_text_made_to_be_slow_is_read_at_so_many_places_and_no_more() {
        assert!(values(&"[".repeat(200_000)).is_empty());
        assert!(values(&"{\"a".repeat(50_000)).is_empty());
    }
}
