//! One dispatch: all matching hooks of a point over one event.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    Change, Cx, Failure, FailurePolicy, HookInfo, Kind, Lasting, Name, Point, Ran, Record, Skipped, State, Trace,
    Verdict,
    cx::Changed,
    hook::{BoxFuture, ErasedHook, ErasedWatch},
    supervise::{Ended, Supervised, all, answered},
    table::{Body, Lane, Slot, Table},
};

/// What a dispatch works on.
pub struct Frame<'a, P: Point> {
    /// The event. Afterwards it is as the hooks left it.
    pub event: &'a mut P::Event,
    /// The state. Afterwards it is as the hooks left it.
    pub state: &'a mut P::State,
    /// What hooks may reach.
    pub scope: &'a <P::State as State>::Scope,
    /// Whether a hook may still ask for a retry.
    pub retries: Retries,
}

/// Whether an operation has retries left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retries {
    /// A hook may ask for one.
    Allowed,
    /// One more is a failure of the hook that asks, under its policy.
    Exhausted,
}

/// A verdict with its author.
#[derive(Debug, Clone)]
pub struct Ruling<V> {
    /// Who gave it.
    pub by: Name,
    /// What they said.
    pub verdict: V,
}

/// What a dispatch came to.
pub struct Outcome<P: Point> {
    /// Every verdict that was more than going on, in order.
    pub rulings: Vec<Ruling<P::Verdict>>,
    /// What happened.
    pub record: Record,
    /// Whether hooks wrote to the event.
    pub event_changed: bool,
    /// The state before the first hook that wrote to it. Boxed, because most hooks write nothing.
    pub state_before: Option<Box<P::State>>,
}

impl<P: Point> Outcome<P> {
    /// Nobody ran.
    pub(crate) fn nothing() -> Self {
        Self::recorded(Vec::new(), Record::new(P::NAME))
    }

    /// What came of a dispatch that happened before: event and state are what it left.
    pub fn recorded(rulings: Vec<Ruling<P::Verdict>>, record: Record) -> Self {
        Self { rulings, record, event_changed: false, state_before: None }
    }

    /// The strongest verdict; among equals the first. `None`: nobody objected, go on.
    pub fn decision(&self) -> Option<&Ruling<P::Verdict>> {
        strongest(&self.rulings)
    }

    /// The decision's verdict, to match on.
    pub fn verdict(&self) -> P::Verdict {
        self.decision().map_or_else(P::Verdict::proceed, |ruling| ruling.verdict.clone())
    }

    /// All rulings of one kind, in order.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Ruling<P::Verdict>> {
        self.rulings.iter().filter(move |ruling| ruling.verdict.kind() == kind)
    }
}

/// The strongest ruling; among equals the first.
fn strongest<V: Verdict>(rulings: &[Ruling<V>]) -> Option<&Ruling<V>> {
    // `max_by_key` keeps the last of equals, so the rulings are gone through backwards.
    rulings.iter().rev().max_by_key(|ruling| ruling.verdict.kind())
}

impl<P: Point> fmt::Display for Outcome<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.record, f)
    }
}

impl<P: Point> fmt::Debug for Outcome<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome").field("rulings", &self.rulings).field("record", &self.record).finish_non_exhaustive()
    }
}

impl<P: Point> Table<P> {
    pub(crate) async fn dispatch(&self, frame: Frame<'_, P>) -> Outcome<P> {
        let mut dispatch = Dispatch::new(frame);
        if !self.hooks.is_empty() {
            dispatch.hook_phase(&self.hooks).await;
        }
        if !self.guards.is_empty() {
            dispatch.guard_phase(&self.guards).await;
        }
        dispatch.decide();
        if !self.watches.is_empty() {
            dispatch.watch_phase(&self.watches).await;
        }
        dispatch.finish()
    }
}

struct Dispatch<'a, P: Point> {
    frame: Frame<'a, P>,
    rulings: Vec<Ruling<P::Verdict>>,
    record: Record,
    event_changed: bool,
    state_before: Option<Box<P::State>>,
    began: Instant,
    /// When the hook before ended; one reading of the clock serves as end and as beginning.
    mark: Instant,
}

impl<'a, P: Point> Dispatch<'a, P> {
    fn new(frame: Frame<'a, P>) -> Self {
        // A dispatch that was dropped half way could not take its notes with it.
        frame.state.notes_mut().clear(Lasting::Dispatch);
        let now = Instant::now();
        Self {
            frame,
            rulings: Vec::new(),
            record: Record::new(P::NAME),
            event_changed: false,
            state_before: None,
            began: now,
            mark: now,
        }
    }

