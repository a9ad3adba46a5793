//! What a handler answers: its JSON, checked against what its event allows.

use serde_json::{Map, Value};

use super::event::Event;

/// What a handler wrote.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Written {
    /// Nothing but blanks.
    Nothing,
    /// Text.
    Text(String),
    /// An answer.
    Answer(Box<Output>),
    /// JSON that is no answer, and why.
    Invalid(String),
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Output {
    /// Whether everything stops, and what the person is told about it.
    pub(super) stops: bool,
    pub(super) stop_reason: Option<String>,
    pub(super) system_message: Option<String>,
    pub(super) terminal_sequence: Option<String>,
    /// `approve` or `block`.
    pub(super) decision: Option<&'static str>,
    pub(super) reason: Option<String>,
    /// What stands in `hookSpecificOutput`.
    pub(super) specific: Map<String, Value>,
}

/// What a field may hold.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Flag,
    Object,
    Texts,
    Any,
    OneOf(&'static [&'static str]),
    Decision,
    PermissionUpdates,
}

impl Written {
    /// JSON is what begins with `{`, ends with `}` and is JSON; all else is text.
    pub(super) fn read(stdout: &str, event: &Event) -> Self {
        let text = stdout.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
        if text.is_empty() {
            return Self::Nothing;
        }
        let value = (text.starts_with('{') && text.ends_with('}')).then(|| {
            serde_json::from_str::<Value>(text).or_else(|error| serde_json::from_str(&paired(text)).map_err(|_| error))
        });
        match value {
            Some(Ok(Value::Object(object))) => match Output::read(&object, event) {
                Ok(output) => Self::Answer(Box::new(output)),
                Err(error) => Self::Invalid(error),
            },
            // What JavaScript reads and we do not is an answer that is lost, and that is told.
            Some(Err(error))
                if ["number out of range", "recursion limit"].iter().any(|of| error.to_string().starts_with(of)) =>
            {
                Self::Invalid(format!("the answer cannot be read: {error}"))
            }
            _ => Self::Text(text.to_owned()),
        }
    }
}

/// JSON whose `\u` escapes are all letters: half of a pair, which JavaScript takes, becomes a replacement character.
fn paired(text: &str) -> String {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let length = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                whole.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            Some(_) => 6,
            // Another escape, of which the second letter may be a backslash too.
            None => escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at),
        };
        whole.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    whole + rest
}

const TOP: &[(&str, Shape)] = &[
    ("continue", Shape::Flag),
    ("stopReason", Shape::Text),
    ("suppressOutput", Shape::Flag),
    ("systemMessage", Shape::Text),
    ("terminalSequence", Shape::Text),
    ("decision", Shape::OneOf(&["approve", "block"])),
    ("reason", Shape::Text),
];

/// What `hookSpecificOutput` may hold at each event; what is not listed is not looked at.
fn shapes(event: &Event) -> &'static [(&'static str, Shape)] {
    use Shape::{Any, Decision, Flag, Object, OneOf, Text, Texts};
    match event.name {
        "PreToolUse" => &[
            ("permissionDecision", OneOf(&["allow", "deny", "ask", "defer"])),
            ("permissionDecisionReason", Text),
            ("updatedInput", Object),
            ("additionalContext", Text),
        ],
        "PreModelSwitch" => {
            &[("permissionDecision", OneOf(&["allow", "deny", "ask"])), ("permissionDecisionReason", Text)]
        }
        "PermissionRequest" => &[("decision", Decision)],
        "PermissionDenied" => &[("retry", Flag)],
        "PostToolUse" => &[
            ("additionalContext", Text),
            ("updatedToolOutput", Any),
            ("updatedMCPToolOutput", Any),
            ("classifierContext", Text),
        ],
        "SessionStart" => &[
            ("additionalContext", Text),
            ("initialUserMessage", Text),
            ("sessionTitle", Text),
            ("watchPaths", Texts),
            ("reloadSkills", Flag),
        ],
        "UserPromptSubmit" => &[("additionalContext", Text), ("sessionTitle", Text), ("suppressOriginalPrompt", Flag)],
        "UserPromptExpansion"
        | "PostToolUseFailure"
        | "PostToolBatch"
        | "SubagentStart"
        | "SubagentStop"
        | "Stop"
        | "PostModelSwitch" => &[("additionalContext", Text)],
        "MessageDisplay" => &[("displayContent", Text)],
        "CwdChanged" | "FileChanged" => &[("watchPaths", Texts)],
        "WorktreeCreate" => &[("worktreePath", Text)],
        "Elicitation" | "ElicitationResult" => {
            &[("action", OneOf(&["accept", "decline", "cancel"])), ("content", Object)]
        }
        _ => &[],
    }
}

