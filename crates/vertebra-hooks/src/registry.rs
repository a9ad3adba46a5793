//! The hooks in force: read without locks, changed while dispatches are in flight.

use std::{
    any::TypeId,
    collections::HashMap,
    fmt,
    future::Future,
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, Guard};

use crate::{
    Bare, Drained, Frame, HookInfo, HookSet, Operation, Outcome, Point, Reach, RegisterError, Retries, State,
    WrapError,
    around::AroundTable,
    dispatch::run,
    order::{check_names, nearest},
    set::{AnyTable, Registered},
    table::Table,
};

/// Counts every change of every registry. What a layered one has put together holds for as long as this stands still.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// All hooks of an agent. A clone is another handle to the same hooks.
///
/// A change takes effect atomically for the next dispatch; a dispatch in flight keeps the table it began with. Readers
/// take no lock.
#[derive(Clone, Default)]
pub struct Hooks {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// A bit for each point with hooks; several points may share one. Where the bit is not set nobody listens, and that
    /// is known without looking at the snapshot.
    listening: AtomicU64,
    /// Two others, whose hooks these are together; `None` for hooks of one's own.
    layers: Option<Layers>,
    snapshot: ArcSwap<Snapshot>,
    /// One writer at a time, so that an older form never comes after a newer one.
    writer: Mutex<()>,
}

struct Layers {
    parent: Hooks,
    own: Hooks,
    layer: Layer,
    /// The epoch at which they were last looked at.
    seen: AtomicU64,
    /// What was put together then.
    merged: Mutex<Option<[Arc<Snapshot>; 2]>>,
}

/// Whose hooks the second of two layers are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// A child's, which does not have all that its parent has.
    Child,
    /// The same agent's.
    Same,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list().iter().map(|info| (info.point, &*info.name))).finish()
    }
}

/// Hooks as of one moment. Never changed, only replaced.
pub(crate) struct Snapshot {
    registered: Vec<Registered>,
    /// By bucket.
    tables: Box<[(TypeId, AnyTable)]>,
    /// Where the tables of a bucket begin.
    buckets: [u16; BUCKETS],
}

/// As many as there are bits in `listening`.
const BUCKETS: usize = 64;

impl Default for Snapshot {
    fn default() -> Self {
        Self { registered: Vec::new(), tables: Box::default(), buckets: [0; BUCKETS] }
    }
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
        let layers = Layers { parent, own, layer, seen: AtomicU64::new(u64::MAX), merged: Mutex::default() };
        Self { inner: Arc::new(Inner { layers: Some(layers), ..Inner::default() }) }
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
    #[inline]
    pub fn any_at<P: Point>(&self, _point: P) -> bool {
        let point = TypeId::of::<P>();
        self.inner.may_listen(point) && self.inner.snapshot.load().find(point).is_some()
    }

    /// Runs all matching hooks of a point over an event.
    ///
    /// The block stands here and not behind another function, because each function that hands a future on copies it as a
    /// whole, and this one has room for all that a dispatch needs.
    #[inline]
    #[expect(clippy::manual_async_fn, reason = "an `async fn` keeps its arguments twice")]
    pub fn dispatch<'a, P: Point>(
        &'a self,
        _point: P,
        frame: Frame<'a, P>,
    ) -> impl Future<Output = Outcome<P>> + Send + use<'a, P> {
        async move {
            // Most points have no hooks, so that is the first question.
            if !self.inner.may_listen(TypeId::of::<P>()) {
                return Outcome::nothing();
            }
            run(self.inner.snapshot.load(), frame).await
        }
    }

    /// Does the same as [`dispatch`](Self::dispatch), through the code that the point's own crate has compiled. It costs
    /// one allocation and saves a copy of the dispatch in the caller's crate: for callers that are not a hot path.
    pub async fn dispatch_boxed<P: Point>(&self, _point: P, frame: Frame<'_, P>) -> Outcome<P> {
        if !self.inner.may_listen(TypeId::of::<P>()) {
            return Outcome::nothing();
        }
        (P::code().dispatch)(self.inner.snapshot.load(), frame).await
    }

    /// [`dispatch`](Self::dispatch) for points without a state of their own.
    pub async fn fire<P: Point<State = Bare>>(&self, _point: P, event: &mut P::Event) -> Outcome<P> {
        if !self.inner.may_listen(TypeId::of::<P>()) {
            return Outcome::nothing();
        }
        let mut state = Bare::default();
        let frame = Frame { event, state: &mut state, scope: &(), retries: Retries::Allowed };
        run(self.inner.snapshot.load(), frame).await
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
        let operation = TypeId::of::<O>();
        if !self.inner.may_listen(operation) {
            return Ok(core(event).await);
        }
        let held = self.inner.snapshot.load();
        let table = held.find(operation).map(|at| held.tables[at].1.clone());
        drop(held);
        match table.and_then(|table| table.downcast::<AroundTable<O>>().ok()) {
            Some(table) if !table.is_empty() => table.run(&core, event, state, scope).await,
            _ => Ok(core(event).await),
        }
    }

    /// The hooks of a point in the order they run, and which of them match an event.
    pub fn explain<P: Point>(&self, _point: P, event: &P::Event, state: &P::State) -> Vec<Explanation> {
        let held = self.current();
        let table = held.find(TypeId::of::<P>()).and_then(|at| held.table::<P>(at));
        table.map(|table| (P::code().explain)(table, event, state)).unwrap_or_default()
    }

    /// Waits for detached watches to catch up, for a bounded time, and counts what they missed.
    pub async fn drain(&self, limit: Duration) -> Drained {
        let queues: Vec<_> = self.current().registered.iter().filter_map(|one| one.queue.clone()).collect();
        let drained = futures_util::future::join_all(queues.iter().map(|queue| queue.drain(limit))).await;
        drained.into_iter().fold(Drained::default(), |sum, one| sum + one)
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
        if let Some(Layers { parent, own, .. }) = &self.inner.layers {
            let above: Vec<_> = above.iter().cloned().chain([parent.current_arc()]).collect();
            return own.change_under(&above, edit);
        }
        let _one_writer = lock(&self.inner.writer);
        let before = self.inner.snapshot.load_full();
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
            merge(Layer::Same, parent, &next)?;
        }
        self.inner.put_in_force(next);
        // Not before the new hooks are in force: who sees the new epoch sees them too.
        EPOCH.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// What is in force now.
    fn current(&self) -> Guard<Arc<Snapshot>> {
        self.inner.catch_up();
        self.inner.snapshot.load()
    }

    fn current_arc(&self) -> Arc<Snapshot> {
        Guard::into_inner(self.current())
    }
}

