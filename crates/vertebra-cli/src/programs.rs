//! JSON output for programs, which is the default if stdout is not a terminal.

use std::{
    fmt::Write as _,
    io::{IsTerminal as _, Write as _},
};

use serde::Serialize;

use crate::view::text::is_plain;

/// Returns whether to print for a program.
pub(crate) fn read_it(json: bool) -> bool {
    json || !std::io::stdout().is_terminal()
}

/// Prints a value as JSON.
pub(crate) fn print(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", escaped(&serde_json::to_string_pretty(value)?))?)
}

/// Returns the same JSON, in which invisible characters, and those that a terminal obeys, are escaped. They only stand in
/// strings, so programs read the same value.
pub(crate) fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_plain(c) {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_a_terminal_shows_what_it_says_and_means_the_same() {
        let value = serde_json::json!({ "grün\u{202e}": "a\u{9b}2J\u{7f}\u{1b}]52;\u{200b}\u{f0000}日本\n" });
        let shown = escaped(&serde_json::to_string_pretty(&value).expect("JSON"));
        assert!(shown.chars().all(is_plain), "{shown:?}");
        assert!(shown.contains("grün\\u202e") && shown.contains("日本"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }
}
