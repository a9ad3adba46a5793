//! The result of a call: a mark, a few details and a preview of the output.

use std::time::Duration;

use anstyle::Style;
use serde_json::Value;
use vertebra::{ToolCall, ToolResult, ToolStatus};
use vertebra_kit::planning::{Status, Task};

use super::{
    diff::Diff,
    rows::{DIM, GREEN, PLAIN, RED, Row, YELLOW},
    text::{counted, duration, more, on_one_line, visible},
};

/// How many rows of a diff are shown.
const MAX_DIFF: usize = 12;
/// How many tasks are shown.
const MAX_TASKS: usize = 20;
/// The shortest duration that is shown.
const WORTH_SAYING: Duration = Duration::from_secs(1);

/// Returns the mark of a result.
pub(crate) fn mark(result: &ToolResult) -> (Style, &'static str) {
    match result.status {
        ToolStatus::Done if result.success => (GREEN, "✓"),
        ToolStatus::Done | ToolStatus::Failed => (RED, "✗"),
        ToolStatus::Blocked => (RED, "⊘"),
        ToolStatus::Cancelled => (YELLOW, "■"),
        ToolStatus::NotRun => (DIM, "–"),
        _ => (YELLOW, "?"),
    }
}

/// Returns the details in the headline of a call.
pub(crate) fn facts(call: &ToolCall, result: &ToolResult) -> Row {
    let mut facts: Vec<Row> = Vec::new();
    let dim = |text: String| Row::default().with(DIM, text);
    match result.status {
        ToolStatus::Cancelled => facts.push(dim("cancelled".to_owned())),
        ToolStatus::NotRun => facts.push(dim("not run".to_owned())),
        ToolStatus::Done | ToolStatus::Failed | ToolStatus::Blocked => {}
        _ => facts.push(Row::default().with(YELLOW, "may have run")),
    }
    facts.extend(diff(result).map(|diff| diff.counts()));
    if &*call.tool == "read_file" && result.success {
        facts.push(dim(counted(result.output.lines().filter(|line| is_numbered(line)).count(), "line")));
    }
    facts.extend(
        result.exit_code.filter(|code| *code != 0).map(|code| Row::default().with(RED, format!("exit {code}"))),
    );
    let took = Duration::from_millis(result.duration_ms);
    facts.extend((took >= WORTH_SAYING).then(|| dim(duration(took))));
    facts.into_iter().fold(Row::default(), |row, fact| row.with(DIM, " · ").then(fact))
}

fn is_numbered(line: &str) -> bool {
    line.split_once('\t').is_some_and(|(number, _)| number.trim().parse::<u64>().is_ok())
}

/// How much of the output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Much {
    /// Enough to follow the run.
    Some,
    /// Only what is needed.
    Little,
}

/// Returns the rows under the headline of a call.
pub(crate) fn preview(call: &ToolCall, result: &ToolResult, much: Much) -> Vec<Row> {
    let mut rows = summary(call, result, much);
    rows.extend(blocked(result).map(|what| {
        // The rest tells the model what to ask for.
        let what = what.split("; ask for").next().unwrap_or(what);
        Row::default().with(YELLOW, "! ").with(YELLOW, visible(what.trim_matches(['[', ']'])))
    }));
    rows
}

