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

/// A line of the diff, with its number in the file, if that is known: in the old file for lines that go, otherwise in the new
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Same(Option<usize>, String),
    Gone(Option<usize>, String),
    Come(Option<usize>, String),
    /// Unchanged lines that are not shown.
    Gap,
}

/// The change of an edit.
pub(super) struct Change {
    pub(super) lines: Vec<Line>,
    /// The arguments that the lines show completely. All others are shown separately.
    pub(super) shows: &'static [&'static str],
    /// How many places of the file change, if the edit replaces all of them.
    pub(super) places: Option<usize>,
}

/// Returns the change of a call, if it is an edit.
pub(super) async fn of(approval: &Approval) -> Option<Change> {
    let args = &approval.call.args;
    let path = ["path", "file_path", "file"].iter().find_map(|name| args.text(name));
    let path = path.map(|path| PathBuf::from(absolute(&approval.at.run.working_directory, path)));
    let file = match path {
        Some(path) => text_of(path).await,
        None => None,
    };
    if let Some(preview) = &approval.preview {
        let is_all = args.get("replace_all").and_then(serde_json::Value::as_bool) == Some(true);
        let found = || args.text("old_string").zip(file.as_deref()).map(|(old, file)| file.matches(old).count());
        let places = is_all.then(found).flatten().filter(|places| *places > 0);
        let shows = &["content", "old_string", "new_string", "replace_all"];
        return Some(Change { lines: unified(preview), shows: &shows[..if places.is_some() { 4 } else { 3 }], places });
    }
    if let Some((old, new)) = replacement(args) {
        let is_all = args.get("replace_all").and_then(serde_json::Value::as_bool) == Some(true);
        let shows = &["old_string", "new_string", "replace_all"];
        let found = file.as_deref().filter(|_| !old.is_empty()).map_or(0, |file| file.matches(&*old).count());
        return Some(match file.filter(|_| found > 0) {
            Some(file) => {
                let edited = file.replacen(&*old, &new, if is_all { usize::MAX } else { 1 });
                Change { lines: between(&file, &edited, Numbers::Shown), shows, places: is_all.then_some(found) }
            }
            None => Change { lines: between(&old, &new, Numbers::Unknown), shows: &shows[..2], places: None },
        });
    }
    if let Some(edits) = args.get("edits").and_then(serde_json::Value::as_array) {
        let pairs: Option<Vec<_>> = edits.iter().map(only_replacement).collect();
        let between = |(old, new): (String, String)| [vec![Line::Gap], between(&old, &new, Numbers::Unknown)].concat();
        let lines = pairs?.into_iter().flat_map(between);
        return Some(Change { lines: lines.skip(1).collect(), shows: &["edits"], places: None });
    }
    let new = args.text("content")?;
    args.text("path").or_else(|| args.text("file_path")).or_else(|| args.text("file"))?;
    let lines = between(&file.unwrap_or_default(), new, Numbers::Shown);
    Some(Change { lines, shows: &["content"], places: None })
}

/// Whether the numbers of the lines in the file are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Shown,
    Unknown,
}

/// The lines of the diff that the tool itself made: it hides what redaction hides.
fn unified(preview: &str) -> Vec<Line> {
    let (mut old, mut new, mut lines) = (0, 0, Vec::new());
    let next = |number: &mut usize| {
        *number += 1;
        Some(*number - 1)
    };
    for line in preview.lines().skip_while(|line| !line.starts_with("@@")) {
        match line.split_at_checked(1) {
            Some(("@", _)) => {
                // `@@ -3,7 +3,6 @@`
                let start = |word: &str| word.get(1..)?.split(',').next()?.parse().ok();
                let starts: Vec<usize> = line.split(' ').skip(1).take(2).filter_map(start).collect();
                if let [from, to] = starts[..] {
                    (old, new) = (from, to);
                }
                if !lines.is_empty() {
                    lines.push(Line::Gap);
                }
            }
            Some(("-", text)) => lines.push(Line::Gone(next(&mut old), text.to_owned())),
            Some(("+", text)) => lines.push(Line::Come(next(&mut new), text.to_owned())),
            Some((" ", text)) => {
                old += 1;
                lines.push(Line::Same(next(&mut new), text.to_owned()));
            }
            Some(_) | None => {}
        }
    }
    lines
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

fn between(old: &str, new: &str, numbers: Numbers) -> Vec<Line> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let number = |index: Option<usize>| index.filter(|_| numbers == Numbers::Shown).map(|index| index + 1);
    let mut lines = Vec::new();
    for (position, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if position > 0 {
            lines.push(Line::Gap);
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().strip_suffix('\n').unwrap_or(change.value()).to_owned();
            lines.push(match change.tag() {
                ChangeTag::Equal => Line::Same(number(change.new_index()), text),
                ChangeTag::Delete => Line::Gone(number(change.old_index()), text),
                ChangeTag::Insert => Line::Come(number(change.new_index()), text),
            });
        }
    }
    lines
}
