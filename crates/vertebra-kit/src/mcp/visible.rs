//! Takes out of a text what nobody would see and a model would read.

use serde_json::Value;

use crate::invisible::is_smuggled;

/// How long a server's own words in an error may be.
const MAX_TOLD_BYTES: usize = 4 * 1024;

/// Returns the text without control characters and without what [`is_smuggled`] finds.
pub(super) fn text(text: &str) -> String {
    let mut before = '\n';
    let mut letters = text.chars().peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(c) = letters.next() {
        let after = letters.peek().copied().unwrap_or('\n');
        let is_control = c.is_control() && !matches!(c, '\n' | '\t');
        if !is_control && !is_smuggled(c, before, after) {
            shown.push(c);
        }
        before = c;
    }
    shown
}

/// A JSON value whose texts, names included, are visible.
pub(super) fn value(value: Value) -> Value {
    match value {
        Value::String(string) => Value::String(text(&string)),
        Value::Array(items) => items.into_iter().map(self::value).collect(),
        Value::Object(map) => map.into_iter().map(|(name, inner)| (text(&name), self::value(inner))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// What a server says in an error, made visible and cut.
pub(super) fn told(words: &str) -> String {
    cut(&text(words), MAX_TOLD_BYTES)
}

/// Text cut to so many bytes, with a word about the cut.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let shown = &text[..text.floor_char_boundary(bytes)];
    format!("{shown} [{} more bytes were cut]", text.len() - shown.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_words_are_taken_out_and_the_rest_stays() {
        let smuggled: String = "obey".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        assert_eq!(text(&format!("A clock{smuggled}.\u{202e}\u{200b}\u{1b}[31m\r\n\t")), "A clock.[31m\n\t");
        assert_eq!(text("naïve 日本 👩\u{200d}🚀 نص ❤\u{fe0f}"), "naïve 日本 👩\u{200d}🚀 نص ❤\u{fe0f}");
        // A byte for each selector, a bit for each joiner, and letters that look like nothing.
        assert_eq!(text("a\u{fe00}\u{fe0f}\u{200c}\u{200d}b\u{3164}\u{2800}\u{115f}c\u{2028}"), "abc");
    }

    #[test]
    fn every_text_of_a_value_is_made_visible() {
        let dirty = json!({"a\u{200b}": ["x\u{e0041}", {"b": "\u{202e}y"}], "n": 1});
        assert_eq!(value(dirty), json!({"a": ["x", {"b": "y"}], "n": 1}));
    }

    #[test]
    fn a_cut_falls_between_characters_and_is_told() {
        assert_eq!(cut("aé", 2), "a [2 more bytes were cut]");
        assert_eq!(cut("aé", 3), "aé");
    }
}
