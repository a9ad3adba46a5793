//! Text with parts that are only known at run time.
//!
//! An unknown part is one of four characters that no program prints. If a command contains such a character itself, it is
//! merely judged as less known than it is.

/// An unknown text of any origin.
pub(super) const UNKNOWN: char = '\u{10FFFF}';
/// An unknown text that may contain secrets: keys, the environment, files of the home folder.
pub(super) const SECRET: char = '\u{10FFFE}';
/// An unknown text that was downloaded from the network.
pub(super) const REMOTE: char = '\u{10FFFD}';

/// A text without end.
pub(super) const ENDLESS: char = '\u{10FFFC}';

/// Longer values are not followed.
pub(super) const MAX_VALUE: usize = 32 * 1024;

const MARKS: [char; 4] = [UNKNOWN, SECRET, REMOTE, ENDLESS];

pub(super) fn is_known(text: &str) -> bool {
    !text.contains(MARKS)
}

/// Combines texts in an unknown way, and keeps only their marks.
pub(super) fn blend<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut marks = [false; 2];
    for text in texts {
        marks[0] |= text.contains(SECRET);
        marks[1] |= text.contains(REMOTE);
    }
    match marks {
        [false, false] => UNKNOWN.to_string(),
        [true, false] => SECRET.to_string(),
        [false, true] => REMOTE.to_string(),
        [true, true] => [SECRET, REMOTE].iter().collect(),
    }
}

/// Returns the text without its unknown parts.
pub(super) fn known_part(text: &str) -> String {
    text.replace(MARKS, "")
}

/// Returns the text, or only its marks if it is too long.
pub(super) fn bounded(text: String) -> String {
    if text.len() > MAX_VALUE { blend([text.as_str()]) } else { text }
}

/// Returns the text for people, with unknown parts as `…`.
pub(super) fn shown(text: &str) -> String {
    text.replace(MARKS, "…")
}
