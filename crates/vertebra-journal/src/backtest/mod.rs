//! A new policy, held against what happened: what would have been another way, how often, and by whom.
//!
//! The engine knows no policy. It takes events from wherever they come, lets closures judge them on several threads, and
//! counts. What it says does not depend on which thread was faster.

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

/// After so many events somebody is told how far it is.
const NEWS_EVERY: u64 = 128;

/// How events are gone through.
pub struct Backtest<'a> {
    /// On so many threads.
    pub threads: NonZeroUsize,
    /// So many examples are kept of each difference.
    pub examples: usize,
    /// Whether to stop before the end.
    pub stop: &'a AtomicBool,
    /// Is told now and then how many events were judged.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Backtest<'_> {
    /// Judges all events of all sources. The events of one source are judged in order, by one thread; `judge` makes what
    /// judges on a thread of its own, and `about` tells what of an event is worth keeping in an example.
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
                // A panic of whoever judges is theirs.
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