    /// Hooks, one after another; each sees what the one before left.
    async fn hook_phase(&mut self, lane: &Lane<P>) {
        let mut places = lane.select(self.frame.event, self.frame.state);
        self.record.hooks.reserve_exact(places.len());
        let mut next = 0;
        while let Some(&place) = places.get(next) {
            next += 1;
            let slot = lane.slot(place);
            if !slot.info.enabled {
                self.skipped(&slot.info, Skipped::Disabled);
                continue;
            }
            let Body::Hook(hook) = &slot.entry.body else { continue };
            let (verdict, touched) = self.run_hook(&slot.info, &**hook).await;
            if matches!(verdict, Kind::Deny | Kind::Skip | Kind::Retry) {
                let by = slot.info.name.clone();
                for rest in &places[next..] {
                    self.skipped(&lane.slot(*rest).info, Skipped::Ended { by: by.clone(), verdict });
                }
                return;
            }
            if touched {
                // The matchers of later hooks judge the event as it is now, not as it came in.
                places = lane.select(self.frame.event, self.frame.state).into_iter().filter(|p| *p > place).collect();
                next = 0;
            }
        }
    }

    /// Runs one hook. Returns the verdict that counts, and whether the hook changed event or state.
    async fn run_hook(&mut self, info: &HookInfo, hook: &dyn ErasedHook<P>) -> (Kind, bool) {
        let Frame { event, state, scope, retries } = &mut self.frame;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut cx = Cx::<P>::new(event, state, scope, &self.record, &info.name);
            let mut answer = None;
            let Ended { failure, account } = Supervised::new(info.timeout, hook.run(&mut cx, &mut answer)).await;
            let answer = within(*retries, answered(answer, failure));
            let mut judged = Judged::<P>::new(answer, account, attempts);
            let mut touched = false;
            match &judged.answer {
                Ok(_) if info.shadow => judged.changes = cx.undone(),
                Ok(_) => {
                    if let Some(Changed { changes, event, state_before }) = cx.commit() {
                        (judged.changes, touched) = (changes, true);
                        self.event_changed |= event;
                        self.state_before = self.state_before.take().or_else(|| state_before.map(Box::new));
                    }
                }
                // Dropping `cx` undoes what the attempt wrote.
                Err(failure) if attempts <= info.max_retries && *failure != Failure::RetriesExhausted => continue,
                Err(_) => drop(cx),
            }
            judged.took = self.lap();
            return (rule(info, judged, &mut self.record.hooks, &mut self.rulings), touched);
        }
    }

    /// Guards, on the final form; their verdicts are merged in order.
    async fn guard_phase(&mut self, lane: &Lane<P>) {
        let places = lane.select(self.frame.event, self.frame.state);
        if places.is_empty() {
            return;
        }
        let Frame { event, state, scope, retries } = &mut self.frame;
        let nobody = Name::default();
        let cx = Cx::<P>::new(event, state, scope, &self.record, &nobody);
        let mut answers = Answers { traces: Vec::with_capacity(places.len()), rulings: Vec::new(), mark: self.mark };
        check_all(lane, &places, &cx, *retries, &mut answers).await;
        drop(cx);
        append(&mut self.record.hooks, answers.traces);
        append(&mut self.rulings, answers.rulings);
        self.mark = answers.mark;
    }

    /// Watches, in order; the detached ones are handed over.
    async fn watch_phase(&mut self, lane: &Lane<P>) {
        let places = lane.select(self.frame.event, self.frame.state);
        let mut snapshot = None;
        let mut traces = Vec::with_capacity(places.len());
        for slot in places.into_iter().map(|place| lane.slot(place)) {
            let Body::Watch(watch, queue) = &slot.entry.body else { continue };
            let info = &slot.info;
            let mut told = None;
            let ran = if !info.enabled {
                Ran::Skipped { why: Skipped::Disabled }
            } else if info.detached {
                let snapshot = snapshot.get_or_insert_with(|| Arc::new(Snapshot::of(&self.frame, &self.record)));
                let job = see_later(snapshot.clone(), info.clone(), watch.clone());
                if queue.push(Box::pin(job)) { Ran::Detached } else { Ran::Dropped }
            } else {
                let Frame { event, state, scope, .. } = &mut self.frame;
                let cx = Cx::<P>::new(event, state, scope, &self.record, &info.name);
                let Ended { failure, account } = Supervised::new(info.timeout, watch.see(&cx)).await;
                told = account;
                match failure {
                    None => Ran::Answered { verdict: Kind::Proceed, reason: None },
                    Some(failure) => {
                        tracing::warn!(watch = &*info.name, point = P::NAME, %failure, "a watch failed");
                        Ran::Failed { failure, policy: FailurePolicy::Open, verdict: Kind::Proceed, attempts: 1 }
                    }
                }
            };
            let took = self.lap();
            traces.push(Trace { account: told, ..trace(info, ran, took) });
        }
        append(&mut self.record.hooks, traces);
    }

    fn skipped(&mut self, info: &HookInfo, why: Skipped) {
        self.record.hooks.push(trace(info, Ran::Skipped { why }, Duration::ZERO));
    }

    /// Writes the decision into the record, for the watches to see.
    fn decide(&mut self) {
        if let Some(ruling) = strongest(&self.rulings) {
            self.record.verdict = ruling.verdict.kind();
            self.record.reason = ruling.verdict.reason().map(str::to_owned);
            self.record.decided_by = Some(ruling.by.clone());
        }
    }

    fn finish(mut self) -> Outcome<P> {
        self.frame.state.notes_mut().clear(Lasting::Dispatch);
        self.record.took = self.mark.duration_since(self.began);
        let Self { rulings, record, event_changed, state_before, .. } = self;
        Outcome { rulings, record, event_changed, state_before }
    }

    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.mark, now))
    }
}

