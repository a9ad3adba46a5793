//! One dispatch: all matching hooks of a point over one event.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use arc_swap::Guard;
use futures_util::future::join_all;

use crate::{
    Cx, Failure, FailurePolicy, HookInfo, Kind, Lasting, Name, Outcome, Point, Ran, Skipped, State, Verdict,
    cx::{Accounts, Inner, Scope},
    hook::{ErasedGuard, ErasedWatch, Job, Look},
    log::{Infos, Log, More, Wrote},
    outcome::Finished,
    point::PointId,
    registry::Snapshot,
    supervise::{Started, answered, supervise},
    table::{Lane, Selected, Slot, Watcher},
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

/// Runs all matching hooks of a point: hooks, guards, watches.
///
/// All in one block: a nested `async fn` would be moved into place as a whole, and that costs more than a hook. A block and
/// not an `async fn`: the arguments of that are kept twice, as they came and as they are used.
#[inline]
#[expect(clippy::manual_async_fn, clippy::too_many_lines, reason = "see above")]
pub(crate) fn run<P: Point>(
    point: P,
    held: Guard<Arc<Snapshot>>,
    frame: Frame<'_, P>,
) -> impl Future<Output = Outcome<P>> + Send {
    async move {
        let Some(at) = held.find(PointId::of(point)) else { return Outcome::nothing() };
        let mut finished = Finished::boxed(held, at);
        {
            let Finished { held, at, log } = &mut *finished;
            let Some(table) = held.table::<P>(*at) else { return Outcome::nothing() };
            let retries = frame.retries;
            // All hooks, guards and watches are given the same context, one after another.
            let mut job = Job::<P> { said: None, cx: Cx::new(frame, &table.infos, log) };
            // A dispatch that was dropped half way could not take its notes with it.
            forget_notes(job.cx.inner.state);
            let began = Instant::now();
            // When the clock was read last: the time of a hook that does more than let pass runs from there.
            let mut mark = began;

            // Hooks, one after another; each sees what the one before left.
            {
                let lane = &table.hooks;
                let mut selected = lane.select(job.cx.inner.event, job.cx.inner.state);
                let (mut next, mut attempt) = (0, 1);
                while let Some(at) = selected.get(next) {
                    let (slot, place) = (lane.slot(at), lane.place(at));
                    if !slot.enabled {
                        next += 1;
                        job.cx.inner.log.skipped(place, Skipped::Disabled);
                        continue;
                    }
                    let mut waiting = None;
                    job.cx.goes_on(place);
                    let failure = {
                        let work = pin!(slot.body.start(&mut job));
                        let mut hook = Started::new(work);
                        poll_fn(|task| supervise(&mut hook, &mut waiting, &slot.info, task)).await
                    };
                    if waiting.is_none() && attempt == 1 && lets_pass(job.said.as_ref()) && job.cx.is_untouched() {
                        next += 1;
                        job.said = None;
                        job.cx.inner.log.quiet(place);
                        continue;
                    }
                    let Some(ended) = job.end(failure, &slot.info, retries, attempt) else {
                        attempt += 1;
                        continue;
                    };
                    let touched = matches!(ended.wrote, Wrote::Over(_));
                    let log = &mut *job.cx.inner.log;
                    let kind = settle(log, &slot.info, place, Ended { attempt, ..ended }, lap(&mut mark));
                    attempt = 1;
                    if matches!(kind, Kind::Deny | Kind::Skip | Kind::Retry) {
                        leave_out(log, &slot.info.name, kind, lane, &selected, next + 1);
                        break;
                    }
                    next += 1;
                    if touched {
                        // The matchers of later hooks judge the event as it is now, not as it came in.
                        selected = lane.select(job.cx.inner.event, job.cx.inner.state);
                        next = selected.after(at);
                    }
                }
            }
            let cx = &mut job.cx;
            if !cx.inner.log.is_quiet() {
                cx.inner.log.keep_final_form(cx.inner.event, cx.inner.state);
            }

            // Guards, on the final form. Those that are ready are taken one after another; from the first that waits, the
            // rest run at the same time. Their verdicts are merged in order.
            {
                let lane = &table.guards;
                let selected = lane.select(cx.inner.event, cx.inner.state);
                cx.inner.upto = cx.inner.log.len();
                let mut next = 0;
                while let Some(at) = selected.get(next) {
                    let (slot, place) = (lane.slot(at), lane.place(at));
                    next += 1;
                    if !slot.enabled {
                        cx.inner.log.skipped(place, Skipped::Disabled);
                        continue;
                    }
                    let (mut waiting, mut first_took, mut judged) = (None, None, Vec::new());
                    let batch = Batch { lane, selected: &selected, retries, began: mark, cx };
                    let mut look = Look { said: None, cx };
                    let failure = {
                        let work = pin!(slot.body.start(&mut look));
                        let mut guard = Started::new(work);
                        // One that may be tried again is tried again beside the others.
                        let is_alone = slot.info.max_retries == 0;
                        let (mut failure, mut others) = (None, None);
                        if !is_alone {
                            failure = Some(None);
                            others = Some(Some(batch.from(next - 1)));
                        }
                        poll_fn(|task| {
                            if failure.is_none() {
                                batch.cx.goes_on(place);
                                match supervise(&mut guard, &mut waiting, &slot.info, task) {
                                    Poll::Ready(ended) if others.is_none() => return Poll::Ready(ended),
                                    Poll::Ready(ended) => {
                                        first_took = Some(batch.began.elapsed());
                                        failure = Some(ended);
                                    }
                                    Poll::Pending => {}
                                }
                            }
                            let running = others.get_or_insert_with(|| Some(batch.from(next)));
                            if let Some(work) = running
                                && let Poll::Ready(all) = work.as_mut().poll(task)
                            {
                                (judged, *running) = (all, None);
                            }
                            match &mut failure {
                                Some(ended) if running.is_none() => Poll::Ready(ended.take()),
                                _ => Poll::Pending,
                            }
                        })
                        .await
                    };
                    let said = look.said;
                    if waiting.is_none() && judged.is_empty() && lets_pass(said.as_ref()) && cx.is_untouched() {
                        cx.inner.log.quiet(place);
                        continue;
                    }
                    let mut accounts = cx.take_accounts();
                    let is_last = waiting.is_some() || !judged.is_empty();
                    let took = lap(&mut mark);
                    if slot.info.max_retries == 0 {
                        let answer = within(retries, answered(said, failure));
                        let ended = Ended::looked(answer, accounts.take(place));
                        settle(cx.inner.log, &slot.info, place, ended, first_took.unwrap_or(took));
                    }
                    settle_all(cx.inner.log, lane, judged, &mut accounts);
                    if is_last {
                        break;
                    }
                }
            }

            // Watches, in order; the detached ones are handed over.
            {
                let lane = &table.watches;
                let selected = lane.select(cx.inner.event, cx.inner.state);
                (cx.inner.upto, cx.inner.is_decided) = (cx.inner.log.len(), true);
                let mut glimpse = None;
                let mut next = 0;
                while let Some(at) = selected.get(next) {
                    let (slot, place) = (lane.slot(at), lane.place(at));
                    next += 1;
                    if !slot.enabled {
                        cx.inner.log.skipped(place, Skipped::Disabled);
                        continue;
                    }
                    if slot.info.detached {
                        let glimpse = glimpse.get_or_insert_with(|| Glimpse::of(cx, &table.infos));
                        let ran = glimpse.hand_over(slot, place);
                        cx.inner.log.tell(place, More::only(ran));
                        continue;
                    }
                    let mut waiting = None;
                    cx.goes_on(place);
                    let mut look = Look { said: None, cx };
                    let failure = {
                        let work = pin!(slot.body.0.start(&mut look));
                        let mut watch = Started::new(work);
                        poll_fn(|task| supervise(&mut watch, &mut waiting, &slot.info, task)).await
                    };
                    let said = look.said;
                    if waiting.is_none() && matches!(said, Some(Ok(()))) && cx.is_untouched() {
                        cx.inner.log.quiet(place);
                        continue;
                    }
                    let answer = answered(said, failure).map(|()| P::Verdict::proceed());
                    if let Err(failure) = &answer {
                        tracing::warn!(watch = &*slot.info.name, point = slot.info.point, %failure, "a watch failed");
                    }
                    let ended = Ended::looked(answer, cx.take_accounts().take(place));
                    settle(cx.inner.log, &slot.info, place, ended, lap(&mut mark));
                }
            }
            forget_notes(cx.inner.state);
            cx.inner.log.took = began.elapsed();
        }
        Outcome::of(finished)
    }
}

#[inline]
fn forget_notes<S: State>(state: &mut S) {
    state.notes_mut().clear(Lasting::Dispatch);
}

#[inline]
fn lets_pass<V: Verdict>(said: Option<&Result<V, Failure>>) -> bool {
    matches!(said, Some(Ok(verdict)) if verdict.kind() == Kind::Proceed)
}

/// The time since the clock was read last.
fn lap(mark: &mut Instant) -> Duration {
    let now = Instant::now();
    now.duration_since(std::mem::replace(mark, now))
}

/// The result of a hook that did more than proceed.
struct Ended<P: Point> {
    answer: Result<P::Verdict, Failure>,
    wrote: Wrote<P>,
    account: Option<Box<serde_json::Value>>,
    attempt: u32,
}

impl<P: Point> Ended<P> {
    fn looked(answer: Result<P::Verdict, Failure>, account: Option<Box<serde_json::Value>>) -> Self {
        Self { answer, wrote: Wrote::Nothing, account, attempt: 1 }
    }
}

impl<P: Point> Job<'_, P> {
    /// Returns the result of the hook; `None` if it failed and is to be tried again. What a hook that failed wrote is undone.
    #[cold]
    #[inline(never)]
    fn end(&mut self, failure: Option<Failure>, info: &HookInfo, retries: Retries, attempt: u32) -> Option<Ended<P>> {
        let account = self.cx.take_accounts().take(self.cx.place());
        let answer = within(retries, answered(self.said.take(), failure));
        let wrote = match &answer {
            Ok(_) if info.shadow => Wrote::Undone(self.cx.undone()),
            Ok(_) => self.cx.commit().map_or(Wrote::Nothing, Wrote::Over),
            Err(failure) => {
                self.cx.undo();
                if is_tried_again(failure, info, attempt) {
                    return None;
                }
                Wrote::Nothing
            }
        };
        Some(Ended { answer, wrote, account, attempt })
    }
}

