//! What a policy made of an event, as a tree for people and as objects for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vertebra::{Kind, Ran, Record, Skipped, Trace};
use vertebra_bridge::{
    policy::Policy,
    settings::Action,
    wire::{Decision, Judgement, RanHandler},
};

use super::trial::{Bench, Handlers, Tried};
use crate::view::{
    changed,
    rows::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    text::{cut, on_one_line, visible},
};

/// How much of a text is shown.
const WIDTH: usize = 120;

/// How many lines of what a program wrote besides are shown.
const LINES: usize = 4;

/// Says what one should know, on standard error.
pub(crate) fn warn(notices: &[String], warnings: &[String]) {
    for notice in notices {
        anstream::eprintln!("{DIM}• {}{DIM:#}", visible(notice));
    }
    for warning in warnings {
        anstream::eprintln!("{YELLOW}! {}{YELLOW:#}", visible(warning));
    }
}

/// Every hook that matched, in order.
pub(super) fn traces(record: &Record, policy: Option<&Policy>) -> Vec<Value> {
    let rows = record.hooks.iter().map(|trace| {
        let mut row = serde_json::to_value(trace).unwrap_or_default();
        let hook = policy.and_then(|policy| policy.hook(&trace.hook));
        row["hook"] = hook.map_or(json!(trace.hook), |hook| json!(hook.name));
        row["origin"] = json!(hook.map(|hook| hook.origin.spot()));
        row["decides"] = json!(record.decided_by.as_ref() == Some(&trace.hook));
        row
    });
    rows.collect()
}

/// The whole as a tree.
pub(super) fn tree(event: &Value, tried: &Tried, bench: &Bench, handlers: Handlers) -> String {
    let mut tree = String::new();
    let point = tried.record.as_ref().map(|record| record.point.to_string());
    let point = point.or_else(|| event["hook_event_name"].as_str().map(str::to_owned)).unwrap_or_default();
    let _ = writeln!(tree, "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", on_one_line(&point), subject(event));
    match &tried.record {
        Some(record) => {
            for trace in &record.hooks {
                hook(&mut tree, trace, record, bench.policy(), handlers);
            }
            let others = bench.others(record);
            if !others.is_empty() {
                let _ = writeln!(tree, "{DIM}│  not matching: {}{DIM:#}", on_one_line(&others.join(", ")));
            } else if record.hooks.is_empty() {
                let _ = writeln!(tree, "{DIM}│  no hook of this policy stands here: vertebra hooks list{DIM:#}");
            }
        }
        None if tried.judgement.ran.is_empty() => {
            let _ = writeln!(tree, "{DIM}│  no handler of these settings matches{DIM:#}");
        }
        None => tried.judgement.ran.iter().for_each(|ran| handler(&mut tree, ran)),
    }
    outcome(&mut tree, &tried.judgement);
    tree
}

/// What the event is about, in a line.
fn subject(event: &Value) -> String {
    let part = |keys: &[&str]| keys.iter().map(|key| &event[key]).find(|value| !value.is_null()).cloned();
    let tool = part(&["tool", "tool_name", "toolName"]).and_then(|tool| tool.as_str().map(str::to_owned));
    let about = part(&["args", "tool_input", "toolArgs", "prompt"]).unwrap_or_default();
    let about = about.get("command").and_then(Value::as_str).map_or_else(|| about.to_string(), str::to_owned);
    let about = if about == "null" { String::new() } else { about };
    cut(&on_one_line(&format!("{} {about}", tool.unwrap_or_default())), WIDTH).into_owned()
}

