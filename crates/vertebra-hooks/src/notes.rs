//! Notes: what a hook leaves for later hooks, under its own name.

use rpds::HashTrieMapSync;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Change, Name, change::escape};

type Board = HashTrieMapSync<Name, Value>;

/// How long a note lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lasting {
    /// Until the end of this dispatch.
    Dispatch,
    /// Until the end of this step.
    Step,
    /// Until the end of this run.
    Run,
}

/// The notes in force, by the hook that wrote them. Typed in Rust, JSON in the record and on the wire.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    dispatch: Board,
    step: Board,
    run: Board,
}

impl Notes {
    /// The note that `hook` left, the shortest-lived first.
    pub fn get(&self, hook: &str) -> Option<&Value> {
        [&self.dispatch, &self.step, &self.run].into_iter().find_map(|board| board.get(hook))
    }

    /// Writes a note.
    pub fn put(&mut self, lasting: Lasting, hook: Name, note: Value) {
        self.board_mut(lasting).insert_mut(hook, note);
    }

    /// Forgets all notes of one lifetime. The loop calls it where that lifetime ends.
    pub fn clear(&mut self, lasting: Lasting) {
        let board = self.board_mut(lasting);
        if !board.is_empty() {
            *board = Board::default();
        }
    }

    /// The notes that `after` has and `self` has not.
    pub fn changes(&self, after: &Self) -> Vec<Change> {
        [
            ("dispatch", &self.dispatch, &after.dispatch),
            ("step", &self.step, &after.step),
            ("run", &self.run, &after.run),
        ]
        .into_iter()
        .flat_map(|(lasting, before, after)| {
            after.iter().filter(move |(hook, note)| before.get(*hook) != Some(note)).map(move |(hook, note)| Change {
                path: format!("/notes/{lasting}/{}", escape(hook)),
                before: before.get(hook).cloned(),
                after: Some(note.clone()),
            })
        })
        .collect()
    }

    fn board_mut(&mut self, lasting: Lasting) -> &mut Board {
        match lasting {
            Lasting::Dispatch => &mut self.dispatch,
            Lasting::Step => &mut self.step,
            Lasting::Run => &mut self.run,
        }
    }
}
