//! Backtests: judges recorded events with another policy and counts the differences.
//!
//! The engine does not know policies. It takes events from any source, judges them with closures on several threads, and
//! counts. The report does not depend on the order in which threads finish.

mod opinion;
mod report;

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

pub use self::{
    opinion::{Difference, Judged, Opinion, Said},
    report::{Example, Hits, Report},
};

/// The number of events between two progress reports.
const NEWS_EVERY: u64 = 128;

/// The settings of a backtest.
pub struct Backtest<'a> {
    /// The number of threads.
    pub threads: NonZeroUsize,
    /// The number of examples to keep for each difference.
    pub examples: usize,
    /// Set this to stop early.
    pub stop: &'a AtomicBool,
    /// Called from time to time with the number of judged events.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Backtest<'_> {
    /// Judges all events of all sources. One thread judges the events of a source in order. `judge` makes the judging
    /// function of a thread, and `about` extracts the description of an event for an example.
    pub fn run<S, E, J, A>(
        &self,
        sources: impl IntoIterator<Item = S, IntoIter: Send>,
        judge: impl Fn() -> J + Sync,
        about: impl Fn(&E) -> A + Sync,
    ) -> Report<A>
    where
        S: IntoIterator<Item = E> + Send,
        J: FnMut(&E) -> Judged,
        A: Send,
    {
        let sources = Mutex::new(sources.into_iter().enumerate());
        let judged = AtomicU64::new(0);
        let next = || sources.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            let (mut judge, mut report) = (judge(), Report::default());
            while let Some((source, events)) = next() {
                for (index, event) in events.into_iter().enumerate() {
                    if self.stop.load(Ordering::Relaxed) {
                        return report;
                    }
                    let opinions = judge(&event);
                    report.take(opinions, (source, index), self.examples, || about(&event));
                    let count = judged.fetch_add(1, Ordering::Relaxed) + 1;
                    if count.is_multiple_of(NEWS_EVERY) {
                        (self.progress)(count);
                    }
                }
            }
            report
        };
        let mut whole = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads.get()).map(|_| scope.spawn(work)).collect();
            let reports = threads.into_iter().map(|thread| {
                // A panic in a judging function is passed on to the caller.
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            reports.reduce(Report::and).unwrap_or_default()
        });
        whole.order(self.examples);
        (self.progress)(whole.events);
        whole
    }
}

#[cfg(test)]
mod tests;
