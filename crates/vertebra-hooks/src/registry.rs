//! The hooks in force: read without locks, changed while dispatches are in flight.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, Guard};

use crate::{
    Bare, Drained, Frame, HookInfo, HookSet, Operation, Outcome, Point, RegisterError, Retries, State, WrapError,
    around::AroundTable,
    dispatch::run,
    layers::{Layer, Layers, Tree, joined},
    order::{Names, check, nearest},
    point::PointId,
    set::{AnyTable, Registered},
    table::Table,
};

/// Counts every change of every registry. What a layered one has put together holds for as long as this stands still.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// One change at a time takes effect, in all registries: a change is checked against the layers that it shows in.
static ONE_CHANGE: Mutex<()> = Mutex::new(());

/// All hooks of an agent. A clone is another handle to the same hooks.
///
/// A change takes effect atomically for the next dispatch; a dispatch in flight keeps the table it began with. Readers
/// take no lock.
#[derive(Clone, Default)]
pub struct Hooks {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Default)]
pub(crate) struct Inner {
    /// A bit for each point with hooks; several points may share one. Where the bit is not set nobody listens, and that
    /// is known without looking at the snapshot.
    listening: AtomicU64,
    /// Two others, whose hooks these are together; `None` for hooks of one's own.
    pub(crate) layers: Option<Layers>,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// One writer at a time, so that an older form never comes after a newer one.
    writer: Mutex<()>,
    /// The registries that have this one as a layer.
    dependents: Mutex<Vec<Weak<Inner>>>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list().iter().map(|info| (info.point, &*info.name))).finish()
    }
}

