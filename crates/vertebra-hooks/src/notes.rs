//! Notes: what a hook leaves for later hooks, under its own name.

use std::sync::Arc;

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
///
/// Most of the time there are none, and a copy of none costs nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Boards", into = "Boards")]
pub struct Notes(Option<Arc<Boards>>);

/// Notes by how long they last; not all of the boards are empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Boards {
    dispatch: Board,
    step: Board,
    run: Board,
}

impl Notes {
    /// The note that `hook` left, the shortest-lived first.
    pub fn get(&self, hook: &str) -> Option<&Value> {
        self.0.as_ref()?.all().into_iter().find_map(|(_, board)| board.get(hook))
    }

    /// Writes a note.
    pub fn put(&mut self, lasting: Lasting, hook: Name, note: Value) {
        Arc::make_mut(self.0.get_or_insert_default()).board_mut(lasting).insert_mut(hook, note);
    }

    /// Forgets all notes of one lifetime. The loop calls it where that lifetime ends.
    #[inline]
    pub fn clear(&mut self, lasting: Lasting) {
        if let Some(boards) = self.0.take() {
            self.0 = Boards::without(boards, lasting);
        }
    }

    /// The notes that `after` has and `self` has not.
    pub fn changes(&self, after: &Self) -> Vec<Change> {
        let Some(after) = &after.0 else { return Vec::new() };
        let none = Boards::default();
        let before = self.0.as_deref().unwrap_or(&none);
        let boards = before.all().into_iter().zip(after.all());
        let changes = boards.flat_map(|((lasting, before), (_, after))| {
            after.iter().filter(move |(hook, note)| before.get(*hook) != Some(note)).map(move |(hook, note)| Change {
                path: format!("/notes/{lasting}/{}", escape(hook)),
                before: before.get(hook).cloned(),
                after: Some(note.clone()),
            })
        });
        changes.collect()
    }
}

impl Boards {
    fn all(&self) -> [(&'static str, &Board); 3] {
        [("dispatch", &self.dispatch), ("step", &self.step), ("run", &self.run)]
    }

    fn is_empty(&self) -> bool {
        self.all().into_iter().all(|(_, board)| board.is_empty())
    }

    #[cold]
    #[inline(never)]
    fn without(mut boards: Arc<Self>, lasting: Lasting) -> Option<Arc<Self>> {
        if !boards.all()[lasting as usize].1.is_empty() {
            *Arc::make_mut(&mut boards).board_mut(lasting) = Board::default();
        }
        (!boards.is_empty()).then_some(boards)
    }

    fn board_mut(&mut self, lasting: Lasting) -> &mut Board {
        match lasting {
            Lasting::Dispatch => &mut self.dispatch,
            Lasting::Step => &mut self.step,
            Lasting::Run => &mut self.run,
        }
    }
}

impl From<Boards> for Notes {
    fn from(boards: Boards) -> Self {
        Self((!boards.is_empty()).then(|| Arc::new(boards)))
    }
}

impl From<Notes> for Boards {
    fn from(notes: Notes) -> Self {
        notes.0.map(Arc::unwrap_or_clone).unwrap_or_default()
    }
}
