//! The hooks in force: read without locks, changed while dispatches are in flight.

use std::{
    any::TypeId,
    collections::HashMap,
    fmt,
    future::Future,
    hash::{BuildHasherDefault, Hash, Hasher},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};

use crate::{
    Bare, Drained, Frame, HookInfo, HookSet, Operation, Outcome, Point, Reach, RegisterError, Retries, State,
    WrapError,
    around::AroundTable,
    order::{check_names, nearest},
    set::{AnyTable, Registered},
    table::Table,
};

/// All hooks of an agent. A clone is another handle to the same hooks.
///
/// A change takes effect atomically for the next dispatch; a dispatch in flight keeps the table it began with. Readers
/// take no lock.
#[derive(Clone, Default)]
pub struct Hooks {
    inner: Arc<Inner>,
}

/// Hooks of one's own, or the hooks of two others together.
enum Inner {
    Own(Own),
    Layered(Layered),
}

#[derive(Default)]
struct Own {
    snapshot: ArcSwap<Snapshot>,
    /// A bit for each point with hooks; several points may share one. Where the bit is not set nobody listens, and that
    /// is known without looking at the snapshot.
    listening: AtomicU64,
    /// One writer at a time.
    writer: Mutex<()>,
}

struct Layered {
    parent: Hooks,
    own: Hooks,
    layer: Layer,
    /// Both together, for as long as neither changes.
    merged: ArcSwapOption<Merged>,
}

/// Whose hooks the second of two layers are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// A child's, which does not have all that its parent has.
    Child,
    /// The same agent's.
    Same,
}

impl Default for Inner {
    fn default() -> Self {
        Self::Own(Own::default())
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list().iter().map(|info| (info.point, &*info.name))).finish()
    }
}

/// Hooks as of one moment. Never changed, only replaced.
#[derive(Default)]
struct Snapshot {
    registered: Vec<Registered>,
    tables: HashMap<TypeId, AnyTable, BuildHasherDefault<TypeIdHasher>>,
}

struct Merged {
    parent: Arc<Snapshot>,
    own: Arc<Snapshot>,
    both: Arc<Snapshot>,
}

/// One hook of a point, and whether it would run on an event.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The hook.
    pub hook: Arc<HookInfo>,
    /// Whether its matcher holds.
    pub matches: bool,
}

impl Hooks {
    /// These hooks.
    pub fn new(set: HookSet) -> Result<Self, RegisterError> {
        let hooks = Self::default();
        hooks.install(set)?;
        Ok(hooks)
    }

    /// No hooks of one's own yet, under a parent's. What the parent has holds here too, now and whenever it changes;
    /// a child can only add.
    #[must_use]
    pub fn child(&self) -> Self {
        Self::layered(self, &Self::default())
    }

    /// The hooks of a parent and of a child together, now and whenever either changes. Changes go to the child's own.
    #[must_use]
    pub fn layered(parent: &Hooks, own: &Hooks) -> Self {
        Self::in_layers(parent, own, Layer::Child)
    }

    /// These hooks and more, for the same agent, now and whenever either changes. Changes go to `more`.
    #[must_use]
    pub fn beside(&self, more: &Hooks) -> Self {
        Self::in_layers(self, more, Layer::Same)
    }

    fn in_layers(parent: &Hooks, own: &Hooks, layer: Layer) -> Self {
        let (parent, own) = (parent.clone(), own.clone());
        Self { inner: Arc::new(Inner::Layered(Layered { parent, own, layer, merged: ArcSwapOption::empty() })) }
    }

    /// Adds hooks, all or none.
    pub fn install(&self, set: HookSet) -> Result<(), RegisterError> {
        self.change(|registered| {
            let at = registered.len();
            insert(registered, at, set)
        })
    }

