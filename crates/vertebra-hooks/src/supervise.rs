//! Runs one hook so that it can neither hang nor tear down the dispatch.

use std::{
    any::Any,
    future::{Future, ready},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use stackfuture::StackFuture;
use tokio::time::{Sleep, sleep};

use crate::{
    Failure, HookInfo,
    hook::{Said, Work},
};

/// The work of a hook, pinned elsewhere. If it is let go before it ended, after a timeout or because its dispatch is
/// dropped, that happens behind a barrier.
pub(crate) struct Started<'p, 'a> {
    work: Pin<&'p mut Work<'a>>,
    has_ended: bool,
}

impl<'p, 'a> Started<'p, 'a> {
    #[inline]
    pub(crate) fn new(work: Pin<&'p mut Work<'a>>) -> Self {
        Self { work, has_ended: false }
    }
}

impl Drop for Started<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        if !self.has_ended {
            let_go(self.work.as_mut());
        }
    }
}

/// Set when a hook does not answer at its first poll. Only then is a timer armed, if the hook has a limit: a timer costs
/// more than a hook that answers at once.
pub(crate) type Waiting = Option<Option<Pin<Box<Sleep>>>>;

/// Polls a hook behind a barrier and under its timeout. `Some` is how it failed without an answer.
///
/// All polls of a hook come through here, so that its dispatch has one place to wait at: what is kept over two such places
/// takes up room of its own in a future, beside what is kept over others.
#[inline]
pub(crate) fn supervise(
    hook: &mut Started<'_, '_>,
    waiting: &mut Waiting,
    info: &HookInfo,
    task: &mut Context<'_>,
) -> Poll<Option<Failure>> {
    match catch_unwind(AssertUnwindSafe(|| hook.work.as_mut().poll(task))) {
        Ok(Poll::Ready(())) => {
            hook.has_ended = true;
            Poll::Ready(None)
        }
        Ok(Poll::Pending) => wait(waiting, info.timeout, task),
        Err(panic) => {
            // What it held was dropped on the way.
            hook.has_ended = true;
            Poll::Ready(Some(panicked(panic)))
        }
    }
}

#[cold]
#[inline(never)]
fn wait(waiting: &mut Waiting, limit: Option<Duration>, task: &mut Context<'_>) -> Poll<Option<Failure>> {
    let timer = waiting.get_or_insert_with(|| limit.map(|limit| Box::pin(sleep(limit))));
    match (timer, limit) {
        (Some(timer), Some(after)) => timer.as_mut().poll(task).map(|()| Some(Failure::Timeout { after })),
        _ => Poll::Pending,
    }
}

/// The answer that a hook left, or how it failed. An answer stands even if what the hook held panicked afterwards.
pub(crate) fn answered<T>(said: Said<T>, failure: Option<Failure>) -> Result<T, Failure> {
    said.unwrap_or_else(|| {
        Err(failure.unwrap_or_else(|| Failure::Error { message: "it ended without an answer".to_owned() }))
    })
}

/// Drops work whose destructors may panic. What a panic carries may panic again when dropped, so it is leaked.
#[cold]
#[inline(never)]
fn let_go(mut work: Pin<&mut Work<'_>>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work.set(StackFuture::from_or_box(ready(()))))) {
        mem::forget(panic);
    }
}

/// A panic as a failure, with its message if it has one.
#[cold]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    if let Err(panic) = catch_unwind(AssertUnwindSafe(move || drop(panic))) {
        mem::forget(panic);
    }
    Failure::Panic { message }
}
