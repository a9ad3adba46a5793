//! What a change did, for people.

use std::time::Duration;

use similar::TextDiff;

/// How much of a difference is kept.
const MAX_BYTES: usize = 16 * 1024;

/// How long it may take to find a small difference. After that, a larger one has to do.
const MAX_TIME: Duration = Duration::from_millis(200);

/// The longest difference that a person is shown before a change.
const MAX_PREVIEW: usize = 256 * 1024;

/// A unified diff.
pub(super) fn unified(path: &str, before: &str, after: &str) -> String {
    let (mut text, is_whole) = up_to(MAX_BYTES, path, before, after);
    if !is_whole {
        text.push_str("\n[the rest of the difference is left out]\n");
    }
    text
}

/// A unified diff of which nothing is left out, unless it is too long.
pub(super) fn whole(path: &str, before: &str, after: &str) -> Option<String> {
    let (text, is_whole) = up_to(MAX_PREVIEW, path, before, after);
    is_whole.then_some(text)
}

fn up_to(bytes: usize, path: &str, before: &str, after: &str) -> (String, bool) {
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_lines(before, after);
    let mut text = format!("--- {path}\n+++ {path}\n");
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        text.push_str(&hunk.to_string());
        if text.len() > bytes {
            text.truncate(text.floor_char_boundary(bytes));
            return (text, false);
        }
    }
    (text, true)
}
