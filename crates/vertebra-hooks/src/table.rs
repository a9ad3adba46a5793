//! The compiled hooks of one point.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    Attribute, Explanation, HookInfo, Point, RegisterError, Role,
    compiled::{Attributes, Compiled, Happening},
    detached::Queue,
    hook::{ErasedGuard, ErasedHook, ErasedWatch},
    index::{Index, Places},
    log::Infos,
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
    Hook(Arc<dyn ErasedHook<P>>),
    Guard(Arc<dyn ErasedGuard<P>>),
    Watch(Arc<dyn ErasedWatch<P>>, Arc<Queue>),
}

/// A watch, and its queue if it runs behind the dispatch.
pub(crate) type Watcher<P> = (Arc<dyn ErasedWatch<P>>, Arc<Queue>);

/// The hooks of one point: three lanes, each in order and indexed.
pub(crate) struct Table<P: Point> {
    pub(crate) hooks: Lane<P, Arc<dyn ErasedHook<P>>>,
    pub(crate) guards: Lane<P, Arc<dyn ErasedGuard<P>>>,
    pub(crate) watches: Lane<P, Watcher<P>>,
    /// All of them, one lane after another.
    pub(crate) infos: Infos,
}

/// The hooks of one role.
pub(crate) struct Lane<P: Point, B> {
    slots: Box<[Slot<B>]>,
    /// The place of the first among all hooks of the table.
    first: u32,
    gate: Gate<P>,
}

pub(crate) struct Slot<B> {
    pub(crate) body: B,
    pub(crate) enabled: bool,
    pub(crate) info: Arc<HookInfo>,
}

/// Which hooks of a lane run.
struct Gate<P: Point> {
    index: Index,
    attributes: &'static [Attribute],
    entries: Box<[Arc<Entry<P>>]>,
    /// No hook here has a matcher: all of them run, and nobody has to be asked.
    is_open: bool,
}

/// The places of hooks that match, in order.
pub(crate) enum Selected {
    All(u32),
    Some(Places),
}

impl Selected {
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<u32> {
        match self {
            Self::All(count) => u32::try_from(at).ok().filter(|at| at < count),
            Self::Some(places) => places.get(at).copied(),
        }
    }

    /// The first that comes after this place.
    pub(crate) fn after(&self, place: u32) -> usize {
        match self {
            Self::All(_) => (place as usize) + 1,
            Self::Some(places) => places.partition_point(|one| *one <= place),
        }
    }
}

impl<P: Point> Table<P> {
    /// Orders and indexes the hooks registered at this point.
    pub(crate) fn compile(registered: &[&Registered]) -> Result<Self, RegisterError> {
        let mut infos = Vec::with_capacity(registered.len());
        let hooks = Lane::compile(registered, Role::Hook, &mut infos, |body| match body {
            Body::Hook(hook) => Some(hook.clone()),
            Body::Guard(_) | Body::Watch(..) => None,
        })?;
        let guards = Lane::compile(registered, Role::Guard, &mut infos, |body| match body {
            Body::Guard(guard) => Some(guard.clone()),
            Body::Hook(_) | Body::Watch(..) => None,
        })?;
        let watches = Lane::compile(registered, Role::Watch, &mut infos, |body| match body {
            Body::Watch(watch, queue) => Some((watch.clone(), queue.clone())),
            Body::Hook(_) | Body::Guard(_) => None,
        })?;
        Ok(Self { hooks, guards, watches, infos: infos.into() })
    }

    /// Returns whether it has a hook or a guard.
    pub(crate) fn decides(&self) -> bool {
        !self.hooks.slots.is_empty() || !self.guards.slots.is_empty()
    }

    /// All hooks in the order they run, and whether each matches.
    pub(crate) fn explain(&self, event: &P::Event, state: &P::State) -> Vec<Explanation> {
        let lanes = [&self.hooks.gate, &self.guards.gate, &self.watches.gate];
        let matching = lanes.into_iter().flat_map(|gate| {
            let selected = gate.select(event, state);
            (0..gate.entries.len()).map(move |at| match &selected {
                Selected::All(_) => true,
                Selected::Some(places) => places.iter().any(|place| (*place as usize) == at),
            })
        });
        self.infos.iter().zip(matching).map(|(info, matches)| Explanation { hook: info.clone(), matches }).collect()
    }
}

