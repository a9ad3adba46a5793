//! Time and identity under a test's control.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::{Clock, IdFor, Ids};

/// A clock that stands still unless told otherwise. A clone is another handle to the same clock.
#[derive(Clone)]
pub struct FakeClock {
    elapsed: watch::Sender<Duration>,
    moves: Moves,
    sleeps: Arc<Mutex<Vec<Duration>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    /// Whoever sleeps moves the clock.
    BySleeping,
    /// Only the test moves the clock.
    ByHand,
}

impl FakeClock {
    /// Whoever sleeps moves the clock, and wakes at once. So does a limit that is waited for beside something else, such
    /// as that of an approval: where that matters, move the clock [by hand](Self::by_hand).
    pub fn new() -> Self {
        Self { elapsed: watch::Sender::default(), moves: Moves::BySleeping, sleeps: Arc::default() }
    }

    /// Only [`advance`](Self::advance) moves the clock; whoever sleeps waits for it.
    pub fn by_hand() -> Self {
        Self { moves: Moves::ByHand, ..Self::new() }
    }

    /// Moves the clock.
    pub fn advance(&self, by: Duration) {
        self.elapsed.send_modify(|elapsed| *elapsed += by);
    }

    /// Every sleep that somebody asked for.
    pub fn sleeps(&self) -> Vec<Duration> {
        self.sleeps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        let millis = i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.borrow()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let clock = self.clone();
        Box::pin(async move {
            clock.sleeps.lock().unwrap_or_else(PoisonError::into_inner).push(duration);
            let wake = clock.elapsed() + duration;
            if clock.moves == Moves::BySleeping {
                tokio::task::yield_now().await;
                clock.elapsed.send_if_modified(|elapsed| {
                    let later = wake > *elapsed;
                    *elapsed = wake.max(*elapsed);
                    later
                });
            }
            let mut watching = clock.elapsed.subscribe();
            // The clock is held by this very future, so it cannot be gone.
            let _ = watching.wait_for(|elapsed| *elapsed >= wake).await;
        })
    }
}

/// `session-1`, `run-1`, `run-2`, …
#[derive(Debug, Default)]
pub struct SequentialIds {
    sessions: AtomicU64,
    runs: AtomicU64,
}

impl Ids for SequentialIds {
    fn fresh(&self, what: IdFor) -> Arc<str> {
        let counter = match what {
            IdFor::Session => &self.sessions,
            IdFor::Run => &self.runs,
        };
        format!("{what}-{}", counter.fetch_add(1, Ordering::Relaxed) + 1).into()
    }
}
