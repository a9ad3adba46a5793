//! What a replay finds: that all was as recorded, or the first thing that was not.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vertebra_hooks::{Change, Point, Ran};

use super::{Checkpoint, Entry, StateChange, What};
use crate::InferenceDelta;

/// The first thing that was not as recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// In which run.
    pub run_id: Arc<str>,
    /// In which step, from 1.
    pub step: u32,
    /// Where: a point, a tool, a model.
    pub place: String,
    /// What was recorded there; `None` if nothing was.
    pub recorded: Option<Value>,
    /// What happened there now; `None` if nothing did.
    pub replayed: Option<Value>,
}

/// How exactly a replay has to be like the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Likeness {
    /// The same hooks, with the same answers.
    #[default]
    Hooks,
    /// The same effects: other hooks may have come to them.
    Effects,
}

/// Where in a session something is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Where {
    pub(crate) step: u32,
    pub(crate) is_child: bool,
    /// Whether the recording of its run breaks off.
    pub(crate) is_cut: bool,
}

#[derive(Debug)]
pub(crate) struct Replayed {
    likeness: Likeness,
    found: Mutex<Found>,
}

#[derive(Debug)]
struct Found {
    first: Option<Divergence>,
    now: Timestamp,
    lines: u64,
    /// The recording has broken off.
    over: bool,
    /// Children whose recordings have.
    over_in: HashSet<Arc<str>>,
}

impl Replayed {
    pub(crate) fn new(likeness: Likeness, began: Timestamp) -> Self {
        Self {
            likeness,
            found: Mutex::new(Found { first: None, now: began, lines: 0, over: false, over_in: HashSet::new() }),
        }
    }

    /// Time in a replay is the time of what was recorded; it never goes back.
    pub(crate) fn it_is(&self, now: Timestamp) {
        self.with(|found| found.now = found.now.max(now));
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.with(|found| found.now)
    }

    /// How many lines were compared.
    pub(crate) fn lines(&self) -> u64 {
        self.with(|found| found.lines)
    }

    pub(crate) fn divergence(&self) -> Option<Divergence> {
        self.with(|found| found.first.clone())
    }

    /// Compares what happens with what was recorded. Answers with whether it was the same.
    pub(crate) fn compare(&self, place: Where, recorded: Option<&Entry>, happens: &Entry) -> bool {
        let now = self.seen(&happens.what);
        let starts_over = recorded.is_some_and(|entry| entry.what.starts_over());
        let is_over = |found: &mut Found| found.over || found.over_in.contains(&happens.run_id);
        if now.is_none() || starts_over || self.with(is_over) {
            return true;
        }
        let Where { step, is_child, is_cut } = place;
        // Where a recording breaks off, so does its replay: whoever a child works for goes on.
        if is_cut && (recorded.is_none() || matches!(happens.what, What::RunEnded { .. })) {
            self.with(|found| {
                if is_child {
                    found.over_in.insert(happens.run_id.clone());
                } else {
                    found.over = true;
                }
            });
            return false;
        }
        let then = recorded.and_then(|entry| self.seen(&entry.what));
        if let Some(entry) = recorded {
            self.it_is(entry.timestamp);
        }
        self.with(|found| found.lines += 1);
        now == then || self.diverged(step, &happens.run_id, &happens.what, then, now)
    }

    /// Something was recorded that did not happen.
    pub(crate) fn missing(&self, step: u32, recorded: &Entry) {
        self.diverged(step, &recorded.run_id, &recorded.what, self.seen(&recorded.what), None);
    }

    fn diverged(
        &self,
        step: u32,
        run_id: &Arc<str>,
        what: &What,
        recorded: Option<Value>,
        replayed: Option<Value>,
    ) -> bool {
        let place = match what {
            What::Dispatched { record, .. } => record.point.to_string(),
            What::ToolIntended { tool, .. } => format!("tool {tool}"),
            What::ModelAsked { model, .. } => format!("model {}", model.name),
            other => other.kind().to_owned(),
        };
        let divergence = Divergence { run_id: run_id.clone(), step, place, recorded, replayed };
        self.with(|found| {
            found.first.get_or_insert(divergence);
        });
        false
    }

    /// What of a line has to be the same again: not times, not identifiers of events, not what things cost.
    fn seen(&self, what: &What) -> Option<Value> {
        let value = match what {
            What::Dispatched { record, .. } if record.point == InferenceDelta::NAME => return None,
            What::Dispatched { record, .. } => {
                let changes = changed(record.changes().map(|(_, change)| change));
                let changes: Vec<Value> = changes.iter().map(|change| json!([change.path, change.after])).collect();
                let effects = json!({ "verdict": record.verdict, "reason": record.reason, "changes": changes });
                if self.likeness == Likeness::Effects {
                    return (record.verdict != vertebra_hooks::Kind::Proceed || !changes.is_empty()).then_some(effects);
                }
                let hooks: Vec<Value> = record
                    .hooks
                    .iter()
                    .map(|trace| match &trace.ran {
                        Ran::Answered { verdict, reason } => {
                            json!([trace.hook, verdict, reason, changed(&trace.changes)])
                        }
                        Ran::Failed { verdict, .. } => json!([trace.hook, "failed", verdict]),
                        Ran::Skipped { .. } => json!([trace.hook, "skipped"]),
                        Ran::Detached | Ran::Dropped => json!([trace.hook, "detached"]),
                    })
                    .collect();
                json!({ "verdict": record.verdict, "decided_by": record.decided_by, "reason": record.reason, "hooks": hooks })
            }
            What::StepBegan { step } => json!(step),
            What::ModelAsked { model, purpose, .. } => json!([model, purpose]),
            What::ToolIntended { tool, args, .. } => json!([tool, args]),
            What::ToolLeftOut { result, .. } => json!(result.output),
            What::Asked { approval, .. } => json!([approval.call.tool, approval.call.args, approval.reason]),
            What::RunEnded { report, checkpoint } => {
                let state = state(checkpoint);
                json!([report.status, report.stop.reason, report.text, report.steps, state])
            }
            What::Checkpoint(checkpoint) => state(checkpoint)?,
            What::SessionBegan { .. }
            | What::SessionResumed { .. }
            | What::RunBegan { .. }
            | What::ModelAnswered { .. }
            | What::ToolChecked { .. }
            | What::ToolStarted { .. }
            | What::ToolEnded { .. }
            | What::Answered { .. }
            | What::Suspended { .. }
            | What::SessionEnded => return None,
        };
        Some(value)
    }

    fn with<T>(&self, with: impl FnOnce(&mut Found) -> T) -> T {
        with(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a hook changed, in no order. What was hidden from the journal before and after is nothing that it shows.
fn changed<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Vec<&'a Change> {
    let mut seen: Vec<&Change> = changes.into_iter().filter(|change| change.before != change.after).collect();
    seen.sort_by(|one, other| one.path.cmp(&other.path));
    seen
}

/// What changed in a state, without how long things took. One that says all says nothing of what changed.
fn state(checkpoint: &Checkpoint) -> Option<Value> {
    if checkpoint.starts_over {
        return None;
    }
    let StateChange { kept, messages, metadata, removed, .. } = &checkpoint.state;
    let mut value = json!([kept, messages, metadata, removed]);
    timeless(&mut value);
    Some(value)
}

fn timeless(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(timeless),
        Value::Object(map) => {
            map.remove("duration_ms");
            map.values_mut().for_each(timeless);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
