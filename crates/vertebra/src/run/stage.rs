//! How far a tool call has come, from the model's request to the hooks after it.
//!
//! The stages of all calls that are under way lie in the run, and not in the future that works on them: a cancelled run
//! drops that future at any moment, and what was open then still has to be closed for its hooks and for the journal.

use std::{collections::BTreeMap, time::Duration};

use tokio_util::task::TaskTracker;
use vertebra_hooks::Name;

use crate::{
    RunError, ToolResult, ToolStatus,
    points::events::ToolAsked,
    run::{control::Control, handle::lock},
};

/// How far a call has come. A retry takes it back to [`Stage::Deciding`].
#[derive(Debug)]
pub(crate) enum Stage {
    /// The model has asked for it, and no hook has seen it.
    Requested,
    /// Hooks, guards and people decide about it.
    Deciding { asked: ToolAsked },
    /// The journal knows that its tool has begun, and not that it has ended.
    Running { asked: ToolAsked, work: Work },
    /// It has a result: of its tool, of a hook, or that it was not run.
    Ended { asked: ToolAsked },
    /// The hooks after it have begun.
    Closed,
}

/// A tool at work.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// The name of the attempt in the journal.
    pub(crate) key: String,
    /// The agents that work for it.
    pub(crate) children: TaskTracker,
}

/// What takes a call from one stage to another.
#[derive(Debug)]
pub(crate) enum Advance {
    /// Its hooks begin, or have changed its arguments.
    Decide(ToolAsked),
    /// Its tool begins.
    Start(Work),
    /// It has a result.
    End,
    /// The hooks after it begin.
    Close,
}

/// What the hooks before or after a call make of it.
pub(crate) enum Next<T> {
    /// It goes on like this.
    Proceed(T),
    /// It has this result.
    End(Ended),
    /// It is decided about again, after a wait.
    Retry(Duration),
}

/// The result of a call, and who gave it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    pub(crate) blocked_by: Option<Name>,
    /// Whether the call came as far as its tool.
    pub(crate) reached: bool,
}

/// A call that was cut short between its hooks.
pub(crate) struct Open {
    pub(crate) asked: ToolAsked,
    pub(crate) work: Option<Work>,
}

impl Ended {
    /// A call that ended without its tool.
    pub(crate) fn without_tool(status: ToolStatus, output: impl Into<String>) -> Self {
        Self { result: ToolResult::ended(status, output), blocked_by: None, reached: false }
    }

    /// A call that was refused.
    pub(crate) fn blocked(by: Name, reason: impl Into<String>) -> Self {
        Self { blocked_by: Some(by), ..Self::without_tool(ToolStatus::Blocked, reason) }
    }
}

impl Work {
    /// Waits until the agents that work for it have reported their ends, which they cannot do once the call is closed.
    pub(crate) async fn let_go(&self) {
        self.children.close();
        self.children.wait().await;
    }
}

impl Stage {
    /// Takes the call to another stage. A step that cannot be taken from here is an error, and the stage stays.
    pub(crate) fn advance(&mut self, to: Advance) -> Result<(), RunError> {
        let from = std::mem::replace(self, Self::Closed);
        *self = match (from, to) {
            (Self::Requested | Self::Deciding { .. } | Self::Ended { .. } | Self::Closed, Advance::Decide(asked)) => {
                Self::Deciding { asked }
            }
            (Self::Deciding { asked }, Advance::Start(work)) => Self::Running { asked, work },
            (Self::Deciding { asked } | Self::Running { asked, .. } | Self::Ended { asked }, Advance::End) => {
                Self::Ended { asked }
            }
            (Self::Ended { .. }, Advance::Close) => Self::Closed,
            (from, to) => {
                let message = format!("a tool call cannot go from {} to {}", from.name(), to.name());
                *self = from;
                return Err(RunError::Internal { message });
            }
        };
        Ok(())
    }

    /// Closes the call wherever it is. Returns what is still owed to its hooks, if they have seen it.
    pub(crate) fn cut_short(&mut self) -> Option<Open> {
        match std::mem::replace(self, Self::Closed) {
            Self::Requested | Self::Closed => None,
            Self::Deciding { asked } | Self::Ended { asked } => Some(Open { asked, work: None }),
            Self::Running { asked, work } => Some(Open { asked, work: Some(work) }),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Deciding { .. } => "deciding",
            Self::Running { .. } => "running",
            Self::Ended { .. } => "ended",
            Self::Closed => "closed",
        }
    }
}

