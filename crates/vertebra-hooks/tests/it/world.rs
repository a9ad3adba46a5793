//! A little world to hang hooks into: a call that can be refused, an end that can be put off, a notice nobody decides.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vertebra_hooks::{
    Attribute, AttributeValue, Bare, Change, Commands, Event, Frame, HookSet, Hooks, Match, Matcher, Notes, Operation,
    Outcome, PatternKind, Point, Ran, Record, Registration, Retries, Skipped, State, Test, Trace, verdict,
};

/// Somebody is about to call a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) aliases: Vec<Arc<str>>,
    pub(crate) command: Option<String>,
    pub(crate) commands: Vec<String>,
    pub(crate) further: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) args: Value,
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) step: Option<String>,
}

impl Event for Call {
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        match key {
            "tool" => Some(AttributeValue::Names(&self.tool, &self.aliases)),
            "command" => Some(AttributeValue::Commands(Box::new(Commands {
                line: self.command.as_deref().map(Cow::Borrowed),
                simple: texts(&self.commands),
                further: texts(&self.further),
            }))),
            "path" => Some(AttributeValue::Texts(texts(&self.paths))),
            "args" => Some(AttributeValue::Json(Cow::Borrowed(&self.args))),
            "session" => self.session.as_deref().map(AttributeValue::Text),
            "agent" => self.agent.as_deref().map(AttributeValue::Text),
            "step" => self.step.as_deref().map(AttributeValue::Text),
            _ => None,
        }
    }
}

fn texts(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| Cow::Borrowed(&**text)).collect()
}

/// The attributes of calls: one of each kind, and more.
pub(crate) const CALL: &[Attribute] = &[
    Attribute { key: "tool", kind: PatternKind::Name },
    Attribute { key: "path", kind: PatternKind::Glob },
    Attribute { key: "command", kind: PatternKind::Regex },
    Attribute { key: "args", kind: PatternKind::Json },
    Attribute { key: "session", kind: PatternKind::Exact },
    Attribute { key: "agent", kind: PatternKind::Word },
    Attribute { key: "step", kind: PatternKind::Word },
];

macro_rules! match_call {
    ($($attribute:ident),*) => {
        /// Matchers on the attributes of calls.
        pub(crate) trait MatchCall: Match {
            $(fn $attribute(self, pattern: impl Into<String>) -> Registration<Self::Point, Self::Roles> {
                self.matching(Matcher::attribute(stringify!($attribute), pattern))
            })*

            fn arg(self, pointer: impl Into<String>, is: Test) -> Registration<Self::Point, Self::Roles> {
                self.matching(Matcher::inside("args", pointer, is))
            }
        }

        impl<S: Match> MatchCall for S {}
    };
}

match_call!(tool, path, command, session, agent, step);

pub(crate) fn call(tool: &str) -> Call {
    Call { tool: tool.to_owned(), ..Call::default() }
}

/// What outlives a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Desk {
    pub(crate) notes: Notes,
    pub(crate) metadata: BTreeMap<String, Value>,
}

impl State for Desk {
    /// Who calls.
    type Scope = &'static str;

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn notes_mut(&mut self) -> &mut Notes {
        &mut self.notes
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    fn changes(&self, after: &Self) -> Vec<Change> {
        let differs = |(key, _): &(&String, &Value)| self.metadata.get(*key) != after.metadata.get(*key);
        let change = |(key, now): (&String, &Value)| Change {
            path: format!("/metadata/{key}"),
            before: self.metadata.get(key).cloned(),
            after: Some(now.clone()),
        };
        let mut changes = self.notes.changes(&after.notes);
        changes.extend(after.metadata.iter().filter(differs).map(change));
        changes
    }
}

verdict! {
    /// What may be said before a call.
    pub(crate) enum CallVerdict { allow, ask, deny, retry, replace(String), stop }
}

verdict! {
    /// What may be said at the end.
    pub(crate) enum EndVerdict { stop, go_on }
}

verdict! {
    /// What may be said to a notice: nothing.
    pub(crate) enum NoticeVerdict {}
}

/// Before a call: everything is still possible.
#[derive(Clone, Copy)]
pub(crate) struct Calling;

impl Point for Calling {
    const NAME: &'static str = "Calling";
    type Event = Call;
    type State = Desk;
    type Verdict = CallVerdict;
    const ATTRIBUTES: &'static [Attribute] = CALL;
}

/// A line of text that somebody reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) text: String,
}