impl Output {
    fn read(object: &Map<String, Value>, event: &Event) -> Result<Self, String> {
        check(object, TOP, "")?;
        let specific = match object.get("hookSpecificOutput") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(specific)) => {
                match specific.get("hookEventName") {
                    Some(Value::String(name)) if name == event.name => {}
                    Some(Value::String(name)) => {
                        return Err(format!(
                            "hookSpecificOutput.hookEventName is `{name}`, and this is {}",
                            event.name
                        ));
                    }
                    _ => return Err("hookSpecificOutput needs hookEventName".to_owned()),
                }
                check(specific, shapes(event), "hookSpecificOutput.")?;
                let known = |key: &str| shapes(event).iter().any(|(name, _)| *name == key);
                specific.iter().filter(|(key, value)| known(key) && !value.is_null()).map(pair).collect()
            }
            Some(_) => return Err("hookSpecificOutput is an object".to_owned()),
        };
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            stops: object.get("continue") == Some(&Value::Bool(false)),
            stop_reason: text("stopReason"),
            system_message: text("systemMessage"),
            terminal_sequence: text("terminalSequence").filter(|sequence| is_harmless(sequence)),
            decision: match object.get("decision").and_then(Value::as_str) {
                Some("block") => Some("block"),
                Some(_) => Some("approve"),
                None => None,
            },
            reason: text("reason"),
            specific,
        })
    }

    /// A text that the event knows.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.specific.get(key)?.as_str()
    }
}

/// Whether a sequence does nothing to a terminal but name its window, notify and ring: OSC 0, 1, 2, 9, 99, 777, and BEL.
fn is_harmless(sequence: &str) -> bool {
    let mut rest = sequence;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('\u{7}') {
            rest = after;
            continue;
        }
        let Some(body) = rest.strip_prefix("\u{1b}]") else { return false };
        let Some(end) = body.find(['\u{7}', '\u{1b}']) else { return false };
        let number = body[..end].split(';').next().unwrap_or_default();
        if !matches!(number, "0" | "1" | "2" | "9" | "99" | "777") || body[..end].chars().any(char::is_control) {
            return false;
        }
        let Some(after) = body[end..].strip_prefix('\u{7}').or_else(|| body[end..].strip_prefix("\u{1b}\\")) else {
            return false;
        };
        rest = after;
    }
    true
}

/// Whether a value changes permissions in a way that there is.
fn is_permission_update(update: &Value) -> bool {
    let is_one_of = |value: &Value, words: &[&str]| value.as_str().is_some_and(|word| words.contains(&word));
    let is_rule = |rule: &Value| rule["toolName"].is_string();
    let destinations = ["session", "localSettings", "projectSettings", "userSettings"];
    let fits = match update["type"].as_str() {
        Some("addRules" | "replaceRules" | "removeRules") => {
            update["rules"].as_array().is_some_and(|rules| rules.iter().all(is_rule))
                && is_one_of(&update["behavior"], &["allow", "ask", "deny"])
        }
        Some("setMode") => update["mode"].is_string(),
        Some("addDirectories" | "removeDirectories") => update["directories"].is_array(),
        _ => false,
    };
    fits && (update["destination"].is_null() || is_one_of(&update["destination"], &destinations))
}

