//! One tree of budgets: a child, a critic and a retry spend from the parent, reserved atomically.

pub(crate) mod counters;
pub(crate) mod limits;
pub(crate) mod run_budget;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Clock, Stop, StopReason, Usage};

/// How much a run may use. `None` means as much as its parent lets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Steps.
    pub steps: Option<u64>,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Active time: waiting for a person, or for a provider that cannot be reached, does not count.
    pub time: Option<Duration>,
    /// Money, in millionths of a dollar.
    pub cost_micros: Option<u64>,
    /// A moment after which no step begins.
    pub deadline: Option<Timestamp>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: Some(20),
            tokens: Some(32_768),
            time: Some(Duration::from_mins(5)),
            cost_micros: None,
            deadline: None,
        }
    }
}

impl Limits {
    /// No limits of one's own.
    pub fn none() -> Self {
        Self { steps: None, tokens: None, time: None, cost_micros: None, deadline: None }
    }
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meter {
    /// Steps.
    Steps,
    /// Tokens.
    Tokens,
    /// Millionths of a dollar.
    Cost,
}

/// A place in the tree of budgets. A clone is another handle to the same place.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Node>);

#[derive(Debug)]
struct Node {
    owner: Arc<str>,
    limits: Limits,
    parent: Option<Budget>,
    steps: AtomicU64,
    tokens: AtomicU64,
    cost: AtomicU64,
    watch: Mutex<Stopwatch>,
}

/// Runs while somebody below works; stands while all of them wait for a person or a provider.
#[derive(Debug, Default)]
struct Stopwatch {
    active: Duration,
    since: Option<Duration>,
    /// Those at work less those waiting. Below zero when two children wait and each counts its parent as waiting too.
    working: i32,
}

impl Budget {
    /// The root of a tree.
    pub fn new(owner: impl Into<Arc<str>>, limits: Limits) -> Self {
        Self::node(owner.into(), limits, None)
    }

    /// A part of this budget, with limits of its own.
    #[must_use]
    pub fn child(&self, owner: impl Into<Arc<str>>, limits: Limits) -> Self {
        Self::node(owner.into(), limits, Some(self.clone()))
    }

    fn node(owner: Arc<str>, limits: Limits, parent: Option<Self>) -> Self {
        Self(Arc::new(Node {
            owner,
            limits,
            parent,
            steps: AtomicU64::default(),
            tokens: AtomicU64::default(),
            cost: AtomicU64::default(),
            watch: Mutex::default(),
        }))
    }

    /// The limits of this place alone.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// How much is used here, by all below together. Reserved counts as used.
    pub fn used(&self, meter: Meter) -> u64 {
        self.0.counter(meter).load(Ordering::Acquire)
    }

    /// How much is left, here and all the way up; `None` means no limit.
    pub fn left(&self, meter: Meter) -> Option<u64> {
        self.path().filter_map(|node| node.limit(meter).map(|limit| limit.saturating_sub(node.used(meter)))).min()
    }

    /// Sets aside exactly so much, here and all the way up, or nothing at all.
    pub fn reserve(&self, meter: Meter, amount: u64) -> Result<Reservation, Stop> {
        for (done, node) in self.path().enumerate() {
            if let Err(stop) = node.take(meter, amount) {
                self.path().take(done).for_each(|node| node.give_back(meter, amount));
                return Err(stop);
            }
        }
        Ok(Reservation { budget: self.clone(), meter, amount })
    }

    /// Sets nothing aside.
    pub(crate) fn nothing(&self, meter: Meter) -> Reservation {
        Reservation { budget: self.clone(), meter, amount: 0 }
    }

    /// Uses so much, if so much more is left at the root after that: for what was used before and is not counted yet.
    pub(crate) fn take_beside(&self, meter: Meter, amount: u64, beside: u64) -> Result<(), Stop> {
        let reserved = self.reserve(meter, amount)?;
        if beside > 0
            && let Some(root) = self.path().last()
        {
            root.take(meter, beside)?;
            root.give_back(meter, beside);
        }
        reserved.settle(amount);
        Ok(())
    }