/// What a hook or guard came to.
struct Judged<P: Point> {
    answer: Result<P::Verdict, Failure>,
    account: Option<Box<Value>>,
    attempts: u32,
    changes: Vec<Change>,
    took: Duration,
}

impl<P: Point> Judged<P> {
    fn new(answer: Result<P::Verdict, Failure>, account: Option<Box<Value>>, attempts: u32) -> Self {
        Self { answer, account, attempts, changes: Vec::new(), took: Duration::ZERO }
    }
}

/// Adds a verdict to the traces and, unless its hook runs in shadow, to the rulings. Returns the verdict that counts.
fn rule<P: Point>(
    info: &HookInfo,
    judged: Judged<P>,
    traces: &mut Vec<Trace>,
    rulings: &mut Vec<Ruling<P::Verdict>>,
) -> Kind {
    let Judged { answer, account, attempts, changes, took } = judged;
    let (verdict, kind, ran) = match answer {
        Ok(verdict) => {
            let kind = verdict.kind();
            let ran = Ran::Answered { verdict: kind, reason: verdict.reason().map(str::to_owned) };
            (verdict, kind, ran)
        }
        Err(failure) => {
            let verdict = in_place_of::<P::Verdict>(info, &failure);
            let kind = verdict.kind();
            let ran = Ran::Failed { failure, policy: info.on_failure, verdict: kind, attempts };
            (verdict, kind, ran)
        }
    };
    let (hook, role, shadow) = (info.name.clone(), info.role, info.shadow);
    traces.push(Trace { hook, role, ran, changes, took, shadow, account });
    let kind = if shadow { Kind::Proceed } else { kind };
    if !matches!(kind, Kind::Proceed | Kind::Skip) {
        rulings.push(Ruling { by: info.name.clone(), verdict });
    }
    kind
}

/// Appends a list, and takes it as it is if it is the first.
fn append<T>(list: &mut Vec<T>, mut more: Vec<T>) {
    if list.is_empty() {
        *list = more;
    } else {
        list.append(&mut more);
    }
}

fn trace(info: &HookInfo, ran: Ran, took: Duration) -> Trace {
    let (hook, role) = (info.name.clone(), info.role);
    Trace { hook, role, ran, changes: Vec::new(), took, shadow: false, account: None }
}

/// What guards answered, in order.
struct Answers<P: Point> {
    traces: Vec<Trace>,
    rulings: Vec<Ruling<P::Verdict>>,
    /// When the guard before ended.
    mark: Instant,
}

impl<P: Point> Answers<P> {
    fn add(&mut self, info: &HookInfo, judged: Option<Judged<P>>) {
        match judged {
            Some(judged) => {
                rule(info, judged, &mut self.traces, &mut self.rulings);
            }
            None => self.traces.push(trace(info, Ran::Skipped { why: Skipped::Disabled }, Duration::ZERO)),
        }
    }
}