fn pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn check(object: &Map<String, Value>, shapes: &[(&str, Shape)], place: &str) -> Result<(), String> {
    for (key, shape) in shapes {
        match object.get(*key) {
            None | Some(Value::Null) => {}
            Some(value) => shape.check(value).map_err(|expected| format!("{place}{key} is {expected}"))?,
        }
    }
    Ok(())
}

impl Shape {
    fn check(self, value: &Value) -> Result<(), String> {
        let is = |fits: bool, expected: &str| if fits { Ok(()) } else { Err(expected.to_owned()) };
        match self {
            Self::Text => is(value.is_string(), "a text"),
            Self::Flag => is(value.is_boolean(), "true or false"),
            Self::Object => is(value.is_object(), "an object"),
            Self::Texts => {
                is(value.as_array().is_some_and(|list| list.iter().all(Value::is_string)), "a list of texts")
            }
            Self::Any => Ok(()),
            Self::OneOf(words) => {
                is(value.as_str().is_some_and(|word| words.contains(&word)), &format!("one of {}", words.join(", ")))
            }
            Self::Decision => {
                let object = value.as_object().ok_or("an object")?;
                if object.get("behavior").is_none_or(Value::is_null) {
                    return Err("an object with `behavior`".to_owned());
                }
                let shapes = [
                    ("behavior", Self::OneOf(&["allow", "deny"])),
                    ("updatedInput", Self::Object),
                    ("updatedPermissions", Self::PermissionUpdates),
                    ("message", Self::Text),
                    ("interrupt", Self::Flag),
                ];
                check(object, &shapes, "decision.")
            }
            Self::PermissionUpdates => {
                let list = value.as_array().ok_or("a list")?;
                is(list.iter().all(is_permission_update), "a list of permission updates")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: &str, stdout: &str) -> Written {
        Written::read(stdout, Event::named(event).expect("an event"))
    }

    #[test]
    fn only_a_whole_object_is_an_answer() {
        for text in ["plain", "[{}]", "{\"a\": ", "Shell ready\n{}", "{}\ndone", "{a}", "\"{}\""] {
            assert!(matches!(read("PreToolUse", text), Written::Text(_)), "{text}");
        }
        for blank in ["", " \n\t"] {
            assert_eq!(read("PreToolUse", blank), Written::Nothing);
        }
        for answer in ["{}", " \n{\"unknown\": 1}\n"] {
            assert!(matches!(read("PreToolUse", answer), Written::Answer(_)), "{answer}");
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_its_event_is_none() {
        let cases = [
            ("PreToolUse", r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#, "needs hookEventName"),
            (
                "PostToolUse",
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#,
                "hookEventName is `PreToolUse`",
            ),
            (
                "PreToolUse",
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"maybe"}}"#,
                "permissionDecision is one of allow, deny, ask, defer",
            ),
            ("PreToolUse", r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":"x"}}"#, "an object"),
            ("Stop", r#"{"decision":"deny"}"#, "decision is one of approve, block"),
            ("Stop", r#"{"continue":"no"}"#, "continue is true or false"),
            (
                "PermissionRequest",
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"message":"x"}}}"#,
                "an object with `behavior`",
            ),
            ("SessionStart", r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","watchPaths":[1]}}"#, "texts"),
        ];
        for (event, text, expected) in cases {
            match read(event, text) {
                Written::Invalid(error) => assert!(error.contains(expected), "{error}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_the_event_does_not_know_is_not_looked_at() {
        let text = r#"{"additionalContext":"C","permissionDecision":"deny","feedback":1,
            "hookSpecificOutput":{"hookEventName":"PreToolUse","other":1,"additionalContext":null}}"#;
        assert_eq!(read("PreToolUse", text), Written::Answer(Box::default()));
    }
}
