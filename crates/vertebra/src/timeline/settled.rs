//! What of a tape led to something: only that is taken from it.

use std::{collections::HashMap, sync::Arc};

use vertebra_hooks::Point;

use super::{Entry, What};
use crate::{
    AfterInference, AfterToolUse, BeforeInference, BeforeToolUse, InferenceDelta, OnError, PermissionRequest,
    SubagentStart,
};

/// Leaves out what led to nothing in a process that is gone: what a resumed run did again counts from the time it did.
pub(super) fn settled_before(lines: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    let mut kept = Vec::new();
    for line in lines {
        if let What::SessionResumed { .. } = line.what {
            kept = settled(kept);
        }
        kept.push(line);
    }
    kept
}

/// Leaves out what led to nothing: whatever had not begun when the process ended passes its hooks and guards anew, as they
/// are now.
pub(super) fn settled(lines: Vec<Entry>) -> Vec<Entry> {
    let mut open: HashMap<Gate, Vec<usize>> = HashMap::new();
    let mut keep = vec![true; lines.len()];
    for (number, line) in lines.iter().enumerate() {
        match Gate::of(line) {
            Some((gate, Side::Before)) => open.entry(gate).or_default().push(number),
            Some((gate, Side::Behind)) => drop(open.remove(&gate)),
            // Nobody may have listened to what became of something that was refused; it is over with what it was a part of.
            None => match &line.what {
                What::Checkpoint(_) | What::RunEnded { .. } => open.retain(|gate, _| gate.run_id != line.run_id),
                What::ToolEnded { call_id, .. } => {
                    open.retain(|gate, _| gate.run_id != line.run_id || gate.within.as_ref() != Some(call_id));
                }
                _ => {}
            },
        }
        keep[number] = match &line.what {
            // Pieces of an answer come with the answer, or come again.
            What::Dispatched { record, .. } => record.point != InferenceDelta::NAME,
            _ => true,
        };
    }
    open.into_values().flatten().for_each(|number| keep[number] = false);
    lines.into_iter().zip(keep).filter_map(|(line, keep)| keep.then_some(line)).collect()
}

/// What hooks may keep from happening.
#[derive(PartialEq, Eq, Hash)]
struct Gate {
    run_id: Arc<str>,
    within: Option<Arc<str>>,
    what: String,
}

#[derive(Clone, Copy)]
enum Side {
    /// It may still be kept from happening.
    Before,
    /// It has begun, or it is over.
    Behind,
}

impl Gate {
    fn of(line: &Entry) -> Option<(Self, Side)> {
        let call = |id: &Arc<str>| format!("call {id}");
        let (run_id, within) = (line.run_id.clone(), line.within.clone());
        let (what, side) = match &line.what {
            What::Dispatched { record, call_id: Some(id), .. } if record.point == AfterToolUse::NAME => {
                (call(id), Side::Behind)
            }
            What::Dispatched { record, call_id: Some(id), .. }
                if [BeforeToolUse::NAME, PermissionRequest::NAME].contains(&&*record.point) =>
            {
                (call(id), Side::Before)
            }
            What::ToolChecked { call_id, .. } | What::ToolIntended { call_id, .. } => (call(call_id), Side::Before),
            What::ToolStarted { call_id, .. } => (call(call_id), Side::Behind),
            What::Dispatched { record, .. } if record.point == BeforeInference::NAME => {
                ("model".to_owned(), Side::Before)
            }
            What::Dispatched { record, .. } if record.point == AfterInference::NAME => {
                ("model".to_owned(), Side::Behind)
            }
            What::ModelAnswered { response: Some(_), .. } => ("model".to_owned(), Side::Behind),
            // A model that has not answered is asked again, and what was done about that is done again.
            What::ModelAsked { .. } | What::ModelAnswered { response: None, .. } => ("model".to_owned(), Side::Before),
            What::Dispatched { record, .. } if record.point == OnError::NAME => ("model".to_owned(), Side::Before),
            What::Dispatched { record, .. } if record.point == SubagentStart::NAME => {
                ("child".to_owned(), Side::Before)
            }
            What::RunBegan { parent: Some(parent), for_call, .. } => {
                let gate = Self { run_id: parent.clone(), within: for_call.clone(), what: "child".to_owned() };
                return Some((gate, Side::Behind));
            }
            _ => return None,
        };
        Some((Self { run_id, within, what }, side))
    }
}
