//! Hooks, guards and watches: as structs, as async closures, and erased for storage.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
};

use crate::{Cx, HookError, Point};

/// What a hook or a guard answers: a verdict of its point, or that it failed.
pub type Answer<P> = Result<<P as Point>::Verdict, HookError>;

/// What a watch answers: it has seen, or it failed. Neither matters to what is watched.
pub type Seen = Result<(), HookError>;

/// Runs at point `P`, may change the event and the state, and decides.
///
/// Implement it for a type that has state or a name worth showing; for a few lines pass an async closure to
/// [`Attach::on`](crate::Attach::on). Write the method as a plain `async fn`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook for `{P}`",
    label = "does not implement `Hook<{P}>`",
    note = "implement `Hook<{P}>` for it, or pass an async closure to `on`"
)]
pub trait Hook<P: Point>: Send + Sync + 'static {
    /// Reacts to the event.
    fn run(&self, cx: &mut Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send;
}

/// Sees the final form of the event at point `P` and decides. It cannot change anything.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a guard for `{P}`",
    label = "does not implement `Guard<{P}>`",
    note = "implement `Guard<{P}>` for it, or pass an async closure to `guard`"
)]
pub trait Guard<P: Point>: Send + Sync + 'static {
    /// Judges the event.
    fn check(&self, cx: &Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send;
}

/// Sees the final event and the decision at point `P`, also when the operation was refused.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a watch for `{P}`",
    label = "does not implement `Watch<{P}>`",
    note = "implement `Watch<{P}>` for it, or pass an async closure to `watch`"
)]
pub trait Watch<P: Point>: Send + Sync + 'static {
    /// Looks on.
    fn see(&self, cx: &Cx<'_, P>) -> impl Future<Output = Seen> + Send;
}

