//! One word for each thing that is counted, so that what is counted does not grow with what was said.

use serde::Serialize;
use vertebra::{Decision, Failure, Interrupted, ModelError, Purpose, Ran};

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

/// The class of a model's error, which the journal keeps in words: each class begins with words of its own.
pub(super) fn model_error(told: &str) -> String {
    let message = String::new;
    let known = [
        ModelError::Busy { message: message(), wait: None },
        ModelError::Rejected { message: message() },
        ModelError::TooLong { message: message() },
        ModelError::Unauthorised { message: message() },
        ModelError::Network { message: message() },
        ModelError::Broken { message: message() },
    ];
    match known.iter().find(|error| told.starts_with(&error.to_string())) {
        Some(error) => of(&error.class()),
        None if told == Interrupted::Cancelled.to_string() => "cancelled".to_owned(),
        None => "_OTHER".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_error_is_counted_by_its_class_whatever_it_says() {
        let told = ModelError::TooLong { message: "model is busy: 10 of 5".to_owned() }.to_string();
        assert_eq!(model_error(&told), "too_long");
        assert_eq!(model_error(&Interrupted::Cancelled.to_string()), "cancelled");
        assert_eq!(model_error("the model's driver panicked"), "_OTHER");
    }
}
