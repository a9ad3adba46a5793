//! Policies as hooks: what is refused, what is remembered, what is measured, and what happens when a hook itself fails.
//!
//! Run it with `cargo run -p vertebra-examples --bin policies`.

use std::{error::Error, time::Duration};

use vertebra::{
    prelude::*,
    testing::{FakeClock, RecordingTool, Script, SequentialIds},
};

/// Keeps the paths of a call, and those written in its command, below one folder.
///
/// Text is the first fence only: what a tool can open is up to the tool.
struct StayInside {
    root: &'static str,
}

impl Guard<BeforeToolUse> for StayInside {
    async fn check(&self, cx: &ToolCx<'_>) -> Answer<BeforeToolUse> {
        let in_args = cx.paths();
        let in_command = cx.command().unwrap_or_default().split_whitespace().filter(|word| word.starts_with('/'));
        let outside = |path: &String| *path != self.root && !path.starts_with(&format!("{}/", self.root));
        match in_args.chain(in_command.map(str::to_owned)).find(outside) {
            Some(path) => deny(format!("{path} is outside of {}", self.root)),
            None => proceed(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = FakeClock::new();
    let model = Script::new()
        .call("bash", r#"{"command": "ls src"}"#)
        .taking(Duration::from_millis(400), &clock)
        .call("bash", r#"{"command": "cat /etc/passwd"}"#)
        .calls([("read_notes", "{}"), ("send_mail", "{}")])
        .say("Done.")
        .taking(Duration::from_millis(250), &clock)
        .say("There are two source files.");

    let agent = Agent::builder(model.clone())
        .working_directory("/repo")
        .clock(clock.clone())
        .ids(SequentialIds::default())
        .tool(RecordingTool::new("bash").replying("lib.rs main.rs").taking(Duration::from_millis(100), &clock))
        .tool(RecordingTool::new("read_notes").replying("buy milk"))
        .tool(RecordingTool::new("send_mail"))
        // deny: a guard sees the final form of a call, whatever hooks made of it.
        .add_guard(BeforeToolUse.tool("bash").named("stay-inside"), StayInside { root: "/repo" })
        // allow: an opinion in favour. A deny would still win.
        .on(BeforeToolUse.tool("read_*").named("reading-is-fine"), async |_cx| allow())
        // Output of a tool, kept for later steps. A key with a slash is out of the model's reach.
        .on(AfterToolUse.tool("bash").when(|used| used.result.success).named("remember-files"), async |cx| {
            let output = cx.result.output.clone();
            cx.state_mut().metadata_mut().set("policies/files", output);
            proceed()
        })
        .on(BeforeStep.metadata("policies/files", Test::Exists).named("use-files"), async |cx| {
            let files = cx.state().metadata().get("policies/files").cloned().unwrap_or_default();
            println!("step {}: remembered files {files}", cx.at.step);
            proceed()
        })
        // A failing hook: one is not worth stopping for, the other is.
        .on(BeforeToolUse.tool("read_notes").named("spelling").fail_open(), async |_cx| {
            Err(HookError::new("the dictionary is missing"))
        })
        .on(BeforeToolUse.tool("send_mail").named("scanner").fail_closed(), async |_cx| {
            Err(HookError::new("the scanner is down"))
        })
        // continue: the model wants to end, and is told what is missing. Then stop.
        .on(ShouldContinue.step("final_response").named("be-precise"), async |cx| match cx.continuations {
            0 => go_on("Say how many files there are."),
            _ => stop("the question is answered"),
        })
        .watch(AfterToolUse, async |cx| {
            println!("  {}: {}", cx.tool, cx.result.output);
            Ok(())
        })
        // Telemetry, by kind of step.
        .watch(AfterStep.step("tool_execution"), async |cx| {
            println!("telemetry: step {} used tools for {} ms", cx.at.step, cx.duration_ms);
            Ok(())
        })
        .watch(AfterStep.step("final_response"), async |cx| {
            println!("telemetry: step {} answered in {} ms: {}", cx.at.step, cx.duration_ms, cx.text);
            Ok(())
        })
        .build()?;

    let run = agent.run("What is in src?").await?;
    println!("{}: {}", run.status, run.stop);
    Ok(())
}