    /// Puts the hooks of `set` in the place of the hook, or the bundle, of this name.
    pub fn replace(&self, name: &str, set: HookSet) -> Result<(), RegisterError> {
        self.change(|registered| {
            let at = position(registered, name)?;
            registered.retain(|one| !one.info.goes_by(name));
            insert(registered, at, set)
        })
    }

    /// Removes the hooks of this name, at all points: one hook, or a bundle as a whole.
    pub fn remove(&self, name: &str) -> Result<(), RegisterError> {
        self.change(|registered| {
            position(registered, name)?;
            registered.retain(|one| !one.info.goes_by(name));
            Ok(())
        })
    }

    /// Switches the hooks of this name on: one hook, or a bundle as a whole.
    pub fn enable(&self, name: &str) -> Result<(), RegisterError> {
        self.switch(name, true)
    }

    /// Switches the hooks of this name off: one hook, or a bundle as a whole. They stay registered, and records say that
    /// they were skipped.
    pub fn disable(&self, name: &str) -> Result<(), RegisterError> {
        self.switch(name, false)
    }

    /// All hooks in force, the parent's first, in the order they were registered.
    pub fn list(&self) -> Vec<Arc<HookInfo>> {
        self.current().registered.iter().map(|one| one.info.clone()).collect()
    }

    /// The hook of this name; the first, if it stands at several points.
    pub fn get(&self, name: &str) -> Option<Arc<HookInfo>> {
        self.current().registered.iter().find(|one| *one.info.name == *name).map(|one| one.info.clone())
    }

    /// How many hooks are in force.
    pub fn count(&self) -> usize {
        self.current().registered.len()
    }

    /// Whether anyone listens at this point.
    pub fn any_at<P: Point>(&self, _point: P) -> bool {
        self.may_listen(TypeId::of::<P>()) && self.current().tables.contains_key(&TypeId::of::<P>())
    }

    /// Runs all matching hooks of a point over an event.
    pub async fn dispatch<P: Point>(&self, _point: P, frame: Frame<'_, P>) -> Outcome<P> {
        // Most points have no hooks, so that is the first question.
        if !self.may_listen(TypeId::of::<P>()) {
            return Outcome::nothing();
        }
        match self.table::<P>() {
            Some(table) => table.dispatch(frame).await,
            None => Outcome::nothing(),
        }
    }

    /// Does the same as [`dispatch`](Self::dispatch), through the code that the point's own crate has compiled. It costs
    /// one allocation and saves a copy of the dispatch in the caller's crate: for callers that are not a hot path.
    pub async fn dispatch_boxed<P: Point>(&self, _point: P, frame: Frame<'_, P>) -> Outcome<P> {
        match self.table::<P>() {
            Some(table) => (P::code().dispatch)(table, frame).await,
            None => Outcome::nothing(),
        }
    }

    /// [`dispatch`](Self::dispatch) for points without a state of their own.
    pub async fn fire<P: Point<State = Bare>>(&self, point: P, event: &mut P::Event) -> Outcome<P> {
        let mut state = Bare::default();
        self.dispatch(point, Frame { event, state: &mut state, scope: &(), retries: Retries::Allowed }).await
    }

    /// Does an operation inside the arounds that wrap it.
    pub async fn wrap<O, F, Fut>(
        &self,
        _operation: O,
        event: O::Event,
        state: &O::State,
        scope: &<O::State as State>::Scope,
        core: F,
    ) -> Result<O::Output, WrapError>
    where
        O: Operation,
        F: Fn(O::Event) -> Fut + Send + Sync,
        Fut: Future<Output = O::Output> + Send,
    {
        if !self.may_listen(TypeId::of::<O>()) {
            return Ok(core(event).await);
        }
        let table = self.current().tables.get(&TypeId::of::<O>()).cloned();
        match table.and_then(|table| table.downcast::<AroundTable<O>>().ok()) {
            Some(table) if !table.is_empty() => table.run(&core, event, state, scope).await,
            _ => Ok(core(event).await),
        }
    }

