//! A foreign loop passes the same points, under the same limits and stops, to the same end.

use std::{future::pending, sync::Arc};

use serde_json::json;
use tokio::sync::{Notify, mpsc};
use vertebra::{
    AgentBuilder, Handle, HookableAgent, MemoryJournal, Messages, RunReport, What,
    prelude::*,
    testing::{RecordingTool, Script},
};

use super::support::*;

fn said(text: &str) -> Messages {
    [Message::user(text)].into_iter().collect()
}

/// A loop of the simplest kind: asks once, uses what it is told to, asks again.
async fn simple(handle: Handle) -> Result<String, HookError> {
    let first = handle.infer(said(handle.prompt())).await?;
    let results = handle.call_tools(first.calls).await?;
    let outputs: Vec<&str> = results.iter().map(|result| &*result.output).collect();
    Ok(handle.infer(said(&outputs.join(", "))).await?.text)
}

async fn run_simple(builder: &mut AgentBuilder) -> RunReport {
    let hookable = HookableAgent::new(builder.build().expect("an agent"));
    report(hookable.run("go", simple).await)
}

#[tokio::test]
async fn a_foreign_loop_passes_the_points_of_prompt_model_tools_and_end() {
    let model = Script::new().calls([("ls", "{}"), ("cat", "{}")]).costing(5, 1).say("done").costing(5, 1);
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("ls")).tool(RecordingTool::new("cat"));
    builder.guard(BeforeToolUse.tool("cat").named("dog"), async |_| deny("no cats"));
    let seen = watch_all(&mut builder);
    let report = run_simple(&mut builder).await;
    assert_eq!(
        seen.lines(),
        [
            "SessionStart",
            "PromptSubmit",
            "ExecutionStart",
            "BeforeInference",
            "InferenceDelta",
            "AfterInference",
            "BeforeToolUse ls",
            "AfterToolUse ls",
            "BeforeToolUse cat",
            "AfterToolUse cat",
            "BeforeInference",
            "InferenceDelta",
            "AfterInference",
            "Output",
            "ExecutionEnd",
            "SessionEnd",
        ]
    );
    assert_eq!(conversation(&model.requests()[1].messages), ["user: ok, blocked by dog: no cats"]);
    assert_eq!(ending(&report), "completed (finished) by loop: the loop returned");
    assert_eq!((&*report.text, report.steps, report.tool_calls), ("done", 2, 2));
    let end = &seen.at("SessionEnd")[0].event;
    assert_eq!((&end["total_tokens"], &end["total_tool_calls"], &end["runs"]), (&json!(12), &json!(2), &json!(1)));
    assert!(seen.at("BeforeToolUse").iter().all(|one| one.event["step"] == 1));
}

#[tokio::test]
async fn a_foreign_loop_is_journalled_from_its_beginning_to_its_end() {
    let journal = MemoryJournal::default();
    let mut builder = agent(&Script::new().call("ls", "{}").say("done"));
    run_simple(builder.tool(RecordingTool::new("ls")).journal(journal.clone())).await;
    let whats: Vec<What> = journal.entries().into_iter().map(|entry| entry.what).collect();
    assert!(matches!(whats[..2], [What::SessionBegan { .. }, What::RunBegan { .. }]));
    assert!(matches!(whats[whats.len() - 2..], [What::RunEnded { .. }, What::SessionEnded]));
}

#[tokio::test]
async fn limits_and_stops_hold_for_a_foreign_loop() {
    let model = Script::new().call("ls", "{}");
    let report = run_simple(agent(&model).tool(RecordingTool::new("ls")).max_steps(1)).await;
    assert_eq!(ending(&report), "stopped (steps!) by limits of tester: used 1 of 1 steps");

    let mut builder = agent(&Script::new().call("ls", "{}"));
    builder.tool(RecordingTool::new("ls")).on(AfterToolUse.named("bored"), async |_| stop("enough"));
    assert_eq!(ending(&run_simple(&mut builder).await), "stopped (requested) by bored: enough");

    let mut builder = agent(&Script::new());
    builder.guard(BeforeInference.named("plug"), async |_| deny("offline"));
    assert_eq!(ending(&run_simple(&mut builder).await), "stopped (requested) by plug: offline");

    let mut builder = agent(&Script::new());
    builder.guard(PromptSubmit.named("manners"), async |_| deny("rude"));
    assert_eq!(ending(&run_simple(&mut builder).await), "stopped (requested) by manners: the prompt was denied: rude");
}