/// Runs guards. Those that answer at once are taken one after another; from the first that waits, the rest run at the same
/// time as it.
async fn check_all<P: Point>(
    lane: &Lane<P>,
    mut places: &[u32],
    cx: &Cx<'_, P>,
    retries: Retries,
    answers: &mut Answers<P>,
) {
    while let Some((place, rest)) = places.split_first() {
        places = rest;
        let slot = lane.slot(*place);
        let began = answers.mark;
        let mut guard = pin!(judge(slot, cx, retries));
        if let Poll::Ready(mut judged) = poll_fn(|task| Poll::Ready(guard.as_mut().poll(task))).await {
            answers.mark = Instant::now();
            if let Some(judged) = &mut judged {
                judged.took = answers.mark.duration_since(began);
            }
            answers.add(&slot.info, judged);
            continue;
        }
        let (mut first, mut others) = (None, Vec::new());
        others.resize_with(rest.len(), || None);
        let mut work: Vec<BoxFuture<'_, ()>> = Vec::with_capacity(1 + rest.len());
        work.push(Box::pin(timed(began, guard, &mut first)));
        for (place, judged) in rest.iter().zip(&mut others) {
            work.push(Box::pin(timed(began, judge(lane.slot(*place), cx, retries), judged)));
        }
        all(work).await;
        answers.add(&slot.info, first);
        for (place, judged) in rest.iter().zip(others) {
            answers.add(&lane.slot(*place).info, judged);
        }
        answers.mark = Instant::now();
        return;
    }
}

async fn timed<P: Point>(
    began: Instant,
    guard: impl Future<Output = Option<Judged<P>>>,
    judged: &mut Option<Judged<P>>,
) {
    *judged = guard.await.map(|judged| Judged { took: began.elapsed(), ..judged });
}

/// One guard's judgement, without its time; `None` if it is switched off.
async fn judge<P: Point>(slot: &Slot<P>, cx: &Cx<'_, P>, retries: Retries) -> Option<Judged<P>> {
    let Body::Guard(guard) = &slot.entry.body else { return None };
    let info = &slot.info;
    if !info.enabled {
        return None;
    }
    let mut attempts = 0;
    loop {
        attempts += 1;
        let mut answer = None;
        let Ended { failure, account } = Supervised::new(info.timeout, guard.check(cx, &mut answer)).await;
        let answer = within(retries, answered(answer, failure));
        if answer.is_ok() || attempts > info.max_retries || matches!(answer, Err(Failure::RetriesExhausted)) {
            return Some(Judged::new(answer, account, attempts));
        }
    }
}

/// An answer that asks for a retry which the operation no longer has is a failure of the one that asks.
fn within<V: Verdict>(retries: Retries, answer: Result<V, Failure>) -> Result<V, Failure> {
    match answer {
        Ok(verdict) if retries == Retries::Exhausted && verdict.kind() == Kind::Retry => Err(Failure::RetriesExhausted),
        answer => answer,
    }
}

/// What a failure comes to under the hook's policy.
fn in_place_of<V: Verdict>(info: &HookInfo, failure: &Failure) -> V {
    let reason = || format!("`{}` {failure}", info.name);
    let verdict = match info.on_failure {
        FailurePolicy::Open => None,
        FailurePolicy::Closed => V::refuse(&reason()),
        FailurePolicy::Ask => V::with_reason(Kind::Ask, reason()).or_else(|| V::refuse(&reason())),
    };
    verdict.unwrap_or_else(V::proceed)
}

/// What a detached watch looks at: the dispatch as it was.
struct Snapshot<P: Point> {
    event: P::Event,
    state: P::State,
    scope: <P::State as State>::Scope,
    record: Record,
}

impl<P: Point> Snapshot<P> {
    fn of(frame: &Frame<'_, P>, record: &Record) -> Self {
        Self {
            event: frame.event.clone(),
            state: frame.state.clone(),
            scope: frame.scope.clone(),
            record: record.clone(),
        }
    }
}

async fn see_later<P: Point>(snapshot: Arc<Snapshot<P>>, info: Arc<HookInfo>, watch: Arc<dyn ErasedWatch<P>>) {
    let (mut event, mut state) = (snapshot.event.clone(), snapshot.state.clone());
    let cx = Cx::<P>::new(&mut event, &mut state, &snapshot.scope, &snapshot.record, &info.name);
    if let Some(failure) = Supervised::new(info.timeout, watch.see(&cx)).await.failure {
        tracing::warn!(watch = &*info.name, point = P::NAME, %failure, "a detached watch failed");
    }
}
