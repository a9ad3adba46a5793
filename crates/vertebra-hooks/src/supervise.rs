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

use crate::{Failure, HookError, hook::BoxFuture};

/// A hook's future under a panic barrier and a timeout.
///
/// The timer is armed only if the first poll is pending: most hooks never wait, and a timer costs more than they do.
pub(crate) struct Supervised<'a, T> {
    hook: Option<BoxFuture<'a, Result<T, HookError>>>,
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    stillborn: Option<Failure>,
}

impl<'a, T> Supervised<'a, T> {
    /// Starts a hook. `start` itself is behind the barrier: a hook may panic before it returns a future.
    pub(crate) fn new(limit: Option<Duration>, start: impl FnOnce() -> BoxFuture<'a, Result<T, HookError>>) -> Self {
        match catch_unwind(AssertUnwindSafe(start)) {
            Ok(hook) => Self { hook: Some(hook), limit, timer: None, stillborn: None },
            Err(panic) => Self { hook: None, limit, timer: None, stillborn: Some(panicked(panic)) },
        }
    }

    /// Lets go of the hook, behind the barrier: what it holds may panic when dropped.
    fn end(&mut self) {
        let_go(self.hook.take());
    }
}

impl<T> Future for Supervised<'_, T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(hook) = &mut this.hook else {
            return Poll::Ready(Err(this
                .stillborn
                .clone()
                .unwrap_or(Failure::Error { message: "polled again".into() })));
        };
        // An error is put into words behind the barrier too: how it reads is the hook's code.
        let answer = match catch_unwind(AssertUnwindSafe(|| hook.as_mut().poll(cx).map_err(told))) {
            Ok(Poll::Ready(answer)) => answer,
            Err(panic) => Err(panicked(panic)),
            Ok(Poll::Pending) => {
                let Some(limit) = this.limit else { return Poll::Pending };
                let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
                match timer.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => Err(Failure::Timeout { after: limit }),
                }
            }
        };
        this.end();
        Poll::Ready(answer)
    }
}

impl<T> Drop for Supervised<'_, T> {
    fn drop(&mut self) {
        if self.hook.is_some() {
            self.end();
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
