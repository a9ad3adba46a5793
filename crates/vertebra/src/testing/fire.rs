//! Hooks fired alone: no model, no loop.

use std::fmt;

use vertebra_hooks::{Frame, Hooks, Outcome, Point, Record, Retries};

use crate::{
    Agent, AgentState, Alone, Run, RunInfo,
    testing::{FakeClock, Script},
};

/// What came of a firing: the event and the state as hooks left them, and the outcome.
pub struct Fired<P: Point> {
    /// The event as hooks left it.
    pub event: P::Event,
    /// The state as hooks left it.
    pub state: P::State,
    /// The verdicts.
    pub outcome: Outcome<P>,
    /// What happened.
    pub record: Record,
}

impl<P: Point> Fired<P> {
    /// The verdict, to match on.
    pub fn verdict(&self) -> P::Verdict {
        self.outcome.verdict()
    }

    /// The hooks that matched, in order.
    pub fn order(&self) -> Vec<&str> {
        self.record.hooks.iter().map(|trace| &*trace.hook).collect()
    }

    /// What was changed, and by whom: `add-timeout: /args/timeout = 30000`.
    pub fn changes(&self) -> Vec<String> {
        let describe = |(hook, change): (&str, &vertebra_hooks::Change)| match &change.after {
            Some(after) => format!("{hook}: {} = {after}", change.path),
            None => format!("{hook}: {} removed", change.path),
        };
        self.record.changes().map(describe).collect()
    }
}

/// The decision in words: `denied by no-rm: deletions are for humans`.
impl<P: Point> fmt::Display for Fired<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.outcome, f)
    }
}

/// Fires hooks at a point, in an empty conversation.
pub async fn fire<P: Point<State = AgentState>>(hooks: &Hooks, point: P, event: P::Event) -> Fired<P> {
    fire_with(hooks, point, event, AgentState::default()).await
}

/// Fires hooks at a point, in this state.
pub async fn fire_with<P: Point<State = AgentState>>(
    hooks: &Hooks,
    point: P,
    mut event: P::Event,
    mut state: AgentState,
) -> Fired<P> {
    let run = scope(hooks);
    let frame = Frame { event: &mut event, state: &mut state, scope: &run, retries: Retries::Allowed };
    let outcome = hooks.dispatch(point, frame).await;
    Fired { event, state, record: outcome.record(), outcome }
}

/// A run that nothing happens in: what hooks fired alone reach through their context.
///
/// # Panics
///
/// Never: an agent without hooks or tools can always be built.
pub fn scope(hooks: &Hooks) -> Run {
    let agent = Agent::builder(Script::new()).clock(FakeClock::new()).build().expect("an agent without hooks or tools");
    let info = RunInfo {
        session_id: "session-1".into(),
        run_id: "run-1".into(),
        agent: "agent".into(),
        depth: 0,
        working_directory: "/repo".into(),
    };
    Alone::with_hooks(&agent, hooks.clone(), info).run().clone()
}
