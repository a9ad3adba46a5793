//! What an edit would change, line by line.

use std::{path::PathBuf, time::Duration};

use similar::{ChangeTag, TextDiff};
use vertebra::{Approval, Args, paths::absolute};

/// How large a file may be that is compared with what would be written.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Lines around a change.
const AROUND: usize = 3;
/// How long a comparison may take. After that it is coarser.
const PATIENCE: Duration = Duration::from_millis(300);

/// A line, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Same(String),
    Gone(String),
    Come(String),
    /// Lines that are not shown, because they stay.
    Gap,
}

/// The arguments that a diff shows better.
pub(super) const SHOWN: &[&str] = &["old_string", "new_string", "content", "edits"];

/// What the call would change, if it is an edit.
pub(super) async fn of(approval: &Approval) -> Option<Vec<Line>> {
    let args = &approval.args;
    if let Some(pair) = replacement(args) {
        return Some(between(&pair.0, &pair.1));
    }
    if let Some(edits) = args.get("edits").and_then(serde_json::Value::as_array) {
        let pairs = edits.iter().filter_map(|edit| replacement(&Args::try_from(edit.clone()).ok()?));
        let lines = pairs.flat_map(|(old, new)| [vec![Line::Gap], between(&old, &new)].concat());
        return Some(lines.skip(1).collect());
    }
    let new = args.text("content")?;
    let path = ["path", "file_path", "file"].iter().find_map(|name| args.text(name))?;
    let path = PathBuf::from(absolute(&approval.at.run.working_directory, path));
    Some(between(&text_of(path).await.unwrap_or_default(), new))
}

fn replacement(args: &Args) -> Option<(String, String)> {
    Some((args.text("old_string")?.to_owned(), args.text("new_string")?.to_owned()))
}

/// The text of a plain file. A pipe or a device is not opened: that could wait for ever.
async fn text_of(path: PathBuf) -> Option<String> {
    let metadata = tokio::fs::metadata(&path).await.ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    String::from_utf8(tokio::fs::read(&path).await.ok()?).ok()
}

fn between(old: &str, new: &str) -> Vec<Line> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if number > 0 {
            lines.push(Line::Gap);
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().strip_suffix('\n').unwrap_or(change.value()).to_owned();
            lines.push(match change.tag() {
                ChangeTag::Equal => Line::Same(text),
                ChangeTag::Delete => Line::Gone(text),
                ChangeTag::Insert => Line::Come(text),
            });
        }
    }
    lines
}
