//! One word for each thing that is counted, so that what is counted does not grow with what was said.

use serde::Serialize;
use vertebra::{Decision, Failure, Purpose, Ran};

/// The word in which something is written down everywhere else.
pub(super) fn of(value: &impl Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    word.as_ref().and_then(|word| word.as_str()).unwrap_or("_OTHER").to_owned()
}

pub(super) fn failure(failure: &Failure) -> &'static str {
    match failure {
        Failure::Error { .. } => "error",
        Failure::Panic { .. } => "panic",
        Failure::Timeout { .. } => "timeout",
        Failure::RetriesExhausted => "retries_exhausted",
    }
}

pub(super) fn ran(ran: &Ran) -> &'static str {
    match ran {
        Ran::Answered { .. } => "answered",
        Ran::Failed { .. } => "failed",
        Ran::Skipped { .. } => "skipped",
        Ran::Detached => "detached",
        Ran::Dropped => "dropped",
    }
}

pub(super) fn decision(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approve { .. } => "approve",
        Decision::Deny { .. } => "deny",
        Decision::Later => "later",
        Decision::Edit { .. } => "edit",
    }
}

pub(super) fn purpose(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Step => "step".to_owned(),
        Purpose::Capability(name) => name.to_string(),
    }
}
