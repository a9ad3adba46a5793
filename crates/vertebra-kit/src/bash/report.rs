//! What the model reads of a command: how it ended, what it printed, what else is worth knowing.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Bash,
    background::TOOL,
    capture::{Shown, Streams},
    process::How,
};

/// What stands before what a command wrote to stderr.
pub const STDERR: &str = "STDERR:\n";

/// What comes of a command for the model, and for whoever shows it.
pub(super) struct Report {
    pub(super) text: String,
    /// How much it printed, where all of that is, and which lines of the text it did not print.
    pub(super) output: Value,
}

/// Why a command ended.
pub(super) enum Why<'a> {
    Ended(&'a How, Duration),
    CutShort,
    /// It has not ended: it is in the background, under this id.
    GoesOn(&'a str),
    /// It was in the background.
    Stopped,
}

/// The text, in this order: remarks on how it ran, a timeout or an exit code, stdout, stderr, remarks on what follows.
pub(super) fn report(bash: &Bash, why: &Why<'_>, printed: &mut Streams, before: &[String], after: &[String]) -> Report {
    let mut parts: Vec<String> = before.iter().map(|remark| format!("[{remark}]")).collect();
    match why {
        Why::CutShort => parts.push("the command and all it started were ended".to_owned()),
        Why::Stopped => parts.push("stopped".to_owned()),
        Why::GoesOn(id) => {
            parts.push(format!("running in the background as `{id}`, until it is stopped with `{TOOL}`"));
        }
        Why::Ended(How::TimedOut, limit) => {
            parts.push(format!("timed out after {limit:?}; the command and all it started were ended"));
        }
        Why::Ended(How::Exited(status), _) if status.success() => {}
        Why::Ended(how @ How::Exited(status), _) => parts.push(match (status.code(), how.code()) {
            (None, Some(code)) => format!("exit code: {code} ({status})"),
            (code, _) => format!("exit code: {}", code.unwrap_or_default()),
        }),
    }
    let stdout = printed.stdout.shown(bash.head_bytes, bash.tail_bytes);
    let stderr = printed.stderr.shown(bash.head_bytes, bash.tail_bytes);
    parts.extend(said(&stdout));
    parts.extend(said(&stderr).map(|stderr| format!("{STDERR}{stderr}")));
    if said(&stdout).is_none() && said(&stderr).is_none() {
        parts.push("(no output)".to_owned());
    }
    let record = printed.record.record();
    let after: Vec<String> = record.remark.iter().chain(after).map(|remark| format!("[{remark}]")).collect();
    parts.extend(after.iter().cloned());
    let notes: Vec<String> = [stdout.notice, stderr.notice].into_iter().flatten().chain(after).collect();
    let file = record.file.map(|file| file.to_string_lossy().into_owned());
    let output = json!({ "bytes": record.bytes, "lines": record.lines, "file": file, "notes": notes });
    Report { text: parts.join("\n"), output }
}

fn said(shown: &Shown) -> Option<String> {
    let text = shown.text.trim_end_matches('\n');
    (!text.is_empty()).then(|| text.to_owned())
}