fn is_tried_again(failure: &Failure, info: &HookInfo, attempt: u32) -> bool {
    attempt <= info.max_retries && *failure != Failure::RetriesExhausted
}

/// An answer that asks for a retry which the operation no longer has is a failure of the one that asks.
fn within<V: Verdict>(retries: Retries, answer: Result<V, Failure>) -> Result<V, Failure> {
    match answer {
        Ok(verdict) if retries == Retries::Exhausted && verdict.kind() == Kind::Retry => Err(Failure::RetriesExhausted),
        answer => answer,
    }
}

/// Takes what a hook came to into the log, and its verdict to the rulings unless it only stands beside. Returns the verdict
/// that counts.
#[cold]
#[inline(never)]
fn settle<P: Point>(log: &mut Log<P>, info: &HookInfo, place: u32, ended: Ended<P>, took: Duration) -> Kind {
    let Ended { answer, wrote, account, attempt } = ended;
    let (verdict, ran) = match answer {
        Ok(verdict) => {
            let ran = Ran::Answered { verdict: verdict.kind(), reason: verdict.reason().map(str::to_owned) };
            (verdict, ran)
        }
        Err(failure) => {
            let verdict = in_place_of::<P::Verdict>(info, &failure);
            let ran = Ran::Failed { failure, policy: info.on_failure, verdict: verdict.kind(), attempts: attempt };
            (verdict, ran)
        }
    };
    log.tell(place, More { ran, wrote, took: Some(took), account });
    let kind = if info.shadow { Kind::Proceed } else { verdict.kind() };
    if !matches!(kind, Kind::Proceed | Kind::Skip) {
        log.rule(&info.name, verdict);
    }
    kind
}

