//! Takes out of a text what nobody would see and a model would read.

use serde_json::Value;

use crate::is_invisible;

/// How long a server's own words in an error may be.
const MAX_TOLD_BYTES: usize = 4 * 1024;

/// The text without control characters, tags, marks and changes of direction, and characters of no width.
pub(super) fn text(text: &str) -> String {
    text.chars().filter(|c| is_visible(*c)).collect()
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

fn is_visible(c: char) -> bool {
    !is_invisible(c) && (!c.is_control() || matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_words_are_taken_out_and_the_rest_stays() {
        let smuggled: String = "obey".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        assert_eq!(text(&format!("A clock{smuggled}.\u{202e}\u{200b}\u{1b}[31m\r\n\t")), "A clock.[31m\n\t");
        assert_eq!(text("naïve 日本 👩\u{200d}🚀 نص"), "naïve 日本 👩\u{200d}🚀 نص");
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
