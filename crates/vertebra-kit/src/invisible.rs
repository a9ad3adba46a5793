//! Makes text of models, tools, hooks and servers safe to show. What a person would not see as what it is, is spelled out.

use std::borrow::Cow;

/// The spaces of a tab.
const TAB: &str = "    ";

/// How many combining marks on one letter are shown unchanged.
const MAX_MARKS: usize = 2;

/// How exactly a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// For reading. Line breaks stay, a tab becomes spaces, and an unusual space becomes a plain one. Joiners stay within the
    /// scripts that are written with them, and so does a variation selector after a symbol.
    Prose,
    /// For a decision. Only visible characters, plain spaces and line breaks stay, and the signs `⟨⟩` of the notation itself are
    /// spelled out too.
    Exact,
}

/// Returns the text as it can be shown in a terminal: nothing in it moves the cursor, changes the direction of the text, or
/// looks like nothing or like a space without being one. Other characters are spelled out as `⟨U+001B⟩`.
///
/// These are control characters, direction marks, characters without width, characters that look blank (such as U+3164 and
/// U+2800), private-use characters, tags, variation selectors and more than two combining marks on a letter. An emoji made of
/// several with U+200D is shown in its parts.
///
/// ```
/// use vertebra_kit::{Detail, visible};
///
/// assert_eq!(visible("a\u{1b}[2Jb\u{202e}", Detail::Prose), "a⟨U+001B⟩[2Jb⟨U+202E⟩");
/// assert_eq!(visible("grün 你好 ❤\u{fe0f}", Detail::Prose), "grün 你好 ❤\u{fe0f}");
/// ```
pub fn visible(text: &str, detail: Detail) -> Cow<'_, str> {
    // Most texts are plain, and there are many.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let (mut before, mut marks) = ('\n', 0);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let after = letters.peek().copied().unwrap_or('\n');
        marks = if is_mark(c) { marks + 1 } else { 0 };
        match c {
            '\n' => shown.push(c),
            '\r' if detail == Detail::Prose && after == '\n' => {}
            '\t' if detail == Detail::Prose => shown.push_str(TAB),
            c if detail == Detail::Prose && is_space(c) => shown.push(' '),
            c if detail == Detail::Prose && belongs(c, before, after) => shown.push(c),
            '⟨' | '⟩' if detail == Detail::Exact => shown.push_str(&spelled_out(c)),
            c if is_visible(c) && marks <= MAX_MARKS => shown.push(c),
            c => shown.push_str(&spelled_out(c)),
        }
        before = c;
    }
    if shown == text { Cow::Borrowed(text) } else { Cow::Owned(shown) }
}

/// Returns whether a character shows what it is wherever it stands.
pub fn is_visible(c: char) -> bool {
    c == ' ' || !(c.is_control() || c.is_whitespace() || is_joiner(c) || is_invisible(c) || is_unclear(c))
}

/// Returns whether a character that stands between two others carries something that a person does not see and a model
/// reads. What scripts, emoji and fonts of symbols are written with carries nothing where it belongs.
pub(crate) fn is_smuggled(c: char, before: char, after: char) -> bool {
    let is_private = matches!(u32::from(c), 0xE000..=0xF8FF | 0xF0000..=0x0010_FFFF);
    let joins = |c: char| !c.is_ascii() && !is_joiner(c) && !is_invisible(c);
    match c {
        c if is_joiner(c) => !(joins(before) && joins(after)),
        c => is_invisible(c) || (is_unclear(c) && !is_private && !belongs(c, before, after)),
    }
}

/// Whether a character has no width, turns the direction of the text, or is a tag or a mark that nobody sees.
///
/// Joiners and the variation selectors of emoji are none of these: scripts and emoji are written with
/// them, so they are asked about apart. Control characters have a test of their own, [`char::is_control`].
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The character spelled out for a screen: `⟨U+001B⟩`.
pub fn spelled_out(c: char) -> String {
    format!("⟨U+{:04X}⟩", u32::from(c))
}

/// Whether a character joins or parts others without being seen. In prose it belongs there; in a command or a file's name
/// it makes two names look alike.
pub(crate) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns whether a joiner or a variation selector belongs to the characters around it.
fn belongs(c: char, before: char, after: char) -> bool {
    match c {
        '\u{200c}' | '\u{200d}' => is_joined(before) && is_joined(after),
        // One selector after a symbol chooses how it is drawn.
        '\u{fe0e}' | '\u{fe0f}' => {
            matches!(u32::from(before), 0x23 | 0x2A | 0x30..=0x39 | 0xA9 | 0xAE | 0x203C..=0x27BF | 0x2900..=0x2BFF
                | 0x3030..=0x329F | 0x1F000..=0x1FAFF)
                && is_visible(before)
        }
        _ => false,
    }
}

