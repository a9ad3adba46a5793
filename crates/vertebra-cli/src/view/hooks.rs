//! What hooks did: which changed, asked, denied or failed, and why. Hooks that did nothing are not shown.

use std::{borrow::Cow, collections::HashSet};

use anstyle::Style;
use serde_json::Value;
use vertebra::{Change, Kind, Name, Point as _, PromptSubmit, Ran, Record, Trace};

use super::{
    rows::{DIM, PLAIN, RED, Row, YELLOW},
    text::{cut, on_one_line},
};

/// How many changes of a hook are shown.
const MAX_CHANGES: usize = 3;
/// The longest value that is shown.
const MAX_VALUE: usize = 60;
/// The longest reason that is shown.
const MAX_REASON: usize = 300;

/// A note about what a hook did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    style: Style,
    mark: &'static str,
    text: String,
}

impl Note {
    /// A question and its answer. The names of built-in hooks say nothing to a person.
    pub(crate) fn answered(asked_by: &str, reason: &str, answer: &str) -> Self {
        let by = if asked_by.contains('/') { String::new() } else { format!("{} ", on_one_line(asked_by)) };
        let text = format!("{by}asked: {} → {}", short(reason), short(answer));
        Self { style: YELLOW, mark: "?", text }
    }

    /// Returns the note as a row.
    pub(crate) fn row(&self) -> Row {
        Row::default().with(self.style, self.mark).with(DIM, " ").with(DIM, &*self.text)
    }
}

/// Returns what hooks did to a call. Denials and questions are shown with the result of the call.
pub(crate) fn of_call(record: &Record) -> Vec<Note> {
    record.hooks.iter().flat_map(|trace| of_hook(trace, Refusals::WithTheOutcome)).collect()
}

