//! Counters that a run and its children share, so that a limit holds for all of them together.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Whose doings are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// A run and the runs of its children.
    Run,
    /// All runs of a session.
    Session,
}

/// A counter. A clone is another handle to the same counter.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Counts one more, unless there were so many already. Of several who ask at the same time, no more get through.
    pub fn take(&self, limit: u64) -> bool {
        let one_more = |count: u64| (count < limit).then_some(count + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok()
    }

    /// Goes on from so many, unless there were more already: for a count that was kept while nobody counted.
    pub fn at_least(&self, count: u64) {
        self.0.fetch_max(count, Ordering::AcqRel);
    }

    /// How many there were so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The counters of one run, or of the session, which is above all of its runs.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    above: Option<Arc<Counts>>,
    open: Mutex<HashMap<String, Counter>>,
}

impl Counts {
    pub(crate) fn below(above: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { above, ..Self::default() })
    }

    pub(crate) fn counter(&self, within: Within, name: &str) -> Counter {
        let path: Vec<&Self> = std::iter::successors(Some(self), |counts| counts.above.as_deref()).collect();
        let outermost_first = path.iter().rev();
        match within {
            Within::Session => path[path.len() - 1].open(name),
            Within::Run => {
                outermost_first.skip(1).find_map(|counts| counts.get(name)).unwrap_or_else(|| self.open(name))
            }
        }
    }

    /// What was counted here and what by the whole session, by name.
    pub(crate) fn all(&self) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
        let top = std::iter::successors(Some(self), |counts| counts.above.as_deref()).last();
        (self.counted(), top.map(Self::counted).unwrap_or_default())
    }

    fn counted(&self) -> BTreeMap<String, u64> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = open.iter().map(|(name, counter)| (name.clone(), counter.count()));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Goes on from what was counted.
    pub(crate) fn restore(&self, own: &BTreeMap<String, u64>, session: &BTreeMap<String, u64>) {
        for (name, count) in own {
            self.open(name).at_least(*count);
        }
        for (name, count) in session {
            self.counter(Within::Session, name).at_least(*count);
        }
    }

    fn get(&self, name: &str) -> Option<Counter> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn open(&self, name: &str) -> Counter {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_with_its_children_and_a_session_with_all() {
        let session = Counts::below(None);
        let (first, second) = (Counts::below(Some(session.clone())), Counts::below(Some(session.clone())));
        let child = Counts::below(Some(first.clone()));

        assert!(first.counter(Within::Run, "calls").take(2));
        assert!(child.counter(Within::Run, "calls").take(2));
        assert!(!first.counter(Within::Run, "calls").take(2));
        assert!(second.counter(Within::Run, "calls").take(2));
        for counts in [&first, &child, &second] {
            assert!(counts.counter(Within::Session, "calls").take(3));
        }
        assert!(!second.counter(Within::Session, "calls").take(3));
    }

    #[test]
    fn a_count_goes_on_from_what_was_kept_and_never_back() {
        let counter = Counter::default();
        counter.at_least(2);
        counter.at_least(1);
        assert_eq!(counter.count(), 2);
        assert!(counter.take(3) && !counter.take(3));
    }

    #[test]
    fn what_only_a_child_counts_is_its_own() {
        let run = Counts::below(Some(Counts::below(None)));
        let (one, other) = (Counts::below(Some(run.clone())), Counts::below(Some(run)));
        assert!(one.counter(Within::Run, "calls").take(1));
        assert!(other.counter(Within::Run, "calls").take(1));
    }
}
