//! Subagents: from a folder and from code, each with its own tools, model and limits, all under the guard of their lead.
//!
//! Run it with `cargo run -p vertebra-examples --bin subagents`.

use std::error::Error;

use vertebra::{
    Limits,
    prelude::*,
    testing::{RecordingTool, Script, SequentialIds},
};
use vertebra_kit::subagents::{Subagent, Subagents};

fn ask(agent: &str, prompt: &str) -> String {
    serde_json::json!({ "agent": agent, "prompt": prompt }).to_string()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // An agent may also be written in code. This one has a hook that only it has.
    let limits = Limits { steps: Some(2), ..Limits::none() };
    let tester = Subagent::new("tester", "Runs the tests").prompt("You test.").tools(["Bash"]).limits(limits);
    let tester = tester.setup(|builder| {
        builder.on(BeforeToolUse.tool("bash"), async |cx| {
            cx.args_mut().set("timeout", 60);
            proceed()
        });
    });
    let agents = Subagents::new().folder(concat!(env!("CARGO_MANIFEST_DIR"), "/agents")).agent(tester)?;
    for problem in agents.problems() {
        println!("not loaded: {problem}");
    }
    for agent in agents.iter() {
        println!("{agent}");
    }

    // One script for all of them: a child asks its parent's provider, for its own model if it names one.
    let model = Script::new()
        .call("spawn_subagent", &ask("reviewer", "Review the last commit."))
        .call("bash", r#"{"command": "git show && rm -rf target"}"#)
        .call("bash", r#"{"command": "git reset --hard"}"#)
        .call("bash", r#"{"command": "git show"}"#)
        .say("main.rs: an unwrap on user input")
        .call("spawn_subagent", &ask("tester", "Run the tests until they pass."))
        .call("bash", r#"{"command": "cargo test"}"#)
        .call("bash", r#"{"command": "cargo test"}"#)
        .saying("one test fails")
        .say("One finding, one failing test.");

    let agent = Agent::builder(model.clone())
        .name("lead")
        .ids(SequentialIds::default())
        .tool(RecordingTool::new("read_file").with(|spec| spec.alias("Read").read_only()))
        .tool(RecordingTool::new("bash").with(|spec| spec.alias("Bash")))
        .with(agents)
        .guard(BeforeToolUse.command(r"^git reset\b").named("no-reset"), async |_cx| deny("history is for humans"))
        .watch(AfterToolUse, async |cx| {
            let indent = "  ".repeat(cx.at.run.depth as usize + 1);
            let output = cx.result.output.replace('\n', " ");
            println!("{indent}{}: {} {} -> {output}", cx.at.run.agent, cx.tool, cx.args.to_value());
            Ok(())
        })
        .build()?;

    println!();
    let run = agent.run("Is the last commit any good?").await?;
    println!("{}: {}", run.status, run.text);
    let models: Vec<String> = model.requests().iter().map(|request| request.model.name.to_string()).collect();
    println!("asked: {}", models.join(", "));
    Ok(())
}
