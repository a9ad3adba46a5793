//! Bytes of a command as text that a model and a terminal may read: no escape sequences, nothing invisible.

use crate::{invisible::is_joiner, is_invisible};

/// What is left of the bytes: bytes that are no UTF-8 become `�`, escape sequences go, other control and invisible
/// characters are written out.
pub(super) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            // A terminal would write over the line; to a reader both versions are lines.
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\u{1b}' => skip_sequence(&mut rest),
            c if c.is_control() || is_invisible(c) || is_joiner(c) => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}

/// Skips what follows an escape character. A sequence without an end ends with its line, so that it hides no other.
fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            while let Some(c) = rest.next_if(|c| *c != '\n') {
                if ('\u{40}'..='\u{7e}').contains(&c) {
                    return;
                }
            }
        }
        // Titles, links and other strings for the terminal: until BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = rest.next_if(|c| *c != '\n') {
                if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    return;
                }
            }
        }
        Some('(' | ')' | '#' | ' ') => {
            rest.next();
            rest.next_if(|c| *c != '\n');
        }
        Some(c) if *c != '\n' => {
            rest.next();
        }
        _ => {}
    }
}

/// At most so many bytes from the beginning, in whole characters.
pub(super) fn first(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// At most so many bytes from the end, in whole characters.
pub(super) fn last(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// The bytes without a character at the end that is not all there.
pub(super) fn whole_end(bytes: &[u8]) -> &[u8] {
    let begun = bytes.iter().rev().take(4).position(|byte| byte & 0xC0 != 0x80);
    let Some(back) = begun else { return bytes };
    let start = bytes.len() - back - 1;
    match std::str::from_utf8(&bytes[start..]) {
        Err(error) if error.error_len().is_none() => &bytes[..start],
        _ => bytes,
    }
}

/// The bytes without the rest of a character that began before them.
pub(super) fn whole_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_taken_out_or_written_out() {
        let cases: &[(&[u8], &str)] = &[
            (b"plain\ttext\n", "plain\ttext\n"),
            (b"\x1b[1;31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b]0;never ended\nnext line", "\nnext line"),
            (b"\x1b(Bx\x1b", "x"),
            (b"10%\r100%\r\ndone", "10%\n100%\ndone"),
            (b"a\x08b\x00", "a\\u{8}b\\u{0}"),
            ("a\u{202e}b\u{e0041}".as_bytes(), "a\\u{202e}b\\u{e0041}"),
            (b"caf\xe9", "caf\u{fffd}"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(clean(bytes), *expected);
        }
    }

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!((first("aé", 2), last("éa", 2)), ("a", "a"));
        let bytes = "aé€".as_bytes();
        assert_eq!(whole_end(&bytes[..2]), b"a");
        assert_eq!(whole_end(&bytes[..5]), "aé".as_bytes());
        assert_eq!(whole_end(bytes), bytes);
        assert_eq!(whole_start(&bytes[2..]), "€".as_bytes());
    }
}
