//! The compiled hooks of one point.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    Explanation, HookInfo, Point, RegisterError, Role,
    compiled::{BadPattern, Compiled, Facts, Happening},
    detached::Queue,
    hook::{ErasedGuard, ErasedHook, ErasedWatch},
    index::{Index, Places},
    order::order,
    pattern::Compile,
    set::Registered,
    site::Condition,
    supervise::panicked,
};

/// The code of a hook and when it runs.
pub(crate) struct Entry<P: Point> {
    pub(crate) matcher: Option<Compiled>,
    pub(crate) condition: Option<Condition<P>>,
    pub(crate) body: Body<P>,
}

pub(crate) enum Body<P: Point> {
    Hook(Box<dyn ErasedHook<P>>),
    Guard(Box<dyn ErasedGuard<P>>),
    Watch(Arc<dyn ErasedWatch<P>>, Arc<Queue>),
}

/// The hooks of one point: three lanes, each in order and indexed.
pub(crate) struct Table<P: Point> {
    pub(crate) hooks: Lane<P>,
    pub(crate) guards: Lane<P>,
    pub(crate) watches: Lane<P>,
}

pub(crate) struct Lane<P: Point> {
    slots: Vec<Slot<P>>,
    index: Index,
    /// No hook here has a matcher: all of them run, and nobody has to be asked.
    unconditional: bool,
}

pub(crate) struct Slot<P: Point> {
    pub(crate) info: Arc<HookInfo>,
    pub(crate) entry: Arc<Entry<P>>,
}

impl<P: Point> Table<P> {
    /// Orders and indexes the hooks registered at this point.
    pub(crate) fn compile(registered: &[&Registered]) -> Result<Self, RegisterError> {
        Ok(Self {
            hooks: Lane::compile(registered, Role::Hook)?,
            guards: Lane::compile(registered, Role::Guard)?,
            watches: Lane::compile(registered, Role::Watch)?,
        })
    }
}

impl<P: Point> Lane<P> {
    fn compile(registered: &[&Registered], role: Role) -> Result<Self, RegisterError> {
        let of_role: Vec<_> = registered.iter().filter(|one| one.info.role == role).collect();
        let infos: Vec<_> = of_role.iter().map(|one| &one.info).collect();
        let slots: Vec<Slot<P>> = order(&infos)?
            .into_iter()
            .map(|place| Slot {
                info: of_role[place].info.clone(),
                entry: of_role[place].entry.clone().downcast().expect("a hook is stored under the type of its point"),
            })
            .collect();
        // A program that dispatches one event asks each hook: building an index costs more than that.
        let is_indexed = of_role.iter().all(|one| one.when == Compile::Now);
        let matchers: Vec<_> = slots.iter().map(|slot| slot.info.matcher.as_ref().filter(|_| is_indexed)).collect();
        let index = Index::new(&matchers)
            .map_err(|bad| in_hook(&slots.first().map_or("?".into(), |slot| slot.info.name.clone()), bad))?;
        let unconditional = slots.iter().all(|slot| slot.entry.matcher.is_none() && slot.entry.condition.is_none());
        Ok(Self { slots, index, unconditional })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn slot(&self, place: u32) -> &Slot<P> {
        &self.slots[place as usize]
    }

    /// The places of hooks that match the event, in order.
    pub(crate) fn select(&self, event: &P::Event, state: &P::State) -> Places {
        if self.unconditional {
            return self.index.always();
        }
        let happening = Happening { event, state };
        let facts = Facts::new(&happening);
        let mut places = self.index.candidates(&facts);
        places.retain(|place| {
            let entry = &self.slots[*place as usize].entry;
            entry.matcher.as_ref().is_none_or(|matcher| facts.satisfy(matcher))
                && entry.condition.as_ref().is_none_or(|condition| holds::<P>(condition, event))
        });
        places
    }
}

/// Whether a condition holds. One that panics cannot say that its hook need not run.
fn holds<P: Point>(condition: &Condition<P>, event: &P::Event) -> bool {
    catch_unwind(AssertUnwindSafe(|| condition(event))).unwrap_or_else(|panic| {
        let failure = panicked(panic);
        tracing::warn!(point = P::NAME, %failure, "a condition failed, so its hook runs");
        true
    })
}

/// A pattern's error, with the hook it belongs to.
pub(crate) fn in_hook(hook: &crate::Name, bad: BadPattern) -> RegisterError {
    RegisterError::Pattern { hook: hook.clone(), field: bad.field, pattern: bad.pattern, message: bad.message }
}

impl<P: Point> Table<P> {
    /// All hooks in the order they run, and whether each matches.
    pub(crate) fn explain(&self, event: &P::Event, state: &P::State) -> Vec<Explanation> {
        [&self.hooks, &self.guards, &self.watches]
            .into_iter()
            .flat_map(|lane| {
                let places = lane.select(event, state);
                (0u32..)
                    .zip(&lane.slots)
                    .map(move |(place, slot)| Explanation { hook: slot.info.clone(), matches: places.contains(&place) })
            })
            .collect()
    }
}
