//! How a run meets its journal: it writes what happens, and takes from its tape what has happened.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use vertebra_hooks::{Outcome, Point, Ruling};

use crate::{
    AgentState, Meter, Run, RunError, ToolResult, Usage,
    counts::Counts,
    facts::Located,
    journal::{Checkpoint, Entry, Left, Place, Replayed, StateChange, Tape, Used, What, Where},
    scope::{Inside, Interrupted, Totals, lock},
};

impl Run {
    /// The same run, as reached from inside a tool call.
    pub(crate) fn inside(&self, call_id: &Arc<str>, again: bool, children: TaskTracker) -> Self {
        Self(self.0.clone(), Some(Arc::new(Inside { call_id: call_id.clone(), again, children })))
    }

    /// Holds the tool call from inside which a run is reached, until it is dropped.
    pub(crate) fn hold_call(&self) -> Option<TaskTrackerToken> {
        self.1.as_ref().map(|inside| inside.children.token())
    }

    /// The run, and the call of it, that this one works for.
    pub(crate) fn parent(&self) -> Option<(Arc<str>, Option<Arc<str>>)> {
        self.0.parent.clone()
    }

    pub(crate) fn inside_of(&self) -> Option<&Arc<str>> {
        self.1.as_ref().map(|inside| &inside.call_id)
    }

    pub(crate) fn can_be_entered_again(&self) -> bool {
        self.1.as_ref().is_some_and(|inside| inside.again)
    }

    /// What the run is resumed or replayed from.
    pub(crate) fn tape(&self) -> Option<&Arc<Tape>> {
        self.0.tape.as_ref()
    }

    /// What a replay has found so far, in a run that is one.
    pub(crate) fn replayed(&self) -> Option<&Replayed> {
        self.tape().and_then(|tape| tape.replayed())
    }

    /// Where the run is on its tape.
    pub(crate) fn place(&self) -> Place<'_> {
        Place { run_id: &self.0.info.run_id, within: self.inside_of() }
    }

    /// Whether the loop is not ours: it cannot go on where it was.
    pub(crate) fn is_foreign(&self) -> bool {
        self.0.foreign
    }

    /// Whether the run may wait for somebody without its process.
    pub(crate) fn may_wait(&self) -> bool {
        self.0.may_wait
    }

    /// Whether the calls of the latest answer cannot be made, because something in them was hidden from the journal.
    pub(crate) fn is_veiled(&self) -> bool {
        self.0.veiled.load(Ordering::Acquire)
    }

    pub(crate) fn set_veiled(&self, veiled: bool) {
        self.0.veiled.store(veiled, Ordering::Release);
    }

    /// Bytes of checkpoints since one of them said all; only the top agent's say all.
    pub(crate) fn checkpointed(&self) -> Option<&AtomicU64> {
        (self.0.info.depth == 0).then_some(&self.0.checkpointed)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// Goes on from what the run had used.
    pub(crate) fn restore(&self, used: &Used) {
        self.count_used(used);
        *lock(&self.0.spent) += used.usage;
        // The session has counted the calls of its own runs.
        if self.0.info.depth > 0 {
            lock(&self.0.totals).tool_calls += used.calls;
        }
    }

    /// Counts an answer that was paid for before. The totals of the session that is resumed have it already.
    pub(crate) fn spend_again(&self, usage: Usage) {
        *lock(&self.0.spent) += usage;
        self.0.budget.pay(usage);
    }

    /// Leaves a use of a tool behind that is over: it is not made again, but what it used is used.
    pub(crate) fn leave_call(&self, tape: &Tape, call_id: &Arc<str>, until: Option<(usize, Timestamp)>) {
        let (asked, used) = tape.leave_call(self.place(), call_id, until);
        for usage in asked {
            self.0.budget.spend(Meter::Tokens, usage.total_tokens());
            self.spend_again(usage);
        }
        for used in used {
            self.count_used(&used);
            lock(&self.0.totals).tool_calls += used.calls;
        }
    }

    fn count_used(&self, used: &Used) {
        for (meter, amount) in
            [(Meter::Steps, used.steps), (Meter::Tokens, used.tokens), (Meter::Cost, used.cost_micros)]
        {
            self.0.budget.spend(meter, amount);
        }
        self.0.budget.worked(Duration::from_millis(used.active_ms));
    }

    /// Goes on from what the session had used.
    pub(crate) fn restore_session(&self, checkpoint: &Checkpoint, resumed: u32) {
        let Used { session: usage, session_calls: tool_calls, runs, .. } = checkpoint.used;
        *lock(&self.0.totals) = Totals { usage, tool_calls, runs, resumed };
        self.0.counts.restore(&BTreeMap::new(), &checkpoint.session_counters);
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
    pub(crate) async fn write(&self, what: What) -> Result<(), RunError> {
        let entry = self.entry(what);
        if let Some(tape) = self.tape() {
            if let Some(replayed) = tape.replayed() {
                self.compared(replayed, tape.take_like(&entry).as_ref(), &entry);
                return Ok(());
            }
            if tape.has_written(&entry) {
                return Ok(());
            }
            if let What::Checkpoint(_) = entry.what {
                tape.leave(&entry.run_id);
            }
        }
        Ok(self.0.core.journal.append(entry).await?)
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
            return self.unless_cancelled(std::future::pending()).await;
        }
        Ok(result)
    }

    /// Whether the recording of this run breaks off.
    fn is_cut(&self, tape: &Tape) -> bool {
        tape.is_cut(&self.0.info.run_id, self.0.parent.as_ref().map(|(parent, _)| &**parent))
    }

    fn compared(&self, replayed: &Replayed, recorded: Option<&Entry>, happens: &Entry) {
        let place = Where {
            step: self.0.step.load(Ordering::Relaxed),
            is_child: self.0.info.depth > 0,
            is_cut: self.tape().is_some_and(|tape| self.is_cut(tape)),
        };
        if !replayed.compare(place, recorded, happens) {
            self.cancel();
        }
    }

    fn entry(&self, mut what: What) -> Entry {
        self.veils().what(&mut what);
        Entry {
            session_id: self.0.info.session_id.clone(),
            run_id: self.0.info.run_id.clone(),
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