/// Returns whether a letter is of a script that is written with joiners.
fn is_joined(c: char) -> bool {
    matches!(u32::from(c), 0x0620..=0x0DFF | 0x1000..=0x109F | 0x1780..=0x17B3 | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC)
        && (c.is_alphabetic() || is_virama(c))
}

fn is_virama(c: char) -> bool {
    matches!(u32::from(c), 0x094D | 0x09CD | 0x0A4D | 0x0ACD | 0x0B4D | 0x0BCD | 0x0C4D | 0x0CCD | 0x0D4D | 0x0DCA)
}

/// Returns whether a character is a space of another width. As a plain space it shows what it is.
fn is_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Returns whether terminals may draw a character as nothing or as a space, although a text may need it.
fn is_unclear(c: char) -> bool {
    matches!(u32::from(c),
        0x034F | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x2028 | 0x2029 | 0x2800
        | 0x2D7F | 0x3164 | 0xE000..=0xF8FF | 0xFE00..=0xFE0F | 0xFFA0 | 0xFFF0..=0xFFF8 | 0xFFFC | 0x1107F
        | 0x13430..=0x1345F | 0x16FE4 | 0x1BCA0..=0x1BCA3 | 0x1D159 | 0x1D173..=0x1D17A | 0xF0000..=0x0010_FFFF)
        || u32::from(c) & 0xFFFE == 0xFFFE
        || (0xFDD0..=0xFDEF).contains(&u32::from(c))
}

/// Returns whether a character combines with the one before it.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036F | 0x0483..=0x0489 | 0x0591..=0x05BD | 0x064B..=0x065F | 0x0E31
        | 0x0E34..=0x0E3A | 0x0E47..=0x0E4E | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Characters that must never reach a terminal.
    const HOSTILE: &[char] = &[
        '\0',
        '\u{7}',
        '\u{8}',
        '\r',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{9b}',
        '\u{ad}',
        '\u{34f}',
        '\u{2d7f}',
        '\u{1107f}',
        '\u{16fe4}',
        '\u{1d159}',
        '\u{61c}',
        '\u{115f}',
        '\u{1160}',
        '\u{17b4}',
        '\u{180b}',
        '\u{180e}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{2028}',
        '\u{2029}',
        '\u{202e}',
        '\u{2060}',
        '\u{2066}',
        '\u{2800}',
        '\u{3164}',
        '\u{e000}',
        '\u{fe00}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff9}',
        '\u{fffc}',
        '\u{fffe}',
        '\u{fdd0}',
        '\u{1d173}',
        '\u{e0041}',
        '\u{e0100}',
        '\u{f0000}',
        '\u{10ffff}',
    ];

    #[test]
    fn nothing_hostile_is_shown_as_it_is() {
        for c in HOSTILE {
            for detail in [Detail::Prose, Detail::Exact] {
                let shown = visible(&format!("a{c}b"), detail).into_owned();
                assert_eq!(shown, format!("a{}b", spelled_out(*c)), "{detail:?}");
            }
            assert!(!is_visible(*c), "{c:?}");
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let plain = [
            "naïve größe 日本語 한국어 é",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "❤\u{fe0f} 1\u{fe0f}\u{20e3} 😀",
            "a\nb",
            "x ≤ y ⟨v⟩",
            "e\u{301}",
        ];
        for text in plain {
            assert_eq!(visible(text, Detail::Prose), text);
        }
        assert_eq!(visible("a\tb\r\nc\u{a0}d", Detail::Prose), "a    b\nc d");
        assert_eq!(visible("a\tb\u{a0}⟨", Detail::Exact), "a⟨U+0009⟩b⟨U+00A0⟩⟨U+27E8⟩");
        assert_eq!(visible("👩\u{200d}💻", Detail::Prose), "👩⟨U+200D⟩💻");
        assert_eq!(visible("e\u{301}\u{301}\u{301}", Detail::Prose), "e\u{301}\u{301}⟨U+0301⟩");
        assert_eq!(visible("❤\u{fe0f}\u{fe0f}", Detail::Prose), "❤\u{fe0f}⟨U+FE0F⟩");
    }

    proptest! {
        #[test]
        fn what_is_visible_stays_visible(text in "\\PC{0,20}[\\x00-\\x1f\\x7f-\\u{9f}\\u{200b}-\\u{206f}]{0,20}.{0,20}") {
            let shown = visible(&text, Detail::Prose).into_owned();
            prop_assert_eq!(&visible(&shown, Detail::Prose), &shown);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
            let exact = visible(&text, Detail::Exact);
            prop_assert!(exact.chars().all(|c| c == '\n' || is_visible(c)), "{exact:?}");
        }
    }
}