#[tokio::test]
async fn no_hook_changes_the_prompt_behind_its_guards() {
    let model = Script::new().say("done");
    let mut builder = agent(&model);
    builder.on(ExecutionStart, async |cx| {
        cx.prompt = "something else".to_owned();
        proceed()
    });
    let hookable = HookableAgent::new(builder.build().expect("an agent"));
    let result = hookable.run("go", async |handle: Handle| Ok(handle.infer(said(handle.prompt())).await?.text)).await;
    report(result);
    assert_eq!(conversation(&model.requests()[0].messages), ["user: go"]);
}

#[tokio::test]
async fn a_loop_that_fails_or_panics_fails_the_run_and_the_end_is_told() {
    for (panics, expected) in
        [(false, "failed (error!) by loop: lost"), (true, "failed (error!) by loop: the loop panicked")]
    {
        let mut builder = agent(&Script::new());
        let seen = watch_all(&mut builder);
        let hookable = HookableAgent::new(builder.build().expect("an agent"));
        let lost = async move |_| {
            assert!(!panics, "lost");
            Err(HookError::new("lost"))
        };
        assert_eq!(ending(&report(hookable.run("go", lost).await)), expected);
        assert_eq!((seen.count("ExecutionEnd"), seen.count("SessionEnd")), (1, 1));
    }
}

#[tokio::test]
async fn dropping_a_foreign_loop_tells_its_end_once() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut builder = agent(&Script::new());
    let (run, session) = (tell.clone(), tell);
    builder.watch(ExecutionEnd, async move |cx| Ok(run.send(cx.status.to_string())?));
    builder.watch(SessionEnd, async move |_| Ok(session.send("session".to_owned())?));
    let hookable = HookableAgent::new(builder.build().expect("an agent"));
    let here = Arc::new(Notify::new());
    let arrived = here.clone();
    let running = tokio::spawn(async move {
        let hang = async move |_| {
            arrived.notify_one();
            pending().await
        };
        hookable.run("go", hang).await
    });
    here.notified().await;
    running.abort();
    assert_eq!((told.recv().await.as_deref(), told.recv().await.as_deref()), (Some("cancelled"), Some("session")));
    assert!(told.try_recv().is_err());
}

#[tokio::test]
async fn a_handle_that_outlives_its_run_does_nothing() {
    let ls = RecordingTool::new("ls");
    let mut builder = agent(&Script::new());
    let agent = builder.tool(ls.clone()).build().expect("an agent");
    let (keep, mut kept) = mpsc::unbounded_channel();
    let result = HookableAgent::new(agent)
        .run("go", async move |handle| {
            keep.send(handle)?;
            Ok("kept".to_owned())
        })
        .await;
    assert_eq!(report(result).text, "kept");
    let handle = kept.recv().await.expect("a handle");
    assert!(handle.call_tool("ls", Args::default()).await.is_err());
    assert!(ls.calls().is_empty());
}

#[tokio::test]
async fn a_call_that_a_foreign_loop_drops_still_ends_for_its_hooks() {
    let mut builder = agent(&Script::new());
    builder.tool(tool("hang", "hangs", async |_: serde_json::Value, _| pending::<Result<String, ToolError>>().await));
    let seen = watch_all(&mut builder);
    let hookable = HookableAgent::new(builder.build().expect("an agent"));
    let result = hookable
        .run("go", async |handle: Handle| {
            let mut call = Box::pin(handle.call_tool("hang", Args::default()));
            assert!(futures_util::poll!(&mut call).is_pending());
            Ok("bored".to_owned())
        })
        .await;
    assert_eq!(report(result).text, "bored");
    assert_eq!(
        seen.lines()[3..],
        ["BeforeToolUse hang", "AfterToolUse hang", "Output", "ExecutionEnd", "SessionEnd"],
        "{:?}",
        seen.lines()
    );
}
