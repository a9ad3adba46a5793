//! The fourth form: middleware around a whole operation.
//!
//! An around stands outside the three roles. Each call of [`Next::run`] passes the hooks and guards of the operation
//! anew, on what the around handed over, so nothing it changes escapes a guard.

use std::{
    future::{Future, poll_fn},
    ops::{Deref, DerefMut},
    pin::pin,
    sync::Arc,
};

use stackfuture::StackFuture;

use crate::{
    Event, Failure, HookError, HookInfo, Name, RegisterError, SendFn2, State,
    hook::{BoxFuture, Closure, Said, Work, failed},
    order::order,
    set::Registered,
    supervise::{Started, answered, supervise},
};

/// Something that happens as a whole and can be wrapped: a tool use, a model call, a step.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation",
    label = "cannot be wrapped",
    note = "`around` wraps operations; hooks at points are added with `on`, `guard` and `watch`"
)]
pub trait Operation: Copy + Send + Sync + 'static {
    /// The name in records.
    const NAME: &'static str;
    /// What it is done with.
    type Event: Event;
    /// The state it happens in.
    type State: State;
    /// What comes out.
    type Output: Send + 'static;
}

type Scope<O> = <<O as Operation>::State as State>::Scope;

/// What an around is given: the operation's event, which it may change before it hands it on, and the state to read.
pub struct OpCx<'a, O: Operation> {
    event: O::Event,
    state: &'a O::State,
    scope: &'a Scope<O>,
}

impl<O: Operation> OpCx<'_, O> {
    /// The state when the operation began.
    pub fn state(&self) -> &O::State {
        self.state
    }

    /// What this around may reach.
    pub fn scope(&self) -> &Scope<O> {
        self.scope
    }
}

impl<O: Operation> Deref for OpCx<'_, O> {
    type Target = O::Event;

    fn deref(&self) -> &O::Event {
        &self.event
    }
}

impl<O: Operation> DerefMut for OpCx<'_, O> {
    fn deref_mut(&mut self) -> &mut O::Event {
        &mut self.event
    }
}

/// The rest of the operation: the arounds further in, then the hooks, guards and the thing itself.
pub struct Next<'a, O: Operation> {
    inner: &'a [Slot<O>],
    core: &'a dyn Core<O>,
}

/// The operation itself, with its hooks and guards.
pub(crate) trait Core<O: Operation>: Send + Sync {
    fn run(&self, event: O::Event) -> BoxFuture<'_, O::Output>;
}

impl<O, F, Fut> Core<O> for F
where
    O: Operation,
    F: Fn(O::Event) -> Fut + Send + Sync,
    Fut: Future<Output = O::Output> + Send,
{
    fn run(&self, event: O::Event) -> BoxFuture<'_, O::Output> {
        // Called inside the future, which borrows the function: the function's own future may not outlive it.
        Box::pin(async move { self(event).await })
    }
}

impl<O: Operation> Next<'_, O> {
    /// Does the operation with the event as it is now. May be called again (a retry) or not at all (a cache).
    pub async fn run(&self, cx: &mut OpCx<'_, O>) -> Result<O::Output, HookError> {
        Ok(run(self.inner, self.core, cx.event.clone(), cx.state, cx.scope).await?)
    }
}

/// An around failed, so the operation has no output.
#[derive(Debug, thiserror::Error)]
#[error("`{around}` {failure}")]
pub struct WrapError {
    /// Which.
    pub around: Name,
    /// How.
    pub failure: Failure,
}

/// Wraps operation `O`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not wrap `{O}`",
    note = "implement `Around<{O}>` for it, or pass an async closure of `|cx, next|` to `around`"
)]
pub trait Around<O: Operation>: Send + Sync + 'static {
    /// Does something before, after or instead of `next.run(cx)`.
    fn wrap(
        &self,
        cx: &mut OpCx<'_, O>,
        next: Next<'_, O>,
    ) -> impl Future<Output = Result<O::Output, HookError>> + Send;
}