impl Event for Line {}

/// About to end: stop or go on, but nothing is left to deny.
#[derive(Clone, Copy)]
pub(crate) struct Ending;

impl Point for Ending {
    const NAME: &'static str = "Ending";
    type Event = Line;
    type State = Bare;
    type Verdict = EndVerdict;
}

/// Something to read, and nothing to decide.
#[derive(Clone, Copy)]
pub(crate) struct Noticing;

impl Point for Noticing {
    const NAME: &'static str = "Noticing";
    type Event = Line;
    type State = Bare;
    type Verdict = NoticeVerdict;
}

/// The call as a whole.
#[derive(Clone, Copy)]
pub(crate) struct Doing;

impl Operation for Doing {
    const NAME: &'static str = "Doing";
    type Event = Call;
    type State = Desk;
    type Output = String;
}

/// One dispatch and what it left.
pub(crate) struct Fired {
    pub(crate) outcome: Outcome<Calling>,
    pub(crate) call: Call,
    pub(crate) desk: Desk,
}

impl Fired {
    pub(crate) fn story(&self) -> Vec<String> {
        story(&self.outcome.record())
    }
}

pub(crate) fn hooks(set: HookSet) -> Hooks {
    Hooks::new(set).expect("these hooks can be registered")
}

pub(crate) async fn fire(hooks: &Hooks, call: Call) -> Fired {
    fire_at(hooks, call, Desk::default(), Retries::Allowed).await
}

pub(crate) async fn fire_at(hooks: &Hooks, mut call: Call, mut desk: Desk, retries: Retries) -> Fired {
    let frame = Frame { event: &mut call, state: &mut desk, scope: &"somebody", retries };
    let outcome = hooks.dispatch(Calling, frame).await;
    Fired { outcome, call, desk }
}

/// Fires a call at these hooks and compares what the record tells.
#[track_caller]
pub(crate) fn check<const N: usize>(
    set: HookSet,
    call: Call,
    expected: [&'static str; N],
) -> impl Future<Output = Fired> {
    let hooks = hooks(set);
    let at = std::panic::Location::caller();
    async move {
        let fired = fire(&hooks, call).await;
        assert_eq!(fired.story(), expected, "at {at}");
        fired
    }
}

/// A record as lines: one per hook, then the decision.
pub(crate) fn story(record: &Record) -> Vec<String> {
    let mut lines: Vec<_> = record.hooks.iter().map(line).collect();
    lines.push(format!("= {record}"));
    lines
}

fn line(trace: &Trace) -> String {
    let what = match &trace.ran {
        Ran::Answered { verdict, reason: Some(reason) } => format!("{verdict}: {reason}"),
        Ran::Answered { verdict, reason: None } => verdict.to_string(),
        Ran::Failed { failure, verdict, attempts: 1, .. } => format!("{failure}, so {verdict}"),
        Ran::Failed { failure, verdict, attempts, .. } => format!("{failure}, {attempts} times, so {verdict}"),
        Ran::Skipped { why: Skipped::Disabled } => "is switched off".to_owned(),
        Ran::Skipped { why: Skipped::Ended { by, verdict } } => format!("not run, because {by} {verdict}"),
        Ran::Skipped { why } => format!("not run: {why:?}"),
        Ran::Detached => "runs behind".to_owned(),
        Ran::Dropped => "was dropped".to_owned(),
    };
    let json = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    let change = |change: &Change| format!("; {} {} → {}", change.path, json(&change.before), json(&change.after));
    format!("{} {what}{}", trace.hook, trace.changes.iter().map(change).collect::<String>())
}

/// What hooks saw, in the order they saw it.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub(crate) fn add(&self, what: impl Into<String>) {
        self.0.lock().expect("nobody panics while holding it").push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics while holding it").clone()
    }
}
