//! What a dispatch keeps while it runs: eight bytes per hook, made into a full record only for those who ask.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;
use smallvec::SmallVec;

use crate::{Change, HookInfo, Kind, Name, Point, Ran, Record, Ruling, Skipped, Trace, Verdict, cx::Undo};

/// What is known of the hooks of a point, in the order they run.
pub(crate) type Infos = Arc<[Arc<HookInfo>]>;

/// One hook that matched. `more == 0`: it answered `proceed` at once and did nothing else, as most do.
#[derive(Clone, Copy)]
struct Cell {
    place: u32,
    more: u32,
}

/// What there is to say of a hook that did more than let pass.
#[derive(Clone)]
pub(crate) struct More<P: Point> {
    pub(crate) ran: Ran,
    pub(crate) wrote: Wrote<P>,
    pub(crate) took: Option<Duration>,
    pub(crate) account: Option<Box<Value>>,
}

/// What a hook wrote, as it is kept for the record.
#[derive(Clone)]
pub(crate) enum Wrote<P: Point> {
    Nothing,
    /// What was there before. How it differs from what came after is worked out when somebody asks.
    Over(Box<Undo<P>>),
    /// It was undone, because the hook only stands beside.
    Undone(Vec<Change>),
}

/// The dispatch so far. Watches that run behind it take a copy with them.
#[derive(Clone)]
pub(crate) struct Log<P: Point> {
    cells: SmallVec<[Cell; 16]>,
    pub(crate) took: Duration,
    told: Option<Box<Told<P>>>,
}

/// Made when the first hook says, writes or breaks something.
#[derive(Clone)]
struct Told<P: Point> {
    more: Vec<More<P>>,
    rulings: Vec<Ruling<P::Verdict>>,
    /// The final form of what hooks wrote, for the last of the differences.
    event_after: Option<P::Event>,
    state_after: Option<P::State>,
    /// The record of a dispatch that happened before: all there is of it.
    recorded: Option<Record>,
}

impl<P: Point> More<P> {
    pub(crate) fn only(ran: Ran) -> Self {
        Self { ran, wrote: Wrote::Nothing, took: None, account: None }
    }

    fn before(&self) -> Option<&Undo<P>> {
        match &self.wrote {
            Wrote::Over(undo) => Some(undo),
            Wrote::Nothing | Wrote::Undone(_) => None,
        }
    }

    fn verdict(&self) -> Option<Kind> {
        match &self.ran {
            Ran::Answered { verdict, .. } | Ran::Failed { verdict, .. } => Some(*verdict),
            Ran::Skipped { .. } | Ran::Detached | Ran::Dropped => None,
        }
    }
}

impl<P: Point> Log<P> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { cells: SmallVec::new(), took: Duration::ZERO, told: None }
    }

    /// A dispatch that happened before.
    pub(crate) fn recorded(rulings: Vec<Ruling<P::Verdict>>, record: Record) -> Self {
        let mut log = Self::new();
        let told = log.told();
        (told.rulings, told.recorded) = (rulings, Some(record));
        log
    }

    /// How many hooks it tells of.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.cells.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let recorded = self.told.as_ref().and_then(|told| told.recorded.as_ref());
        recorded.map_or(self.cells.is_empty(), |record| record.hooks.is_empty())
    }

    /// Whether every hook so far has let pass, at once.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.told.is_none()
    }

    #[inline]
    pub(crate) fn quiet(&mut self, place: u32) {
        self.cells.push(Cell { place, more: 0 });
    }

    pub(crate) fn tell(&mut self, place: u32, more: More<P>) {
        let told = self.told();
        told.more.push(more);
        // A table holds fewer hooks than this can count, and each has one cell.
        let more = u32::try_from(told.more.len()).unwrap_or(u32::MAX);
        self.cells.push(Cell { place, more });
    }

    #[cold]
    pub(crate) fn skipped(&mut self, place: u32, why: Skipped) {
        self.tell(place, More::only(Ran::Skipped { why }));
    }

    pub(crate) fn rule(&mut self, by: &Name, verdict: P::Verdict) {
        self.told().rulings.push(Ruling { by: by.clone(), verdict });
    }

    /// Keeps the final form of what hooks wrote.
    #[cold]
    pub(crate) fn keep_final_form(&mut self, event: &P::Event, state: &P::State) {
        let wrote = |part: fn(&Undo<P>) -> bool| self.befores(0).any(part);
        let (event_written, state_written) = (wrote(|undo| undo.event.is_some()), wrote(|undo| undo.state.is_some()));
        let told = self.told();
        told.event_after = event_written.then(|| event.clone());
        told.state_after = state_written.then(|| state.clone());
    }

    fn told(&mut self) -> &mut Told<P> {
        self.told.get_or_insert_with(|| {
            Box::new(Told {
                more: Vec::new(),
                rulings: Vec::new(),
                event_after: None,
                state_after: None,
                recorded: None,
            })
        })
    }

    fn more(&self, cell: Cell) -> Option<&More<P>> {
        self.told.as_ref()?.more.get((cell.more as usize).checked_sub(1)?)
    }

    /// What was there before each hook that wrote, from the `from`th on.
    fn befores(&self, from: usize) -> impl Iterator<Item = &Undo<P>> {
        let cells = self.cells.get(from..).unwrap_or_default();
        cells.iter().filter_map(|cell| self.more(*cell)?.before())
    }

    pub(crate) fn rulings(&self) -> &[Ruling<P::Verdict>] {
        self.told.as_ref().map_or(&[], |told| &told.rulings)
    }

    /// The strongest ruling; among equals the first.
    pub(crate) fn decision(&self) -> Option<&Ruling<P::Verdict>> {
        // `max_by_key` keeps the last of equals, so the rulings are gone through backwards.
        self.rulings().iter().rev().max_by_key(|ruling| ruling.verdict.kind())
    }

    pub(crate) fn event_changed(&self) -> bool {
        self.befores(0).any(|undo| undo.event.is_some())
    }

    /// The state before the first hook that wrote to it.
    pub(crate) fn state_before(&self) -> Option<&P::State> {
        self.befores(0).find_map(|undo| undo.state.as_ref())
    }

    /// The full record of the first so many hooks.
    fn record(&self, view: RecordView<'_, P>) -> Record {
        if let Some(recorded) = self.told.as_ref().and_then(|told| told.recorded.as_ref()) {
            return recorded.clone();
        }
        let decision = self.decision().filter(|_| view.so_far.is_decided);
        Record {
            hooks: (0..self.cells.len().min(view.so_far.upto as usize)).map(|at| self.trace(at, view)).collect(),
            verdict: decision.map_or(Kind::Proceed, |ruling| ruling.verdict.kind()),
            decided_by: decision.map(|ruling| ruling.by.clone()),
            reason: decision.and_then(|ruling| ruling.verdict.reason()).map(str::to_owned),
            took: self.took,
            ..Record::new(view.so_far.infos.first().map_or(P::NAME, |info| info.point))
        }
    }

    fn trace(&self, at: usize, view: RecordView<'_, P>) -> Trace {
        let cell = self.cells[at];
        let info = &view.so_far.infos[cell.place as usize];
        let more = self.more(cell);
        let ran = more.map_or(Ran::Answered { verdict: Kind::Proceed, reason: None }, |more| more.ran.clone());
        let answered = more.is_none_or(|more| more.verdict().is_some());
        Trace {
            hook: info.name.clone(),
            role: info.role,
            ran,
            changes: self.changes(at, view.now),
            took: more.and_then(|more| more.took),
            shadow: info.shadow && answered,
            account: more.and_then(|more| more.account.clone()),
        }
    }

    /// What the hook in this cell changed. What was there after it is what was there before the next one that wrote.
    fn changes(&self, at: usize, now: Option<(&P::Event, &P::State)>) -> Vec<Change> {
        let (Some(told), Some(more)) = (&self.told, self.more(self.cells[at])) else { return Vec::new() };
        let before = match &more.wrote {
            Wrote::Nothing => return Vec::new(),
            Wrote::Undone(changes) => return changes.clone(),
            Wrote::Over(before) => before,
        };
        let event_after = self.befores(at + 1).find_map(|undo| undo.event.as_ref()).or(told.event_after.as_ref());
        let state_after = self.befores(at + 1).find_map(|undo| undo.state.as_ref()).or(told.state_after.as_ref());
        before.changes(event_after.or(now.map(|(event, _)| event)), state_after.or(now.map(|(_, state)| state)))
    }
}