/// Returns the verdict that the failure policy of a hook gives.
fn in_place_of<V: Verdict>(info: &HookInfo, failure: &Failure) -> V {
    let reason = || format!("`{}` {failure}", info.name);
    let verdict = match info.on_failure {
        FailurePolicy::Open => None,
        FailurePolicy::Closed => V::refuse(&reason()),
        FailurePolicy::Ask => V::with_reason(Kind::Ask, reason()).or_else(|| V::refuse(&reason())),
    };
    verdict.unwrap_or_else(V::proceed)
}

/// A hook has ended the hook phase: the rest does not run.
#[cold]
#[inline(never)]
fn leave_out<P: Point, B>(
    log: &mut Log<P>,
    by: &Name,
    verdict: Kind,
    lane: &Lane<P, B>,
    selected: &Selected,
    from: usize,
) {
    for at in (from..).map_while(|next| selected.get(next)) {
        log.skipped(lane.place(at), Skipped::Ended { by: by.clone(), verdict });
    }
}

type Guards<P> = Lane<P, Arc<dyn ErasedGuard<P>>>;

/// Guards that run at the same time.
struct Batch<'b, P: Point> {
    lane: &'b Guards<P>,
    selected: &'b Selected,
    retries: Retries,
    /// When they begin.
    began: Instant,
    cx: &'b Cx<'b, P>,
}

