//! Judges recorded events with one or two policies.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use vertebra::{
    AfterInference, AfterStep, AfterToolUse, BeforeInference, BeforeStep, BeforeToolUse, CancellationToken, Change,
    Kind, Name, PromptSubmit, ShouldContinue, ToolUseFailed,
};
use vertebra_bridge::{
    policy::{self, BUNDLE, Policy, Trial},
    wire::{Decision, Judgement},
};
use vertebra_journal::{
    backtest::{Judged, Opinion, Said},
    past::{self, Moment},
};

use super::event::Event;
use crate::hooks::trial::Bench;

/// The path of the context for the model, a growing list.
const CONTEXT: &str = "/metadata/bridge~1context";

/// Judges events on one thread.
pub(super) struct Judge<'b> {
    runtime: Runtime,
    cancel: CancellationToken,
    new: Tried<'b>,
    old: Option<Tried<'b>>,
}

/// A policy, with the display names of its hooks.
struct Tried<'b> {
    policy: &'b Policy,
    bench: &'b Bench,
    names: HashMap<Name, Arc<str>>,
}

/// The decision of one policy on an event.
struct Word {
    opinion: Opinion,
    matched: Vec<Arc<str>>,
    /// The names of the matching hooks whose handlers were not called.
    not_asked: Vec<Name>,
}

impl<'b> Judge<'b> {
    /// Returns the function that judges events on one thread.
    pub(super) fn on_a_thread(
        new: &'b Bench,
        old: Option<&'b Bench>,
        cancel: &CancellationToken,
    ) -> impl FnMut(&Event) -> Judged + use<'b> {
        let runtime =
            Builder::new_current_thread().enable_all().build().expect("a runtime of one thread needs nothing");
        let tried = |bench: &'b Bench| {
            let policy = bench.policy().expect("a vertebra.toml is always a policy");
            Tried { policy, bench, names: HashMap::new() }
        };
        let mut judge = Self { runtime, cancel: cancel.clone(), new: tried(new), old: old.map(tried) };
        move |event| judge.judge(event)
    }

    fn judge(&mut self, event: &Event) -> Judged {
        let Self { runtime, cancel, new, old } = self;
        let work = async {
            let now = new.judge(event).await;
            let then = match old {
                Some(old) => Some(old.judge(event).await),
                None => None,
            };
            (now, then)
        };
        let judged = runtime.block_on(cancel.run_until_cancelled(work));
        let nothing = || Judged {
            then: Opinion::of(Said::Nothing),
            now: Opinion::of(Said::Nothing),
            matched: Vec::new(),
            not_asked: Vec::new(),
        };
        // The result of an interrupted backtest is never shown.
        let Some((now, then)) = judged else { return nothing() };
        let not_asked = now.not_asked.iter().map(|name| new.name(name)).collect();
        let matched = now.matched.clone();
        let then = then.map_or_else(|| recorded(event), |then| with_others(then, event));
        Judged { then, now: with_others(now, event), matched, not_asked }
    }
}

impl Tried<'_> {
    async fn judge(&mut self, event: &Event) -> Word {
        let Trial { judgement, record } = match event {
            Event::Ours(moment) => fire(self.policy, moment).await,
            Event::Theirs(theirs) => self.policy.fire(&theirs.happened).await,
        };
        let stays = |trace: &&vertebra::Trace| self.bench.staying.contains(&trace.hook);
        let not_asked: Vec<Name> = record.hooks.iter().filter(stays).map(|trace| trace.hook.clone()).collect();
        let matched = record.hooks.iter().map(|trace| self.name(&trace.hook)).collect();
        // The changes of a handler that was not called are not known.
        let changes = not_asked.is_empty().then(|| changes(record.changes().map(|(_, change)| change)));
        let opinion =
            Opinion { said: said_now(&judgement), by: judgement.decided_by, reason: judgement.reason, changes };
        Word { opinion, matched, not_asked }
    }

    /// Returns the display name of a hook, with file and line.
    fn name(&mut self, hook: &Name) -> Arc<str> {
        self.names.entry(hook.clone()).or_insert_with(|| self.policy.author(hook).into()).clone()
    }
}

async fn fire(policy: &Policy, moment: &Moment) -> Trial {
    macro_rules! at {
        ($($point:ident)*) => {
            match &moment.event {
                $(past::Event::$point(event) => {
                    let run = (*event.at.run).clone();
                    policy.fire_at($point, run, event.clone(), moment.state.clone()).await
                })*
            }
        };
    }
    at!(PromptSubmit BeforeStep BeforeInference AfterInference BeforeToolUse ToolUseFailed AfterToolUse AfterStep
        ShouldContinue)
}