impl<P: Point, B> Lane<P, B> {
    fn compile(
        registered: &[&Registered],
        role: Role,
        all: &mut Vec<Arc<HookInfo>>,
        body: fn(&Body<P>) -> Option<B>,
    ) -> Result<Self, RegisterError> {
        let (infos, gate) = Gate::compile(registered, role)?;
        let first = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let slots = infos.iter().zip(&gate.entries).filter_map(|(info, entry)| {
            Some(Slot { body: body(&entry.body)?, enabled: info.enabled, info: info.clone() })
        });
        let lane = Self { slots: slots.collect(), first, gate };
        all.extend(infos);
        Ok(lane)
    }

    #[inline]
    pub(crate) fn slot(&self, at: u32) -> &Slot<B> {
        &self.slots[at as usize]
    }

    /// The place among all hooks of the table.
    #[inline]
    pub(crate) fn place(&self, at: u32) -> u32 {
        self.first + at
    }

    /// The hooks that match the event.
    #[inline]
    pub(crate) fn select(&self, event: &P::Event, state: &P::State) -> Selected {
        self.gate.select(event, state)
    }
}

impl<P: Point> Gate<P> {
    fn compile(registered: &[&Registered], role: Role) -> Result<(Vec<Arc<HookInfo>>, Self), RegisterError> {
        let of_role: Vec<_> = registered.iter().filter(|one| one.info.role == role).collect();
        let infos: Vec<_> = of_role.iter().map(|one| &one.info).collect();
        let in_order: Vec<_> = order(&infos)?.into_iter().map(|place| of_role[place]).collect();
        let infos: Vec<_> = in_order.iter().map(|one| one.info.clone()).collect();
        let entries: Box<[Arc<Entry<P>>]> = in_order
            .iter()
            .map(|one| one.entry.clone().downcast().expect("a hook is stored under the type of its point"))
            .collect();
        let attributes = registered.first().map_or(P::ATTRIBUTES, |one| one.attributes);
        let point = registered.first().map_or(P::NAME, |one| one.info.point);
        // A program that dispatches one event asks each hook: building an index costs more than that.
        let is_indexed = of_role.iter().all(|one| one.when == Compile::Now);
        let matchers: Vec<_> = infos.iter().map(|info| info.matcher.as_ref().filter(|_| is_indexed)).collect();
        // Each pattern has compiled alone, so what can fail is only that all of them together are too large.
        let index = Index::new(&matchers, attributes).or_else(|bad| {
            tracing::warn!(point, %role, reason = %bad, "too many patterns for an index: each hook is asked");
            Index::new(&vec![None; infos.len()], attributes)
        });
        let index = index.map_err(|bad| bad.of(&infos.first().map_or("?".into(), |info| info.name.clone()), point))?;
        let is_open = entries.iter().all(|entry| entry.matcher.is_none() && entry.condition.is_none());
        Ok((infos, Self { index, attributes, entries, is_open }))
    }

    #[inline]
    fn select(&self, event: &P::Event, state: &P::State) -> Selected {
        if self.is_open {
            return Selected::All(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        }
        self.ask(event, state)
    }

    #[inline(never)]
    fn ask(&self, event: &P::Event, state: &P::State) -> Selected {
        let happening = Happening::<P> { event, state, attributes: self.attributes };
        let attributes = Attributes::new(&happening);
        let mut places = self.index.candidates(&attributes);
        places.retain(|place| {
            let entry = &self.entries[*place as usize];
            (self.index.decides(*place) || entry.matcher.as_ref().is_none_or(|matcher| attributes.satisfy(matcher)))
                && entry.condition.as_ref().is_none_or(|condition| holds::<P>(condition, event))
        });
        Selected::Some(places)
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
