//! Where a run meets its limits.
//!
//! Runs beside each other spend from one budget, and which of them came too late is a matter of moments. A replay has other
//! moments: there a limit forbids what it forbade then, and what was done then it allows.

use std::sync::Arc;

use vertebra_hooks::Point;

use crate::{
    BeforeInference, Meter, Purpose, Run, ShouldContinue, Stop, StopReason,
    budget::Reservation,
    timeline::{Next, Tape},
};

impl Run {
    /// The limit that forbids another step.
    pub(crate) fn exhausted(&self) -> Option<Stop> {
        let next = [Next::Line("step_began"), Next::Line("checkpoint"), Next::Hooks(ShouldContinue::NAME)];
        self.forbidden(&next, |_| true, self.budget().exhausted(&**self.clock()))
    }

    /// The limit that forbids going on with a step that is already paid for.
    pub(crate) fn overrun(&self) -> Option<Stop> {
        let next = [Next::Asked(&Purpose::Step), Next::Hooks(BeforeInference::NAME), Next::Line("step_began")];
        self.forbidden(&next, is_spent, self.budget().overrun(&**self.clock()))
    }

    /// Takes a step out of the budget that is about to begin.
    pub(crate) fn take_step(&self) -> Result<(), Stop> {
        let taken = self.take_unseen_step();
        let is_taken = taken.is_ok();
        let is_steps = |reason| reason == StopReason::Steps;
        if let Some(stop) = self.forbidden(&[Next::Line("step_began")], is_steps, taken.err()) {
            return Err(stop);
        }
        if !is_taken {
            self.budget().spend(Meter::Steps, 1);
        }
        Ok(())
    }

    /// Takes a step out of the budget of which no journal knows. Steps that other runs had begun before a crash, and are yet
    /// to do again, are theirs.
    pub(crate) fn take_unseen_step(&self) -> Result<(), Stop> {
        let begun = self.tape().map_or(0, |tape| tape.steps_beside(&self.info().run_id));
        self.budget().take_beside(Meter::Steps, 1, begun)
    }

    /// Tokens that are set aside for what a model is to be asked, unless a limit forbids it.
    pub(crate) fn set_aside(
        &self,
        purpose: &Purpose,
        reserved: Result<Reservation, Stop>,
    ) -> Result<Reservation, Stop> {
        let next = [Next::Asked(purpose), Next::Hooks(BeforeInference::NAME), Next::Line("step_began")];
        let (reserved, stop) = match reserved {
            Ok(reserved) => (reserved, None),
            Err(stop) => (self.budget().nothing(Meter::Tokens), Some(stop)),
        };
        self.forbidden(&next, is_spent, stop).map_or(Ok(reserved), Err)
    }

    /// What stands against what comes next: a limit now, or the limit that it was.
    fn forbidden(&self, next: &[Next<'_>], it_may_be: fn(StopReason) -> bool, now: Option<Stop>) -> Option<Stop> {
        let is_replayed = |tape: &&Arc<Tape>| tape.replayed().is_some();
        let Some(tape) = self.tape().filter(is_replayed) else { return now };
        if next.iter().any(|next| tape.comes(self.place(), *next)) {
            return None;
        }
        tape.limit(&self.info().run_id).filter(|stop| it_may_be(stop.reason)).or(now)
    }
}

/// Whether this limit may forbid going on with a step.
fn is_spent(reason: StopReason) -> bool {
    matches!(reason, StopReason::Tokens | StopReason::Cost)
}