/// A dispatch so far: who ran, what they answered and changed. A watch also finds the decision in it.
///
/// It is read from what the dispatch keeps; nothing is made for those who do not look.
pub struct RecordView<'a, P: Point> {
    pub(crate) so_far: SoFar<'a, P>,
    /// What the hook that looks has found, as long as the dispatch goes on.
    pub(crate) now: Option<(&'a P::Event, &'a P::State)>,
}

/// What a hook may see of a dispatch.
#[derive(Clone, Copy)]
pub(crate) struct SoFar<'a, P: Point> {
    pub(crate) infos: &'a [Arc<HookInfo>],
    pub(crate) log: &'a Log<P>,
    /// So many hooks.
    pub(crate) upto: u32,
    /// Whether the decision stands.
    pub(crate) is_decided: bool,
}

impl<P: Point> Copy for RecordView<'_, P> {}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derived, it would ask that events be `Copy`")]
impl<P: Point> Clone for RecordView<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, P: Point> RecordView<'a, P> {
    /// The verdicts given so far, in order, with their authors.
    pub fn verdicts(self) -> impl Iterator<Item = (&'a str, Kind)> {
        let SoFar { infos, log, upto, .. } = self.so_far;
        log.cells.iter().take(upto as usize).filter_map(move |cell| {
            let info = &infos[cell.place as usize];
            let verdict = log.more(*cell).map_or(Some(Kind::Proceed), More::verdict)?;
            (!info.shadow).then_some((&*info.name, verdict))
        })
    }

    /// Whether somebody has given this verdict so far: a guard that asks may leave what was allowed alone.
    pub fn gave(self, kind: Kind) -> bool {
        self.verdicts().any(|(_, given)| given == kind)
    }

    /// The strongest verdict, once all have been heard; until then, to proceed.
    pub fn verdict(self) -> Kind {
        self.decision().map_or(Kind::Proceed, |ruling| ruling.verdict.kind())
    }

    /// Whose verdict that is.
    pub fn decided_by(self) -> Option<&'a Name> {
        self.decision().map(|ruling| &ruling.by)
    }

    /// The reason they gave.
    pub fn reason(self) -> Option<&'a str> {
        self.decision()?.verdict.reason()
    }

    /// The record so far, in full.
    pub fn to_record(self) -> Record {
        self.so_far.log.record(self)
    }

    fn decision(self) -> Option<&'a Ruling<P::Verdict>> {
        self.so_far.log.decision().filter(|_| self.so_far.is_decided)
    }
}

/// The decision in words.
impl<P: Point> fmt::Display for RecordView<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::record::decision(f, self.verdict(), self.decided_by(), self.reason())
    }
}
