//! Every point fires, in its place, with everything filled in.

use vertebra::{
    AgentTool,
    prelude::*,
    testing::{FixedApprover, RecordingTool, Script},
};

use super::support::*;

/// The points of a life, blanks between them.
#[track_caller]
fn check(seen: &Everything, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let indent = expected.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or_default();
    let expected: Vec<&str> = expected.iter().map(|line| &line[indent..]).collect();
    assert_eq!(seen.lines(), expected);
}

#[tokio::test]
async fn a_plain_run_passes_its_points_in_order() {
    let model = Script::new().call("ls", "{}").say("done");
    let mut builder = agent(&model);
    let seen = watch_all(builder.tool(RecordingTool::new("ls")));
    let report = run(&mut builder).await;
    assert_eq!(ending(&report), "completed (finished) by model: finished");
    check(
        &seen,
        "
        SessionStart
        PromptSubmit
        ExecutionStart
        BeforeStep
        BeforeInference
        InferenceDelta
        AfterInference
        BeforeToolUse ls
        AfterToolUse ls
        AfterStep
        ShouldContinue
        BeforeStep
        BeforeInference
        InferenceDelta
        AfterInference
        AfterStep
        ShouldContinue
        Output
        ExecutionEnd
        SessionEnd
        ",
    );
}

#[tokio::test]
async fn a_streaming_run_passes_each_piece() {
    let model = Script::new().stream(["do", "ne"]).thinking("hm");
    let mut builder = agent(&model);
    let seen = watch_all(&mut builder);
    run(&mut builder).await;
    check(
        &seen,
        "
        SessionStart
        PromptSubmit
        ExecutionStart
        BeforeStep
        BeforeInference
        InferenceDelta
        InferenceDelta
        InferenceDelta
        InferenceDelta
        InferenceDelta
        AfterInference
        AfterStep
        ShouldContinue
        Output
        ExecutionEnd
        SessionEnd
        ",
    );
    let pieces: Vec<String> = seen
        .at("InferenceDelta")
        .iter()
        .map(|piece| format!("{} {:?} {}", piece.text("channel"), piece.text("text"), piece.event["last"]))
        .collect();
    assert_eq!(
        pieces,
        ["reasoning \"hm\" false", "text \"do\" false", "text \"ne\" false", "reasoning \"\" true", "text \"\" true"]
    );
}

#[tokio::test]
async fn a_failure_passes_on_error_and_the_end_is_told() {
    let model = Script::new().fail(rejected());
    let mut builder = agent(&model);
    let seen = watch_all(&mut builder);
    let report = run(&mut builder).await;
    assert_eq!(ending(&report), "failed (error!) by model: the model rejected the request: too rude");
    check(
        &seen,
        "
        SessionStart
        PromptSubmit
        ExecutionStart
        BeforeStep
        BeforeInference
        InferenceDelta
        OnError
        ExecutionEnd
        SessionEnd
        ",
    );
}

#[tokio::test]
async fn a_compaction_passes_before_and_after() {
    let model = Script::new().call("ls", "{}").say("done");
    let mut builder = agent(&model);
    let seen = watch_all(builder.tool(RecordingTool::new("ls")).compactor(KeepLast { over: 2 }));
    run(&mut builder).await;
    check(
        &seen,
        "
        SessionStart
        PromptSubmit
        ExecutionStart
        BeforeStep
        BeforeInference
        InferenceDelta
        AfterInference
        BeforeToolUse ls
        AfterToolUse ls
        AfterStep
        ShouldContinue
        BeforeStep
        BeforeCompact
        AfterCompact
        BeforeInference
        InferenceDelta
        AfterInference
        AfterStep
        ShouldContinue
        Output
        ExecutionEnd
        SessionEnd
        ",
    );
}

#[tokio::test]
async fn a_child_passes_the_parents_points() {
    let child = agent(&Script::new().call("ls", "{}").say("seen"))
        .name("child")
        .tool(RecordingTool::new("ls"))
        .build()
        .expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "look"}"#).say("done");
    let mut builder = agent(&model);
    let seen = watch_all(builder.tool(AgentTool::new("helper", "helps", child)));
    run(&mut builder).await;
    check(
        &seen,
        "
        SessionStart
        PromptSubmit
        ExecutionStart
        BeforeStep
        BeforeInference
        InferenceDelta
        AfterInference
        BeforeToolUse helper
        SubagentStart
          PromptSubmit
          ExecutionStart
          BeforeStep
          BeforeInference
          InferenceDelta
          AfterInference
          BeforeToolUse ls
          AfterToolUse ls
          AfterStep
          ShouldContinue
          BeforeStep
          BeforeInference
          InferenceDelta
          AfterInference
          AfterStep
          ShouldContinue
          Output
          ExecutionEnd
        SubagentStop
        AfterToolUse helper
        AfterStep
        ShouldContinue
        BeforeStep
        BeforeInference
        InferenceDelta
        AfterInference
        AfterStep
        ShouldContinue
        Output
        ExecutionEnd
        SessionEnd
        ",
    );
}

#[tokio::test]
async fn a_question_and_a_failing_tool_pass_their_points() {
    let model = Script::new().call("bad", "{}").say("done");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("bad").failing("no luck")).approver(FixedApprover::yes());
    let seen = watch_all(builder.on(BeforeToolUse, async |_| ask("sure?")));
    run(&mut builder).await;
    check(
        &seen,
        "
        SessionStart
        PromptSubmit
        ExecutionStart
        BeforeStep
        BeforeInference
        InferenceDelta
        AfterInference
        BeforeToolUse bad
        PermissionRequest bad
        Notification
        ToolUseFailed bad
        AfterToolUse bad
        AfterStep
        ShouldContinue
        BeforeStep
        BeforeInference
        InferenceDelta
        AfterInference
        AfterStep
        ShouldContinue
        Output
        ExecutionEnd
        SessionEnd
        ",
    );
    assert_eq!(read_by_model(&model), ["failed: no luck"]);
}