/// An async closure that can be an [`Around`]: `async |cx, next| next.run(cx).await`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an async closure that wraps `{O}`",
    note = "pass `async |cx, next| …` to `around`, and a struct to `add_around`"
)]
pub trait AroundFn<O: Operation>:
    AsyncFn(&mut OpCx<'_, O>, Next<'_, O>) -> Result<O::Output, HookError>
    + for<'a, 'c, 'n> SendFn2<&'a mut OpCx<'c, O>, Next<'n, O>, Result<O::Output, HookError>>
{
}

impl<O: Operation, F> AroundFn<O> for F where
    F: AsyncFn(&mut OpCx<'_, O>, Next<'_, O>) -> Result<O::Output, HookError>
        + for<'a, 'c, 'n> SendFn2<&'a mut OpCx<'c, O>, Next<'n, O>, Result<O::Output, HookError>>
{
}

impl<O: Operation, F: AroundFn<O>> Around<O> for Closure<F> {
    fn wrap(
        &self,
        cx: &mut OpCx<'_, O>,
        next: Next<'_, O>,
    ) -> impl Future<Output = Result<O::Output, HookError>> + Send {
        self.0.clone().call(cx, next)
    }
}

/// [`Around`] erased; the output goes into `said`, as in [`ErasedHook`](crate::hook::ErasedHook).
pub(crate) trait ErasedAround<O: Operation>: Send + Sync {
    fn start<'a>(&'a self, cx: &'a mut OpCx<'_, O>, next: Next<'a, O>, said: &'a mut Said<O::Output>) -> Work<'a>;
}

impl<O: Operation, A: Around<O>> ErasedAround<O> for A {
    fn start<'a>(&'a self, cx: &'a mut OpCx<'_, O>, next: Next<'a, O>, said: &'a mut Said<O::Output>) -> Work<'a> {
        StackFuture::from_or_box(async move {
            let around = pin!(Around::wrap(self, cx, next));
            *said = Some(around.await.map_err(failed));
        })
    }
}

/// The arounds of one operation, outermost first.
pub(crate) struct AroundTable<O: Operation> {
    slots: Vec<Slot<O>>,
}

struct Slot<O: Operation> {
    info: Arc<HookInfo>,
    around: Arc<dyn ErasedAround<O>>,
}

impl<O: Operation> AroundTable<O> {
    pub(crate) fn compile(registered: &[&Registered]) -> Result<Self, RegisterError> {
        let infos: Vec<_> = registered.iter().map(|one| &one.info).collect();
        let slots = order(&infos)?
            .into_iter()
            .filter(|place| infos[*place].enabled)
            .map(|place| Slot {
                info: infos[place].clone(),
                around: registered[place]
                    .entry
                    .downcast_ref::<Arc<dyn ErasedAround<O>>>()
                    .expect("an around is stored under the type of its operation")
                    .clone(),
            })
            .collect();
        Ok(Self { slots })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) async fn run(
        &self,
        core: &dyn Core<O>,
        event: O::Event,
        state: &O::State,
        scope: &Scope<O>,
    ) -> Result<O::Output, WrapError> {
        run(&self.slots, core, event, state, scope).await
    }
}

fn run<'a, O: Operation>(
    slots: &'a [Slot<O>],
    core: &'a dyn Core<O>,
    event: O::Event,
    state: &'a O::State,
    scope: &'a Scope<O>,
) -> BoxFuture<'a, Result<O::Output, WrapError>> {
    Box::pin(async move {
        let Some((slot, inner)) = slots.split_first() else { return Ok(core.run(event).await) };
        let mut cx = OpCx { event, state, scope };
        let next = Next { inner, core };
        let mut said = None;
        let failure = {
            let work = pin!(slot.around.start(&mut cx, next, &mut said));
            let (mut around, mut waiting) = (Started::new(work), None);
            poll_fn(|task| supervise(&mut around, &mut waiting, &slot.info, task)).await
        };
        answered(said, failure).map_err(|failure| WrapError { around: slot.info.name.clone(), failure })
    })
}