impl Inner {
    /// Whether anyone may listen. `false` is certain.
    #[inline]
    fn may_listen(&self, point: TypeId) -> bool {
        self.catch_up();
        self.listening.load(Ordering::Acquire) & (1 << bucket(point)) != 0
    }

    /// Takes over what the layers have changed.
    #[inline]
    fn catch_up(&self) {
        if let Some(layers) = &self.layers
            && layers.seen.load(Ordering::Acquire) != EPOCH.load(Ordering::Acquire)
        {
            self.put_together(layers);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_together(&self, Layers { parent, own, layer, seen, merged }: &Layers) {
        let mut before = None;
        let mut merged = lock(merged);
        let epoch = EPOCH.load(Ordering::Acquire);
        let now = [parent.current_arc(), own.current_arc()];
        if !merged.as_ref().is_some_and(|before| before.iter().zip(&now).all(|(old, new)| Arc::ptr_eq(old, new))) {
            self.put_in_force(Arc::new(merge_anyway(*layer, &now[0], &now[1])));
            before = merged.replace(now);
        }
        seen.store(epoch, Ordering::Release);
        drop(merged);
        // Not under the lock: what a hook does when it is dropped is its own code, which may look here again.
        drop(before);
    }

    fn put_in_force(&self, next: Arc<Snapshot>) {
        let listening = next.tables.iter().fold(0, |all, (point, _)| all | 1 << bucket(*point));
        // Too many bits for a moment only cost a look; too few would hide a hook.
        self.listening.fetch_or(listening, Ordering::Release);
        self.snapshot.store(next);
        self.listening.store(listening, Ordering::Release);
    }
}

/// The hooks of two layers.
fn merge(layer: Layer, parent: &Snapshot, own: &Snapshot) -> Result<Snapshot, RegisterError> {
    let passed_on = |one: &&Registered| layer == Layer::Same || one.info.reach == Reach::Children;
    // An agent that reaches itself brings no hook twice.
    let own_only = own.registered.iter().filter(|one| !(passed_on(one) && parent.has(one)));
    Snapshot::compile(parent.registered.iter().filter(passed_on).chain(own_only).cloned().collect())
}

/// [`merge`], and if the wishes of the layers contradict each other by now, without those of the child.
fn merge_anyway(layer: Layer, parent: &Snapshot, own: &Snapshot) -> Snapshot {
    merge(layer, parent, own).unwrap_or_else(|_| {
        // The parent has changed so that a constraint of the child can no longer hold. The parent's order wins.
        let relaxed = own.without_constraints();
        merge(layer, parent, &relaxed).unwrap_or_else(|_| {
            // A name of the child's closes a circle among wishes of the parent that had lost their object.
            merge(layer, &parent.without_constraints(), &relaxed).expect("hooks without wishes can be ordered")
        })
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Snapshot {
    fn compile(registered: Vec<Registered>) -> Result<Self, RegisterError> {
        let mut by_point: HashMap<TypeId, Vec<&Registered>> = HashMap::new();
        for one in &registered {
            by_point.entry(one.point).or_default().push(one);
        }
        let mut tables = by_point
            .into_iter()
            .map(|(point, at_point)| Ok((point, (at_point[0].compile)(&at_point)?)))
            .collect::<Result<Box<[_]>, RegisterError>>()?;
        tables.sort_by_key(|(point, _)| bucket(*point));
        let mut buckets = [0; BUCKETS];
        for (at, (point, _)) in tables.iter().enumerate().rev() {
            // Where there are more points than this can count, the search begins too early.
            buckets[bucket(*point)] = u16::try_from(at).unwrap_or(u16::MAX);
        }
        Ok(Self { registered, tables, buckets })
    }

    /// Where the table of a point is.
    #[inline]
    pub(crate) fn find(&self, point: TypeId) -> Option<usize> {
        let first = usize::from(self.buckets[bucket(point)]);
        let at = self.tables.get(first..)?.iter().position(|(id, _)| *id == point)?;
        Some(first + at)
    }

    #[inline]
    pub(crate) fn table<P: Point>(&self, at: usize) -> Option<&Table<P>> {
        self.tables.get(at)?.1.downcast_ref()
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
        Self { registered, ..Self::default() }
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

/// The bucket of a point. A `TypeId` is a hash already, and known to the compiler: all of this is one constant.
#[inline]
fn bucket(point: TypeId) -> usize {
    let mut hasher = TypeIdHasher::default();
    point.hash(&mut hasher);
    usize::try_from(hasher.finish() % 64).unwrap_or_default()
}

#[derive(Default)]
struct TypeIdHasher(u64);

impl Hasher for TypeIdHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
