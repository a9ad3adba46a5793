//! What a server counts, for whoever watches over it: the text that Prometheus reads.

mod page;
mod refusals;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub(crate) use self::refusals::{Refusals, plainly};
use crate::listen;

/// A number that grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What has happened since the server began.
#[derive(Clone, Default)]
pub(crate) struct Metrics {
    pub(crate) refusals: Refusals,
    pub(crate) connections: listen::Counted,
}

/// What became of events for hooks in clients.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exchanges {
    pub(crate) put: Counter,
    pub(crate) answered: Counter,
    pub(crate) failed: Counter,
    pub(crate) timed_out: Counter,
    /// For watches that nobody was there for.
    pub(crate) missed: Counter,
}
