//! Asks a stack of hooks from inside a run: rig lends its `HookContext`, which every hook takes, to hooks alone.

use std::hint::black_box;

use bench_harness::{Lap, work};
use rig_agent::agent::{AgentHook, DispatchAction, DispatchEvent, HookContext, HookStack, RunStart, RunStartAction};
use rig_agent::core::effect::{EffectId, EffectKind};
use rig_agent::core::test_utils::MockCompletionModel;
use rig_agent::{Agent, AgentBuilder};
use serde_json::json;

/// A hook that lets every tool call pass.
struct Pass;

impl AgentHook for Pass {
    async fn on_dispatch(&self, _: &HookContext, _: DispatchEvent<'_>) -> DispatchAction {
        DispatchAction::proceed()
    }
}

/// The hook that measures: it runs the batch as soon as a run starts, then ends the run before any model is called.
struct Measure {
    stack: HookStack,
    lap: Lap,
}

impl AgentHook for Measure {
    async fn on_run_start(&self, context: &HookContext, _: RunStart<'_>) -> RunStartAction {
        let effect =
            EffectKind::ToolCall { name: work::BASH.to_owned(), args: json!({ "command": work::COMMAND }).to_string() };
        let event = DispatchEvent { id: EffectId::from_raw(1), kind: &effect, turn: 1, call_id: None, context: None };
        let timing = self.lap.start();
        for _ in 0..self.lap.iterations() {
            black_box(&self.stack.on_dispatch(context, black_box(event)).await);
        }
        timing.stop();
        RunStartAction::stop("measured")
    }
}

/// A stack of so many hooks that let every tool call pass.
pub(crate) fn stack(hooks: usize) -> HookStack {
    let mut stack = HookStack::new();
    (0..hooks).for_each(|_| stack.push(Pass));
    stack
}

/// The routine to measure.
pub(crate) fn inside_of_a_run(stack: HookStack) -> impl AsyncFnMut(Lap) {
    async move |lap| {
        let agent = agent(Measure { stack: stack.clone(), lap });
        // The run always fails: `Measure` stopped it.
        drop(agent.prompt("measure").await);
    }
}

fn agent(hook: Measure) -> Agent {
    AgentBuilder::new(MockCompletionModel::text("never asked")).add_hook(hook).build()
}
