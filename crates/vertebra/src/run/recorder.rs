//! How a run meets its journal: it writes what happens, and takes from its tape what has happened.

use std::{
    future::Future,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use jiff::Timestamp;
use vertebra_hooks::{Outcome, Point, Ruling};

use crate::{
    AgentState, JournalError, Meter, Run, RunError, ToolResult,
    points::attributes::Located,
    run::handle::Interrupted,
    run::output::Held,
    timeline::feed::Front,
    timeline::{Boxed, Entry, Inside, Left, Place, Replayed, StateChange, Tape, What, Where},
};

/// What a run tells its journal and its front end, and what it is resumed or replayed from.
pub(crate) struct Recorder {
    pub(crate) front: Front,
    /// What the run is resumed or replayed from.
    pub(crate) tape: Option<Arc<Tape>>,
    events: AtomicU64,
    step: AtomicU32,
    /// Bytes of checkpoints since one of them said all, shared by all runs of a session.
    pub(crate) checkpointed: Arc<AtomicU64>,
    /// Whether the calls of the latest answer cannot be made, because something in them was hidden from the journal.
    redacted_calls: AtomicBool,
    /// Bytes of models' answers that were let through.
    shown: AtomicU64,
    /// What waits for `Output`.
    pub(crate) held: Held,
}

impl Recorder {
    pub(crate) fn new(front: Front, tape: Option<Arc<Tape>>, above: Option<&Run>) -> Self {
        Self {
            front,
            events: AtomicU64::new(tape.as_ref().map_or(0, |tape| tape.first_number())),
            tape,
            step: AtomicU32::default(),
            checkpointed: above.map(|run| run.recorder().checkpointed.clone()).unwrap_or_default(),
            redacted_calls: AtomicBool::default(),
            shown: AtomicU64::default(),
            held: Held::default(),
        }
    }

    /// Returns the number of the next event.
    pub(crate) fn next_event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn step(&self) -> u32 {
        self.step.load(Ordering::Relaxed)
    }

    pub(crate) fn set_step(&self, step: u32) {
        self.step.store(step, Ordering::Relaxed);
    }

    pub(crate) fn has_shown(&self, text: &str) {
        self.shown.fetch_add(text.len() as u64, Ordering::AcqRel);
    }

    pub(crate) fn shown_bytes(&self) -> u64 {
        self.shown.load(Ordering::Acquire)
    }

    pub(crate) fn has_redacted_calls(&self) -> bool {
        self.redacted_calls.load(Ordering::Acquire)
    }

    pub(crate) fn set_redacted_calls(&self, redacted: bool) {
        self.redacted_calls.store(redacted, Ordering::Release);
    }
}

impl Run {
    /// Returns what the run is resumed or replayed from.
    pub(crate) fn tape(&self) -> Option<&Arc<Tape>> {
        self.recorder().tape.as_ref()
    }

    /// What a replay has found so far, in a run that is one.
    pub(crate) fn replayed(&self) -> Option<&Replayed> {
        self.tape().and_then(|tape| tape.replayed())
    }

    /// Where the run is on its tape.
    pub(crate) fn place(&self) -> Place<'_> {
        Place { run_id: &self.info().run_id, within: self.inside_of() }
    }

    /// Leaves a use of a tool behind that is over: it is not made again, but what it used is used, and what hooks changed in
    /// the state while it was at work is changed.
    pub(crate) fn leave_call(
        &self,
        tape: &Tape,
        state: &mut AgentState,
        call_id: &Arc<str>,
        until: Option<(usize, Timestamp)>,
    ) {
        let Inside { asked, used, moved } = tape.leave_call(self.place(), call_id, until);
        for change in moved {
            // Usage is counted below, and by the run itself.
            let (usage, steps, tool_calls) = (state.usage(), state.steps(), state.tool_calls());
            let change = StateChange { usage, steps, tool_calls, recent_tools: None, ..change };
            if let Err(problem) = change.apply(state) {
                tracing::warn!(%call_id, %problem, "a hook's change of the state could not be made again");
            }
        }
        for usage in asked {
            self.budget().spend(Meter::Tokens, usage.total_tokens());
            self.run_budget().spend_again(usage);
        }
        for used in used {
            self.run_budget().count_child(&used);
        }
    }

    /// What hooks did on this event before the run was resumed. What cannot be read any more is done again.
    pub(crate) fn recall<P>(&self, event: &mut P::Event, state: &mut AgentState) -> Option<Outcome<P>>
    where
        P: Point<State = AgentState, Event: Located>,
    {
        let (record, left) = self.tape()?.dispatched(self.place(), P::NAME, event.call_id())?;
        let Left { rulings, event: changed, state: moved } = left.map(|left| *left).unwrap_or_default();
        let rulings =
            rulings.into_iter().map(|(by, verdict)| Ok(Ruling { by, verdict: serde_json::from_value(verdict)? }));
        let rulings = rulings.collect::<Result<_, serde_json::Error>>().ok()?;
        let mut after = state.clone();
        if let Some(moved) = moved {
            moved.apply(&mut after).ok()?;
        }
        if let Some(changed) = changed {
            event.recall(changed).ok()?;
        }
        *state = after;
        Some(Outcome::recorded(rulings, record))
    }

    /// Writes a line to the journal, unless it is on the tape already.
    ///
    /// It is handed over at once, so that no future has room for a line. What is left to wait for is in a box.
    pub(crate) fn write(&self, what: What) -> impl Future<Output = Result<(), RunError>> + Send + use<'_> {
        let written = self.hand_over(self.entry(what));
        async move {
            match written {
                ControlFlow::Break(result) => Ok(result?),
                ControlFlow::Continue(safe) => Ok(safe.await?),
            }
        }
    }

    fn hand_over(&self, entry: Entry) -> ControlFlow<Result<(), JournalError>, Boxed<'_, ()>> {
        if let Some(tape) = self.tape() {
            if let Some(replayed) = tape.replayed() {
                self.compared(replayed, tape.take_like(&entry).as_ref(), &entry);
                return ControlFlow::Break(Ok(()));
            }
            if tape.has_written(&entry) {
                return ControlFlow::Break(Ok(()));
            }
            if let What::Checkpoint(_) = entry.what {
                tape.leave(&entry.run_id);
            }
        }
        let journal = &self.core().journal;
        journal.append_now(entry).map_continue(|entry| journal.append(entry))
    }

    /// Compares what happens in a replay with what was recorded. A run that is on another course ends.
    pub(crate) fn happens(&self, recorded: Option<&Entry>, what: What) {
        if let Some(replayed) = self.replayed() {
            self.compared(replayed, recorded, &self.entry(what));
        }
    }

    /// What came of a use of a tool when it was recorded. If its arounds went on without it then, nobody saw that, and they
    /// are waited for; where the recording breaks off, they may have been told to.
    pub(crate) async fn as_it_was(&self, result: ToolResult) -> Result<ToolResult, Interrupted> {
        if result.is_left() && !self.tape().is_some_and(|tape| self.is_cut(tape)) {
            return self.control().unless_cancelled(std::future::pending()).await;
        }
        Ok(result)
    }

    /// Whether the recording of this run breaks off.
    fn is_cut(&self, tape: &Tape) -> bool {
        tape.is_cut(&self.info().run_id, self.identity().parent.as_ref().map(|parent| &*parent.run_id))
    }

    fn compared(&self, replayed: &Replayed, recorded: Option<&Entry>, happens: &Entry) {
        let place = Where {
            step: self.recorder().step(),
            is_child: self.info().depth > 0,
            is_cut: self.tape().is_some_and(|tape| self.is_cut(tape)),
        };
        if !replayed.compare(place, recorded, happens) {
            self.cancel();
        }
    }

    fn entry(&self, mut what: What) -> Entry {
        self.veils().what(&mut what);
        Entry {
            session_id: self.info().session_id.clone(),
            run_id: self.info().run_id.clone(),
            within: self.inside_of().cloned(),
            timestamp: self.clock().now(),
            what,
        }
    }
}

/// What a dispatch left, if more than going on came of it.
pub(crate) fn left_by<P>(outcome: &Outcome<P>, event: &P::Event, state: &AgentState) -> Option<Box<Left>>
where
    P: Point<State = AgentState, Event: Located>,
{
    if outcome.rulings().is_empty() && !outcome.event_changed() && outcome.state_before().is_none() {
        return None;
    }
    let rulings = outcome.rulings().iter().filter_map(|ruling| {
        let verdict = serde_json::to_value(&ruling.verdict).ok()?;
        Some((ruling.by.clone(), verdict))
    });
    Some(Box::new(Left {
        rulings: rulings.collect(),
        event: outcome.event_changed().then(|| event.left()).flatten(),
        state: outcome.state_before().map(|before| StateChange::between(before, state)),
    }))
}
