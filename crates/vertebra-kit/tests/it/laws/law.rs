//! The laws themselves, as questions about what happened.

use std::collections::{HashMap, HashSet};

use vertebra::{Entry, Failure, Ran, What};

use super::{
    plan::{Has, KEY, Plan},
    puppet::{ON_PURPOSE, unpaired},
    world::{Aftermath, Event},
};

/// The laws that were broken, and how.
pub(crate) fn broken(plan: &Plan, all: &Aftermath) -> Vec<String> {
    let laws: [(&str, Vec<String>); 9] = [
        ("everything ends", if all.ended { Vec::new() } else { vec!["it hangs".to_owned()] }),
        ("guards see every call in its final form", unguarded(plan, all)),
        ("what is denied does not happen", happened(all)),
        ("what begins ends, once", unended(all)),
        ("one budget", overspent(plan, all)),
        ("hooks see every question to a model", unseen(all)),
        ("calls and results are in pairs", all.tape.requests().iter().flat_map(|r| unpaired(&r.messages)).collect()),
        ("a namespace is its owner's", hijacked(all)),
        ("secrets do not leave", leaked(plan, all)),
    ];
    let told = laws.into_iter().flat_map(|(law, how)| how.into_iter().map(move |how| format!("{law}: {how}")));
    told.chain(panicked(all)).collect()
}

fn lines(all: &Aftermath) -> impl Iterator<Item = &Entry> {
    all.events.iter().filter_map(|event| if let Event::Line(entry) = event { Some(&**entry) } else { None })
}

fn id(entry: &Entry, call: &str) -> String {
    format!("{}/{call}", entry.run_id)
}

/// Every call that was about to run had been accepted in exactly this form, and had not been denied in it.
fn unguarded(plan: &Plan, all: &Aftermath) -> Vec<String> {
    let (mut accepted, mut denied, mut wrong) = (HashSet::new(), HashSet::new(), Vec::new());
    // The journal does not hold secrets, so that such arguments are not the same there.
    let form = |args: &vertebra::Args| {
        let secret = plan.has.contains(&Has::Redaction) && args.to_value().to_string().contains(KEY);
        if secret { String::new() } else { args.digest() }
    };
    for event in &all.events {
        match event {
            Event::Accepted { call, args } => drop(accepted.insert((call.clone(), form(args)))),
            Event::Denied { call, args } => drop(denied.insert((call.clone(), form(args)))),
            Event::Line(entry) => {
                let What::ToolIntended { call_id, args, tool, .. } = &entry.what else { continue };
                let call = id(entry, call_id);
                let forms = [(call.clone(), args.digest()), (call, String::new())];
                if !forms.iter().any(|form| accepted.contains(form)) {
                    wrong.push(format!("{tool}({}) was never accepted", args.to_value()));
                }
                if denied.contains(&forms[0]) || **tool == *plan.denied {
                    wrong.push(format!("{tool}({}) was denied", args.to_value()));
                }
            }
            _ => {}
        }
    }
    wrong
}

/// Canaries that live: in the folder, or with the server.
fn happened(all: &Aftermath) -> Vec<String> {
    let file = all.files.iter().filter(|path| path.ends_with("canary")).map(|path| path.display().to_string());
    let call = all.server.lines().filter(|line| line.contains("canary")).map(str::to_owned);
    file.chain(call).collect()
}

fn unended(all: &Aftermath) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut calls: HashMap<&str, Vec<bool>> = HashMap::new();
    let mut runs: HashMap<&str, [i32; 4]> = HashMap::new();
    for event in &all.events {
        match event {
            Event::Before { call } => calls.entry(call).or_default().push(true),
            Event::After { call } => calls.entry(call).or_default().push(false),
            Event::RunStarted { run } => runs.entry(run).or_default()[0] += 1,
            Event::RunEnded { run } => runs.entry(run).or_default()[1] += 1,
            Event::ChildStarted { run } => runs.entry(run).or_default()[2] += 1,
            Event::ChildStopped { run } => runs.entry(run).or_default()[3] += 1,
            _ => {}
        }
    }
    for (call, began) in calls {
        // A call that is tried again begins again before it has ended, and also afterwards.
        let twice = began.windows(2).any(|pair| pair == [false, false]);
        if twice || began.first() != Some(&true) || began.last() != Some(&false) {
            wrong.push(format!("call {call}: {began:?}"));
        }
    }
    for (run, [started, ended, children, gone]) in runs {
        if ended != 1 || started > 1 || children != gone {
            wrong.push(format!("run {run}: {started} starts, {ended} ends, {children} children, {gone} of them ended"));
        }
    }
    let began = lines(all).filter(|entry| matches!(entry.what, What::RunBegan { .. })).count();
    let ended = lines(all).filter(|entry| matches!(entry.what, What::RunEnded { .. })).count();
    if began != ended {
        wrong.push(format!("{began} runs began, {ended} ended"));
    }
    wrong
}

