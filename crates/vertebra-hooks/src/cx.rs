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
    event_before: Option<P::Event>,
    state_before: Option<P::State>,
}

impl<'a, P: Point> Cx<'a, P> {
    pub(crate) fn new(
        event: &'a mut P::Event,
        state: &'a mut P::State,
        scope: &'a Scope<P>,
        record: &'a Record,
        hook: &'a Name,
    ) -> Self {
        Self { inner: Inner { event, state, scope, record, hook, event_before: None, state_before: None } }
    }

    /// The state as earlier hooks left it.
    pub fn state(&self) -> &P::State {
        self.inner.state
    }

    /// The state, to change.
    pub fn state_mut(&mut self) -> &mut P::State {
        let inner = &mut self.inner;
        if inner.state_before.is_none() {
            inner.state_before = Some(inner.state.clone());
        }
        inner.state
    }

    /// What this hook may reach but not change.
    pub fn scope(&self) -> &Scope<P> {
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

    /// Keeps what the hook wrote, and says what that was; `None` if it wrote nothing.
    pub(crate) fn commit(mut self) -> Option<Changed> {
        let inner = &mut self.inner;
        let event = inner.event_before.take().map(|before| before.changes(inner.event));
        let state = inner.state_before.take().map(|before| before.changes(inner.state));
        if event.is_none() && state.is_none() {
            return None;
        }
        let mut changes = event.unwrap_or_default();
        changes.extend(state.unwrap_or_default());
        Some(Changed { changes })
    }
}

/// What a hook that succeeded had written.
pub(crate) struct Changed {
    pub(crate) changes: Vec<Change>,
}

impl<P: Point> Drop for Cx<'_, P> {
    /// Undoes what was written, unless it was committed. Runs also when a dispatch is dropped half way.
    fn drop(&mut self) {
        let inner = &mut self.inner;
        if let Some(before) = inner.event_before.take() {
            *inner.event = before;
        }
        if let Some(before) = inner.state_before.take() {
            *inner.state = before;
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
        let inner = &mut self.inner;
        if inner.event_before.is_none() {
            inner.event_before = Some(inner.event.clone());
        }
        inner.event
    }
}
