//! Text of which a part may not be known before the command runs.
//!
//! What is not known is one of four characters that no program prints. A command that contains them itself is only
//! taken to be less known than it is.

/// Something, from nowhere in particular.
pub(super) const UNKNOWN: char = '\u{10FFFF}';
/// Something that may hold what is secret: keys, the environment, files of the home folder.
pub(super) const SECRET: char = '\u{10FFFE}';
/// Something that another machine sent.
pub(super) const REMOTE: char = '\u{10FFFD}';

/// Something that does not end.
pub(super) const ENDLESS: char = '\u{10FFFC}';

/// Longer values are not followed.
pub(super) const MAX_VALUE: usize = 32 * 1024;

const MARKS: [char; 4] = [UNKNOWN, SECRET, REMOTE, ENDLESS];

pub(super) fn is_known(text: &str) -> bool {
    !text.contains(MARKS)
}

/// What can be said of a text made from others in an unknown way.
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

/// The text without what is not known.
pub(super) fn known_part(text: &str) -> String {
    text.replace(MARKS, "")
}

/// The text, unless it is too long to be followed.
pub(super) fn bounded(text: String) -> String {
    if text.len() > MAX_VALUE { blend([text.as_str()]) } else { text }
}

/// The text for people.
pub(super) fn shown(text: &str) -> String {
    text.replace(MARKS, "…")
}
