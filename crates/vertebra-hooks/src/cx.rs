//! What a hook is given.

use std::{
    mem,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Change, Event, Frame, HookError, HookInfo, Lasting, Notes, Point, RecordView, State,
    log::{Log, SoFar},
};

pub(crate) type Scope<P> = <<P as Point>::State as State>::Scope;

/// The event at point `P`, in the company of the state and the run it belongs to.
///
/// A `Cx` reads as the event: `cx.tool` is a field of it. A hook gets `&mut Cx` and may write as well; a guard or a
/// watch gets `&Cx` and cannot. What a hook writes holds only if it succeeds: the first write keeps the form from
/// before, and a hook that errors, panics, times out or is cancelled leaves everything as it was.
pub struct Cx<'a, P: Point> {
    pub(crate) inner: Inner<'a, P>,
}

pub(crate) struct Inner<'a, P: Point> {
    pub(crate) event: &'a mut P::Event,
    pub(crate) state: &'a mut P::State,
    pub(crate) scope: &'a Scope<P>,
    infos: &'a [Arc<HookInfo>],
    pub(crate) log: &'a mut Log<P>,
    /// How many hooks of the log the record shows: a guard sees what the hooks did, and nothing of the other guards.
    pub(crate) upto: u32,
    /// Whether the decision stands.
    pub(crate) is_decided: bool,
    /// Boxed, because most hooks write nothing; the record keeps the box as it is.
    undo: Option<Box<Undo<P>>>,
    /// The place of the hook that runs. Guards that wait share a context, and each sets it whenever it is polled.
    place: AtomicU32,
    accounts: Mutex<Accounts>,
}

/// What hooks told of their work, by their places.
#[derive(Default)]
pub(crate) struct Accounts(Vec<(u32, Box<Value>)>);

impl Accounts {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes what the hook at this place told; the last one counts.
    pub(crate) fn take(&mut self, place: u32) -> Option<Box<Value>> {
        let last = self.0.iter().rposition(|(by, _)| *by == place)?;
        Some(self.0.swap_remove(last).1)
    }
}

/// What was there before a hook wrote.
#[derive(Clone)]
pub(crate) struct Undo<P: Point> {
    pub(crate) event: Option<P::Event>,
    pub(crate) state: Option<P::State>,
}

impl<'a, P: Point> Cx<'a, P> {
    /// The context of all hooks of a dispatch, one after another.
    #[inline]
    pub(crate) fn new(frame: Frame<'a, P>, infos: &'a [Arc<HookInfo>], log: &'a mut Log<P>) -> Self {
        let Frame { event, state, scope, retries: _ } = frame;
        let (place, accounts) = (AtomicU32::new(0), Mutex::default());
        let (upto, is_decided, undo) = (u32::MAX, false, None);
        Self { inner: Inner { event, state, scope, infos, log, upto, is_decided, undo, place, accounts } }
    }

    /// The state as earlier hooks left it.
    pub fn state(&self) -> &P::State {
        self.inner.state
    }

    /// The state, to change.
    pub fn state_mut(&mut self) -> &mut P::State {
        let Inner { state, undo, .. } = &mut self.inner;
        Undo::of(undo).state.get_or_insert_with(|| state.clone());
        state
    }