    /// The hooks of a point in the order they run, and which of them match an event.
    pub fn explain<P: Point>(&self, _point: P, event: &P::Event, state: &P::State) -> Vec<Explanation> {
        self.table::<P>().map(|table| (P::code().explain)(&table, event, state)).unwrap_or_default()
    }

    /// Waits for detached watches to catch up, for a bounded time, and counts what they missed.
    pub async fn drain(&self, limit: Duration) -> Drained {
        let queues: Vec<_> = self.current().registered.iter().filter_map(|one| one.queue.clone()).collect();
        let drained = futures_util::future::join_all(queues.iter().map(|queue| queue.drain(limit))).await;
        drained.into_iter().fold(Drained::default(), |sum, one| sum + one)
    }

    fn table<P: Point>(&self) -> Option<Arc<Table<P>>> {
        let table = self.current().tables.get(&TypeId::of::<P>())?.clone();
        Some(table.downcast().expect("a table is stored under the type of its point"))
    }

    fn switch(&self, name: &str, enabled: bool) -> Result<(), RegisterError> {
        self.change(|registered| {
            position(registered, name)?;
            for one in registered.iter_mut().filter(|one| one.info.goes_by(name)) {
                Arc::make_mut(&mut one.info).enabled = enabled;
            }
            Ok(())
        })
    }

    /// Makes the next snapshot from the one in force. On an error the one in force stays.
    fn change(
        &self,
        edit: impl FnOnce(&mut Vec<Registered>) -> Result<(), RegisterError>,
    ) -> Result<(), RegisterError> {
        self.change_under(&[], edit)
    }

    /// [`change`](Self::change), where constraints may name hooks of parents.
    fn change_under(
        &self,
        above: &[Arc<Snapshot>],
        edit: impl FnOnce(&mut Vec<Registered>) -> Result<(), RegisterError>,
    ) -> Result<(), RegisterError> {
        let own = match &*self.inner {
            Inner::Own(own) => own,
            Inner::Layered(layered) => {
                let above: Vec<_> = above.iter().cloned().chain([layered.parent.current_arc()]).collect();
                return layered.own.change_under(&above, edit);
            }
        };
        let _one_writer = own.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let before = own.snapshot.load_full();
        let mut registered = before.registered.clone();
        edit(&mut registered)?;
        let has_constraints = |one: &&Registered| !one.info.before.is_empty() || !one.info.after.is_empty();
        for new in registered.iter().filter(has_constraints).filter(|one| !before.has(one)) {
            let everyone = above.iter().flat_map(|snapshot| &snapshot.registered).chain(&registered);
            let at_point: Vec<_> = everyone.filter(|one| one.point == new.point).map(|one| &one.info).collect();
            check_names(&new.info, &at_point)?;
        }
        let next = Arc::new(Snapshot::compile(registered)?);
        for parent in above {
            Merged::compile(Layer::Same, parent.clone(), next.clone())?;
        }
        let listening = next.tables.keys().map(bit).fold(0, |all, bit| all | bit);
        // Too many bits for a moment only cost a look; too few would hide a hook.
        own.listening.fetch_or(listening, Ordering::Release);
        own.snapshot.store(next);
        own.listening.store(listening, Ordering::Release);
        Ok(())
    }

    /// Whether anyone may listen. `false` is certain.
    fn may_listen(&self, point: TypeId) -> bool {
        match &*self.inner {
            Inner::Own(own) => own.listening.load(Ordering::Acquire) & bit(&point) != 0,
            Inner::Layered(layered) => layered.parent.may_listen(point) || layered.own.may_listen(point),
        }
    }

    /// What is in force now.
    fn current(&self) -> Guard<Arc<Snapshot>> {
        match &*self.inner {
            Inner::Own(own) => own.snapshot.load(),
            Inner::Layered(layered) => Guard::from_inner(layered.current()),
        }
    }

