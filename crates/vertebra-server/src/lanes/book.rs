//! Who is under way, who waits, and who is next. It waits for nobody and wakes nobody.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::Lane;
use crate::limits::{Limits, Places};

/// How often others go first before a lane does that is less urgent.
pub(super) const PATIENCE: u32 = 16;

/// The book of all lanes, with what to call people by.
pub(super) struct Book<W> {
    rows: [Row<W>; 4],
    at_once: usize,
    /// How many of them are for what controls.
    reserved: usize,
    numbers: u64,
}

/// Somebody who can go.
pub(super) struct Next<W> {
    pub(super) lane: Lane,
    pub(super) key: Arc<str>,
    pub(super) who: W,
}

/// One lane.
struct Row<W> {
    places: Places,
    under_way: usize,
    waiting: usize,
    keys: HashMap<Arc<str>, Queue<W>>,
    /// The keys that have somebody who could go if the lane had a place, by turn.
    turns: BTreeMap<u64, Arc<str>>,
    /// How often somebody more urgent went first.
    passed_over: u32,
}

/// One key of a lane.
struct Queue<W> {
    under_way: usize,
    /// By ticket.
    waiting: BTreeMap<u64, W>,
    turn: Option<u64>,
}

impl<W> Book<W> {
    pub(super) fn new(limits: &Limits) -> Self {
        // A lane without a place would be waited for in vain.
        let at_once = limits.commands.max(2);
        let places = [limits.control, limits.query, limits.execute, limits.generate];
        Self {
            rows: places.map(Row::new),
            at_once,
            reserved: limits.commands_reserved.clamp(1, at_once - 1),
            numbers: 0,
        }
    }

    /// Stands at the end of a queue; answers with the ticket.
    pub(super) fn join(&mut self, lane: Lane, key: &Arc<str>, who: W) -> u64 {
        let ticket = self.number();
        self.row(lane).join(key, ticket, who);
        ticket
    }

    /// Leaves a queue, unless it was called.
    pub(super) fn quit(&mut self, lane: Lane, key: &Arc<str>, ticket: u64) {
        self.row(lane).quit(key, ticket);
    }

    /// Gives a place back.
    pub(super) fn leave(&mut self, lane: Lane, key: &Arc<str>) {
        let turn = self.number();
        self.row(lane).leave(key, turn);
    }

    /// Whether somebody could go at once, or wait.
    pub(super) fn may_join(&self, lane: Lane, key: &str) -> bool {
        let Row { places, keys, waiting, .. } = &self.rows[lane as usize];
        let (under_way, of_key) = keys.get(key).map_or((0, 0), |queue| (queue.under_way, queue.waiting.len()));
        let goes_at_once = of_key == 0 && under_way < places.at_once_of_one && self.has_place(lane);
        goes_at_once || (*waiting < places.waiting && of_key < places.waiting_of_one)
    }

    pub(super) fn waiting(&self, lane: Lane) -> usize {
        self.rows[lane as usize].waiting
    }

    pub(super) fn under_way(&self, lane: Lane) -> usize {
        self.rows[lane as usize].under_way
    }

    /// Who goes next, if somebody can.
    pub(super) fn next(&mut self) -> Option<Next<W>> {
        let ready = Lane::ALL.map(|lane| self.can_go(lane));
        let ready = || Lane::ALL.into_iter().filter(|lane| ready[*lane as usize]);
        let urgency = |lane: &Lane| (self.rows[*lane as usize].passed_over >= PATIENCE, Reverse(*lane));
        let lane = ready().max_by_key(urgency)?;
        ready().filter(|other| *other > lane).for_each(|other| self.row(other).passed_over += 1);
        let turn = self.number();
        let (key, who) = self.row(lane).take(turn)?;
        Some(Next { lane, key, who })
    }

    /// Whether nobody is known any more.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.rows
            .iter()
            .all(|row| (row.under_way, row.waiting) == (0, 0) && row.keys.is_empty() && row.turns.is_empty())
    }

    fn can_go(&self, lane: Lane) -> bool {
        !self.rows[lane as usize].turns.is_empty() && self.has_place(lane)
    }

    fn has_place(&self, lane: Lane) -> bool {
        let row = &self.rows[lane as usize];
        let all: usize = self.rows.iter().map(|row| row.under_way).sum();
        let others = all - self.under_way(Lane::Control);
        let is_admitted = all < self.at_once && (lane == Lane::Control || others < self.at_once - self.reserved);
        is_admitted && row.under_way < row.places.at_once
    }

    fn row(&mut self, lane: Lane) -> &mut Row<W> {
        &mut self.rows[lane as usize]
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

impl<W> Row<W> {
    fn new(places: Places) -> Self {
        let places = Places { at_once: places.at_once.max(1), at_once_of_one: places.at_once_of_one.max(1), ..places };
        Self { places, under_way: 0, waiting: 0, keys: HashMap::new(), turns: BTreeMap::new(), passed_over: 0 }
    }

    fn join(&mut self, key: &Arc<str>, ticket: u64, who: W) {
        self.waiting += 1;
        let none = || Queue { under_way: 0, waiting: BTreeMap::new(), turn: None };
        self.keys.entry(key.clone()).or_insert_with(none).waiting.insert(ticket, who);
        self.arrange(key, ticket);
    }

    fn quit(&mut self, key: &Arc<str>, ticket: u64) {
        let waited = self.keys.get_mut(key).and_then(|queue| queue.waiting.remove(&ticket)).is_some();
        if waited {
            self.waiting -= 1;
            self.arrange(key, ticket);
        }
    }

    fn leave(&mut self, key: &Arc<str>, turn: u64) {
        self.under_way -= 1;
        if let Some(queue) = self.keys.get_mut(key) {
            queue.under_way -= 1;
        }
        self.arrange(key, turn);
    }

    /// Takes the first of the key whose turn it is. The key's next turn comes after those of all others.
    fn take(&mut self, next_turn: u64) -> Option<(Arc<str>, W)> {
        let (_, key) = self.turns.pop_first()?;
        let queue = self.keys.get_mut(&key)?;
        queue.turn = None;
        let (_, who) = queue.waiting.pop_first()?;
        queue.under_way += 1;
        self.under_way += 1;
        self.waiting -= 1;
        self.passed_over = 0;
        self.arrange(&key, next_turn);
        Some((key, who))
    }

    /// A key has a turn as long as somebody under it could go. One of whom nobody is left is forgotten.
    fn arrange(&mut self, key: &Arc<str>, turn: u64) {
        let Some(queue) = self.keys.get_mut(key) else { return };
        let could_go = !queue.waiting.is_empty() && queue.under_way < self.places.at_once_of_one;
        match queue.turn {
            None if could_go => {
                queue.turn = Some(turn);
                self.turns.insert(turn, key.clone());
            }
            Some(turn) if !could_go => {
                queue.turn = None;
                self.turns.remove(&turn);
            }
            None | Some(_) => {}
        }
        if queue.waiting.is_empty() && queue.under_way == 0 {
            self.keys.remove(key);
        }
    }
}