/// The result of a guard that ran beside others.
struct Judged<P: Point> {
    at: u32,
    /// `None` if it is switched off.
    answer: Option<Result<P::Verdict, Failure>>,
    attempt: u32,
    took: Duration,
}

impl<'b, P: Point> Batch<'b, P> {
    /// Runs the guards from the `first`th on.
    #[cold]
    fn from(&self, first: usize) -> Pin<Box<dyn Future<Output = Vec<Judged<P>>> + Send + 'b>> {
        let Self { lane, selected, retries, began, cx } = *self;
        let guards = (first..).map_while(|next| selected.get(next));
        Box::pin(join_all(guards.map(|at| judge(lane, at, cx, retries, began))))
    }
}

async fn judge<P: Point>(lane: &Guards<P>, at: u32, cx: &Cx<'_, P>, retries: Retries, began: Instant) -> Judged<P> {
    let (slot, place) = (lane.slot(at), lane.place(at));
    let mut attempt = 0;
    let answer = loop {
        if !slot.enabled {
            break None;
        }
        attempt += 1;
        cx.forget(place);
        let mut look = Look { said: None, cx };
        let failure = {
            let work = pin!(slot.body.start(&mut look));
            let (mut guard, mut waiting) = (Started::new(work), None);
            poll_fn(|task| {
                cx.goes_on(place);
                supervise(&mut guard, &mut waiting, &slot.info, task)
            })
            .await
        };
        match within(retries, answered(look.said, failure)) {
            Err(failure) if is_tried_again(&failure, &slot.info, attempt) => {}
            answer => break Some(answer),
        }
    };
    Judged { at, answer, attempt, took: began.elapsed() }
}

#[cold]
#[inline(never)]
fn settle_all<P: Point>(log: &mut Log<P>, lane: &Guards<P>, judged: Vec<Judged<P>>, accounts: &mut Accounts) {
    for Judged { at, answer, attempt, took } in judged {
        let (info, place) = (&lane.slot(at).info, lane.place(at));
        match answer {
            Some(answer) => {
                let ended = Ended { attempt, ..Ended::looked(answer, accounts.take(place)) };
                settle(log, info, place, ended, took);
            }
            None => log.skipped(place, Skipped::Disabled),
        }
    }
}

/// What a detached watch looks at: the dispatch as it was.
struct Glimpse<P: Point>(Arc<Seen<P>>);

struct Seen<P: Point> {
    event: P::Event,
    state: P::State,
    scope: Scope<P>,
    infos: Infos,
    log: Log<P>,
    upto: u32,
}

impl<P: Point> Glimpse<P> {
    #[cold]
    fn of(cx: &Cx<'_, P>, infos: &Infos) -> Self {
        let Inner { event, state, scope, log, upto, .. } = &cx.inner;
        let (event, state, scope) = (P::Event::clone(event), P::State::clone(state), Scope::<P>::clone(scope));
        Self(Arc::new(Seen { event, state, scope, infos: infos.clone(), log: Log::clone(log), upto: *upto }))
    }

    fn hand_over(&self, slot: &Slot<Watcher<P>>, place: u32) -> Ran {
        let (watch, queue) = &slot.body;
        let job = see_later(self.0.clone(), slot.info.clone(), watch.clone(), place);
        if queue.push(Box::pin(job)) { Ran::Detached } else { Ran::Dropped }
    }
}

async fn see_later<P: Point>(seen: Arc<Seen<P>>, info: Arc<HookInfo>, watch: Arc<dyn ErasedWatch<P>>, place: u32) {
    let (mut event, mut state, mut log) = (seen.event.clone(), seen.state.clone(), seen.log.clone());
    let frame = Frame { event: &mut event, state: &mut state, scope: &seen.scope, retries: Retries::Exhausted };
    let mut cx = Cx::<P>::new(frame, &seen.infos, &mut log);
    (cx.inner.upto, cx.inner.is_decided) = (seen.upto, true);
    cx.goes_on(place);
    let mut look = Look { said: None, cx: &cx };
    let failure = {
        let work = pin!(watch.start(&mut look));
        let (mut watch, mut waiting) = (Started::new(work), None);
        poll_fn(|task| supervise(&mut watch, &mut waiting, &info, task)).await
    };
    if let Err(failure) = answered(look.said, failure) {
        tracing::warn!(watch = &*info.name, point = info.point, %failure, "a detached watch failed");
    }
}
