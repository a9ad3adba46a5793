//! What the model has seen of files, so that it does not overwrite what it does not know.
//!
//! Tools cannot write state: they say in their data what was seen, and a hook keeps it with the session.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vertebra::{AgentState, HookError, Metadata, ToolError, ToolResult};

use super::place::Place;

const KEY: &str = "files/seen/";

/// How many writes of runs under way are known.
const MAX_WRITES: usize = 512;

#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    hash: String,
    /// Counts up, so that the longest unseen can be forgotten.
    turn: u64,
    /// In which run it was seen, and when in it.
    run: Arc<str>,
    order: u64,
}

/// A fingerprint of a whole file.
pub(super) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

/// What a tool says of a file that the model now knows, for [`remember`].
pub(super) fn data(path: &str, hash: &str, order: u64) -> Value {
    json!({ "path": path, "seen": hash, "order": order })
}

fn key(path: &str) -> String {
    format!("{KEY}{path}")
}

/// Keeps with the session what a tool says was seen. The longest unseen is forgotten first.
pub(super) fn remember(
    state: &mut AgentState,
    run: &Arc<str>,
    result: &ToolResult,
    limit: usize,
) -> Result<(), HookError> {
    let text = |name: &str| result.data.get(name).and_then(Value::as_str);
    let (true, Some(path), Some(hash)) = (result.success, text("path"), text("seen")) else { return Ok(()) };
    let order = result.data.get("order").and_then(Value::as_u64).unwrap_or_default();
    let turn_of = |value: &Value| value.get("turn").and_then(Value::as_u64).unwrap_or_default();
    let key = key(path);
    // Calls of one step end in any order, but their hooks run in the order of the calls.
    let before: Option<Seen> = state.metadata().read(&key).unwrap_or_default();
    if before.is_some_and(|seen| seen.run == *run && seen.order > order) {
        return Ok(());
    }
    let all = state.metadata().iter().filter(|(name, _)| name.starts_with(KEY));
    let mut known: Vec<(u64, String)> = all.map(|(name, value)| (turn_of(value), name.to_owned())).collect();
    known.sort_unstable();
    let turn = known.last().map_or(0, |(turn, _)| *turn) + 1;
    known.retain(|(_, name)| *name != key);
    let metadata = state.metadata_mut();
    for (_, old) in known.iter().take((known.len() + 1).saturating_sub(limit)) {
        metadata.remove(old);
    }
    metadata.set(key, serde_json::to_value(Seen { hash: hash.to_owned(), turn, run: run.clone(), order })?);
    Ok(())
}

/// How well the model knows a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Acquaintance {
    /// It has not seen it.
    Never,
    /// It has seen it, and the file has changed since.
    Before,
    /// It has seen it as it is now.
    Now,
}

impl Acquaintance {
    fn of(seen: Option<&str>, now: &str) -> Self {
        match seen {
            Some(seen) if seen == now => Self::Now,
            Some(_) => Self::Before,
            None => Self::Never,
        }
    }

    /// Refuses to go on with a file that the model knows less well.
    pub(super) fn at_least(self, least: Self, place: &Place) -> Result<(), ToolError> {
        match self {
            enough if enough >= least => Ok(()),
            Self::Never => Err(place.says("was not read yet: read it before you change it")),
            _ => Err(place.says("has changed since you read it: read it again")),
        }
    }
}

/// How many files that commands have shown are known.
const MAX_SHOWN: usize = 512;

/// Which files commands have shown, by session: each as a fingerprint that is kept in memory only.
#[derive(Debug, Default)]
pub(super) struct ShownByCommands(Mutex<VecDeque<(Arc<str>, String, String)>>);

impl ShownByCommands {
    pub(super) fn add(&self, session: &Arc<str>, path: String, hash: String) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.retain(|(of, other, _)| of != session || *other != path);
        if shown.len() == MAX_SHOWN {
            shown.pop_front();
        }
        shown.push_back((session.clone(), path, hash));
    }

    /// What is known of a file with this fingerprint.
    pub(super) fn knows(&self, session: &Arc<str>, path: &str, hash: &str) -> Acquaintance {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = shown.iter().find(|(of, other, _)| of == session && other == path);
        Acquaintance::of(seen.map(|(_, _, seen)| &**seen), hash)
    }
}

/// What runs have written that their hooks may not have kept yet: calls of one step run at the same time, and the hooks
/// come after them.
#[derive(Debug, Default)]
pub(super) struct Writes {
    latest: Mutex<VecDeque<Write>>,
    order: AtomicU64,
}

#[derive(Debug)]
struct Write {
    run: Arc<str>,
    path: String,
    hash: String,
}

impl Writes {
    /// The number of a reading or writing that begins to count now.
    pub(super) fn next(&self) -> u64 {
        self.order.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes down a write, and gives what the tool says of it.
    pub(super) fn add(&self, run: &Arc<str>, path: &str, hash: &str) -> Value {
        let mut writes = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        writes.retain(|write| write.run != *run || write.path != path);
        if writes.len() == MAX_WRITES {
            writes.pop_front();
        }
        writes.push_back(Write { run: run.clone(), path: path.to_owned(), hash: hash.to_owned() });
        data(path, hash, self.next())
    }

    fn has(&self, run: &Arc<str>, path: &str, hash: &str) -> bool {
        let writes = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        writes.iter().any(|write| write.run == *run && write.path == path && write.hash == hash)
    }

    /// What is known of a file with this fingerprint.
    pub(super) fn knows(&self, (run, path, now): (&Arc<str>, &str, &str), kept: &Metadata) -> Acquaintance {
        if self.has(run, path, now) {
            return Acquaintance::Now;
        }
        let seen: Option<Seen> = kept.read(&key(path)).unwrap_or_default();
        Acquaintance::of(seen.as_ref().map(|seen| &*seen.hash), now)
    }
}