    /// Sets aside as much of `wanted` as is left, if anything is.
    pub fn reserve_up_to(&self, meter: Meter, wanted: u64) -> Result<Reservation, Stop> {
        loop {
            let amount = self.left(meter).map_or(wanted, |left| left.min(wanted)).max(1);
            match self.reserve(meter, amount) {
                // Somebody else was quicker, but something is left: ask for less.
                Err(_) if self.left(meter).is_some_and(|left| left > 0) => {}
                result => return result,
            }
        }
    }

    /// Counts what was used without having been reserved.
    pub fn spend(&self, meter: Meter, amount: u64) {
        for node in self.path() {
            node.counter(meter).fetch_add(amount, Ordering::AcqRel);
        }
    }

    /// Counts time that was worked before.
    pub(crate) fn worked(&self, time: Duration) {
        self.path().for_each(|node| node.watch(|watch| watch.active += time));
    }

    /// Takes time back that counted as worked.
    pub(crate) fn idled(&self, clock: &dyn Clock, time: Duration) {
        let now = clock.elapsed();
        self.path().for_each(|node| {
            node.watch(|watch| {
                if let Some(since) = &mut watch.since {
                    watch.active += now.saturating_sub(*since);
                    *since = now;
                }
                watch.active = watch.active.saturating_sub(time);
            });
        });
    }

    /// The limit, here or further up, that forbids another step; of several the strongest reason.
    pub fn exhausted(&self, clock: &dyn Clock) -> Option<Stop> {
        self.reached(clock, &[Meter::Steps, Meter::Tokens, Meter::Cost])
    }

    /// The limit that forbids going on with a step that is already paid for.
    pub fn overrun(&self, clock: &dyn Clock) -> Option<Stop> {
        self.reached(clock, &[Meter::Tokens, Meter::Cost])
    }

    /// The limit of these, of time or of a deadline that is reached; of several the strongest, and of equals the nearest.
    fn reached(&self, clock: &dyn Clock, meters: &[Meter]) -> Option<Stop> {
        let mut strongest: Option<Stop> = None;
        let mut add = |stop: Stop| {
            if strongest.as_ref().is_none_or(|best| stop.reason > best.reason) {
                strongest = Some(stop);
            }
        };
        for node in self.path() {
            for &meter in meters {
                let used = node.used(meter);
                if node.limit(meter).is_some_and(|limit| used >= limit) {
                    add(node.stop(meter, used));
                }
            }
            if let Some(limit) = node.limits.time.filter(|limit| node.active(clock) >= *limit) {
                let message = format!("reached the time limit of {limit:?}");
                add(Stop::hard(StopReason::Time, node.source(), message));
            }
            if let Some(deadline) = node.limits.deadline.filter(|deadline| clock.now() >= *deadline) {
                let message = format!("the deadline {deadline} has passed");
                add(Stop::hard(StopReason::Deadline, node.source(), message));
            }
        }
        strongest
    }

    /// How much time is left, here and all the way up; `None` means no limit.
    pub fn time_left(&self, clock: &dyn Clock) -> Option<Duration> {
        self.path().filter_map(|node| Some(node.limits.time?.saturating_sub(node.active(clock)))).min()
    }

    /// Time passes from now on, until the guard is dropped.
    ///
    /// `above` is who waits for this work meanwhile: when it pauses for a person, so do they.
    pub fn work(&self, clock: Arc<dyn Clock>, above: Option<Arc<Working>>) -> Working {
        let working = Working { budget: self.clone(), clock, above };
        working.each(Stopwatch::start);
        working
    }

    /// How long somebody here has worked.
    pub fn active(&self, clock: &dyn Clock) -> Duration {
        self.0.active(clock)
    }

    fn path(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(&*self.0), |node| node.parent.as_ref().map(|parent| &*parent.0))
    }
}

impl Node {
    fn counter(&self, meter: Meter) -> &AtomicU64 {
        match meter {
            Meter::Steps => &self.steps,
            Meter::Tokens => &self.tokens,
            Meter::Cost => &self.cost,
        }
    }

    fn limit(&self, meter: Meter) -> Option<u64> {
        match meter {
            Meter::Steps => self.limits.steps,
            Meter::Tokens => self.limits.tokens,
            Meter::Cost => self.limits.cost_micros,
        }
    }

