//! Time and identity enter through traits, so that a run can be replayed and simulated.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::time::Instant;

/// What time it is, and how to wait.
pub trait Clock: Send + Sync + 'static {
    /// The time of day.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment; never goes back.
    fn elapsed(&self) -> Duration;

    /// Waits.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A duration as events carry it.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The machine's clock.
#[derive(Debug, Clone)]
pub struct SystemClock {
    began: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { began: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// What a new identifier is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdFor {
    /// A session.
    Session,
    /// A run.
    Run,
}

/// Where new identifiers come from.
pub trait Ids: Send + Sync + 'static {
    /// One that was never given before.
    fn fresh(&self, what: IdFor) -> Arc<str>;
}

/// Identifiers that sort by time and never collide (UUID version 7).
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn fresh(&self, what: IdFor) -> Arc<str> {
        format!("{what}-{}", uuid::Uuid::now_v7().simple()).into()
    }
}

impl fmt::Display for IdFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Run => "run",
        })
    }
}
