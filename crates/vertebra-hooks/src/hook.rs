//! Hooks, guards and watches: as structs, as async closures, and erased for storage.

use std::{
    future::Future,
    marker::PhantomData,
    pin::{Pin, pin},
    sync::Arc,
};

use stackfuture::StackFuture;

use crate::{Cx, Failure, HookError, Point};

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

/// What a watch may end in: nothing, or a `Result` of nothing.
#[diagnostic::on_unimplemented(
    message = "a watch cannot end in `{Self}`",
    note = "a watch decides nothing: end it in `()` or `Ok(())`, or register it with `on` or `guard`"
)]
pub trait IntoSeen {
    /// That it has seen, or that it failed.
    fn into_seen(self) -> Seen;
}

impl IntoSeen for () {
    fn into_seen(self) -> Seen {
        Ok(())
    }
}

impl IntoSeen for Seen {
    fn into_seen(self) -> Seen {
        self
    }
}

/// An async closure that can be a [`Watch`]: `async |cx| println!("{}", cx.tool)`. It may end in `Ok(())`, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an async closure for `{P}`",
    note = "pass `async |cx| …` to `watch`, and a struct to `add_watch`"
)]
pub trait WatchFn<P: Point, O: IntoSeen>: AsyncFn(&Cx<'_, P>) -> O + for<'a, 'c> SendFn<&'a Cx<'c, P>, O> {}

// None of these is `do_not_recommend`: that would hide *why* a future is not `Send`.
impl<P: Point, F> HookFn<P> for F where
    F: AsyncFn(&mut Cx<'_, P>) -> Answer<P> + for<'a, 'c> SendFn<&'a mut Cx<'c, P>, Answer<P>>
{
}
impl<P: Point, F> GuardFn<P> for F where
    F: AsyncFn(&Cx<'_, P>) -> Answer<P> + for<'a, 'c> SendFn<&'a Cx<'c, P>, Answer<P>>
{
}
impl<P: Point, O: IntoSeen, F> WatchFn<P, O> for F where
    F: AsyncFn(&Cx<'_, P>) -> O + for<'a, 'c> SendFn<&'a Cx<'c, P>, O>
{
}

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

    #[inline]
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

/// An async closure as a hook, a guard or an around.
pub(crate) struct Closure<F>(pub(crate) F);

impl<P: Point, F: HookFn<P>> Hook<P> for Closure<F> {
    #[inline]
    fn run(&self, cx: &mut Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send {
        self.0.clone().call(cx)
    }
}

impl<P: Point, F: GuardFn<P>> Guard<P> for Closure<F> {
    #[inline]
    fn check(&self, cx: &Cx<'_, P>) -> impl Future<Output = Answer<P>> + Send {
        self.0.clone().call(cx)
    }
}

/// An async closure as a watch, with what it ends in.
pub(crate) struct Looking<F, O>(pub(crate) F, pub(crate) PhantomData<fn() -> O>);

impl<P: Point, O: IntoSeen + 'static, F: WatchFn<P, O>> Watch<P> for Looking<F, O> {
    #[inline]
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        self.0.clone().call(cx).await.into_seen()
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

/// The work of a hook. A future up to this size needs no box.
pub(crate) type Work<'a> = StackFuture<'a, (), 192>;

/// What a hook came to; `None` while it runs. Written where it stays, so that no verdict is moved about.
pub(crate) type Said<T> = Option<Result<T, Failure>>;

/// What a hook is given, and where it answers.
///
/// `said` comes first, so that the context is not at the address of its job: a hook's future keeps the hook and the context
/// side by side, and two words that were written one by one and are then copied as one make the processor wait.
#[repr(C)]
pub(crate) struct Job<'a, P: Point> {
    pub(crate) said: Said<P::Verdict>,
    pub(crate) cx: Cx<'a, P>,
}

/// The same for guards and watches, who may share a context.
#[repr(C)]
pub(crate) struct Look<'a, P: Point, T> {
    pub(crate) said: Said<T>,
    pub(crate) cx: &'a Cx<'a, P>,
}

/// [`Hook`] erased, so that the hooks of one point share a list.
///
/// The answer goes into `said` before what the hook still holds is dropped: a panic in a destructor does not unsay it. No
/// code of the hook runs before the work is polled, so all of it is behind the barrier.
pub(crate) trait ErasedHook<P: Point>: Send + Sync {
    fn start<'a>(&'a self, job: &'a mut Job<'_, P>) -> Work<'a>;
}

impl<P: Point, H: Hook<P>> ErasedHook<P> for H {
    fn start<'a>(&'a self, job: &'a mut Job<'_, P>) -> Work<'a> {
        StackFuture::from_or_box(async move {
            let hook = pin!(Hook::run(self, &mut job.cx));
            job.said = Some(hook.await.map_err(failed));
        })
    }
}

/// [`Guard`] erased, like [`ErasedHook`].
pub(crate) trait ErasedGuard<P: Point>: Send + Sync {
    fn start<'a>(&'a self, look: &'a mut Look<'_, P, P::Verdict>) -> Work<'a>;
}

impl<P: Point, G: Guard<P>> ErasedGuard<P> for G {
    fn start<'a>(&'a self, look: &'a mut Look<'_, P, P::Verdict>) -> Work<'a> {
        StackFuture::from_or_box(async move {
            let guard = pin!(Guard::check(self, look.cx));
            look.said = Some(guard.await.map_err(failed));
        })
    }
}

/// [`Watch`] erased, like [`ErasedHook`].
pub(crate) trait ErasedWatch<P: Point>: Send + Sync {
    fn start<'a>(&'a self, look: &'a mut Look<'_, P, ()>) -> Work<'a>;
}

impl<P: Point, W: Watch<P>> ErasedWatch<P> for W {
    fn start<'a>(&'a self, look: &'a mut Look<'_, P, ()>) -> Work<'a> {
        StackFuture::from_or_box(async move {
            let watch = pin!(Watch::see(self, look.cx));
            look.said = Some(watch.await.map_err(failed));
        })
    }
}

/// Put into words behind the barrier: how an error reads is the hook's code, and so is dropping it.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "the error is dropped here, behind the barrier")]
pub(crate) fn failed(error: HookError) -> Failure {
    Failure::Error { message: error.to_string() }
}