fn said_now(judgement: &Judgement) -> Said {
    match judgement.decision {
        Some(Decision::Deny | Decision::Block) => Said::Refused,
        Some(Decision::Ask) => Said::Asked,
        Some(Decision::Allow) => Said::Allowed,
        None if !judgement.goes_on => Said::Refused,
        None => Said::Nothing,
    }
}

/// Returns the recorded decision.
fn recorded(event: &Event) -> Opinion {
    let moment = match event {
        Event::Theirs(theirs) => return theirs.then.clone(),
        Event::Ours(moment) => moment,
    };
    let Some(record) = &moment.then else {
        return Opinion { changes: Some(BTreeMap::new()), ..Opinion::of(Said::WentOn) };
    };
    let of_file = |hook: &str| own_name(hook).is_some_and(|name| name != policy::CONTEXT);
    let of_policy = record.changes().filter(|(hook, _)| of_file(hook));
    Opinion {
        said: said_then(record.verdict),
        by: record.decided_by.as_ref().map(ToString::to_string),
        reason: record.reason.clone(),
        changes: Some(changes(of_policy.map(|(_, change)| change))),
    }
}

fn said_then(verdict: Kind) -> Said {
    match verdict {
        Kind::Deny | Kind::Halt | Kind::Stop | Kind::GoOn | Kind::Replace => Said::Refused,
        Kind::Ask => Said::Asked,
        Kind::Allow | Kind::Recover | Kind::Retry | Kind::Hold | Kind::Skip | Kind::Proceed => Said::WentOn,
    }
}

/// Combines the decision of a policy with the recorded verdicts that it does not replace: hooks that are in no file,
/// questions that no rule asked, and handlers that were not called again.
fn with_others(word: Word, event: &Event) -> Opinion {
    let Word { mut opinion, not_asked, .. } = word;
    let is_not_asked = |name: &str| not_asked.iter().any(|hook| **hook == *name);
    match event {
        Event::Theirs(theirs) => {
            let then = &theirs.then;
            // The log has the display name of the hook, with file and line.
            let by = then.by.as_deref().map(|by| by.split(" (").next().unwrap_or(by));
            if by.is_some_and(is_not_asked) && then.said > opinion.said {
                opinion = Opinion { changes: None, ..then.clone() };
            }
        }
        Event::Ours(moment) => {
            let Some(record) = &moment.then else { return opinion };
            let word = opinion.said;
            for (hook, verdict) in record.verdicts() {
                let stands = match own_name(hook) {
                    Some(name) => is_not_asked(name),
                    // The agent asks about calls that no rule matches; an allow answers that question.
                    None if is_of_rules(hook) => verdict == Kind::Ask && word == Said::Nothing,
                    None => true,
                };
                let said = said_then(verdict);
                if stands && said > opinion.said {
                    let reason = record.reason.clone().filter(|_| record.decided_by.as_deref() == Some(hook));
                    opinion = Opinion { said, by: Some(hook.to_owned()), reason, changes: opinion.changes };
                }
            }
        }
    }
    opinion
}

/// The name of a hook of a file, without that of its bundle.
fn own_name(hook: &str) -> Option<&str> {
    hook.strip_prefix(BUNDLE)?.strip_prefix('/')
}

/// Whether a hook of the agent does what a policy does itself: permission rules and the command policy.
fn is_of_rules(hook: &str) -> bool {
    hook.starts_with("permissions/") || hook == "bash/policy"
}

/// Collects changes by path.
fn changes<'c>(changes: impl Iterator<Item = &'c Change>) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for Change { path, before, after } in changes {
        let after = after.clone().unwrap_or_default();
        match (all.get_mut(path), after) {
            // Only the new entries are from this hook.
            (known, Value::Array(mut texts)) if path == CONTEXT => {
                let new =
                    texts.split_off(before.as_ref().and_then(Value::as_array).map_or(0, Vec::len).min(texts.len()));
                match known {
                    Some(Value::Array(known)) => known.extend(new),
                    _ => _ = all.insert(path.clone(), Value::Array(new)),
                }
            }
            (_, after) => _ = all.insert(path.clone(), after),
        }
    }
    all
}