fn hook(tree: &mut String, trace: &Trace, record: &Record, policy: Option<&Policy>, handlers: Handlers) {
    let hook = policy.and_then(|policy| policy.hook(&trace.hook));
    let name = hook.map_or(&*trace.hook, |hook| &*hook.name);
    let origin = hook.map(|hook| hook.origin.spot()).unwrap_or_default();
    let role = if trace.shadow { "shadow".to_owned() } else { trace.role.to_string() };
    let runs = hook.is_some_and(|hook| matches!(hook.settings.action, Action::Run(_)));
    let (style, said) = match &trace.ran {
        _ if handlers == Handlers::Stay && runs => (DIM, "not run".to_owned()),
        Ran::Answered { verdict, reason } => {
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let would = if trace.shadow { "would have " } else { "" };
            (of_kind(*verdict), format!("{would}{verdict}{reason}"))
        }
        Ran::Failed { failure, policy, verdict, .. } => {
            (RED, format!("failed ({failure}); its policy `{}` makes that: {verdict}", word(*policy)))
        }
        Ran::Skipped { why: Skipped::Disabled } => (DIM, "switched off".to_owned()),
        Ran::Skipped { why: Skipped::Ended { by, verdict } } => (DIM, format!("not reached: {by} {verdict}")),
        Ran::Detached => (DIM, "runs behind the scenes".to_owned()),
        Ran::Dropped => (YELLOW, "left out: its queue was full".to_owned()),
    };
    let decides = if record.decided_by.as_ref() == Some(&trace.hook) { "  ← decides" } else { "" };
    let _ = writeln!(
        tree,
        "{DIM}├─{DIM:#} {role:6} {BOLD}{}{BOLD:#}  {style}{}{style:#}{CYAN}{decides}{CYAN:#}  {DIM}{}{DIM:#}",
        on_one_line(name),
        cut(&on_one_line(&said), WIDTH),
        on_one_line(&origin),
    );
    // Context for the model is told at the end.
    for change in trace.changes.iter().filter(|change| !change.path.starts_with("/metadata/bridge")) {
        let _ = writeln!(tree, "{DIM}│    changes {DIM:#}{}", changed(change).cut(WIDTH).paint(false));
    }
    if let Some(account) = &trace.account {
        exchange(tree, account);
    }
}

fn word(policy: vertebra::FailurePolicy) -> String {
    serde_json::to_value(policy).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn of_kind(kind: Kind) -> anstyle::Style {
    match kind {
        Kind::Proceed => DIM,
        Kind::Allow => GREEN,
        Kind::Ask => YELLOW,
        Kind::Deny => RED,
        _ => CYAN,
    }
}

/// What went on with something outside.
fn exchange(tree: &mut String, account: &Value) {
    let Some(handler) = account["handler"].as_str() else { return };
    let end = match (account["exit_code"].as_i64(), account["message"].as_str()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(message)) => message.to_owned(),
        (None, None) => account["end"].as_str().unwrap_or_default().replace('_', " "),
    };
    let took = account["took_ms"].as_u64().unwrap_or_default();
    let line = format!("{handler}  {end}, {took} ms");
    let _ = writeln!(tree, "{DIM}│    runs    {}{DIM:#}", cut(&on_one_line(&line), WIDTH));
    for (what, text) in [("stdout", &account["stdout"]), ("stderr", &account["stderr"])] {
        for line in text.as_str().unwrap_or_default().lines().filter(|line| !line.trim().is_empty()).take(LINES) {
            let _ = writeln!(tree, "{DIM}│    {what}  {}{DIM:#}", cut(&on_one_line(line), WIDTH));
        }
    }
}

fn handler(tree: &mut String, ran: &RanHandler) {
    let _ = writeln!(tree, "{DIM}├─{DIM:#} {BOLD}{}{BOLD:#}", on_one_line(&ran.hook));
    exchange(tree, &serde_json::to_value(&ran.exchange).unwrap_or_default());
}

/// What came of it.
pub(super) fn outcome(tree: &mut String, judgement: &Judgement) {
    let (style, word) = match judgement.decision {
        None => (DIM, "no opinion"),
        Some(Decision::Allow) => (GREEN, "allow"),
        Some(Decision::Ask) => (YELLOW, "ask"),
        Some(Decision::Block) => (RED, "block"),
        Some(Decision::Deny) => (RED, "deny"),
    };
    let by = judgement.decided_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let reason = judgement.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let _ =
        writeln!(tree, "{DIM}└─{DIM:#} {style}{BOLD}{word}{BOLD:#}{style:#} {}", on_one_line(&format!("{by}{reason}")));
    let mut line = |what: &str, text: &str| {
        let _ = writeln!(tree, "   {DIM}{what}{DIM:#}  {}", cut(&on_one_line(text), WIDTH));
    };
    if let Some(input) = &judgement.tool_input {
        line("goes on with", &input.to_string());
    }
    judgement.model_context.iter().for_each(|text| line("the model is told", text));
    judgement.model_sees.iter().for_each(|text| line("the model reads", text));
    judgement.user_sees.iter().for_each(|text| line("a person reads", text));
    if !judgement.goes_on {
        line("the agent", "stops");
    }
    // Those that stand beside have their own lines.
    judgement
        .effects
        .iter()
        .filter(|(name, _)| *name != "shadow")
        .for_each(|(name, value)| line(name, &value.to_string()));
    judgement.warnings.iter().for_each(|text| line("!", text));
}
