//! What went wrong, as one of the classes that callers treat differently.

use std::{error::Error, time::Duration};

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;
use vertebra::ModelError;

use crate::Secret;

/// How much of a provider's words an error carries.
const MESSAGE_CHARS: usize = 1000;

/// Longer than that nobody waits; a provider that says so means something else.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// How providers say that the conversation is too long.
const TOO_LONG: [&str; 16] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context limit",
    "context size",
    "exceed_context_size",
    "prompt is too long",
    "prompt too long",
    "maximum prompt length",
    "input is too long",
    "input length",
    "input token count",
    "too many tokens",
    "reduce the length",
    "request_too_large",
    "string_above_max_length",
];

/// How providers say that the key is wrong, where their status does not.
const UNAUTHORISED: [&str; 5] =
    ["api_key_invalid", "api key not valid", "invalid_api_key", "authentication_error", "permission_error"];

/// How providers say that waiting helps, where their status does not.
const BUSY: [&str; 9] = [
    "overloaded",
    "rate_limit",
    "rate limit",
    "too many requests",
    "server_error",
    "api_error",
    "timeout_error",
    "unavailable",
    "internal",
];

/// How providers say that waiting does not help, although their status says so.
const SPENT: [&str; 2] = ["insufficient_quota", "billing_hard_limit"];

pub(super) fn broken(message: String) -> ModelError {
    ModelError::Broken { message }
}

pub(super) fn network(message: String) -> ModelError {
    ModelError::Network { message }
}

/// An answer with a status that is no success.
pub(super) fn of_status(status: StatusCode, headers: &HeaderMap, body: &[u8], key: Option<&Secret>) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let said = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
    let words = match words(&said) {
        Some(words) => words,
        None if looks_like_a_page(&text) => String::new(),
        None => text.trim().to_owned(),
    };
    let reason = status.canonical_reason().unwrap_or_default();
    let message = [format!("{} {reason}", status.as_u16()).trim().to_owned(), words];
    let message = message.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    let request = request_id(headers).map(|id| format!(" (request {id})")).unwrap_or_default();
    let message = format!("{}{}", shown(&message, key), shown(&request, key));
    let code = status.as_u16();
    let text = text.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    match code {
        401 | 403 => ModelError::Unauthorised { message },
        413 => ModelError::TooLong { message },
        400 | 404 | 422 if says(&UNAUTHORISED) => ModelError::Unauthorised { message },
        400 | 422 | 500 if says(&TOO_LONG) => ModelError::TooLong { message },
        429 if says(&SPENT) => ModelError::Rejected { message },
        408 | 409 | 425 | 429 | 500.. => ModelError::Busy { message, wait: wait(headers, &said) },
        _ => ModelError::Rejected { message },
    }
}

/// An error that came as an event in an answer that had begun well.
pub(super) fn of_event(error: &Value, key: Option<&Secret>) -> ModelError {
    let words = words(error).unwrap_or_else(|| error.to_string());
    let kinds =
        ["type", "code", "status"].iter().filter_map(|field| error[*field].as_str()).filter(|kind| *kind != "error");
    let kind = kinds.collect::<Vec<_>>().join(" ");
    let message = shown(&if kind.is_empty() { words } else { format!("{kind}: {words}") }, key);
    let text = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let busy = |message| ModelError::Busy { message, wait: wait(&HeaderMap::new(), error) };
    match error["code"].as_u64() {
        Some(401 | 403) => ModelError::Unauthorised { message },
        _ if says(&SPENT) => ModelError::Rejected { message },
        // Too many tokens for this minute are not too many for the model.
        Some(408 | 429) => busy(message),
        _ if says(&TOO_LONG) => ModelError::TooLong { message },
        Some(500..) => busy(message),
        _ if says(&UNAUTHORISED) => ModelError::Unauthorised { message },
        _ if error["blockReason"].is_string() || says(&["invalid_request"]) => ModelError::Rejected { message },
        _ if says(&BUSY) => busy(message),
        Some(400..500) => ModelError::Rejected { message },
        _ => ModelError::Broken { message },
    }
}

/// The provider was not reached, or was lost before it answered.
pub(super) fn of_network(error: &reqwest::Error, key: Option<&Secret>) -> ModelError {
    network(shown(&chain(error), key))
}

/// The answer was lost on its way.
pub(super) fn of_body(error: &reqwest::Error, key: Option<&Secret>) -> ModelError {
    broken(shown(&chain(error), key))
}

