//! An agent as a tool of another: the parent's guard holds in the child, and the child spends the parent's budget.
//!
//! Run it with `cargo run -p vertebra-examples --bin children`.

use std::error::Error;

use vertebra::{
    AgentTool, Meter,
    prelude::*,
    testing::{RecordingTool, Script, SequentialIds},
};

/// An agent with a tool and no rules of its own.
fn researcher(model: Script) -> Result<Agent, Box<dyn Error>> {
    let agent = Agent::builder(model)
        .name("researcher")
        .ids(SequentialIds::default())
        .tool(RecordingTool::new("bash").replying("3 files"))
        .build()?;
    Ok(agent)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let child = Script::new()
        .call("bash", r#"{"command": "rm -rf old"}"#)
        .say("I was not allowed to delete, so I did nothing.")
        .call("bash", r#"{"command": "ls"}"#)
        .call("bash", r#"{"command": "wc *"}"#)
        .call("bash", r#"{"command": "cat *"}"#);
    let parent = Script::new()
        .call("research", r#"{"prompt": "Delete what is old."}"#)
        .say("Nothing was deleted.")
        .call("research", r#"{"prompt": "Read everything."}"#);

    let agent = Agent::builder(parent)
        .name("lead")
        .max_steps(4)
        .tool(AgentTool::new("research", "Asks a researcher", researcher(child)?))
        .guard(BeforeToolUse.command(r"\brm\b").named("no-rm"), async |_cx| deny("deletions are for humans"))
        .on(SubagentStart, async |cx| {
            cx.prompt.push_str(" Be brief.");
            println!("{} asks {}: {}", cx.at.run.agent, cx.subagent, cx.prompt);
            proceed()
        })
        // Hooks of the parent run in the child, too. The depth says where.
        .watch(AfterToolUse, async |cx| {
            let indent = "  ".repeat(cx.at.run.depth as usize + 1);
            println!("{indent}{}: {} -> {}", cx.at.run.agent, cx.tool, cx.result.output.replace('\n', " "));
            Ok(())
        })
        .watch(SubagentStop, async |cx| {
            let used = cx.scope().budget().used(Meter::Steps);
            println!("  {} took {} steps; {used} of 4 are used in all", cx.subagent, cx.steps);
            Ok(())
        })
        .build()?;

    for prompt in ["Tidy up.", "Sum up."] {
        let run = agent.run(prompt).await?;
        println!("{}: {:?} ({})\n", run.status, run.text, run.stop);
    }
    Ok(())
}
