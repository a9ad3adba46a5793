//! Makes text of a model safe to show: invisible characters are spelled out as `⟨U+001B⟩`.

use std::fmt::{self, Write as _};

use crate::{Detail, spelled_out, visible};

/// How many spaces in a row are shown unchanged.
const MAX_BLANKS: usize = 16;
/// How many empty lines in a row are shown unchanged.
const MAX_EMPTY_LINES: usize = 2;

/// Returns the text on one line, cut to this many characters.
pub(super) fn on_one_line(text: &str, limit: usize) -> String {
    cut(&escaped(text, false), limit)
}

/// Returns the text as safe lines. Long runs of empty lines are counted instead of shown.
pub(super) fn as_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut empty = 0;
    for line in escaped(text.strip_suffix('\n').unwrap_or(text), true).split('\n') {
        if line.trim().is_empty() {
            empty += 1;
            continue;
        }
        push_empty(&mut lines, empty);
        empty = 0;
        lines.push(line.to_owned());
    }
    push_empty(&mut lines, empty);
    lines
}

fn push_empty(lines: &mut Vec<String>, count: usize) {
    if count > MAX_EMPTY_LINES {
        lines.push(format!("⟨{count} empty lines⟩"));
    } else {
        lines.extend(vec![String::new(); count]);
    }
}

/// Cuts the middle of a long text and says how many characters are missing.
fn cut(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let tail = limit / 4;
    let head: String = text.chars().take(limit - tail).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{head}⟨{} more characters⟩{end}", length - limit)
}

fn escaped(text: &str, keep_lines: bool) -> String {
    let text = visible(text, Detail::Exact);
    let mut shown = String::with_capacity(text.len());
    let mut blanks = 0;
    for c in text.chars() {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        push_blanks(&mut shown, blanks);
        blanks = 0;
        match c {
            '\n' if !keep_lines => shown.push_str(&spelled_out(c)),
            c => shown.push(c),
        }
    }
    push_blanks(&mut shown, blanks);
    shown
}

fn push_blanks(shown: &mut String, count: usize) {
    if count > MAX_BLANKS {
        notice(shown, format_args!("{count} spaces"));
    } else {
        shown.push_str(&" ".repeat(count));
    }
}

fn notice(shown: &mut String, text: fmt::Arguments<'_>) {
    write!(shown, "⟨{text}⟩").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_plain_is_spelled_out() {
        let cases = [
            ("a\x1b[2Jb", "a⟨U+001B⟩[2Jb"),
            ("a\rb\x07\t", "a⟨U+000D⟩b⟨U+0007⟩⟨U+0009⟩"),
            ("\u{202e}gpj", "⟨U+202E⟩gpj"),
            ("a\u{200b}b\u{e0041}", "a⟨U+200B⟩b⟨U+E0041⟩"),
            ("\u{9b}31m", "⟨U+009B⟩31m"),
            ("⟨U+001B⟩", "⟨U+27E8⟩U+001B⟨U+27E9⟩"),
            ("grün 你好 é", "grün 你好 é"),
            ("e\u{301}\u{301}\u{301}", "e\u{301}\u{301}⟨U+0301⟩"),
            ("a\u{a0}b", "a⟨U+00A0⟩b"),
        ];
        for (text, expected) in cases {
            assert_eq!(on_one_line(text, 100), expected);
        }
        assert_eq!(on_one_line(&format!("a{}b", " ".repeat(500)), 100), "a⟨500 spaces⟩b");
        assert_eq!(as_lines(&format!("a{}b", "\n".repeat(501))), ["a", "⟨500 empty lines⟩", "b"]);
        assert_eq!(on_one_line(&"x".repeat(30), 8), "xxxxxx⟨22 more characters⟩xx");
    }

    proptest! {
        #[test]
        fn nothing_moves_the_cursor(text in "\\PC{0,20}[\\x00-\\x1f\\x7f-\\u{9f}\\u{200b}-\\u{206f}]{0,20}.{0,20}") {
            for line in as_lines(&text).iter().chain([&on_one_line(&text, 1000)]) {
                prop_assert!(line.chars().all(crate::is_visible), "{line:?}");
            }
        }
    }
}
