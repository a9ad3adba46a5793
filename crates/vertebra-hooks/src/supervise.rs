//! Runs one hook so that it can neither hang nor tear down the dispatch.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};

use serde_json::Value;

use crate::{Failure, HookError, account::listen, hook::BoxFuture};

/// A hook under a panic barrier and a timeout.
///
/// A hook that answers at its first poll, as most do, is started, polled and dropped behind one barrier, and no timer is
/// armed for it: a timer costs more than such a hook.
pub(crate) struct Supervised<'a, T, F> {
    limit: Option<Duration>,
    start: Option<F>,
    waiting: Option<Waiting<'a, T>>,
    account: Option<Box<Value>>,
}

/// What became of a hook.
pub(crate) struct Ended<T> {
    pub(crate) answer: Result<T, Failure>,
    /// What it told of its work.
    pub(crate) account: Option<Box<Value>>,
}

/// A hook that did not answer at once.
struct Waiting<'a, T> {
    hook: BoxFuture<'a, Result<T, HookError>>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, T, F: FnOnce() -> BoxFuture<'a, Result<T, HookError>> + Unpin> Supervised<'a, T, F> {
    pub(crate) fn new(limit: Option<Duration>, start: F) -> Self {
        Self { limit, start: Some(start), waiting: None, account: None }
    }

    /// Starts the hook and polls it once.
    fn first_poll(&mut self, start: F, cx: &mut Context<'_>) -> Poll<Result<T, Failure>> {
        let mut answer = None;
        let started = catch_unwind(AssertUnwindSafe(|| {
            let mut hook = start();
            match hook.as_mut().poll(cx) {
                Poll::Pending => Some(hook),
                Poll::Ready(ready) => {
                    // Put into words behind the barrier too: how an error reads is the hook's code.
                    answer = Some(ready.map_err(told));
                    None
                }
            }
        }));
        match (answer, started) {
            (Some(answer), Ok(_)) => Poll::Ready(answer),
            // The hook has answered; what it held panicked when dropped, and that changes nothing.
            (Some(answer), Err(panic)) => {
                let_go(panic);
                Poll::Ready(answer)
            }
            (None, Err(panic)) => Poll::Ready(Err(panicked(panic))),
            (None, Ok(hook)) => {
                self.waiting = hook.map(|hook| Waiting { hook, timer: self.limit.map(|limit| Box::pin(sleep(limit))) });
                self.poll_timer(cx)
            }
        }
    }

    /// Polls a hook that did not answer at once.
    fn poll_again(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, Failure>> {
        let Some(waiting) = &mut self.waiting else { return Poll::Pending };
        let polled = catch_unwind(AssertUnwindSafe(|| waiting.hook.as_mut().poll(cx).map_err(told)));
        let answer = match polled {
            Ok(Poll::Ready(answer)) => answer,
            Err(panic) => Err(panicked(panic)),
            Ok(Poll::Pending) => return self.poll_timer(cx),
        };
        let_go(self.waiting.take());
        Poll::Ready(answer)
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, Failure>> {
        let timer = self.waiting.as_mut().and_then(|waiting| waiting.timer.as_mut());
        let (Some(timer), Some(after)) = (timer, self.limit) else { return Poll::Pending };
        match timer.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let_go(self.waiting.take());
                Poll::Ready(Err(Failure::Timeout { after }))
            }
        }
    }
}

impl<'a, T, F: FnOnce() -> BoxFuture<'a, Result<T, HookError>> + Unpin> Future for Supervised<'a, T, F> {
    type Output = Ended<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (polled, told) = listen(|| match self.start.take() {
            Some(start) => self.first_poll(start, cx),
            None => self.poll_again(cx),
        });
        if told.is_some() {
            self.account = told;
        }
        polled.map(|answer| Ended { answer, account: self.account.take() })
    }
}

impl<T, F> Drop for Supervised<'_, T, F> {
    fn drop(&mut self) {
        if self.waiting.is_some() {
            let_go(self.waiting.take());
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the error is dropped here, behind the barrier")]
fn told(error: HookError) -> Failure {
    Failure::Error { message: error.to_string() }
}

/// Drops what may panic when dropped. What such a panic carries may do so again, so that is leaked.
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