/// Hooks as of one moment. Never changed, only replaced.
pub(crate) struct Snapshot {
    pub(crate) registered: Vec<Registered>,
    /// By bucket.
    tables: Box<[(PointId, AnyTable)]>,
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
        self.with_room_for_more(Layer::Child)
    }

    /// The hooks of a parent and of a child together, now and whenever either changes. Changes go to the child's own.
    ///
    /// Fails if the child's constraints cannot be met under the parent's. From then on, a change of either that would
    /// break a constraint of the other fails, and names the hooks.
    pub fn layered(parent: &Hooks, own: &Hooks) -> Result<Self, RegisterError> {
        Self::in_layers(parent, own, Layer::Child)
    }

    /// These hooks and more, for the same agent, now and whenever either changes. Changes go to `more`. Fails as
    /// [`layered`](Self::layered) does.
    pub fn beside(&self, more: &Hooks) -> Result<Self, RegisterError> {
        Self::in_layers(self, more, Layer::Same)
    }

    /// These hooks with room for more of the same agent, now and whenever these change. Changes do not reach these.
    #[must_use]
    pub fn apart(&self) -> Self {
        self.with_room_for_more(Layer::Same)
    }

    fn with_room_for_more(&self, layer: Layer) -> Self {
        Self::in_layers(self, &Self::default(), layer).expect("a layer without hooks has no constraints to meet")
    }

    fn in_layers(parent: &Hooks, own: &Hooks, layer: Layer) -> Result<Self, RegisterError> {
        let layers = Layers::new(parent.clone(), own.clone(), layer);
        let hooks = Self { inner: Arc::new(Inner { layers: Some(layers), ..Inner::default() }) };
        // Outlives the lock: what a hook does when it is dropped is its own code.
        let tree;
        let _one_change = lock(&ONE_CHANGE);
        tree = Tree::of(&hooks, None);
        check(tree.hooks())?;
        parent.inner.add_dependent(&hooks.inner);
        own.inner.add_dependent(&hooks.inner);
        Ok(hooks)
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
    pub fn any_at<P: Point>(&self, point: P) -> bool {
        let point = PointId::of(point);
        self.inner.may_listen(point) && self.inner.snapshot.load().find(point).is_some()
    }

    /// Returns whether a hook or a guard is registered at this point, and not only watches.
    #[inline]
    pub fn any_decides_at<P: Point>(&self, point: P) -> bool {
        let point = PointId::of(point);
        self.inner.may_listen(point) && {
            let held = self.inner.snapshot.load();
            held.find(point).and_then(|at| held.table::<P>(at)).is_some_and(Table::decides)
        }
    }

    /// Runs all matching hooks of a point over an event.
    ///
    /// The block stands here and not behind another function, because each function that hands a future on copies it as a
    /// whole, and this one has room for all that a dispatch needs.
    #[inline]
    #[expect(clippy::manual_async_fn, reason = "an `async fn` keeps its arguments twice")]
    pub fn dispatch<'a, P: Point>(
        &'a self,
        point: P,
        frame: Frame<'a, P>,
    ) -> impl Future<Output = Outcome<P>> + Send + use<'a, P> {
        async move {
            // Most points have no hooks, so that is the first question.
            if !self.inner.may_listen(PointId::of(point)) {
                return Outcome::nothing();
            }
            run(point, self.inner.snapshot.load(), frame).await
        }
    }

    /// Does the same as [`dispatch`](Self::dispatch), through the code that the point's own crate has compiled. It costs
    /// one allocation and saves a copy of the dispatch in the caller's crate: for callers that are not a hot path.
    pub async fn dispatch_boxed<P: Point>(&self, point: P, frame: Frame<'_, P>) -> Outcome<P> {
        if !self.inner.may_listen(PointId::of(point)) {
            return Outcome::nothing();
        }
        (P::code().dispatch)(point, self.inner.snapshot.load(), frame).await
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
        match self.arounds::<O>() {
            Some(table) => table.run(&core, event, state, scope).await,
            // One place for both who have none, because each has room for all that the operation needs.
            None => Ok(core(event).await),
        }
    }

    /// The arounds of an operation, if it has some.
    fn arounds<O: Operation>(&self) -> Option<Arc<AroundTable<O>>> {
        let operation = PointId::of_operation::<O>();
        if !self.inner.may_listen(operation) {
            return None;
        }
        let held = self.inner.snapshot.load();
        let table = held.tables[held.find(operation)?].1.clone();
        table.downcast::<AroundTable<O>>().ok().filter(|table| !table.is_empty())
    }

    /// The hooks of a point in the order they run, and which of them match an event.
    pub fn explain<P: Point>(&self, point: P, event: &P::Event, state: &P::State) -> Vec<Explanation> {
        let held = self.current();
        let table = held.find(PointId::of(point)).and_then(|at| held.table::<P>(at));
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
        // These outlive the locks: what a hook does when it is dropped is its own code.
        let (before, dependents);
        let _one_writer = lock(&self.inner.writer);
        before = self.inner.snapshot.load_full();
        let mut registered = before.registered.clone();
        edit(&mut registered)?;
        check_known(&before, above, &registered)?;
        let next = Arc::new(Snapshot::compile(registered)?);
        let _one_change = lock(&ONE_CHANGE);
        dependents = self.dependents(&next);
        dependents.iter().try_for_each(|(_, tree)| check(tree.hooks()))?;
        self.inner.put_in_force(next);
        // Not before the new hooks are in force: who sees the new epoch sees them too.
        EPOCH.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// All registries that have this one as a layer, directly or not, and what they would have if this changed.
    fn dependents(&self, next: &Arc<Snapshot>) -> Vec<(Hooks, Tree)> {
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        let mut open = vec![self.clone()];
        while let Some(hooks) = open.pop() {
            for inner in lock(&hooks.inner.dependents).iter().filter_map(Weak::upgrade) {
                let dependent = Self { inner };
                if known.insert(Arc::as_ptr(&dependent.inner)) {
                    found.push((dependent.clone(), Tree::of(&dependent, Some((&self.inner, next)))));
                    open.push(dependent);
                }
            }
        }
        found
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
    fn may_listen(&self, point: PointId) -> bool {
        self.catch_up();
        self.listening.load(Ordering::Acquire) & (1 << point.bucket()) != 0
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
        loop {
            let epoch = EPOCH.load(Ordering::Acquire);
            let now = [parent.current_arc(), own.current_arc()];
            let is_same = |before: &[_; 2]| before.iter().zip(&now).all(|(old, new)| Arc::ptr_eq(old, new));
            if !merged.as_ref().is_some_and(is_same) {
                match Snapshot::compile(joined(*layer, &now[0].registered, &now[1].registered).cloned().collect()) {
                    Ok(next) => self.put_in_force(Arc::new(next)),
                    // One layer was read before a change and the other after it.
                    Err(_) if EPOCH.load(Ordering::Acquire) != epoch => continue,
                    Err(error) => unreachable!("a change that breaks a layer is refused: {error}"),
                }
                before = merged.replace(now);
            }
            seen.store(epoch, Ordering::Release);
            break;
        }
        drop(merged);
        // Not under the lock: what a hook does when it is dropped is its own code, which may look here again.
        drop(before);
    }

    fn add_dependent(&self, dependent: &Arc<Inner>) {
        let mut dependents = lock(&self.dependents);
        if dependents.len() == dependents.capacity() {
            dependents.retain(|one| one.strong_count() > 0);
        }
        dependents.push(Arc::downgrade(dependent));
    }

    fn put_in_force(&self, next: Arc<Snapshot>) {
        let listening = next.tables.iter().fold(0, |all, (point, _)| all | 1 << point.bucket());
        // Too many bits for a moment only cost a look; too few would hide a hook.
        self.listening.fetch_or(listening, Ordering::Release);
        self.snapshot.store(next);
        self.listening.store(listening, Ordering::Release);
    }
}

/// Checks that the constraints of new hooks name hooks that are there, here or in the layers above.
fn check_known(before: &Snapshot, above: &[Arc<Snapshot>], registered: &[Registered]) -> Result<(), RegisterError> {
    let known: HashSet<_> = before.registered.iter().map(Registered::id).collect();
    let is_new = |one: &&Registered| one.info.has_constraints() && !known.contains(&one.id());
    let mut names: HashMap<PointId, Names<'_>> = HashMap::new();
    for new in registered.iter().filter(is_new) {
        let names = names.entry(new.point).or_insert_with(|| {
            let everyone = above.iter().flat_map(|snapshot| &snapshot.registered).chain(registered);
            Names::new(everyone.filter(|one| one.point == new.point).map(|one| &one.info))
        });
        names.check_known(&new.info)?;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Snapshot {
    fn compile(registered: Vec<Registered>) -> Result<Self, RegisterError> {
        check(&registered)?;
        let mut by_point: HashMap<PointId, Vec<&Registered>> = HashMap::new();
        for one in &registered {
            by_point.entry(one.point).or_default().push(one);
        }
        let mut tables = by_point
            .into_iter()
            .map(|(point, at_point)| Ok((point, (at_point[0].compile)(&at_point)?)))
            .collect::<Result<Box<[_]>, RegisterError>>()?;
        tables.sort_by_key(|(point, _)| point.bucket());
        let mut buckets = [0; BUCKETS];
        for (at, (point, _)) in tables.iter().enumerate().rev() {
            // Where there are more points than this can count, the search begins too early.
            buckets[point.bucket()] = u16::try_from(at).unwrap_or(u16::MAX);
        }
        Ok(Self { registered, tables, buckets })
    }

    /// Where the table of a point is.
    #[inline]
    pub(crate) fn find(&self, point: PointId) -> Option<usize> {
        let first = usize::from(self.buckets[point.bucket()]);
        let at = self.tables.get(first..)?.iter().position(|(id, _)| *id == point)?;
        Some(first + at)
    }

    #[inline]
    pub(crate) fn table<P: Point>(&self, at: usize) -> Option<&Table<P>> {
        self.tables.get(at)?.1.downcast_ref()
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
