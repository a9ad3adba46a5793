//! An engine of hooks: block, restrict, transform, audit, count, wait; and the registry while the agent lives.
//!
//! Run it with `cargo run -p vertebra-examples --bin engine`.

use std::{
    collections::HashMap,
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::sync::Mutex;
use vertebra::{
    prelude::*,
    testing::{FakeClock, RecordingTool, Script, SequentialIds},
};

/// Counts the tokens of each session, and ends a run that brings its session over the limit.
struct TokenBudget {
    limit: u64,
    spent: Mutex<HashMap<Arc<str>, u64>>,
}

impl Hook<AfterInference> for TokenBudget {
    async fn run(&self, cx: &mut ResponseCx<'_>) -> Answer<AfterInference> {
        let mut spent = self.spent.lock().await;
        let total = spent.entry(cx.at.run.session_id.clone()).or_default();
        *total += cx.response.usage.total_tokens();
        if *total > self.limit {
            return stop(format!("{} has used {total} tokens of {}", cx.at.run.session_id, self.limit));
        }
        proceed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = FakeClock::new();
    let model = Script::new()
        .calls([("bash", r#"{"command": "cd /tmp && rm -rf cache"}"#), ("bash", r#"{"command": "ls"}"#)])
        .costing(300, 50)
        .calls([("write_file", r#"{"file_path": "/etc/hosts"}"#), ("write_file", r#"{"file_path": "a.txt"}"#)])
        .costing(500, 50)
        .say("Written.")
        .costing(600, 10);

    let rate_limited = Arc::new(AtomicBool::new(true));
    let agent = Agent::builder(model)
        .working_directory("/workspace")
        .clock(clock.clone())
        .ids(SequentialIds::default())
        .tool(RecordingTool::new("bash").replying("a.txt").taking(Duration::from_millis(12), &clock))
        .tool(RecordingTool::new("write_file").with(|spec| spec.alias("Write")))
        // The pattern is compared with the line and with each simple command inside it.
        .guard(BeforeToolUse.command(r"rm\s+-rf").named("block-rm-rf").priority(1), async |_cx| {
            deny("recursive force deletion is not allowed")
        })
        .guard(BeforeToolUse.tool("Write").named("restrict-writes"), async |cx| {
            match cx.paths().find(|path| !path.starts_with("/workspace/")) {
                Some(path) => deny(format!("{path} is outside the workspace")),
                None => proceed(),
            }
        })
        .on(BeforeToolUse.tool("Bash").named("add-timeout"), async |cx| {
            cx.args_mut().entry("timeout").or_insert(30_000);
            proceed()
        })
        // Fire and forget: the agent does not wait for the audit, the end of the session does.
        .watch(AfterToolUse.named("audit-log").priority(1000).detached(), async |cx| {
            let (time, session, took) = (cx.at.timestamp, &cx.at.run.session_id, cx.result.duration_ms);
            let line = json!({
                "args": cx.args, "duration_ms": took, "session": session, "status": cx.result.status, "time": time,
                "tool": cx.tool,
            });
            println!("{line}");
            Ok(())
        })
        .add_hook(AfterInference.named("token-budget"), TokenBudget { limit: 1_000, spent: Mutex::default() })
        .on(BeforeInference.named("rate-limit"), async move |_cx| {
            if rate_limited.swap(false, Ordering::Relaxed) { retry(Duration::from_secs(5)) } else { proceed() }
        })
        .build()?;

    let run = agent.run("Write a file.").await?;
    println!("{}: {}", run.status, run.stop);
    println!("waits: {:?}, {} ms in all", clock.sleeps(), run.duration_ms);

    println!("\n{} hooks", agent.hooks().count());
    for hook in agent.hooks().list() {
        println!("  {:<15} {:?} at {}, priority {}", hook.name, hook.role, hook.point, hook.priority);
    }
    agent.hooks().remove("token-budget")?;
    agent.hooks().disable("add-timeout")?;
    let mut stricter = HookSet::new();
    stricter.guard(BeforeToolUse.command(r"\brm\b").named("block-rm"), async |_cx| deny("no deletions at all"));
    agent.hooks().replace("block-rm-rf", stricter)?;
    println!("{} hooks", agent.hooks().count());
    println!("block-rm: {:?}", agent.hooks().get("block-rm").and_then(|hook| hook.matcher.clone()));
    println!("add-timeout enabled: {:?}", agent.hooks().get("add-timeout").map(|hook| hook.enabled));
    if let Err(error) = agent.hooks().remove("block-rm-rf") {
        println!("{error}");
    }
    Ok(())
}
