//! Hooks around a loop that is not ours: it keeps its shape, and makes its calls through a handle.
//!
//! Run it with `cargo run -p vertebra-examples --bin foreign_loop`.

use std::error::Error;

use vertebra::{
    Handle, HookableAgent,
    prelude::*,
    testing::{RecordingTool, Script},
};

/// A loop as one finds it in many programs: ask, act, ask again. The handle is all that is new in it.
async fn their_loop(handle: Handle) -> Result<String, HookError> {
    // The prompt, and what hooks had to add to it.
    let mut messages = handle.state().await.messages().clone();
    loop {
        let response = handle.infer(messages.clone()).await?;
        if response.calls.is_empty() {
            return Ok(response.text);
        }
        let calls = response.calls.clone();
        let results = handle.call_tools(response.calls.clone()).await?;
        messages.push(Message::assistant(response));
        for (call, result) in calls.into_iter().zip(results) {
            messages.push(Message::tool(call, result));
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .calls([("bash", r#"{"command": "ls"}"#), ("bash", r#"{"command": "rm -rf ."}"#)])
        .say("One file; I could not delete it.");

    // Model, tools, hooks and limits are those of an agent; only the loop is another.
    let agent = Agent::builder(model)
        .tool(RecordingTool::new("bash").replying("notes.txt"))
        .on(PromptSubmit.named("no-empty-prompts"), async |cx| {
            cx.add_context("Be brief.");
            if cx.prompt.trim().is_empty() { deny("there is nothing to do") } else { proceed() }
        })
        .guard(BeforeToolUse.command(r"\brm\b").named("no-rm"), async |_cx| deny("deletions are for humans"))
        .watch(BeforeInference, async |cx| {
            println!("asks the model, with {} messages", cx.messages.len());
            Ok(())
        })
        .watch(AfterToolUse, async |cx| {
            println!("{}: {}", cx.command().unwrap_or_default(), cx.result.output);
            Ok(())
        })
        .watch(ExecutionEnd, async |cx| {
            println!("ended: {}", cx.stop);
            Ok(())
        })
        .build()?;

    let hookable = HookableAgent::new(agent);
    let run = hookable.run("Tidy up.", their_loop).await?;
    println!("{}: {} ({} tool calls)", run.status, run.text, run.tool_calls);

    let run = hookable.run("   ", their_loop).await?;
    println!("{}: {:?}", run.status, run.text);
    Ok(())
}