fn overspent(plan: &Plan, all: &Aftermath) -> Vec<String> {
    let steps = lines(all).filter(|entry| matches!(entry.what, What::StepBegan { .. })).count() as u64;
    let spent = [("steps", steps, plan.max_steps), ("tokens", all.tape.tokens(), plan.max_tokens)];
    spent
        .into_iter()
        .filter(|(_, used, of)| used > of)
        .map(|(what, used, of)| format!("{used} {what} of {of}"))
        .collect()
}

/// Every question to a model was let through by the guard, and is in the journal.
fn unseen(all: &Aftermath) -> Vec<String> {
    let (mut may, mut wrong, mut asked) = (HashSet::new(), Vec::new(), 0);
    for event in &all.events {
        match event {
            Event::MayAsk { key } => drop(may.insert(key)),
            Event::Line(entry) => {
                if let What::ModelAsked { key, .. } = &entry.what {
                    asked += 1;
                    if !may.remove(key) {
                        wrong.push(format!("{key} passed no guard"));
                    }
                }
            }
            _ => {}
        }
    }
    let answered = all.tape.requests().len();
    // Who is cancelled, or out of time, may have said that it asks, and not have asked.
    if answered > asked {
        wrong.push(format!("{answered} requests, {asked} of them in the journal"));
    }
    wrong
}

fn hijacked(all: &Aftermath) -> Vec<String> {
    let mut wrong = Vec::new();
    for event in &all.events {
        let Event::Knew { metadata } = event else { continue };
        for key in ["planning/tasks", "skills/active", "files/seen"] {
            if metadata.get(key).is_some_and(|value| value.to_string().contains("hijack")) {
                wrong.push(key.to_owned());
            }
        }
    }
    // The first to end is a child, if there are any; the last is the top agent, whose own value is still there.
    let last = all.events.iter().rev().find_map(|event| match event {
        Event::Knew { metadata } => Some(metadata.get("other/owner").cloned()),
        _ => None,
    });
    if last.is_some_and(|value| value != Some("mine".into())) {
        wrong.push("other/owner".to_owned());
    }
    wrong
}

fn leaked(plan: &Plan, all: &Aftermath) -> Vec<String> {
    if !plan.has.contains(&Has::Redaction) {
        return Vec::new();
    }
    let lines = lines(all).map(|entry| serde_json::to_string(entry).expect("an entry"));
    let news = all.news.iter().map(|event| serde_json::to_string(event).expect("an event"));
    lines.chain(news).filter(|text| text.contains(KEY)).collect()
}

fn by_accident(text: &str) -> bool {
    text.contains("panicked") && !text.contains(ON_PURPOSE)
}

/// Hooks and tools that panicked, besides those that were to.
fn panicked(all: &Aftermath) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in lines(all) {
        match &entry.what {
            What::Dispatched { record, .. } => {
                for hook in &record.hooks {
                    if let Ran::Failed { failure: Failure::Panic { message }, .. } = &hook.ran
                        && message != ON_PURPOSE
                    {
                        wrong.push(format!("{} panicked: {message}", hook.hook));
                    }
                }
            }
            What::ToolEnded { result, .. } if by_accident(&result.output) => wrong.push(result.output.clone()),
            What::RunEnded { report, .. } if by_accident(&report.stop.message) => {
                wrong.push(report.stop.message.clone());
            }
            _ => {}
        }
    }
    wrong
}