/// `genai` could not make a request, or could not read an event.
pub(super) fn of_genai(error: &genai::Error, key: Option<&Secret>) -> ModelError {
    use genai::Error as E;
    let message = shown(&error.to_string(), key);
    match error {
        E::StreamParse { .. } | E::WebStream { .. } | E::ChatResponse { .. } | E::JsonValueExt(_) | E::SerdeJson(_) => {
            ModelError::Broken { message }
        }
        _ => ModelError::Rejected { message },
    }
}

/// The provider's name for a request, in whatever header it stands.
pub(super) fn request_id(headers: &HeaderMap) -> Option<&str> {
    const NAMES: [&str; 5] = ["request-id", "x-request-id", "x-goog-request-id", "x-amzn-requestid", "cf-ray"];
    NAMES.iter().find_map(|name| headers.get(*name)?.to_str().ok())
}

/// A chain of causes, without the URL, which may hold what is not for everybody.
fn chain(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut cause: Option<&dyn Error> = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if words.last() != Some(&text) {
            words.push(text);
        }
        cause = error.source();
    }
    if words.is_empty() {
        if error.is_timeout() { "timed out".to_owned() } else { "no connection".to_owned() }
    } else {
        words.join(": ")
    }
}

/// What an error says, wherever this provider says it.
fn words(body: &Value) -> Option<String> {
    let paths =
        ["/error/message", "/message", "/error/error/message", "/detail", "/error", "/0/error/message", "/blockReason"];
    let said = paths.iter().find_map(|path| body.pointer(path)?.as_str());
    // OpenRouter passes on what the provider behind it said.
    let behind = ["/error/metadata/raw", "/metadata/raw"].iter().find_map(|path| body.pointer(path)?.as_str());
    said.map(|said| behind.map_or_else(|| said.to_owned(), |behind| format!("{said}: {behind}")))
}

fn looks_like_a_page(text: &str) -> bool {
    let start = text.trim_start().get(..9).unwrap_or_default().to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html")
}

/// A text for people: without the key, on one line, and no longer than needed.
fn shown(text: &str, key: Option<&Secret>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| key.scrub(text));
    let mut letters = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let mut shown: String = letters.by_ref().take(MESSAGE_CHARS).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// How long to wait, if they say: milliseconds, seconds, a date, or a duration in the body.
fn wait(headers: &HeaderMap, body: &Value) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = header("retry-after-ms").and_then(seconds).map(|seconds| seconds / 1000.0);
    let after = || header("retry-after").and_then(|text| seconds(text).or_else(|| until(text)));
    let seconds = millis.or_else(after).or_else(|| delay(body))?;
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(LONGEST_WAIT))
}

fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
}

fn until(date: &str) -> Option<f64> {
    let at = DateTimeParser::new().parse_timestamp(date).ok()?;
    Some(at.duration_since(Timestamp::now()).as_secs_f64().max(0.0))
}

/// Google's `RetryInfo`: `"retryDelay": "23.5s"`.
fn delay(body: &Value) -> Option<f64> {
    let details = body.pointer("/error/details").or_else(|| body.get("details"))?.as_array()?;
    details.iter().find_map(|detail| seconds(detail["retryDelay"].as_str()?.strip_suffix('s')?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vertebra::ErrorClass::{Broken, ModelBusy, ModelRejected, TooLong, Unauthorised};

    use super::*;

    #[test]
    fn an_error_within_an_answer_is_asked_again_only_if_that_can_help() {
        for (error, class) in [
            (json!({ "code": 429, "message": "too many tokens for this minute" }), ModelBusy),
            (json!({ "code": 429, "type": "insufficient_quota", "message": "pay first" }), ModelRejected),
            (json!({ "code": 502, "message": "bad gateway" }), ModelBusy),
            (json!({ "code": 500, "message": "the input length exceeds the context length" }), TooLong),
            (json!({ "code": 401, "message": "overloaded" }), Unauthorised),
            (json!({ "code": 400, "message": "no such model" }), ModelRejected),
            (json!({ "type": "invalid_request_error", "message": "`internal` is no role" }), ModelRejected),
            (json!({ "type": "overloaded_error", "message": "Overloaded" }), ModelBusy),
            (json!("it is what it is"), Broken),
        ] {
            assert_eq!(of_event(&error, None).class(), class, "{error}");
        }
    }
}
