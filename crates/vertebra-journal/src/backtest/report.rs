//! The report of a backtest: counts, and a few examples of each difference.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::{Difference, Judged, Opinion};

/// The report of a backtest.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<A> {
    /// The number of judged events.
    pub events: u64,
    /// The number of differences of each kind.
    pub differences: BTreeMap<Difference, u64>,
    /// The number of events judged without all matching hooks.
    pub in_part: u64,
    /// The counts of each hook, and of each rule that decided.
    pub hooks: BTreeMap<Arc<str>, Hits>,
    /// The first examples of each difference.
    pub examples: BTreeMap<Difference, Vec<Example<A>>>,
}

/// The counts of a hook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Hits {
    /// Events that it matched.
    pub matched: u64,
    /// Events that it decided.
    pub decided: u64,
    /// Events that it matched while its handler was not called.
    pub not_asked: u64,
}

/// An event with a different decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example<A> {
    /// The description of the event.
    #[serde(flatten)]
    pub about: A,
    /// The recorded decision.
    pub then: Opinion,
    /// The new decision.
    pub now: Opinion,
    #[serde(skip)]
    place: (usize, usize),
}

impl<A> Default for Report<A> {
    fn default() -> Self {
        Self { events: 0, differences: BTreeMap::new(), in_part: 0, hooks: BTreeMap::new(), examples: BTreeMap::new() }
    }
}

impl<A> Report<A> {
    /// Returns the number of events with a different decision.
    pub fn different(&self) -> u64 {
        self.differences.values().sum()
    }

    /// Counts an event. `place` is its position among all events; a thread sees positions in ascending order.
    pub(super) fn take(&mut self, judged: Judged, place: (usize, usize), examples: usize, about: impl FnOnce() -> A) {
        let Judged { then, now, matched, not_asked } = judged;
        self.events += 1;
        self.in_part += u64::from(!not_asked.is_empty());
        for name in &matched {
            self.hits(name).matched += 1;
        }
        for name in &not_asked {
            self.hits(name).not_asked += 1;
        }
        if let Some(by) = &now.by {
            self.hits(by).decided += 1;
        }
        let Some(difference) = Difference::between(&then, &now) else { return };
        *self.differences.entry(difference).or_default() += 1;
        let kept = self.examples.entry(difference).or_default();
        if kept.len() < examples {
            kept.push(Example { about: about(), then, now, place });
        }
    }

    fn hits(&mut self, name: &str) -> &mut Hits {
        // Most names are present already and need no copy.
        if !self.hooks.contains_key(name) {
            self.hooks.insert(name.into(), Hits::default());
        }
        self.hooks.get_mut(name).expect("it was just inserted")
    }

    /// Adds another report.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.events += other.events;
        self.in_part += other.in_part;
        for (difference, count) in other.differences {
            *self.differences.entry(difference).or_default() += count;
        }
        for (name, hits) in other.hooks {
            let known = self.hits(&name);
            known.matched += hits.matched;
            known.decided += hits.decided;
            known.not_asked += hits.not_asked;
        }
        for (difference, examples) in other.examples {
            self.examples.entry(difference).or_default().extend(examples);
        }
        self
    }

    /// Keeps the first examples, independent of the threads that found them.
    pub(super) fn order(&mut self, examples: usize) {
        for kept in self.examples.values_mut() {
            kept.sort_by_key(|example| example.place);
            kept.truncate(examples);
        }
        self.examples.retain(|_, kept| !kept.is_empty());
    }
}