/// An async closure that can be a [`Hook`]. Never implemented by hand.
///
/// `async |cx| { … proceed() }` is one, provided that its captures are `Clone + Send + Sync + 'static` (share state
/// through an `Arc`) and that it holds nothing across an `.await` that is not `Send`.
///
/// The `AsyncFn` half lets the compiler infer the argument; the [`SendFn`] half makes the future `Send`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an async closure for `{P}`",
    note = "pass `async |cx| …` to `on`, and a struct to `add_hook`"
)]
pub trait HookFn<P: Point>:
    AsyncFn(&mut Cx<'_, P>) -> Answer<P> + for<'a, 'c> SendFn<&'a mut Cx<'c, P>, Answer<P>>
{
}

/// An async closure that can be a [`Guard`]: `async |cx| { … deny("…") }`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an async closure for `{P}`",
    note = "pass `async |cx| …` to `guard`, and a struct to `add_guard`"
)]
pub trait GuardFn<P: Point>: AsyncFn(&Cx<'_, P>) -> Answer<P> + for<'a, 'c> SendFn<&'a Cx<'c, P>, Answer<P>> {}

/// An async closure that can be a [`Watch`]: `async |cx| { … Ok(()) }`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an async closure for `{P}`",
    note = "pass `async |cx| …` to `watch`, and a struct to `add_watch`"
)]
pub trait WatchFn<P: Point>: AsyncFn(&Cx<'_, P>) -> Seen + for<'a, 'c> SendFn<&'a Cx<'c, P>, Seen> {}

// None of these is `do_not_recommend`: that would hide *why* a future is not `Send`.
impl<P: Point, F> HookFn<P> for F where
    F: AsyncFn(&mut Cx<'_, P>) -> Answer<P> + for<'a, 'c> SendFn<&'a mut Cx<'c, P>, Answer<P>>
{
}
impl<P: Point, F> GuardFn<P> for F where
    F: AsyncFn(&Cx<'_, P>) -> Answer<P> + for<'a, 'c> SendFn<&'a Cx<'c, P>, Answer<P>>
{
}
impl<P: Point, F> WatchFn<P> for F where F: AsyncFn(&Cx<'_, P>) -> Seen + for<'a, 'c> SendFn<&'a Cx<'c, P>, Seen> {}

/// An async function of one argument whose future is [`Send`].
///
/// Stable Rust cannot say "`F: AsyncFn(A)`, and its futures are `Send`". But every async closure is also an `FnOnce`,
/// and the future of *that* call can be named and bounded. `FnOnce` consumes the closure, hence `Clone`. There is no
/// `FnOnce` supertrait on purpose: with one, the compiler takes the closure's kind from it and its errors mislead.
#[doc(hidden)]
pub trait SendFn<A, O>: Clone + Send + Sync + 'static {
    /// The future of one call.
    type Future: Future<Output = O> + Send;

    /// Calls the function.
    fn call(self, arg: A) -> Self::Future;
}

impl<A, O, F, Fut> SendFn<A, O> for F
where
    F: FnOnce(A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = O> + Send,
{
    type Future = Fut;

    fn call(self, arg: A) -> Fut {
        self(arg)
    }
}

/// [`SendFn`] with two arguments.
#[doc(hidden)]
pub trait SendFn2<A, B, O>: Clone + Send + Sync + 'static {
    /// The future of one call.
    type Future: Future<Output = O> + Send;

    /// Calls the function.
    fn call(self, first: A, second: B) -> Self::Future;
}

impl<A, B, O, F, Fut> SendFn2<A, B, O> for F
where
    F: FnOnce(A, B) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = O> + Send,
{
    type Future = Fut;

    fn call(self, first: A, second: B) -> Fut {
        self(first, second)
    }
}

/// An async closure as a hook, a guard, a watch or an around.
pub(crate) struct Closure<F>(pub(crate) F);

impl<P: Point, F: HookFn<P>> Hook<P> for Closure<F> {
    fn run(&self, cx: &mut Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send {
        self.0.clone().call(cx)
    }
}

impl<P: Point, F: GuardFn<P>> Guard<P> for Closure<F> {
    fn check(&self, cx: &Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send {
        self.0.clone().call(cx)
    }
}

impl<P: Point, F: WatchFn<P>> Watch<P> for Closure<F> {
    fn see(&self, cx: &Cx<'_, P>) -> impl Future<Output = Seen> + Send {
        self.0.clone().call(cx)
    }
}

/// One object may listen at several points.
#[diagnostic::do_not_recommend]
impl<P: Point, H: Hook<P>> Hook<P> for Arc<H> {
    fn run(&self, cx: &mut Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send {
        H::run(self, cx)
    }
}

#[diagnostic::do_not_recommend]
impl<P: Point, G: Guard<P>> Guard<P> for Arc<G> {
    fn check(&self, cx: &Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send {
        G::check(self, cx)
    }
}

#[diagnostic::do_not_recommend]
impl<P: Point, W: Watch<P>> Watch<P> for Arc<W> {
    fn see(&self, cx: &Cx<'_, P>) -> impl Future<Output = Seen> + Send {
        W::see(self, cx)
    }
}

/// A boxed future. Functions between crates return one, so that their code is compiled once and not by every caller.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// [`Hook`] with its future boxed, so that the hooks of one point share a list.
///
/// The verdict goes into `answer` and not into the future's output, so that supervision is the same code for all points.
/// No code of the hook runs before the future is polled.
pub(crate) trait ErasedHook<P: Point>: Send + Sync {
    fn run<'a>(&'a self, cx: &'a mut Cx<'_, P>, answer: &'a mut Option<P::Verdict>) -> BoxFuture<'a, Seen>;
}

impl<P: Point, H: Hook<P>> ErasedHook<P> for H {
    fn run<'a>(&'a self, cx: &'a mut Cx<'_, P>, answer: &'a mut Option<P::Verdict>) -> BoxFuture<'a, Seen> {
        Box::pin(async move {
            // Dropped after the answer was kept: a panic in its destructor no longer matters.
            let mut hook = pin!(Hook::run(self, cx));
            *answer = Some(hook.as_mut().await?);
            Ok(())
        })
    }
}

/// [`Guard`] with its future boxed, like [`ErasedHook`].
pub(crate) trait ErasedGuard<P: Point>: Send + Sync {
    fn check<'a>(&'a self, cx: &'a Cx<'_, P>, answer: &'a mut Option<P::Verdict>) -> BoxFuture<'a, Seen>;
}

impl<P: Point, G: Guard<P>> ErasedGuard<P> for G {
    fn check<'a>(&'a self, cx: &'a Cx<'_, P>, answer: &'a mut Option<P::Verdict>) -> BoxFuture<'a, Seen> {
        Box::pin(async move {
            let mut guard = pin!(Guard::check(self, cx));
            *answer = Some(guard.as_mut().await?);
            Ok(())
        })
    }
}

/// [`Watch`] with its future boxed, like [`ErasedHook`].
pub(crate) trait ErasedWatch<P: Point>: Send + Sync {
    fn see<'a>(&'a self, cx: &'a Cx<'_, P>) -> BoxFuture<'a, Seen>;
}

impl<P: Point, W: Watch<P>> ErasedWatch<P> for W {
    fn see<'a>(&'a self, cx: &'a Cx<'_, P>) -> BoxFuture<'a, Seen> {
        Box::pin(async move { Watch::see(self, cx).await })
    }
}