impl Advance {
    fn name(&self) -> &'static str {
        match self {
            Self::Decide(_) => "deciding",
            Self::Start(_) => "running",
            Self::End => "ended",
            Self::Close => "closed",
        }
    }
}

/// The calls of a run that are under way, by the number of their first event.
pub(crate) type Calls = BTreeMap<u64, Stage>;

impl Control {
    /// A call is requested, under a number of its own.
    pub(crate) fn request(&self, number: u64) {
        lock(&self.calls).insert(number, Stage::Requested);
    }

    pub(crate) fn advance(&self, number: u64, to: Advance) -> Result<(), RunError> {
        lock(&self.calls).entry(number).or_insert(Stage::Requested).advance(to)
    }

    /// Whether no hook has seen the call.
    pub(crate) fn is_unseen(&self, number: u64) -> bool {
        matches!(lock(&self.calls).get(&number), Some(Stage::Requested))
    }

    /// Waits for the agents that work for a call, if its tool is at work.
    pub(crate) async fn let_go(&self, number: u64) {
        let work = match lock(&self.calls).get(&number) {
            Some(Stage::Running { work, .. }) => Some(work.clone()),
            _ => None,
        };
        if let Some(work) = work {
            work.let_go().await;
        }
    }

    /// Forgets a call. Returns what is still owed to its hooks.
    pub(crate) fn forget(&self, number: u64) -> Option<Open> {
        lock(&self.calls).remove(&number)?.cut_short()
    }

    /// Forgets all calls. Returns what is still owed to their hooks.
    pub(crate) fn forget_all(&self) -> Vec<Open> {
        std::mem::take(&mut *lock(&self.calls)).into_values().filter_map(|mut stage| stage.cut_short()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    fn asked() -> ToolAsked {
        call("bash", serde_json::json!({ "command": "ls" }))
    }

    fn work() -> Work {
        Work { key: "r1-1".to_owned(), children: TaskTracker::new() }
    }

    /// Takes a new call through these steps. Returns the name of its last stage, or the error.
    fn through(steps: Vec<Advance>) -> Result<&'static str, String> {
        let mut stage = Stage::Requested;
        steps.into_iter().try_for_each(|step| stage.advance(step)).map_err(|error| error.to_string())?;
        Ok(stage.name())
    }

    #[test]
    fn a_call_is_decided_runs_ends_and_is_closed_and_may_be_tried_again() {
        use Advance::{Close, Decide, End, Start};
        for (steps, last) in [
            (vec![Decide(asked()), Start(work()), End, Close], "closed"),
            (vec![Decide(asked()), Decide(asked()), End, Close], "closed"),
            (vec![Decide(asked()), Start(work()), End, Decide(asked())], "deciding"),
            (vec![Decide(asked()), End, Close, Decide(asked()), Start(work())], "running"),
        ] {
            assert_eq!(through(steps), Ok(last));
        }
    }

    #[test]
    fn no_tool_starts_without_a_decision_or_twice_and_no_call_is_closed_without_a_result() {
        use Advance::{Close, Decide, End, Start};
        for steps in [
            vec![Start(work())],
            vec![End],
            vec![Close],
            vec![Decide(asked()), Close],
            vec![Decide(asked()), Start(work()), Start(work())],
            vec![Decide(asked()), Start(work()), Close],
            vec![Decide(asked()), Start(work()), Decide(asked())],
            vec![Decide(asked()), End, Close, Close],
        ] {
            let shown = format!("{steps:?}");
            assert!(through(steps).is_err(), "{shown}");
        }
    }

    #[test]
    fn a_call_that_is_cut_short_owes_its_hooks_an_end_once() {
        let mut stage = Stage::Requested;
        assert!(stage.cut_short().is_none());
        stage.advance(Advance::Decide(asked())).expect("legal");
        stage.advance(Advance::Start(work())).expect("legal");
        assert!(stage.cut_short().is_some_and(|open| open.work.is_some()));
        assert!(stage.cut_short().is_none());
    }
}
