//! The journal: intent before effect, result after it, keys of their own, in order.

use std::collections::HashSet;

use vertebra::{
    AgentTool, Decision, Entry, MemoryJournal, ToolUse, What,
    prelude::*,
    testing::{RecordingTool, Script},
};

use super::support::*;

fn said(decision: &Decision) -> String {
    match decision {
        Decision::Approve { .. } => "approved".to_owned(),
        Decision::Deny { reason } => format!("denied: {reason}"),
        Decision::Edit { .. } => "approved with other arguments".to_owned(),
        Decision::Later => "later".to_owned(),
    }
}

fn lines(journal: &MemoryJournal) -> Vec<String> {
    let line = |entry: &Entry| {
        let run = &*entry.run_id;
        let what = match &entry.what {
            What::SessionBegan { .. } => "session began".to_owned(),
            What::RunBegan { prompt, depth, .. } => format!("run began: {} at {depth}", prompt.text),
            What::StepBegan { step } => format!("step {step}"),
            What::Dispatched { record, .. } => format!("{} {}", record.point, record.verdict),
            What::ModelAsked { .. } => "model asked".to_owned(),
            What::ModelAnswered { error, .. } => {
                format!("model answered {}", error.as_ref().map_or("well".to_owned(), ToString::to_string))
            }
            What::ToolChecked { call_id, .. } => format!("{call_id} checked"),
            What::ToolIntended { call_id, tool, args, .. } => format!("{call_id} intends {tool} {}", args.to_value()),
            What::ToolEnded { call_id, result, .. } => format!("{call_id} ended {}", status(result.status)),
            What::ToolLeftOut { call_id, result } => format!("{call_id} left out: {}", result.output),
            What::Asked { approval, .. } => format!("{} asked", approval.call.id),
            What::Answered { call_id, decision } => format!("{call_id} {}", said(decision)),
            What::SessionResumed { times } => format!("session resumed {times}"),
            What::ToolStarted { call_id, .. } => format!("{call_id} started"),
            What::Checkpoint(_) => "checkpoint".to_owned(),
            What::Suspended { message } => format!("suspended: {message}"),
            What::RunEnded { report, .. } => format!("run ended {}", report.status),
            What::SessionEnded => "session ended".to_owned(),
            other => format!("{other:?}"),
        };
        format!("{run} {what}")
    };
    journal.entries().iter().map(line).collect()
}

