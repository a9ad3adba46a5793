//! Why a run ends: one value, one resolver.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Interrupted, RunError};

/// Why a run ends, weakest first: of several reasons the strongest is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model asked for no more tools.
    Finished,
    /// Too many retries or continuations.
    Retries,
    /// The money is spent.
    Cost,
    /// The deadline has passed.
    Deadline,
    /// The active time is used up.
    Time,
    /// The tokens are used up.
    Tokens,
    /// The steps are used up.
    Steps,
    /// A hook asked for it.
    Requested,
    /// The run waits, for somebody's answer or because it was suspended, and goes on when it is resumed.
    Suspended,
    /// Somebody cancelled the run.
    Cancelled,
    /// Something failed that nobody made good.
    Error,
}

/// A request to end the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Why.
    pub reason: StopReason,
    /// Why, in words.
    pub message: String,
    /// Who asked for it: a hook's name, a limit, the model.
    pub source: String,
    /// Data that goes with it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub context: Value,
    /// Whether it stands even against a hook that says "continue".
    pub hard: bool,
}

impl Stop {
    /// A stop that no hook can override.
    pub fn hard(reason: StopReason, source: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), source: source.into(), context: Value::Null, hard: true }
    }

    /// A stop that a hook can override.
    pub fn soft(reason: StopReason, source: impl Into<String>, message: impl Into<String>) -> Self {
        Self { hard: false, ..Self::hard(reason, source, message) }
    }

    /// A stop that a hook asked for.
    pub(crate) fn requested(by: &str, reason: &str) -> Self {
        Self::soft(StopReason::Requested, by, reason)
    }
}

impl From<Interrupted> for Stop {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Cancelled => Self::hard(StopReason::Cancelled, "caller", "the run was cancelled"),
            Interrupted::Suspended { by, message } => Self::hard(StopReason::Suspended, by, message),
            Interrupted::Failed(error) => {
                let source = match &error {
                    RunError::Model(_) => "model",
                    RunError::Journal(_) => "journal",
                    RunError::Internal { .. } => "runtime",
                };
                Self::hard(StopReason::Error, source, error.to_string())
            }
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.source)
    }
}

/// The stops of a run that are not yet decided upon, and the requests to go on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending {
    stops: Vec<Stop>,
    instructions: Vec<Instruction>,
}

/// A request to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// Who asked.
    pub from: String,
    /// What the model is told.
    pub text: String,
}

/// What becomes of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Resolution {
    /// It ends.
    Stop(Stop),
    /// It goes on, with these instructions; the stops they overrode are gone.
    GoOn {
        /// What the model is told.
        instructions: Vec<Instruction>,
        /// What was overridden.
        overridden: Vec<Stop>,
    },
}

impl Pending {
    /// Adds a stop.
    pub(crate) fn stop(&mut self, stop: Stop) {
        self.stops.push(stop);
    }

    /// Adds a stop, if there is one.
    pub(crate) fn stop_if(&mut self, stop: Option<Stop>) {
        self.stops.extend(stop);
    }

    /// Adds a request to go on.
    pub(crate) fn go_on(&mut self, from: impl Into<String>, text: impl Into<String>) {
        self.instructions.push(Instruction { from: from.into(), text: text.into() });
    }

    /// The stops so far.
    pub(crate) fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// The strongest stop, if nothing overrides it. For the checks at which no hook can ask to go on.
    pub(crate) fn strongest(&self) -> Option<&Stop> {
        self.stops.iter().rev().max_by_key(|stop| (stop.hard, stop.reason))
    }

    /// Decides, and starts anew: a request to go on consumes every soft stop, and never a hard one.
    pub(crate) fn resolve(&mut self) -> Resolution {
        let Self { mut stops, instructions } = std::mem::take(self);
        if !instructions.is_empty() && stops.iter().all(|stop| !stop.hard) {
            return Resolution::GoOn { instructions, overridden: stops };
        }
        // The first of equals wins, so the list is gone through backwards.
        stops.reverse();
        match stops.into_iter().max_by_key(|stop| stop.reason) {
            Some(stop) => Resolution::Stop(stop),
            None => Resolution::GoOn { instructions, overridden: Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(stops: &[Stop], go_on: &[&str]) -> Resolution {
        let mut pending = Pending::default();
        stops.iter().cloned().for_each(|stop| pending.stop(stop));
        for from in go_on {
            pending.go_on(*from, "more");
        }
        pending.resolve()
    }

    #[test]
    fn continue_consumes_every_soft_stop_and_never_a_hard_one() {
        let finished = Stop::soft(StopReason::Finished, "model", "done");
        let asked = Stop::requested("tidy", "enough");
        let steps = Stop::hard(StopReason::Steps, "limit", "20 steps");
        assert!(matches!(resolve(&[finished.clone(), asked.clone()], &["critic"]),
            Resolution::GoOn { overridden, .. } if overridden.len() == 2));
        assert_eq!(resolve(&[finished.clone(), steps.clone()], &["critic"]), Resolution::Stop(steps));
        assert_eq!(resolve(&[finished, asked.clone()], &[]), Resolution::Stop(asked));
    }

    #[test]
    fn reasons_are_ranked_and_the_first_of_equals_wins() {
        use StopReason::*;
        let ranked = [Error, Cancelled, Requested, Steps, Tokens, Time, Cost, Retries, Finished];
        for pair in ranked.windows(2) {
            assert!(pair[0] > pair[1], "{pair:?}");
        }
        let (first, second) = (Stop::requested("a", "1"), Stop::requested("b", "2"));
        assert_eq!(resolve(&[first.clone(), second], &[]), Resolution::Stop(first));
    }
}
