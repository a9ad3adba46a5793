//! Shows an edit as a diff.

use std::{path::PathBuf, time::Duration};

use similar::{ChangeTag, TextDiff};
use vertebra::{Approval, Args, paths::absolute};

/// The largest file that is compared.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// How many unchanged lines are shown around a change.
const AROUND: usize = 3;
/// The time limit of a comparison. A slower one becomes coarser.
const PATIENCE: Duration = Duration::from_millis(300);

/// A line of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Same(String),
    Gone(String),
    Come(String),
    /// Unchanged lines that are not shown.
    Gap,
}

/// The change of an edit.
pub(super) struct Change {
    pub(super) lines: Vec<Line>,
    /// The arguments that the lines show completely. All others are shown separately.
    pub(super) shows: &'static [&'static str],
}

/// Returns the change of a call, if it is an edit.
pub(super) async fn of(approval: &Approval) -> Option<Change> {
    let args = &approval.args;
    if let Some(preview) = &approval.preview {
        return Some(Change { lines: unified(preview), shows: &["content", "old_string", "new_string"] });
    }
    if let Some(pair) = replacement(args) {
        return Some(Change { lines: between(&pair.0, &pair.1), shows: &["old_string", "new_string"] });
    }
    if let Some(edits) = args.get("edits").and_then(serde_json::Value::as_array) {
        let pairs: Option<Vec<_>> = edits.iter().map(only_replacement).collect();
        let lines = pairs?.into_iter().flat_map(|(old, new)| [vec![Line::Gap], between(&old, &new)].concat());
        return Some(Change { lines: lines.skip(1).collect(), shows: &["edits"] });
    }
    let new = args.text("content")?;
    let path = ["path", "file_path", "file"].iter().find_map(|name| args.text(name))?;
    let path = PathBuf::from(absolute(&approval.at.run.working_directory, path));
    Some(Change { lines: between(&text_of(path).await.unwrap_or_default(), new), shows: &["content"] })
}

/// The lines of the diff that the tool itself made: it hides what redaction hides.
fn unified(preview: &str) -> Vec<Line> {
    let lines = preview.lines().skip_while(|line| !line.starts_with("@@")).skip(1);
    let line = |line: &str| match line.split_at_checked(1) {
        Some(("@", _)) => Some(Line::Gap),
        Some(("-", text)) => Some(Line::Gone(text.to_owned())),
        Some(("+", text)) => Some(Line::Come(text.to_owned())),
        Some((" ", text)) => Some(Line::Same(text.to_owned())),
        Some(_) | None => None,
    };
    lines.filter_map(line).collect()
}

fn replacement(args: &Args) -> Option<(String, String)> {
    Some((args.text("old_string")?.to_owned(), args.text("new_string")?.to_owned()))
}

/// Returns a replacement whose arguments are all known. Other tools may describe edits differently.
fn only_replacement(edit: &serde_json::Value) -> Option<(String, String)> {
    let args = Args::try_from(edit.clone()).ok()?;
    replacement(&args).filter(|_| args.iter().count() == 2)
}

/// Reads a regular file. A pipe or a device is not opened, because that could block forever.
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
