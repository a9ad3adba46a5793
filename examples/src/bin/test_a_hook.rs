//! How to test a hook: fire it alone, then look at the verdict, at what it changed, and at the order.
//!
//! Run it with `cargo run -p vertebra-examples --bin test_a_hook`. In your crate each part is a `#[tokio::test]`.

use std::error::Error;

use serde_json::json;
use vertebra::{
    Stoppable, ToolVerdict,
    events::StepStarted,
    prelude::*,
    testing::{at, call, fire, fire_with, prompt, used},
};

/// The hooks under test, as a library would offer them: usable in a test as in an agent.
fn house_rules() -> HookSet {
    let mut set = HookSet::new();
    set.on(BeforeToolUse.tool("bash").named("add-timeout"), async |cx| {
        cx.args_mut().entry("timeout").or_insert(30_000);
        proceed()
    })
    .guard(BeforeToolUse.command(r"\brm\b").named("no-rm"), async |_cx| deny("deletions are for humans"))
    .on(PromptSubmit.named("calendar"), async |cx| {
        cx.add_context("Today is Monday.");
        proceed()
    })
    .on(AfterToolUse.named("blot"), async |cx| {
        cx.result.output = cx.result.output.replace("hunter2", "***");
        proceed()
    })
    .on(BeforeStep.metadata("paused", Test::Equals(json!(true))).named("pause"), async |_cx| stop("paused"));
    set
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let hooks = Hooks::new(house_rules())?;

    // A verdict, in words or to match on. The command is found inside the line.
    let fired = fire(&hooks, BeforeToolUse, call("bash", json!({"command": "cd /tmp && rm -r x"}))).await;
    assert_eq!(fired.to_string(), "denied by no-rm: deletions are for humans");
    assert!(matches!(fired.verdict(), ToolVerdict::Deny { .. }));
    println!("{fired}");

    // A change, and who made it.
    let fired = fire(&hooks, BeforeToolUse, call("bash", json!({"command": "ls"}))).await;
    assert_eq!(fired.changes(), ["add-timeout: /args/timeout = 30000"]);
    assert_eq!(fired.order(), ["add-timeout"]);
    println!("{}", fired.changes().join(", "));

    // What does not match does not run.
    let fired = fire(&hooks, BeforeToolUse, call("read_file", json!({"path": "a"}))).await;
    assert!(fired.order().is_empty());

    // Other events come ready-made; each field can be changed.
    let fired = fire(&hooks, PromptSubmit, prompt("What day is it?")).await;
    assert_eq!(fired.event.context, ["Today is Monday."]);
    let fired = fire(&hooks, AfterToolUse, used("bash", json!({}), "password: hunter2")).await;
    assert_eq!(fired.event.result.output, "password: ***");
    println!("{}", fired.event.result.output);

    // A hook that depends on the state is given one.
    let mut state = AgentState::default();
    state.metadata_mut().set("paused", true);
    let step = StepStarted { at: at(BeforeStep), messages: 0, usage: state.usage() };
    let fired = fire_with(&hooks, BeforeStep, step, state).await;
    assert_eq!(fired.verdict(), Stoppable::Stop { reason: "paused".to_owned() });
    println!("{fired}");

    println!("all as promised");
    Ok(())
}