    fn used(&self, meter: Meter) -> u64 {
        self.counter(meter).load(Ordering::Acquire)
    }

    fn take(&self, meter: Meter, amount: u64) -> Result<(), Stop> {
        let limit = self.limit(meter).unwrap_or(u64::MAX);
        self.counter(meter)
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                used.checked_add(amount).filter(|after| *after <= limit)
            })
            .map(drop)
            .map_err(|used| self.stop(meter, used))
    }

    fn give_back(&self, meter: Meter, amount: u64) {
        self.counter(meter).fetch_sub(amount, Ordering::AcqRel);
    }

    fn stop(&self, meter: Meter, used: u64) -> Stop {
        let limit = self.limit(meter).unwrap_or(u64::MAX);
        let (reason, name) = match meter {
            Meter::Steps => (StopReason::Steps, "steps"),
            Meter::Tokens => (StopReason::Tokens, "tokens"),
            Meter::Cost => (StopReason::Cost, "millionths of a dollar"),
        };
        Stop::hard(reason, self.source(), format!("used {used} of {limit} {name}"))
    }

    fn source(&self) -> String {
        format!("limits of {}", self.owner)
    }

    fn active(&self, clock: &dyn Clock) -> Duration {
        let now = clock.elapsed();
        self.watch(|watch| watch.active + watch.since.map_or(Duration::ZERO, |since| now.saturating_sub(since)))
    }

    fn watch<T>(&self, with: impl FnOnce(&mut Stopwatch) -> T) -> T {
        with(&mut self.watch.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Stopwatch {
    fn start(&mut self, now: Duration) {
        self.working += 1;
        if self.working == 1 {
            self.since = Some(now);
        }
    }

    fn stop(&mut self, now: Duration) {
        self.working -= 1;
        if self.working == 0
            && let Some(since) = self.since.take()
        {
            self.active += now.saturating_sub(since);
        }
    }
}

/// An amount set aside. Given back when dropped, unless it was settled.
#[derive(Debug)]
#[must_use = "what is reserved is given back when this is dropped"]
pub struct Reservation {
    budget: Budget,
    meter: Meter,
    amount: u64,
}

impl Reservation {
    /// How much is set aside.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Replaces what was set aside by what was really used.
    pub fn settle(mut self, used: u64) {
        // Only the difference moves: in between, nobody sees the same amount used twice, or not at all.
        let reserved = std::mem::take(&mut self.amount);
        self.budget.spend(self.meter, used.saturating_sub(reserved));
        self.amount = reserved.saturating_sub(used);
        self.give_back();
    }

    fn give_back(&mut self) {
        let amount = std::mem::take(&mut self.amount);
        self.budget.path().for_each(|node| node.give_back(self.meter, amount));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// While this lives, time counts as worked.
pub struct Working {
    budget: Budget,
    clock: Arc<dyn Clock>,
    above: Option<Arc<Working>>,
}

impl Working {
    /// Runs a wait for somebody outside: its time does not count, here and all the way up, unless somebody else there works.
    pub async fn paused<T>(&self, wait: impl Future<Output = T>) -> T {
        struct Resume<'a>(&'a Working);
        impl Drop for Resume<'_> {
            fn drop(&mut self) {
                self.0.all(Stopwatch::start);
            }
        }
        self.all(Stopwatch::stop);
        let _resume = Resume(self);
        wait.await
    }

    fn all(&self, change: fn(&mut Stopwatch, Duration)) {
        self.each(change);
        if let Some(above) = &self.above {
            above.all(change);
        }
    }

    fn each(&self, change: fn(&mut Stopwatch, Duration)) {
        let now = self.clock.elapsed();
        self.budget.path().for_each(|node| node.watch(|watch| change(watch, now)));
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.each(Stopwatch::stop);
    }
}

impl Budget {
    /// Counts the money of a model call.
    pub(crate) fn pay(&self, usage: Usage) {
        if usage.cost_micros > 0 {
            self.spend(Meter::Cost, usage.cost_micros);
        }
    }
}
