//! Runs one hook so that it can neither hang nor tear down the dispatch.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::{Sleep, sleep};

use crate::{Failure, HookError, Seen, account::listen, hook::BoxFuture};

/// A hook under a panic barrier and a timeout.
///
/// Most hooks answer at their first poll. They are polled and dropped behind one barrier, and no timer is armed for them:
/// a timer costs more than such a hook.
pub(crate) struct Supervised<'a> {
    limit: Option<Duration>,
    /// `None` once the hook has ended.
    hook: Option<BoxFuture<'a, Seen>>,
    /// Armed when the hook does not answer at its first poll.
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
    account: Option<Box<Value>>,
}

/// How a hook ended. The answer itself is where the hook has left it.
pub(crate) struct Ended {
    pub(crate) failure: Option<Failure>,
    /// The hook's account of its work.
    pub(crate) account: Option<Box<Value>>,
}

impl<'a> Supervised<'a> {
    #[inline]
    pub(crate) fn new(limit: Option<Duration>, hook: BoxFuture<'a, Seen>) -> Self {
        Self { limit, hook: Some(hook), timer: None, is_waiting: false, account: None }
    }

    /// Polls the hook. A hook that ends is dropped behind the same barrier.
    #[inline]
    fn poll_hook(&mut self, cx: &mut Context<'_>) -> Poll<Option<Failure>> {
        let Some(mut hook) = self.hook.take() else { return Poll::Pending };
        let mut ended = None;
        let polled = catch_unwind(AssertUnwindSafe(|| match hook.as_mut().poll(cx) {
            Poll::Pending => Some(hook),
            Poll::Ready(answer) => {
                // Formatted behind the barrier too: how an error reads is the hook's code.
                ended = Some(answer.err().map(failed));
                None
            }
        }));
        match (ended, polled) {
            (Some(failure), Ok(_)) => Poll::Ready(failure),
            // The hook has answered. What it held panicked when dropped, and that changes nothing.
            (Some(failure), Err(panic)) => {
                let_go(panic);
                Poll::Ready(failure)
            }
            (None, Err(panic)) => Poll::Ready(Some(panicked(panic))),
            (None, Ok(hook)) => {
                self.hook = hook;
                self.poll_timer(cx)
            }
        }
    }

    #[cold]
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Failure>> {
        if !std::mem::replace(&mut self.is_waiting, true) {
            self.timer = self.limit.map(|limit| Box::pin(sleep(limit)));
        }
        let (Some(timer), Some(after)) = (&mut self.timer, self.limit) else { return Poll::Pending };
        match timer.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let_go(self.hook.take());
                Poll::Ready(Some(Failure::Timeout { after }))
            }
        }
    }
}

impl Future for Supervised<'_> {
    type Output = Ended;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (polled, account) = listen(|| self.poll_hook(cx));
        if account.is_some() {
            self.account = account;
        }
        polled.map(|failure| Ended { failure, account: self.account.take() })
    }
}

impl Drop for Supervised<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.hook.is_some() {
            let_go(self.hook.take());
        }
    }
}

/// The answer that a hook left, or how it failed. An answer stands even if what the hook held panicked afterwards.
pub(crate) fn answered<T>(answer: Option<T>, failure: Option<Failure>) -> Result<T, Failure> {
    answer.ok_or_else(|| failure.unwrap_or_else(|| Failure::Error { message: "it ended without an answer".to_owned() }))
}

/// Waits for all. One copy serves the guards of all points.
pub(crate) async fn all(work: Vec<BoxFuture<'_, ()>>) {
    join_all(work).await;
}

#[expect(clippy::needless_pass_by_value, reason = "the error is dropped here, behind the barrier")]
fn failed(error: HookError) -> Failure {
    Failure::Error { message: error.to_string() }
}

/// Drops a value whose destructor may panic. The panic's payload may panic again when dropped, so it is leaked.
fn let_go<T>(what: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(move || drop(what))) {
        std::mem::forget(panic);
    }
}

/// A panic as a failure, with its message if it has one.
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let_go(panic);
    Failure::Panic { message }
}
