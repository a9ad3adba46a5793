//! Descriptions of hooks, for display.

use serde_json::Value;
use vertebra::{Matcher, Test};

use super::PolicyHook;
use crate::{settings::Action, trust::does, wire::Reply};

impl PolicyHook {
    /// Describes when it runs: `tool bash, command \brm\b`.
    pub fn when(&self) -> String {
        self.settings.stand.matcher.as_ref().map_or_else(|| "always".to_owned(), when)
    }

    /// Describes what it does: `denies: force is for humans`, or in shadow `shadow: would deny: force is for humans`.
    pub fn does(&self) -> String {
        let shadow = self.settings.stand.shadow;
        match &self.settings.action {
            Action::Say(reply) if shadow => format!("shadow: would {}", says(reply, Form::Infinitive)),
            Action::Say(reply) => says(reply, Form::Present),
            Action::Run(run) if shadow => format!("shadow: {}", does(run).0),
            Action::Run(run) => does(run).0,
        }
    }
}

fn when(matcher: &Matcher) -> String {
    let several = |inner: &[Matcher], word: &str| {
        let inner: Vec<String> = inner.iter().map(when).collect();
        inner.join(word)
    };
    match matcher {
        Matcher::Attribute { key, pattern } => format!("{key} {pattern}"),
        Matcher::Metadata { key, is } => format!("metadata {key} {}", holds(is)),
        Matcher::Inside { key, at, is } => format!("{key} {at} {}", holds(is)),
        Matcher::All(inner) => several(inner, ", "),
        Matcher::Any(inner) => format!("({})", several(inner, " or ")),
        Matcher::Not(inner) => format!("not ({})", when(inner)),
        Matcher::Every(inner) => when(inner),
    }
}

fn holds(test: &Test) -> String {
    match test {
        Test::Exists => "exists".to_owned(),
        Test::Equals(value) => format!("is {value}"),
        Test::Matches(pattern) => format!("matches {pattern}"),
    }
}

/// The grammatical form of the verbs in a description.
#[derive(Clone, Copy)]
enum Form {
    /// `denies`.
    Present,
    /// `deny`, after `would`.
    Infinitive,
}

fn says(reply: &Reply, form: Form) -> String {
    let verb = |present: &'static str, infinitive: &'static str| match form {
        Form::Present => present,
        Form::Infinitive => infinitive,
    };
    let field = |key: &str| reply.verdict.as_ref().and_then(|verdict| verdict.get(key));
    let text = |key| field(key).and_then(Value::as_str).unwrap_or_default();
    let verdict = field("verdict").map(|_| match text("verdict") {
        "deny" => format!("{}: {}", verb("denies", "deny"), text("reason")),
        "ask" => format!("{}: {}", verb("asks", "ask"), text("reason")),
        "stop" => format!("{}: {}", verb("stops", "stop"), text("reason")),
        "halt" => format!("{}: {}", verb("halts", "halt"), text("reason")),
        "go_on" => format!("{}: {}", verb("continues", "continue"), text("instruction")),
        "allow" => verb("allows", "allow").to_owned(),
        "retry" => {
            format!("{} after {} ms", verb("retries", "retry"), field("after_ms").unwrap_or(&Value::Null))
        }
        other => other.to_owned(),
    });
    let set = reply.set.as_ref().map(|with| format!("{} {with}", verb("sets", "set")));
    let patch = reply.patch.as_ref().map(|with| format!("{} {with}", verb("patches", "patch")));
    let context = (!reply.context.is_empty())
        .then(|| format!("{} the model: {}", verb("tells", "tell"), reply.context.join(" / ")));
    let parts: Vec<String> = [verdict, set, patch, context].into_iter().flatten().collect();
    parts.join("; ")
}
