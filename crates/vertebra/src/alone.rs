//! Hooks fired where no loop of ours is at work: for whoever speaks for another agent, or tries a policy.

use vertebra_hooks::{Frame, Hooks, Outcome, Point, Retries};

use crate::{Agent, AgentState, Budget, Run, RunInfo, run::control::Reins, run::handle::Parts, timeline::feed::Front};

/// An agent whose hooks are fired one event at a time, and that does nothing else.
///
/// A hook that asks a model asks the agent's, through its own inference points and under its limits.
pub struct Alone {
    run: Run,
    hooks: Hooks,
}

impl Alone {
    /// The hooks of this agent, for events of this run.
    pub fn new(agent: &Agent, info: RunInfo) -> Self {
        Self::with_hooks(agent, agent.hooks().clone(), info)
    }

    pub(crate) fn with_hooks(agent: &Agent, hooks: Hooks, info: RunInfo) -> Self {
        let core = agent.core().clone();
        let parts = Parts {
            info,
            hooks: hooks.clone(),
            budget: Budget::new(core.name.clone(), core.limits.clone()),
            reins: Reins::new(&core),
            front: Front::default(),
            system_prompt: core.system_prompt.clone(),
            tape: None,
            foreign: false,
            core,
        };
        Self { run: Run::new(parts, None), hooks }
    }

    /// What hooks reach through their context.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Fires the hooks of a point. Event and state are afterwards as the hooks left them.
    pub async fn fire<P: Point<State = AgentState>>(
        &self,
        point: P,
        event: &mut P::Event,
        state: &mut AgentState,
    ) -> Outcome<P> {
        let frame = Frame { event, state, scope: &self.run, retries: Retries::Exhausted };
        self.hooks.dispatch_boxed(point, frame).await
    }
}
