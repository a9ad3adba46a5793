//! What a hook is given.

use std::ops::{Deref, DerefMut};

use serde::{Serialize, de::DeserializeOwned};

use crate::{Change, Event, HookError, Lasting, Name, Notes, Point, Record, State};

type Scope<P> = <<P as Point>::State as State>::Scope;

/// The event at point `P`, in the company of the state and the run it belongs to.
///
/// A `Cx` reads as the event: `cx.tool` is a field of it. A hook gets `&mut Cx` and may write as well; a guard or a
/// watch gets `&Cx` and cannot. What a hook writes holds only if it succeeds: the first write keeps the form from
/// before, and a hook that errors, panics, times out or is cancelled leaves everything as it was.
pub struct Cx<'a, P: Point> {
    inner: Inner<'a, P>,
}

struct Inner<'a, P: Point> {
    event: &'a mut P::Event,
    state: &'a mut P::State,
    scope: &'a Scope<P>,
    record: &'a Record,
    hook: &'a Name,
    /// Boxed, because most hooks write nothing, and a context is made for each.
    undo: Option<Box<Undo<P>>>,
}

/// What was there before the hook wrote.
struct Undo<P: Point> {
    event: Option<P::Event>,
    state: Option<P::State>,
}

impl<'a, P: Point> Cx<'a, P> {
    pub(crate) fn new(
        event: &'a mut P::Event,
        state: &'a mut P::State,
        scope: &'a Scope<P>,
        record: &'a Record,
        hook: &'a Name,
    ) -> Self {
        Self { inner: Inner { event, state, scope, record, hook, undo: None } }
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
    pub fn record(&self) -> &Record {
        self.inner.record
    }

    /// Leaves a note for later hooks, under this hook's name.
    pub fn note(&mut self, lasting: Lasting, note: impl Serialize) -> Result<(), HookError> {
        let note = serde_json::to_value(note)?;
        let hook = self.inner.hook.clone();
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

    /// Says what the hook wrote, and undoes it.
    pub(crate) fn undone(self) -> Vec<Change> {
        self.inner.written().unwrap_or_default()
    }

    /// Keeps what the hook wrote, and says what that was; `None` if it wrote nothing.
    pub(crate) fn commit(mut self) -> Option<Changed<P::State>> {
        let changes = self.inner.written()?;
        let Undo { event, state } = *self.inner.undo.take()?;
        Some(Changed { changes, event: event.is_some(), state_before: state })
    }
}

impl<P: Point> Inner<'_, P> {
    /// How event and state differ from what they were; `None` if nothing was written.
    fn written(&self) -> Option<Vec<Change>> {
        let before = self.undo.as_ref()?;
        let mut changes = before.event.as_ref().map(|before| before.changes(self.event)).unwrap_or_default();
        changes.extend(before.state.iter().flat_map(|before| before.changes(self.state)));
        Some(changes)
    }
}

impl<P: Point> Undo<P> {
    fn of(undo: &mut Option<Box<Self>>) -> &mut Self {
        undo.get_or_insert_with(|| Box::new(Self { event: None, state: None }))
    }
}

/// What a hook that succeeded had written.
pub(crate) struct Changed<S> {
    pub(crate) changes: Vec<Change>,
    /// Whether it wrote to the event.
    pub(crate) event: bool,
    /// The state before, if it wrote to that.
    pub(crate) state_before: Option<S>,
}

impl<P: Point> Drop for Cx<'_, P> {
    /// Undoes what was written, unless it was committed. Runs also when a dispatch is dropped half way.
    fn drop(&mut self) {
        let Inner { event, state, undo, .. } = &mut self.inner;
        let Some(before) = undo.take() else { return };
        if let Some(before) = before.event {
            **event = before;
        }
        if let Some(before) = before.state {
            **state = before;
        }
    }
}

impl<P: Point> Deref for Cx<'_, P> {
    type Target = P::Event;

    fn deref(&self) -> &P::Event {
        self.inner.event
    }
}

impl<P: Point> DerefMut for Cx<'_, P> {
    fn deref_mut(&mut self) -> &mut P::Event {
        let Inner { event, undo, .. } = &mut self.inner;
        Undo::of(undo).event.get_or_insert_with(|| event.clone());
        event
    }
}
