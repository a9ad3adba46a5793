//! Characters that a model reads and a person does not see.

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
