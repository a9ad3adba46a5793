//! Tools that fail or take too long.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use vertebra::{
    ToolSpec,
    testing::{FixedApprover, RecordingTool},
};

use super::*;
use crate::support::{built, run};

/// A tool that fails so often before it answers.
fn flaky(failures: u32, spec: fn(ToolSpec) -> ToolSpec) -> RecordingTool {
    let calls = AtomicU32::new(0);
    let fails = move || calls.fetch_add(1, Ordering::Relaxed) < failures;
    RecordingTool::new("fetch")
        .with(spec)
        .by(move |_| if fails() { Err(ToolError::new("flaky")) } else { Ok("page".into()) })
}

/// What the model reads, how often the tool ran, and the waits.
async fn check(tool: RecordingTool, args: &str, retry: ToolRetry, read: &str, ran: usize, waits: &[u64]) {
    let clock = FakeClock::new();
    let model = Script::new().call("fetch", args).say("done");
    let mut builder = agent(&model, &clock);
    builder.tool(tool.clone()).with(ToolRetry { backoff: even(), ..retry });
    run(&built(&mut builder), "go").await;
    let waits: Vec<Duration> = waits.iter().map(|wait| secs(*wait)).collect();
    assert_eq!(read_by_model(&model), [read]);
    assert_eq!((tool.calls().len(), clock.sleeps()), (ran, waits));
}

#[tokio::test]
async fn an_idempotent_tool_is_tried_again_after_growing_waits() {
    check(flaky(2, ToolSpec::read_only), "{}", ToolRetry::default(), "done: page", 3, &[1, 2]).await;
    check(flaky(9, ToolSpec::read_only), "{}", ToolRetry::default(), "failed: flaky", 3, &[1, 2]).await;
}

#[tokio::test]
async fn a_tool_with_effects_is_tried_again_only_if_it_is_named() {
    check(flaky(1, |spec| spec), "{}", ToolRetry::default(), "failed: flaky", 1, &[]).await;
    check(flaky(1, |spec| spec), "{}", ToolRetry::of("fetch"), "done: page", 2, &[1]).await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_not_tried_again() {
    let strict: fn(ToolSpec) -> ToolSpec =
        |spec| spec.read_only().schema(json!({"type": "object", "required": ["url"], "properties": {"url": {}}}));
    let model = Script::new().call("fetch", "{}").say("done");
    let (clock, tool) = (FakeClock::new(), flaky(0, strict));
    run(&built(agent(&model, &clock).tool(tool.clone()).with(ToolRetry::default())), "go").await;
    assert_eq!((tool.calls().len(), clock.sleeps()), (0, vec![]));
}

fn hanging() -> impl Tool {
    tool("hang", "Hangs", async |_: serde_json::Value, _| std::future::pending::<Result<String, ToolError>>().await)
        .with(ToolSpec::read_only)
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped_and_the_model_reads_why() {
    let read = |timeout: ToolTimeout| async move {
        let model = Script::new().call("hang", "{}").say("done");
        let mut builder = agent(&model, &FakeClock::new());
        builder.tool(hanging()).tool(RecordingTool::new("search")).with(timeout);
        assert_eq!(run(&built(&mut builder), "go").await.text, "done");
        read_by_model(&model).concat()
    };
    let stopped = |limit| format!("failed: tool `hang` was stopped: it may take {limit}");
    assert_eq!(read(ToolTimeout::all(secs(30))).await, stopped("30s"));
    assert_eq!(read(ToolTimeout::of("hang", secs(5))).await, stopped("5s"));
    assert_eq!(read(ToolTimeout::all(secs(30)).and("ha*", secs(40)).and("search", secs(1))).await, stopped("40s"));
}

#[tokio::test]
async fn waiting_for_a_person_is_not_the_tools_time() {
    let clock = FakeClock::new();
    let model = Script::new().call("search", "{}").say("done");
    let mut builder = agent(&model, &clock);
    builder.tool(RecordingTool::new("search")).with(ToolTimeout::all(secs(30)));
    let slow = clock.clone();
    builder.approver(FixedApprover::by(move |approval| {
        slow.advance(secs(120));
        approval.approve()
    }));
    builder.guard(BeforeToolUse, async |_cx| ask("may I?"));
    run(&built(&mut builder), "go").await;
    assert_eq!(read_by_model(&model), ["done: ok"]);
}

#[tokio::test]
async fn a_tool_that_took_too_long_may_be_tried_again() {
    let (clock, model) = (FakeClock::new(), Script::new().call("hang", "{}").say("done"));
    let mut builder = agent(&model, &clock);
    builder
        .tool(hanging())
        .with(ToolTimeout::all(secs(10)))
        .with(ToolRetry { backoff: even(), ..ToolRetry::default() });
    run(&built(&mut builder), "go").await;
    assert_eq!(clock.sleeps(), [10, 1, 10, 2, 10].map(secs));
}