/// Which changes outside of tool calls have been shown.
#[derive(Debug, Default)]
pub(crate) struct Told(HashSet<(Name, Cow<'static, str>)>);

impl Told {
    /// Returns what hooks did. Built-in hooks change requests all the time and are not shown; other hooks that do so are
    /// shown once.
    pub(crate) fn notes(&mut self, record: &Record) -> Vec<Note> {
        let refusals = if record.point == PromptSubmit::NAME { Refusals::WithTheOutcome } else { Refusals::Here };
        let mut notes = Vec::new();
        for trace in &record.hooks {
            let known = |told: &mut HashSet<_>| !told.insert((trace.hook.clone(), record.point.clone()));
            let silent = !trace.changes.is_empty() && (is_built_in(trace) || known(&mut self.0));
            let trace = if silent { &Trace { changes: Vec::new(), ..trace.clone() } } else { trace };
            notes.extend(of_hook(trace, refusals));
        }
        notes
    }
}

/// Where a denial or a question is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusals {
    Here,
    /// With the outcome: the blocked call or the refused prompt.
    WithTheOutcome,
}

/// Built-in hooks that fill in a default or shorten a result: the call and its result show that already.
const SILENT: [&str; 4] = ["files/arguments", "files/folder", "files/here", "summary/"];

/// The hooks of capabilities are named after them, as in `files/seen`.
fn is_built_in(trace: &Trace) -> bool {
    trace.hook.contains('/')
}

fn of_hook(trace: &Trace, refusals: Refusals) -> Vec<Note> {
    let name = on_one_line(&trace.hook);
    let note = |style, mark, text| Note { style, mark, text };
    let because =
        |reason: &Option<String>| reason.as_deref().map(|why| format!(": {}", short(why))).unwrap_or_default();
    let mut notes = Vec::new();
    // Built-in hooks keep their state there.
    let is_own = |change: &&Change| {
        is_built_in(trace) && ["/metadata/", "/notes/"].iter().any(|books| change.path.starts_with(books))
    };
    let changed: Vec<&Change> = trace.changes.iter().filter(|change| !is_own(change)).collect();
    let is_silent = SILENT.iter().any(|name| trace.hook.starts_with(name));
    if !changed.is_empty() && trace.hook.starts_with("redaction/") {
        notes.push(note(YELLOW, "✎", "secrets are hidden from the model".to_owned()));
    } else if !changed.is_empty() && !is_silent {
        notes.push(note(YELLOW, "✎", format!("changed by {name}: {}", changes(&changed))));
    }
    notes.extend(match &trace.ran {
        Ran::Answered { verdict, reason } => {
            let why = because(reason);
            match verdict {
                // The closing line reports a stop.
                Kind::Proceed | Kind::Skip | Kind::Allow | Kind::Hold | Kind::Stop => None,
                // Built-in hooks send a notice.
                Kind::Retry if is_built_in(trace) => None,
                Kind::Deny | Kind::Ask if refusals == Refusals::WithTheOutcome => None,
                Kind::Deny => Some(note(RED, "⊘", format!("blocked by {name}{why}"))),
                Kind::Ask => Some(note(YELLOW, "?", format!("asked by {name}{why}"))),
                Kind::Replace => Some(note(YELLOW, "✎", format!("replaced by {name}"))),
                Kind::Recover => Some(note(YELLOW, "✎", format!("recovered by {name}"))),
                Kind::Retry => Some(note(YELLOW, "↻", format!("retried by {name}{why}"))),
                Kind::GoOn => Some(note(YELLOW, "↻", format!("continued by {name}{why}"))),
                Kind::Halt => Some(note(RED, "⊘", format!("halted by {name}{why}"))),
            }
        }
        Ran::Failed { failure, .. } => Some(note(RED, "!", format!("{name} {}", short(&failure.to_string())))),
        Ran::Dropped => Some(note(YELLOW, "!", format!("{name} missed this event"))),
        Ran::Skipped { .. } | Ran::Detached => None,
    });
    notes
}

/// Where a hook changed what.
fn changes(changes: &[&Change]) -> String {
    let mut shown: Vec<String> = changes.iter().take(MAX_CHANGES).map(|change| changed(change).paint(false)).collect();
    if let more @ 1.. = changes.len().saturating_sub(MAX_CHANGES) {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}

/// One change: `timeout_ms 5000`, or `timeout_ms 9000 → 5000`.
pub(crate) fn changed(Change { path, before, after }: &Change) -> Row {
    let place = path.strip_prefix("/args/").or_else(|| path.strip_prefix('/')).unwrap_or(path);
    let row = Row::default().with(PLAIN, on_one_line(place));
    match (before.as_ref(), after.as_ref()) {
        (None, Some(after)) => row.with(PLAIN, value(after).map(|after| format!(" {after}")).unwrap_or_default()),
        (Some(before), Some(after)) => match (value(before), value(after)) {
            (Some(before), Some(after)) => row.with(PLAIN, format!(" {before} → {after}")),
            _ => row,
        },
        (_, None) => row.with(PLAIN, " removed"),
    }
}

/// Returns a value that is short enough to be shown.
fn value(value: &Value) -> Option<String> {
    let text = match value {
        Value::Array(_) | Value::Object(_) => return None,
        Value::String(text) if text.len() > MAX_VALUE => return None,
        value => value.to_string(),
    };
    Some(on_one_line(&text))
}

fn short(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_REASON * 4)];
    cut(&on_one_line(text), MAX_REASON).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vertebra::{BeforeInference, Failure, FailurePolicy, Role};

    use super::*;

    fn trace(hook: &str, ran: Ran, changes: Vec<Change>) -> Trace {
        let (hook, role, took) = (hook.into(), Role::Hook, None);
        Trace { hook, role, ran, changes, took, shadow: false, account: None }
    }

    fn told(told: &mut Told, hook: &str, ran: Ran, changes: Vec<Change>) -> Vec<String> {
        let trace = trace(hook, ran, changes);
        let record = Record {
            point: BeforeInference::NAME.into(),
            hooks: vec![trace],
            verdict: Kind::Proceed,
            decided_by: None,
            reason: None,
            took: Duration::ZERO,
        };
        told.notes(&record).iter().map(|note| note.row().paint(false)).collect()
    }

    fn answered(verdict: Kind) -> Ran {
        Ran::Answered { verdict, reason: Some("because\u{1b}".to_owned()) }
    }

    #[test]
    fn hooks_that_did_something_are_named() {
        let failed = Ran::Failed {
            failure: Failure::Panic { message: "oh".to_owned() },
            policy: FailurePolicy::Open,
            verdict: Kind::Proceed,
            attempts: 1,
        };
        let cases = [
            (answered(Kind::Proceed), None),
            (answered(Kind::Allow), None),
            (answered(Kind::Deny), Some("⊘ blocked by mine: because⟨U+001B⟩")),
            (answered(Kind::GoOn), Some("↻ continued by mine: because⟨U+001B⟩")),
            (answered(Kind::Replace), Some("✎ replaced by mine")),
            (failed, Some("! mine panicked: oh")),
            (Ran::Detached, None),
            (Ran::Dropped, Some("! mine missed this event")),
        ];
        for (ran, expected) in cases {
            let seen = told(&mut Told::default(), "mine", ran.clone(), Vec::new());
            assert_eq!(seen.first().map(String::as_str), expected, "{ran:?}");
        }
    }

    #[test]
    fn a_default_that_a_built_in_hook_fills_in_is_not_reported() {
        let changes = |hook: &str, path: &str| {
            let change = Change { path: path.to_owned(), before: None, after: Some(".".into()) };
            of_hook(&trace(hook, answered(Kind::Proceed), vec![change]), Refusals::WithTheOutcome).len()
        };
        for (hook, path) in
            [("files/here", "/args/path"), ("files/folder", "/args/path"), ("summary/offload", "/result/output")]
        {
            assert_eq!(changes(hook, path), 0, "{hook}");
        }
        assert_eq!((changes("mine", "/args/path"), changes("pack/rewrites", "/args/path")), (1, 1));
        let change = Change { path: "/result/output".to_owned(), before: None, after: None };
        let hidden = of_hook(&trace("redaction/results", answered(Kind::Proceed), vec![change]), Refusals::Here);
        assert_eq!(hidden[0].row().paint(false), "✎ secrets are hidden from the model");
    }

    #[test]
    fn a_hook_that_changes_every_request_is_shown_once_and_built_in_hooks_never() {
        let change =
            |path: &str, after: Value| vec![Change { path: path.to_owned(), before: None, after: Some(after) }];
        let (mut mind, pass) = (Told::default(), || answered(Kind::Proceed));
        let long = change("/system_prompt", "x".repeat(100).into());
        assert_eq!(told(&mut mind, "mine", pass(), long.clone()), ["✎ changed by mine: system_prompt"]);
        assert!(told(&mut mind, "mine", pass(), long.clone()).is_empty());
        assert!(told(&mut mind, "summary/cheap", pass(), long).is_empty());
        let noted = change("/notes/step/permissions~1reads", true.into());
        assert!(of_hook(&trace("permissions/reads", pass(), noted), Refusals::Here).is_empty());
        assert_eq!(
            told(&mut mind, "other", pass(), change("/temperature", 1.into())),
            ["✎ changed by other: temperature 1"]
        );
    }
}
