//! What a change did, for people.

use std::time::Duration;

use similar::TextDiff;

/// How much of a difference is kept.
const MAX_BYTES: usize = 16 * 1024;

/// How long it may take to find a small difference. After that, a larger one has to do.
const MAX_TIME: Duration = Duration::from_millis(200);

/// A unified diff.
pub(super) fn unified(path: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_lines(before, after);
    let mut text = format!("--- {path}\n+++ {path}\n");
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        text.push_str(&hunk.to_string());
        if text.len() > MAX_BYTES {
            text.truncate(text.floor_char_boundary(MAX_BYTES));
            text.push_str("\n[the rest of the difference is left out]\n");
            break;
        }
    }
    text
}
