//! The log of all judgements, one line each: an audit trail, and the input of `vertebra backtest`.
//!
//! A line is written after the answer, and a log that cannot be written changes no answer.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use vertebra_bridge::{
    host::{Host, HostAnswer, HostEvent},
    wire::Judgement,
};

use super::secrets::Mask;
use crate::assembly::World;

/// The current log file and the previous one.
const FILE: &str = "hook-log.jsonl";
const OLDER: &str = "hook-log.1.jsonl";

/// Returns the existing log files, the oldest first.
pub(crate) fn files(state: &Path) -> Vec<PathBuf> {
    [OLDER, FILE].iter().map(|name| state.join(name)).filter(|file| file.is_file()).collect()
}

/// The size at which the log is rotated.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How long a line may be. A longer line is reduced to the decision.
const MAX_LINE: usize = 64 * 1024;

/// One judgement.
pub(super) struct Line<'a> {
    pub(super) event: &'a HostEvent,
    pub(super) judgement: &'a Judgement,
    pub(super) answer: &'a HostAnswer,
    pub(super) took: Duration,
}

/// An event that could not be read.
pub(super) struct Unread<'a> {
    pub(super) host: Option<&'static Host>,
    pub(super) moment: Option<&'a str>,
    pub(super) judgement: &'a Judgement,
    pub(super) answer: &'a HostAnswer,
    pub(super) took: Duration,
}

/// Appends a line.
pub(super) fn append(world: &World, line: &Line<'_>) {
    let Some(folder) = &world.state else { return };
    // The answer is already given, so an error could not be reported.
    let _ = written(folder, |mask| text(line, mask));
}

/// Appends a line without the event.
pub(super) fn append_unread(world: &World, unread: &Unread<'_>) {
    let Some(folder) = &world.state else { return };
    let Unread { host, moment, judgement, answer, took } = unread;
    // As above.
    let _ = written(folder, |mask| {
        let moment = json!({
            "timestamp": jiff::Timestamp::now().to_string(),
            "host": host.map(|host| host.name),
            "moment": mask.text(moment.unwrap_or_default()),
        });
        with(moment, judged(judgement, answer, *took, mask)).to_string() + "\n"
    });
}

fn written(folder: &Path, text: impl FnOnce(&Mask) -> String) -> io::Result<()> {
    let path = folder.join(FILE);
    if fs::metadata(&path).is_ok_and(|about| about.len() > MAX_BYTES) {
        fs::rename(&path, folder.join(OLDER))?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let mut file = match options.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            options.open(&path)?
        }
        opened => opened?,
    };
    let mask = Mask::of_machine(folder)?;
    // In a single write, because other processes append to the same file.
    file.write_all(text(&mask).as_bytes())
}

fn text(line: &Line<'_>, mask: &Mask) -> String {
    let Line { event, judgement, answer, took } = line;
    let about = json!({
        "timestamp": event.happened.event["timestamp"],
        "host": event.host.name,
        "moment": event.moment.name,
        "point": event.happened.point.name,
        "project": event.project,
    });
    let short = with(about, judged(judgement, answer, *took, mask));
    let mut whole = short.clone();
    whole["event"] = mask.value(&event.happened.event);
    if let Some(args) = &judgement.tool_input {
        whole["rewritten_to"] = mask.value(args);
    }
    let whole = whole.to_string();
    // Each text is cut, but a tool result may consist of many texts.
    let line = if whole.len() > MAX_LINE { short.to_string() } else { whole };
    line + "\n"
}

/// Returns the decision and the answer.
fn judged(judgement: &Judgement, answer: &HostAnswer, took: Duration, mask: &Mask) -> Value {
    json!({
        "decision": judgement.decision,
        "reason": judgement.reason.as_deref().map(|text| mask.text(text)),
        "decided_by": judgement.decided_by,
        "continue": judgement.goes_on,
        "exit_code": answer.exit_code,
        "lost": answer.lost,
        "warnings": judgement.warnings.iter().map(|text| mask.text(text)).collect::<Vec<_>>(),
        "changed": changed(judgement),
        "took_us": u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
    })
}

/// Returns the names of the fields that hooks changed.
fn changed(judgement: &Judgement) -> Vec<&str> {
    let args = judgement.tool_input.is_some().then_some("args");
    let rest = judgement.effects.keys().map(String::as_str).filter(|field| !["stop", "shadow"].contains(field));
    args.into_iter().chain(rest).collect()
}

fn with(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

/// Texts up to this length are kept in full.
pub(super) const MAX_TEXT: usize = 2048;

/// Truncates a text, with a note about the missing bytes.
pub(super) fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    if end == text.len() { text.to_owned() } else { format!("{}… ({} bytes more)", &text[..end], text.len() - end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character_boundary() {
        let text = "ä".repeat(MAX_TEXT);
        assert!(cut(&text).len() < MAX_TEXT + 40);
        assert!(cut(&text).ends_with(&format!("({MAX_TEXT} bytes more)")));
        assert_eq!(cut("short"), "short");
    }
}
