//! Shows the decision of a policy on an event: a tree for people, objects for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vertebra::{Kind, Ran, Record, Skipped, Trace};
use vertebra_bridge::{
    policy::Policy,
    wire::{Decision, Judgement, RanHandler},
};

use super::trial::{Bench, Tried};
use crate::view::{
    changed,
    rows::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    text::{cut, on_one_line, visible},
};

/// The largest width of a line.
const WIDTH: usize = 120;

/// How many lines of a program's output are shown.
const LINES: usize = 4;

/// Prints notices and warnings on standard error.
pub(crate) fn warn(notices: &[String], warnings: &[String]) {
    for notice in notices {
        anstream::eprintln!("{DIM}• {}{DIM:#}", visible(notice));
    }
    for warning in warnings {
        anstream::eprintln!("{YELLOW}! {}{YELLOW:#}", visible(warning));
    }
}

/// Returns every hook that matched, in order.
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

/// Returns the decision as a tree.
pub(super) fn tree(event: &Value, tried: &Tried, bench: &Bench) -> String {
    let mut tree = String::new();
    let point = tried.record.as_ref().map(|record| record.point.to_string());
    let point = point.or_else(|| event["hook_event_name"].as_str().map(str::to_owned)).unwrap_or_default();
    let _ = writeln!(tree, "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", on_one_line(&point), subject(event));
    match &tried.record {
        Some(record) => {
            for trace in &record.hooks {
                hook(&mut tree, trace, record, bench);
            }
            let others = bench.others(record);
            if !others.is_empty() {
                let _ = writeln!(tree, "{DIM}│  did not match: {}{DIM:#}", on_one_line(&others.join(", ")));
            } else if record.hooks.is_empty() {
                let _ =
                    writeln!(tree, "{DIM}│  the policy has no hook at this point (see `vertebra hooks list`){DIM:#}");
            }
        }
        None if tried.judgement.ran.is_empty() => {
            let _ = writeln!(tree, "{DIM}│  no handler in these settings matches{DIM:#}");
        }
        None => tried.judgement.ran.iter().for_each(|ran| handler(&mut tree, ran)),
    }
    outcome(&mut tree, &tried.judgement);
    tree
}

/// Returns the subject of the event on one line.
fn subject(event: &Value) -> String {
    let part = |keys: &[&str]| keys.iter().map(|key| &event[key]).find(|value| !value.is_null()).cloned();
    let tool = part(&["tool", "tool_name", "toolName"]).and_then(|tool| tool.as_str().map(str::to_owned));
    let about = part(&["args", "tool_input", "toolArgs", "prompt"]).unwrap_or_default();
    let about = about.get("command").and_then(Value::as_str).map_or_else(|| about.to_string(), str::to_owned);
    let about = if about == "null" { String::new() } else { about };
    cut(&on_one_line(&format!("{} {about}", tool.unwrap_or_default())), WIDTH).into_owned()
}

fn hook(tree: &mut String, trace: &Trace, record: &Record, bench: &Bench) {
    let hook = bench.policy().and_then(|policy| policy.hook(&trace.hook));
    let name = hook.map_or(&*trace.hook, |hook| &*hook.name);
    let origin = hook.map(|hook| hook.origin.spot()).unwrap_or_default();
    let role = if trace.shadow { "shadow".to_owned() } else { trace.role.to_string() };
    let (style, said) = match &trace.ran {
        _ if bench.staying.contains(&trace.hook) => (DIM, "not run (--dry-run)".to_owned()),
        Ran::Answered { verdict, reason } => {
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let would = if trace.shadow { "would have " } else { "" };
            (of_kind(*verdict), format!("{would}{verdict}{reason}"))
        }
        Ran::Failed { failure, policy, verdict, .. } => {
            (RED, format!("failed ({failure}); on_failure = \"{}\", so {verdict}", word(*policy)))
        }
        Ran::Skipped { why: Skipped::Disabled } => (DIM, "disabled".to_owned()),
        Ran::Skipped { why: Skipped::Ended { by, verdict } } => (DIM, format!("not reached: {verdict} by {by}")),
        Ran::Skipped { .. } => (DIM, "not run".to_owned()),
        Ran::Detached => (DIM, "runs in the background".to_owned()),
        Ran::Dropped => (YELLOW, "skipped: its queue was full".to_owned()),
    };
    let decides = if record.decided_by.as_ref() == Some(&trace.hook) { "  ← decides" } else { "" };
    let _ = writeln!(
        tree,
        "{DIM}├─{DIM:#} {role:6} {BOLD}{}{BOLD:#}  {style}{}{style:#}{CYAN}{decides}{CYAN:#}  {DIM}{}{DIM:#}",
        on_one_line(name),
        cut(&on_one_line(&said), WIDTH),
        on_one_line(&origin),
    );
    // Context for the model is shown at the end.
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

/// Shows the exchange with a handler.
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

/// Shows the decision and its effects.
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
        line("new input", &input.to_string());
    }
    judgement.model_context.iter().for_each(|text| line("context for the model", text));
    judgement.model_sees.iter().for_each(|text| line("shown to the model", text));
    judgement.user_sees.iter().for_each(|text| line("shown to the user", text));
    if !judgement.goes_on {
        line("the agent", "stops");
    }
    // Shadow hooks have their own lines.
    judgement
        .effects
        .iter()
        .filter(|(name, _)| *name != "shadow")
        .for_each(|(name, value)| line(name, &value.to_string()));
    judgement.warnings.iter().for_each(|text| line("!", text));
}