/// Returns what the sandbox refused to a command.
fn blocked(result: &ToolResult) -> impl Iterator<Item = &str> {
    result.data["blocked"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn summary(call: &ToolCall, result: &ToolResult, much: Much) -> Vec<Row> {
    match (result.status, much) {
        (ToolStatus::Blocked, _) => output(&result.output, RED, 2, 4),
        (ToolStatus::Done, _) if !result.success => printed(result, PLAIN, 2, 8),
        (ToolStatus::Cancelled, Much::Some) if &*call.tool == "bash" => printed(result, DIM, 2, 8),
        (ToolStatus::Cancelled | ToolStatus::NotRun, _) | (ToolStatus::Done, Much::Little) => Vec::new(),
        (ToolStatus::Done, Much::Some) => match &*call.tool {
            "todo_write" => checklist(&result.data).unwrap_or_default(),
            "read_file" => Vec::new(),
            "write_file" | "edit_file" => diff(result).map(|diff| diff.rows(MAX_DIFF)).unwrap_or_default(),
            "bash" => printed(result, DIM, 2, 3),
            _ => output(said(result), DIM, 3, 0),
        },
        // It failed, or may have run.
        _ => output(&result.output, PLAIN, 2, 4),
    }
}

fn diff(result: &ToolResult) -> Option<Diff<'_>> {
    result.data.get("diff").and_then(Value::as_str).map(Diff::read)
}

/// Returns the first and last lines that a command printed, the number of lines between them, and where all of them are.
fn printed(result: &ToolResult, style: Style, head: usize, tail: usize) -> Vec<Row> {
    let about = &result.data["output"];
    let notes: Vec<&str> = about["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let text = said(result);
    if notes.is_empty() {
        return output(text, style, head, tail);
    }
    let lines: Vec<&str> = text.lines().filter(|line| !notes.contains(line)).collect();
    let shown = output(&lines.join("\n"), style, head, tail);
    // What the model did not read counts, too.
    let left_out = about["lines"].as_u64().and_then(|all| usize::try_from(all).ok()).unwrap_or(lines.len());
    let shown = match lines.len().checked_sub(head + tail) {
        Some(2..) => {
            let missing = left_out.saturating_sub(head + tail);
            let between = Row::default().with(DIM, more(missing, "line"));
            let (before, after) = (shown[..head].to_vec(), shown[head + 1..].to_vec());
            [before, vec![between], after].concat()
        }
        _ => shown,
    };
    let file = about["file"].as_str().map(|file| Row::default().with(DIM, format!("all of it: {}", visible(file))));
    shown.into_iter().chain(file).collect()
}

/// Returns the output without the exit code, which the headline shows.
fn said(result: &ToolResult) -> &str {
    let output = result.output.as_str();
    let output = match output.split_once('\n') {
        Some((first, rest)) if first.starts_with("exit code: ") => rest,
        // Somebody stopped it.
        Some(("cancelled", rest)) => rest.split_once('\n').map_or("", |(_ended, printed)| printed),
        _ if output.starts_with("exit code: ") || output == "cancelled" => "",
        _ => output,
    };
    if output == "(no output)" { "" } else { output }
}

/// Returns the first and last lines and the number of lines between them.
fn output(text: &str, style: Style, head: usize, tail: usize) -> Vec<Row> {
    let lines: Vec<&str> = text.trim_end().lines().filter(|line| *line != "STDERR:").collect();
    let row = |line: &&str| Row::default().with(style, visible(line));
    // To hide a single line would take a line, too.
    let Some(missing @ 2..) = lines.len().checked_sub(head + tail) else { return lines.iter().map(row).collect() };
    let left_out = Row::default().with(DIM, more(missing, "line"));
    lines[..head].iter().map(row).chain([left_out]).chain(lines[head + missing..].iter().map(row)).collect()
}

/// Returns a task list as rows.
fn checklist(data: &Value) -> Option<Vec<Row>> {
    let tasks: Vec<Task> = serde_json::from_value(data.clone()).ok()?;
    let missing = tasks.len().saturating_sub(MAX_TASKS);
    let mut rows: Vec<Row> = tasks
        .iter()
        .take(MAX_TASKS)
        .map(|task| match task.status {
            Status::Completed => Row::default().with(GREEN, "☑ ").with(DIM, on_one_line(&task.content)),
            Status::InProgress => Row::default().with(YELLOW, "▸ ").with(PLAIN, on_one_line(&task.active_form)),
            Status::Pending => Row::default().with(PLAIN, "☐ ").with(PLAIN, on_one_line(&task.content)),
        })
        .collect();
    if missing > 0 {
        rows.push(Row::default().with(DIM, more(missing, "task")));
    }
    Some(rows)
}
