//! What the model reads of a command: how it ended, what it printed, what else is worth knowing.

use super::{
    Bash,
    process::{Ended, How},
};

/// What stands before what a command wrote to stderr.
pub const STDERR: &str = "STDERR:\n";

/// The text, in this order: remarks on how it ran, a timeout or an exit code, stdout, stderr, remarks on what follows.
pub(super) fn text(
    bash: &Bash,
    ended: &Ended,
    limit: std::time::Duration,
    before: &[String],
    after: &[String],
) -> String {
    let mut parts: Vec<String> = before.iter().map(|remark| format!("[{remark}]")).collect();
    match &ended.how {
        How::TimedOut => parts.push(format!("timed out after {limit:?}; the command and all it started were ended")),
        How::Exited(status) if status.success() => {}
        How::Exited(status) => parts.push(match (status.code(), ended.how.code()) {
            (None, Some(code)) => format!("exit code: {code} ({status})"),
            (code, _) => format!("exit code: {}", code.unwrap_or_default()),
        }),
    }
    let stdout = ended.stdout.shown(bash.head_bytes, bash.tail_bytes);
    let stderr = ended.stderr.shown(bash.head_bytes, bash.tail_bytes);
    parts.extend(said(&stdout));
    parts.extend(said(&stderr).map(|stderr| format!("{STDERR}{stderr}")));
    if said(&stdout).is_none() && said(&stderr).is_none() {
        parts.push("(no output)".to_owned());
    }
    parts.extend(after.iter().map(|remark| format!("[{remark}]")));
    parts.join("\n")
}

fn said(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\n');
    (!text.is_empty()).then(|| text.to_owned())
}
