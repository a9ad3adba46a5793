//! Hooks in words, for people.

use serde_json::Value;
use vertebra::{Matcher, Test};

use super::PolicyHook;
use crate::{settings::Action, trust::does, wire::Reply};

impl PolicyHook {
    /// When it runs: `tool bash, command \brm\b`.
    pub fn when(&self) -> String {
        self.settings.stand.matcher.as_ref().map_or_else(|| "always".to_owned(), when)
    }

    /// What it does: `denies: force is for humans`.
    pub fn does(&self) -> String {
        let what = match &self.settings.action {
            Action::Say(reply) => says(reply),
            Action::Run(run) => does(run).0,
        };
        if self.settings.stand.shadow { format!("stands beside: {what}") } else { what }
    }
}

fn when(matcher: &Matcher) -> String {
    let several = |inner: &[Matcher], word: &str| {
        let inner: Vec<String> = inner.iter().map(when).collect();
        inner.join(word)
    };
    match matcher {
        Matcher::Tool(pattern) => format!("tool {pattern}"),
        Matcher::Path(glob) => format!("path {glob}"),
        Matcher::Command(pattern) => format!("command {pattern}"),
        Matcher::Session(id) => format!("session {id}"),
        Matcher::Agent(name) => format!("agent {name}"),
        Matcher::Step(kind) => format!("step {kind}"),
        Matcher::Metadata { key, is } => format!("metadata {key} {}", holds(is)),
        Matcher::Args { at, is } => format!("args {at} {}", holds(is)),
        Matcher::All(inner) => several(inner, ", "),
        Matcher::Any(inner) => format!("({})", several(inner, " or ")),
        Matcher::Not(inner) => format!("not ({})", when(inner)),
    }
}

fn holds(test: &Test) -> String {
    match test {
        Test::Exists => "exists".to_owned(),
        Test::Equals(value) => format!("is {value}"),
        Test::Matches(pattern) => format!("matches {pattern}"),
    }
}

fn says(reply: &Reply) -> String {
    let field = |key: &str| reply.verdict.as_ref().and_then(|verdict| verdict.get(key));
    let text = |key| field(key).and_then(Value::as_str).unwrap_or_default();
    let verdict = field("verdict").map(|_| match text("verdict") {
        "deny" => format!("denies: {}", text("reason")),
        "ask" => format!("asks: {}", text("reason")),
        "stop" => format!("stops: {}", text("reason")),
        "halt" => format!("halts: {}", text("reason")),
        "go_on" => format!("goes on: {}", text("instruction")),
        "allow" => "allows".to_owned(),
        "retry" => format!("retries after {} ms", field("after_ms").unwrap_or(&Value::Null)),
        other => other.to_owned(),
    });
    let set = reply.set.as_ref().map(|with| format!("sets {with}"));
    let patch = reply.patch.as_ref().map(|with| format!("patches {with}"));
    let context = (!reply.context.is_empty()).then(|| format!("tells the model: {}", reply.context.join(" / ")));
    let parts: Vec<String> = [verdict, set, patch, context].into_iter().flatten().collect();
    parts.join("; ")
}
