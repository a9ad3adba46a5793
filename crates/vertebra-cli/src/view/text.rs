//! Makes untrusted text safe for a terminal: nothing in it moves the cursor, changes the text direction or is invisible.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use vertebra_kit::{Detail, is_visible};

/// Returns the text for reading: line breaks kept, tabs as spaces, and invisible characters spelled out as `⟨U+001B⟩`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    vertebra_kit::visible(text, Detail::Prose)
}

/// Returns whether a character is visible wherever it stands, or a line break.
pub(crate) fn is_plain(c: char) -> bool {
    c == '\n' || is_visible(c)
}

/// Returns the text on one line.
pub(crate) fn on_one_line(text: &str) -> String {
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Returns the start of a session ID, which contains its start time in milliseconds.
pub(crate) fn short_id(session_id: &str) -> String {
    let (_, name) = session_id.split_once('-').unwrap_or(("", session_id));
    on_one_line(&name.chars().take(12).collect::<String>())
}

/// Returns the width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts the text to this many columns and marks the cut with `…`.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let end = fitting(text, columns.saturating_sub(1));
    Cow::Owned(if columns == 0 { String::new() } else { format!("{}…", &text[..end]) })
}

/// Returns how many bytes of the text fit into this many columns, in whole graphemes.
pub(crate) fn fitting(text: &str, columns: usize) -> usize {
    let mut taken = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        taken += grapheme.width();
        if taken > columns {
            return at;
        }
    }
    text.len()
}

/// Formats a number of bytes.
pub(crate) fn bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Formats a number of tokens.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Formats a duration.
pub(crate) fn duration(time: std::time::Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{}.{} s", time.as_secs(), time.subsec_millis() / 100),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats an amount in millionths of a dollar.
pub(crate) fn money(micros: u64) -> String {
    match micros {
        0..1_000_000 => format!("${}.{:04}", 0, micros / 100),
        _ => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    }
}

/// Formats a count with its noun: `1 line`, `2 lines`.
pub(crate) fn counted(count: impl TryInto<u64>, one: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Joins details with dots: ` · 2 steps · 3 s`.
pub(crate) fn dotted(facts: &[String]) -> String {
    format!(" · {}", facts.join(" · "))
}

/// Formats the number of missing items: `… 2 more lines`.
pub(crate) fn more(count: usize, one: &str) -> String {
    format!("… {count} more {one}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_spelled_out() {
        let cases = [
            ("a\u{1b}[2Jb\u{7}", "a⟨U+001B⟩[2Jb⟨U+0007⟩"),
            ("\u{9b}31m\u{7f}", "⟨U+009B⟩31m⟨U+007F⟩"),
            ("a\u{202e}b\u{2066}c\u{200b}", "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩"),
            ("one\r\ntwo\rthree\u{2028}", "one\ntwo⟨U+000D⟩three⟨U+2028⟩"),
            ("\tgrün 你好 ❤\u{fe0f} 👨", "    grün 你好 ❤\u{fe0f} 👨"),
            // An emoji made of several is shown in its parts.
            ("👨\u{200d}👩", "👨⟨U+200D⟩👩"),
            ("a\u{3164}b\u{2800}\u{e000}", "a⟨U+3164⟩b⟨U+2800⟩⟨U+E000⟩"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn texts_are_cut_by_columns_and_between_whole_characters() {
        assert_eq!(cut("你好世界", 5), "你好…");
        assert_eq!(cut("你好世界", 4), "你…");
        assert_eq!(cut("你好世界", 8), "你好世界");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("👨‍👩‍👧👨‍👩‍👧", 3), "👨‍👩‍👧…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn numbers_are_short() {
        use std::time::Duration;
        assert_eq!([bytes(12), bytes(1_234), bytes(7_654_321)], ["12 B", "1.2 kB", "7.6 MB"]);
        assert_eq!([tokens(999), tokens(12_345), tokens(2_000_000)], ["999", "12.3k", "2.0M"]);
        assert_eq!([money(1_234), money(1_239_999), money(0)], ["$0.0012", "$1.23", "$0.0000"]);
        let times = [340, 12_400, 61_000, 3_661_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(times, ["0.3 s", "12 s", "1 min 01 s", "1 h 01 min"]);
        assert_eq!([counted(1_u64, "step"), counted(3_usize, "step")], ["1 step", "3 steps"]);
    }
}
