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
            Err(panic) => Self { hook: None, limit, timer: None, stillborn: Some(panicked(&*panic)) },
        }
    }

    /// Lets go of the hook, behind the barrier: what it holds may panic when dropped.
    fn end(&mut self) {
        let hook = self.hook.take();
        let _ = catch_unwind(AssertUnwindSafe(move || drop(hook)));
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
        let answer = match catch_unwind(AssertUnwindSafe(|| hook.as_mut().poll(cx))) {
            Ok(Poll::Ready(Ok(answer))) => Ok(answer),
            Ok(Poll::Ready(Err(error))) => Err(Failure::Error { message: error.to_string() }),
            Err(panic) => Err(panicked(&*panic)),
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

/// A panic as a failure, with its message if it has one.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Failure::Panic { message }
}