    /// What this hook may reach but not change.
    pub fn scope(&self) -> &'a Scope<P> {
        self.inner.scope
    }

    /// This dispatch so far: who ran, what they answered and changed. A watch also finds the decision in it.
    pub fn record(&self) -> RecordView<'_, P> {
        let &Inner { ref event, ref state, infos, ref log, upto, is_decided, ref undo, .. } = &self.inner;
        let before = undo.as_deref();
        let event = before.and_then(|before| before.event.as_ref()).unwrap_or(event);
        let state = before.and_then(|before| before.state.as_ref()).unwrap_or(state);
        RecordView { so_far: SoFar { infos, log, upto, is_decided }, now: Some((event, state)) }
    }

    /// Tells of the hook's work: the record keeps it as [`Trace::account`](crate::Trace::account), also if the hook fails
    /// afterwards. The last one counts.
    pub fn account(&self, told: Value) {
        let place = self.place();
        let mut accounts = self.inner.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.0.retain(|(by, _)| *by != place);
        accounts.0.push((place, Box::new(told)));
    }

    /// Leaves a note for later hooks, under this hook's name.
    pub fn note(&mut self, lasting: Lasting, note: impl Serialize) -> Result<(), HookError> {
        let note = serde_json::to_value(note)?;
        let place = self.place();
        let hook = self.inner.infos[place as usize].name.clone();
        self.state_mut().notes_mut().put(lasting, hook, note);
        Ok(())
    }

    /// The note that a hook of this name left, as the type it was written as.
    pub fn note_of<T: DeserializeOwned>(&self, hook: &str) -> Result<Option<T>, HookError> {
        Ok(self.notes().get(hook).map(|note| T::deserialize(note)).transpose()?)
    }

    /// All notes in force.
    pub fn notes(&self) -> &Notes {
        self.inner.state.notes()
    }

    pub(crate) fn place(&self) -> u32 {
        self.inner.place.load(Relaxed)
    }

    /// The hook at this place runs: an account belongs to it now.
    #[inline]
    pub(crate) fn goes_on(&self, place: u32) {
        self.inner.place.store(place, Relaxed);
    }

    /// Forgets what the guard at this place told: it is tried again.
    pub(crate) fn forget(&self, place: u32) {
        self.inner.accounts.lock().unwrap_or_else(PoisonError::into_inner).take(place);
    }

    /// Whether the hook has neither written nor told anything.
    #[inline]
    pub(crate) fn is_untouched(&mut self) -> bool {
        self.inner.undo.is_none() && self.inner.accounts.get_mut().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    #[inline]
    pub(crate) fn take_accounts(&mut self) -> Accounts {
        mem::take(self.inner.accounts.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says what the hook wrote, and undoes it.
    pub(crate) fn undone(&mut self) -> Vec<Change> {
        let Inner { event, state, undo, .. } = &self.inner;
        let changes = undo.as_ref().map(|before| before.changes(Some(event), Some(state)));
        self.undo();
        changes.unwrap_or_default()
    }

    /// Keeps what the hook wrote, and gives the form from before; `None` if it wrote nothing.
    pub(crate) fn commit(&mut self) -> Option<Box<Undo<P>>> {
        self.inner.undo.take()
    }

    /// Undoes what the hook wrote.
    #[inline]
    pub(crate) fn undo(&mut self) {
        let Inner { event, state, undo, .. } = &mut self.inner;
        if let Some(before) = undo.take() {
            before.put_back(event, state);
        }
    }
}

impl<P: Point> Undo<P> {
    fn of(undo: &mut Option<Box<Self>>) -> &mut Self {
        undo.get_or_insert_with(|| Box::new(Self { event: None, state: None }))
    }

    /// How what was written differs from what is there after it.
    pub(crate) fn changes(&self, event: Option<&P::Event>, state: Option<&P::State>) -> Vec<Change> {
        let mut changes = self.event.as_ref().zip(event).map(|(old, new)| old.changes(new)).unwrap_or_default();
        changes.extend(self.state.iter().zip(state).flat_map(|(old, new)| old.changes(new)));
        changes
    }

    #[cold]
    #[inline(never)]
    fn put_back(self, event: &mut P::Event, state: &mut P::State) {
        if let Some(before) = self.event {
            *event = before;
        }
        if let Some(before) = self.state {
            *state = before;
        }
    }
}

impl<P: Point> Drop for Cx<'_, P> {
    /// Undoes what was written, unless it was committed. Runs also when a dispatch is dropped half way.
    #[inline]
    fn drop(&mut self) {
        self.undo();
    }
}

impl<P: Point> Deref for Cx<'_, P> {
    type Target = P::Event;

    #[inline]
    fn deref(&self) -> &P::Event {
        self.inner.event
    }
}

impl<P: Point> DerefMut for Cx<'_, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut P::Event {
        let Inner { event, undo, .. } = &mut self.inner;
        Undo::of(undo).event.get_or_insert_with(|| event.clone());
        event
    }
}