#[tokio::test]
async fn a_run_is_written_down_as_it_happens() {
    let journal = MemoryJournal::default();
    let model = Script::new().calls([("ls", r#"{"a": 1}"#), ("bad", "{}"), ("cat", "{}")]).fail(rejected());
    let mut builder = agent(&model);
    builder.journal(journal.clone()).approver(vertebra::testing::FixedApprover::yes());
    builder.tool(RecordingTool::new("ls")).tool(RecordingTool::new("cat"));
    builder.tool(RecordingTool::new("bad").failing("no luck"));
    builder.guard(BeforeToolUse.tool("cat"), async |_| deny("no"));
    builder.on(BeforeToolUse.tool("bad"), async |_| ask("sure?"));
    run(&mut builder).await;
    let expected = [
        "session-1 session began",
        "run-1 run began: go at 0",
        "run-1 checkpoint",
        "run-1 step 1",
        "run-1 model asked",
        "run-1 model answered well",
        "run-1 call-1 intends ls {\"a\":1}",
        "run-1 call-1 started",
        "run-1 call-1 ended done",
        "run-1 BeforeToolUse asked",
        "run-1 call-2 asked",
        "run-1 call-2 approved",
        "run-1 call-2 intends bad {}",
        "run-1 call-2 started",
        "run-1 call-2 ended failed",
        "run-1 BeforeToolUse denied",
        "run-1 checkpoint",
        "run-1 step 2",
        "run-1 model asked",
        "run-1 model answered the model rejected the request: too rude",
        "run-1 run ended failed",
        "session-1 session ended",
    ];
    assert_eq!(lines(&journal), expected);
}

#[tokio::test]
async fn the_intent_is_written_before_the_effect_and_the_tool_is_given_its_key() {
    let journal = MemoryJournal::default();
    let written = journal.clone();
    let mut builder = agent(&Script::new().call("look", "{}").say("done"));
    builder.journal(journal.clone()).tool(tool("look", "looks", async move |_: serde_json::Value, invocation| {
        let last = written.entries().pop().map(|entry| entry.what);
        let Some(What::ToolStarted { key, .. }) = last else { return Err(ToolError::new(format!("{last:?}"))) };
        assert_eq!(key, invocation.key());
        Ok(invocation.call_id().to_owned())
    }));
    let report = run(&mut builder).await;
    assert_eq!(report.text, "done");
    assert!(lines(&journal).contains(&"run-1 call-1 ended done".to_owned()), "{:?}", lines(&journal));
}

#[tokio::test]
async fn every_attempt_has_a_key_of_its_own_even_if_the_model_repeats_its_names() {
    use vertebra::{Response, ToolCall};
    let journal = MemoryJournal::default();
    let again = || {
        let calls = vec![ToolCall::from_text("same", "ls", "{}"), ToolCall::from_text("same", "ls", "{}")];
        Response { calls, ..Response::default() }
    };
    let task = r#"{"prompt": "look"}"#;
    let child = agent(&Script::new().turn(again()).say("seen"))
        .name("child")
        .tool(RecordingTool::new("ls"))
        .build()
        .expect("a child");
    let model = Script::new().turn(again()).turn(again()).call("helper", task).say("x").say("y");
    let mut builder = agent(&model);
    builder.journal(journal.clone()).tool(RecordingTool::new("ls")).tool(AgentTool::new("helper", "helps", child));
    builder.around(ToolUse, async |cx, next| {
        if cx.at.step == 1 {
            next.run(cx).await?;
        }
        next.run(cx).await
    });
    builder.on(AfterToolUse.tool("ls"), async |cx| if cx.at.step == 2 { retry(secs(1)) } else { proceed() });
    builder.on(AfterInference, async |cx| if cx.text == "x" { retry(secs(1)) } else { proceed() });
    run(&mut builder).await;
    let (mut keys, mut ended) = (HashSet::new(), HashSet::new());
    for entry in journal.entries() {
        match entry.what {
            What::ToolIntended { key, .. } | What::ModelAsked { key, .. } => {
                assert!(keys.insert(key.clone()), "{key} twice");
            }
            What::ToolEnded { key, .. } | What::ModelAnswered { key, .. } => {
                assert!(keys.contains(&key) && ended.insert(key.clone()), "{key} ended without a beginning, or twice");
            }
            _ => {}
        }
    }
    assert_eq!(keys, ended);
    assert!(keys.len() > 18, "{keys:?}");
}

#[tokio::test]
async fn a_childs_effects_are_in_the_parents_journal() {
    let journal = MemoryJournal::default();
    let child = agent(&Script::new().call("ls", "{}").say("seen"))
        .name("child")
        .tool(RecordingTool::new("ls"))
        .build()
        .expect("a child");
    let mut builder = agent(&Script::new().call("helper", r#"{"prompt": "look"}"#).say("done"));
    run(builder.journal(journal.clone()).tool(AgentTool::new("helper", "helps", child))).await;
    let lines = lines(&journal);
    let child: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.starts_with("run-2")).collect();
    assert_eq!(
        child,
        [
            "run-2 run began: look at 1",
            "run-2 checkpoint",
            "run-2 step 1",
            "run-2 model asked",
            "run-2 model answered well",
            "run-2 call-1 intends ls {}",
            "run-2 call-1 started",
            "run-2 call-1 ended done",
            "run-2 checkpoint",
            "run-2 step 2",
            "run-2 model asked",
            "run-2 model answered well",
            "run-2 run ended completed",
        ]
    );
}

#[tokio::test]
async fn every_line_survives_the_wire() {
    let journal = MemoryJournal::default();
    let mut builder = agent(&Script::new().call("ls", r#"{"a": [1, null]}"#).say("done"));
    builder.journal(journal.clone()).tool(RecordingTool::new("ls"));
    builder.on(BeforeToolUse, async |cx| {
        cx.args_mut().set("b", 1);
        proceed()
    });
    run(&mut builder).await;
    for entry in journal.entries() {
        let text = serde_json::to_string(&entry).expect("a line");
        assert_eq!(serde_json::from_str::<Entry>(&text).expect("the same line"), entry, "{text}");
    }
}
