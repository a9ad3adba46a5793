//! A policy as a value: hooks that one crate makes and any agent installs, switched off and taken out as one.
//!
//! Run it with `cargo run -p vertebra-examples --bin bundle`.

use std::{error::Error, time::Duration};

use vertebra::{
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};
use vertebra_kit::bundle::{
    UseHooks,
    events::{PostToolUse, PreToolUse, StepEnd},
};

/// What a house wants of every agent. A crate could publish this function.
fn house_rules(base: &'static str) -> UseHooks {
    let mut rules = UseHooks::new("house");
    rules.guard(PreToolUse.tool("bash").named("inside"), async move |cx| {
        let mut paths = cx.command().unwrap_or_default().split_whitespace().filter(|word| word.starts_with('/'));
        match paths.find(|path| !path.starts_with(base)) {
            Some(path) => deny(format!("{path} is outside of {base}")),
            None => proceed(),
        }
    });
    rules.on(PostToolUse.when(|used| used.result.success).named("remember"), async |cx| {
        let output = cx.result.output.clone();
        cx.state_mut().metadata_mut().set("house/output", output);
        proceed()
    });
    rules.watch(StepEnd.named("stopwatch"), async |cx| {
        println!("  step {} took {} ms", cx.at.step, cx.duration_ms);
        Ok(())
    });
    rules
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = FakeClock::new();
    let model = Script::new()
        .calls([("bash", r#"{"command": "ls /repo"}"#), ("bash", r#"{"command": "cat /etc/passwd"}"#)])
        .say("One of two.")
        .call("bash", r#"{"command": "cat /etc/passwd"}"#)
        .say("Now I could.");
    let agent = Agent::builder(model)
        .clock(clock.clone())
        .tool(RecordingTool::new("bash").replying("a.rs").taking(Duration::from_millis(40), &clock))
        .with(house_rules("/repo"))
        .watch(PostToolUse.named("show"), async |cx| {
            println!("  {}: {}", cx.command().unwrap_or_default(), cx.result.output);
            Ok(())
        })
        .build()?;
    for hook in agent.hooks().list() {
        println!("{} is a {} at {}", hook.name, hook.role, hook.point);
    }

    let mut session = agent.session().await?;
    println!("\nwith the rules");
    session.prompt("Look around.").await?;
    println!("  remembered: {:?}", session.state().await.metadata().get("house/output"));

    agent.hooks().disable("house")?;
    println!("\nwithout them");
    session.prompt("Look around.").await?;

    let twice = agent.hooks().install(house_rules("/home").into());
    println!("\nonce more: {}", twice.map_or_else(|error| error.to_string(), |()| "installed".to_owned()));
    agent.hooks().remove("house")?;
    println!("left: {:?}", agent.hooks());
    Ok(())
}
