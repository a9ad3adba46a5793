//! The result of a dispatch.

use std::{fmt, sync::Arc};

use arc_swap::Guard;

use crate::{
    Kind, Name, Point, Record, RecordView, Verdict,
    log::{Log, SoFar},
    registry::Snapshot,
};

/// A verdict with its author.
#[derive(Debug, Clone)]
pub struct Ruling<V> {
    /// The hook that gave it.
    pub by: Name,
    /// The verdict.
    pub verdict: V,
}

/// The result of a dispatch. It is one word, because every `await` on its way copies it.
pub struct Outcome<P: Point>(Option<Box<Finished<P>>>);

/// Keeps the table of the dispatch, so that names are read from it only when they are needed.
pub(crate) struct Finished<P: Point> {
    pub(crate) held: Guard<Arc<Snapshot>>,
    /// The place of the table in the snapshot.
    pub(crate) at: usize,
    pub(crate) log: Log<P>,
}

impl<P: Point> Finished<P> {
    /// Written where it stays: what is built elsewhere first is copied as a whole.
    #[inline]
    pub(crate) fn boxed(held: Guard<Arc<Snapshot>>, at: usize) -> Box<Self> {
        Box::write(Box::new_uninit(), Self { held, at, log: Log::new() })
    }

    fn record(&self) -> RecordView<'_, P> {
        // A dispatch that happened before has no table: its record says all.
        let infos = self.held.table::<P>(self.at).map_or(&[][..], |table| &table.infos);
        RecordView { so_far: SoFar { infos, log: &self.log, upto: u32::MAX, is_decided: true }, now: None }
    }
}

impl<P: Point> Outcome<P> {
    /// The outcome of a dispatch in which no hook matched.
    #[inline]
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    #[inline]
    pub(crate) fn of(finished: Box<Finished<P>>) -> Self {
        Self(Some(finished))
    }

    /// Returns the outcome of an earlier dispatch. Event and state are already as it left them.
    pub fn recorded(rulings: Vec<Ruling<P::Verdict>>, record: Record) -> Self {
        let held = Guard::from_inner(Arc::default());
        Self(Some(Box::new(Finished { held, at: 0, log: Log::recorded(rulings, record) })))
    }

    /// Whether no hook matched.
    pub fn is_empty(&self) -> bool {
        self.log().is_none_or(Log::is_empty)
    }

    /// Returns every verdict except `proceed` and `skip`, in order.
    pub fn rulings(&self) -> &[Ruling<P::Verdict>] {
        self.log().map_or(&[], Log::rulings)
    }

    /// Returns the strongest verdict, or the first of several equally strong ones. Returns `None` if no hook objected.
    pub fn decision(&self) -> Option<&Ruling<P::Verdict>> {
        self.log()?.decision()
    }

    /// Returns the verdict of the decision, to match on.
    pub fn verdict(&self) -> P::Verdict {
        self.decision().map_or_else(P::Verdict::proceed, |ruling| ruling.verdict.clone())
    }

    /// Returns the kind of the decision.
    pub fn kind(&self) -> Kind {
        self.decision().map_or(Kind::Proceed, |ruling| ruling.verdict.kind())
    }

    /// Returns the hook that decided.
    pub fn decided_by(&self) -> Option<&Name> {
        self.decision().map(|ruling| &ruling.by)
    }

    /// Returns the reason of the decision.
    pub fn reason(&self) -> Option<&str> {
        self.decision()?.verdict.reason()
    }

    /// Whether the decision was a failure that failed closed, and not an opinion.
    pub fn decided_by_failure(&self) -> bool {
        self.decision().is_some() && self.record().decided_by_failure()
    }

    /// Returns all rulings of one kind, in order.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Ruling<P::Verdict>> {
        self.rulings().iter().filter(move |ruling| ruling.verdict.kind() == kind)
    }

    /// Whether hooks wrote to the event.
    pub fn event_changed(&self) -> bool {
        self.log().is_some_and(Log::event_changed)
    }

    /// The state before the first hook that wrote to it.
    pub fn state_before(&self) -> Option<&P::State> {
        self.log()?.state_before()
    }

    /// What happened, in full. It is made anew each time somebody asks: ask once.
    pub fn record(&self) -> Record {
        self.0.as_ref().map_or_else(|| Record::new(P::NAME), |finished| finished.record().to_record())
    }

    fn log(&self) -> Option<&Log<P>> {
        self.0.as_ref().map(|finished| &finished.log)
    }
}

/// The decision in words.
impl<P: Point> fmt::Display for Outcome<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::record::decision(f, self.kind(), self.decided_by(), self.reason())
    }
}

impl<P: Point> fmt::Debug for Outcome<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome").field("rulings", &self.rulings()).field("record", &self.record()).finish()
    }
}
