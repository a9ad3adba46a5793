//! Coming to rest: a run that somebody outside suspends ends what has begun, begins nothing more, and waits in its journal.

use std::{future::Future, pin::pin, time::Duration};

use futures_util::future::{Either, select};
use tokio_util::sync::CancellationToken;

use crate::{Interrupted, Purpose, Run, agent::Core};

/// How a run is reached from outside.
#[derive(Clone)]
pub(crate) struct Reins {
    pub(crate) cancel: CancellationToken,
    /// Suspends it.
    pub(crate) rest: CancellationToken,
}

impl Reins {
    pub(crate) fn new(core: &Core) -> Self {
        Self::with(core, CancellationToken::new())
    }

    /// Where nothing is kept that a run could be resumed from, it is cancelled instead of suspended.
    pub(crate) fn with(core: &Core, cancel: CancellationToken) -> Self {
        let rest = if core.journal.keeps() { CancellationToken::new() } else { cancel.clone() };
        Self { cancel, rest }
    }
}

impl Run {
    /// Whether something new may begin. Asked where the loop begins something, and not inside a hook or a tool: what they
    /// were asked to do has begun.
    pub(crate) fn may_begin(&self) -> Result<(), Interrupted> {
        if self.is_to_rest() { Err(self.rest()) } else { Ok(()) }
    }

    /// Waits before a model is asked again, as [`wait`](Self::wait) does. A run that is suspended meanwhile asks when it is
    /// resumed; what a hook or a tool asks is a part of what they were asked to do.
    pub async fn wait_to_ask(&self, purpose: &Purpose, duration: Duration) -> Result<(), Interrupted> {
        match purpose {
            Purpose::Step => self.pause(duration).await,
            Purpose::Capability(_) => self.wait(duration).await,
        }
    }

    /// Waits before something is done again; a run that is suspended meanwhile does not wait to the end.
    pub(crate) async fn pause(&self, duration: Duration) -> Result<(), Interrupted> {
        self.until_resting(self.wait(duration)).await.unwrap_or_else(|| Err(self.rest()))
    }

    /// Waits for something that the run may leave at any moment; `None` if it is suspended meanwhile.
    pub(crate) async fn until_resting<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        if !self.may_wait() {
            return Some(work.await);
        }
        match select(pin!(work), pin!(self.0.rest.cancelled())).await {
            Either::Left((done, _)) => Some(done),
            // Cancelled at the same time, it is cancelled.
            Either::Right(((), work)) if self.is_cancelled() => Some(work.await),
            Either::Right(_) => None,
        }
    }

    /// Why the run does not go on, if it does not.
    pub(crate) fn interrupted(&self) -> Interrupted {
        let suspended = self.0.suspended.get().filter(|_| self.is_suspended());
        suspended.map_or(Interrupted::Cancelled, |(by, message)| Interrupted::Suspended {
            by: by.clone(),
            message: message.clone(),
        })
    }

    /// A run inside a tool that cannot be entered again goes on, and the tool ends.
    fn is_to_rest(&self) -> bool {
        self.may_wait() && self.0.rest.is_cancelled() && !self.is_cancelled()
    }

    fn rest(&self) -> Interrupted {
        self.suspend("caller", "the run was suspended".to_owned())
    }

    /// Whether a part of the run waits: nothing ends, and nothing more begins.
    pub(crate) fn is_suspended(&self) -> bool {
        self.0.suspended.get().is_some() && self.may_wait() && !self.is_cancelled()
    }

    /// A part of the run waits, and so does all of it. The first reason is told.
    pub(crate) fn suspend(&self, by: &str, message: String) -> Interrupted {
        self.0.suspended.get_or_init(|| (by.to_owned(), message));
        self.interrupted()
    }
}