    fn current_arc(&self) -> Arc<Snapshot> {
        Guard::into_inner(self.current())
    }
}

impl Layered {
    fn current(&self) -> Arc<Snapshot> {
        let (parent, own) = (self.parent.current(), self.own.current());
        if let Some(merged) = &*self.merged.load()
            && Arc::ptr_eq(&merged.parent, &parent)
            && Arc::ptr_eq(&merged.own, &own)
        {
            return merged.both.clone();
        }
        let (parent, own) = (Guard::into_inner(parent), Guard::into_inner(own));
        let merged = Merged::compile(self.layer, parent.clone(), own.clone()).unwrap_or_else(|_| {
            // The parent has changed so that a constraint of the child can no longer hold. The parent's order wins.
            let relaxed = Arc::new(own.without_constraints());
            Merged::compile(self.layer, parent.clone(), relaxed.clone()).unwrap_or_else(|_| {
                // A name of the child's closes a circle among wishes of the parent that had lost their object.
                let parents = Arc::new(parent.without_constraints());
                let merged =
                    Merged::compile(self.layer, parents, relaxed).expect("hooks without wishes can be ordered");
                Merged { parent, ..merged }
            })
        });
        let both = merged.both.clone();
        self.merged.store(Some(Arc::new(Merged { own, ..merged })));
        both
    }
}

impl Snapshot {
    fn compile(registered: Vec<Registered>) -> Result<Self, RegisterError> {
        let mut by_point: HashMap<TypeId, Vec<&Registered>> = HashMap::new();
        for one in &registered {
            by_point.entry(one.point).or_default().push(one);
        }
        let tables = by_point
            .into_iter()
            .map(|(point, at_point)| Ok((point, (at_point[0].compile)(&at_point)?)))
            .collect::<Result<_, RegisterError>>()?;
        Ok(Self { registered, tables })
    }

    /// Whether this very hook is in force, switched on or off.
    fn has(&self, hook: &Registered) -> bool {
        self.registered.iter().any(|one| Arc::ptr_eq(&one.entry, &hook.entry))
    }

    fn without_constraints(&self) -> Self {
        let mut registered = self.registered.clone();
        for one in &mut registered {
            let info = Arc::make_mut(&mut one.info);
            info.before.clear();
            info.after.clear();
        }
        Self { registered, tables: HashMap::default() }
    }
}

impl Merged {
    fn compile(layer: Layer, parent: Arc<Snapshot>, own: Arc<Snapshot>) -> Result<Self, RegisterError> {
        let passed_on = |one: &&Registered| layer == Layer::Same || one.info.reach == Reach::Children;
        // An agent that reaches itself brings no hook twice.
        let own_only = own.registered.iter().filter(|one| !(passed_on(one) && parent.has(one)));
        let all = parent.registered.iter().filter(passed_on).chain(own_only).cloned().collect();
        Ok(Self { both: Arc::new(Snapshot::compile(all)?), parent, own })
    }
}

fn insert(registered: &mut Vec<Registered>, at: usize, set: HookSet) -> Result<(), RegisterError> {
    let new = set.finish(registered)?;
    registered.splice(at..at, new);
    Ok(())
}

fn position(registered: &[Registered], name: &str) -> Result<usize, RegisterError> {
    registered.iter().position(|one| one.info.goes_by(name)).ok_or_else(|| RegisterError::NotFound {
        name: name.to_owned(),
        nearest: nearest(name, registered.iter().map(|one| &one.info.name)).cloned(),
    })
}

/// The bit of a point in a set of 64.
fn bit(point: &TypeId) -> u64 {
    let mut hasher = TypeIdHasher::default();
    point.hash(&mut hasher);
    1 << (hasher.finish() % 64)
}

/// A `TypeId` is a hash already.
#[derive(Default)]
struct TypeIdHasher(u64);

impl Hasher for TypeIdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
