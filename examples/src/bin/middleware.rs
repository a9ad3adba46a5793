//! Middleware: named order, low and high priorities, changed results, step durations, and `around` with retry and cache.
//!
//! Run it with `cargo run -p vertebra-examples --bin middleware`.

use std::{
    collections::HashMap,
    error::Error,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::json;
use tokio::sync::Mutex;
use vertebra::{
    Next, OpCx, ToolStatus,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};

/// Answers a call that was answered before. What is not in it goes on to the hooks, the guards and the tool.
#[derive(Default)]
struct Cache {
    known: Mutex<HashMap<String, ToolResult>>,
}

impl Around<ToolUse> for Cache {
    async fn wrap(&self, cx: &mut OpCx<'_, ToolUse>, next: Next<'_, ToolUse>) -> Result<ToolResult, HookError> {
        let key = format!("{} {}", cx.tool, cx.args.to_value());
        let known = self.known.lock().await.get(&key).cloned();
        if let Some(result) = known {
            println!("  cache: {key}");
            return Ok(result);
        }
        let result = next.run(cx).await?;
        if result.success {
            self.known.lock().await.insert(key, result.clone());
        }
        Ok(result)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = FakeClock::new();
    let model = Script::new()
        .call("bash", r#"{"command": "rm -rf /tmp/x"}"#)
        .call("fetch", r#"{"url": "example.org"}"#)
        .taking(Duration::from_millis(20), &clock)
        .call("fetch", r#"{"url": "example.org"}"#)
        .say("Done.");
    let tries = AtomicU32::new(0);
    let flaky = RecordingTool::new("fetch").taking(Duration::from_millis(5), &clock).by(move |_| {
        match tries.fetch_add(1, Ordering::Relaxed) {
            0 => Err(ToolError::new("connection reset")),
            _ => Ok("<h1>Hello</h1>".into()),
        }
    });

    let agent = Agent::builder(model)
        .clock(clock)
        .tool(RecordingTool::new("bash"))
        .tool(flaky)
        // Block dangerous commands, before anything else.
        .on(BeforeToolUse.tool("bash").named("security").priority(1), async |cx| match cx.command() {
            Some(command) if command.contains("rm -rf") => deny("recursive deletion"),
            _ => proceed(),
        })
        // Log what is left, last. Names bind more strongly than numbers.
        .on(BeforeToolUse.named("logging").priority(1000).after("security"), async |cx| {
            println!("  log: {} {}", cx.tool, cx.args.to_value());
            proceed()
        })
        // Change results: the model reads plain text, front ends find the rest in `data`.
        .on(AfterToolUse.named("plain-text"), async |cx| {
            cx.result.output = cx.result.output.replace("<h1>", "# ").replace("</h1>", "");
            cx.result.data = json!({ "logged_at": cx.at.timestamp });
            proceed()
        })
        // Step durations: a note under the hook's own name, which lasts as long as the step.
        .on(BeforeStep.named("stopwatch"), async |cx| {
            let now = cx.scope().clock().elapsed();
            cx.note(Lasting::Step, now)?;
            proceed()
        })
        .on_after_step(async |cx| {
            let began: Duration = cx.note_of("stopwatch")?.unwrap_or_default();
            println!("step {}: {:?} {:?}", cx.at.step, cx.tools, cx.scope().clock().elapsed().abs_diff(began));
            proceed()
        })
        // Middleware around the whole use of a tool, outermost first: a cache outside, a retry inside.
        .add_around(ToolUse.named("cache"), Cache::default())
        .around(ToolUse.named("retry"), async |cx, next| match next.run(cx).await? {
            failed if failed.status == ToolStatus::Failed => {
                println!("  once more: {}", failed.output);
                next.run(cx).await
            }
            result => Ok(result),
        })
        .build()?;

    let run = agent.run("Fetch the page twice.").await?;
    println!("{}: {}", run.status, run.text);

    // A name that nobody has is an error at once, here as in `build`.
    let mut misspelt = HookSet::new();
    misspelt.on(BeforeToolUse.named("late").after("securty"), async |_cx| proceed());
    if let Err(error) = agent.hooks().install(misspelt) {
        println!("{error}");
    }
    Ok(())
}
