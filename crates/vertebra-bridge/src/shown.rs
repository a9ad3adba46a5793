//! Text of others, made harmless: to show, in a pattern.

use std::path::Path;

use vertebra_kit::{Detail, visible};

/// How much of a text is shown on one line.
const LONGEST: usize = 300;

/// The beginning of a text on one line: whatever is not plainly visible is spelled out.
pub fn shown(text: &str) -> String {
    let cut = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    let mut line = wholly_shown(&text[..cut]);
    if cut < text.len() {
        line.push('…');
    }
    line
}

/// All of a text on one line, likewise.
pub fn wholly_shown(text: &str) -> String {
    visible(text, Detail::Exact).replace('\n', "⟨U+000A⟩")
}

/// A folder as the beginning of a pattern for paths, without a slash at its end.
pub(crate) fn literal_glob(folder: &Path) -> String {
    let mut text = String::new();
    for letter in folder.to_string_lossy().trim_end_matches('/').chars() {
        if "*?[]{}\\".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_fool_a_reader_is_spelled_out() {
        assert_eq!(shown(r#"größe = "a\b 漢字""#), r#"größe = "a\b 漢字""#);
        assert_eq!(shown("\u{1b}[2J\r\n"), "⟨U+001B⟩[2J⟨U+000D⟩⟨U+000A⟩");
        assert_eq!(shown("a\u{202e}b\u{200b}\u{ad}\u{feff}\u{e0041}"), "a⟨U+202E⟩b⟨U+200B⟩⟨U+00AD⟩⟨U+FEFF⟩⟨U+E0041⟩");
        assert_eq!(shown(&"x".repeat(400)).chars().count(), LONGEST + 1);
    }
}
