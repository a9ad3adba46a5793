//! What is not hurt by things that end early, come late or come from elsewhere.

use std::time::Duration;

use vertebra::{
    AgentTool, CancellationToken, RunStatus, StepKind, StepReport,
    prelude::*,
    testing::{RecordingTool, Script},
};

use crate::support::{Log, agent};

#[tokio::test]
async fn a_token_that_cancels_runs_outlives_them() {
    let model = Script::new().say("one").say("two");
    let built = agent(&model).build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    let token = CancellationToken::new();
    for expected in ["one", "two"] {
        let report = session.prompt_until("go", &token).await.expect("a run");
        assert_eq!((report.status, report.text.as_str()), (RunStatus::Completed, expected));
    }
    assert!(!token.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_model_call_that_a_hook_gives_up_leaves_the_conversation_alone() {
    let model = Script::new().say("done");
    let mut builder = agent(&model);
    builder.around(Inference, async |cx, next| match &cx.purpose {
        vertebra::Purpose::Step => next.run(cx).await,
        vertebra::Purpose::Capability(_) => std::future::pending().await,
    });
    builder.on(AfterStep, async |cx| {
        let (run, request) = (cx.scope().clone(), cx.scope().request());
        let critique = run.infer(cx.state_mut(), "critique", request);
        let in_time = tokio::time::timeout(Duration::from_secs(1), critique).await;
        assert!(in_time.is_err(), "the critic never answers");
        proceed()
    });
    let built = builder.build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(session.state().await.messages().len(), 2);
}

#[tokio::test]
async fn a_step_that_an_around_answers_ends_the_run_with_that_answer() {
    let model = Script::new();
    let mut builder = agent(&model);
    builder.around(Step, async |_cx, _next| {
        Ok(Ok(StepReport { kind: StepKind::FinalResponse, text: "cached".into(), tools: Vec::new() }))
    });
    let report = builder.build().expect("an agent").run("go").await.expect("a run");
    assert_eq!((report.status, report.text.as_str()), (RunStatus::Completed, "cached"));
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn what_hooks_say_between_calls_does_not_part_calls_from_their_results() {
    let model = Script::new().call("ls", "{}").say("done");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("ls"));
    builder.on(BeforeToolUse, async |cx| {
        cx.state_mut().push(Message::instruction("mind the gap", "hook"));
        proceed()
    });
    let built = builder.build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let state = session.state().await;
    let roles: Vec<&str> = state
        .messages()
        .iter()
        .map(|message| match message {
            Message::User { .. } => "user",
            Message::Instruction { .. } => "instruction",
            Message::Assistant { .. } => "assistant",
            Message::Tool { .. } => "tool",
        })
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "instruction", "assistant"]);
}

#[test]
fn a_session_dropped_outside_its_runtime_still_tells_its_end() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (told, end) = std::sync::mpsc::channel();
    let model = Script::new();
    let mut builder = agent(&model);
    builder.watch(SessionEnd, async move |_| Ok(told.send(())?));
    let built = builder.build().expect("an agent");
    let session = runtime.block_on(built.session());
    drop(session);
    end.recv_timeout(Duration::from_secs(30)).expect("the end is told");
}

#[tokio::test]
async fn a_child_that_goes_on_has_a_run_for_each_time_and_one_report() {
    let script = Script::new().say("half").costing(3, 1).say("whole").costing(3, 1);
    let child = agent(&script).name("child").build().expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "look"}"#).say("done");
    let log = Log::default();
    let mut builder = agent(&model);
    builder.tool(AgentTool::new("helper", "helps", child));
    let seen = log.clone();
    builder.watch(ExecutionEnd.agent("child"), async move |cx| {
        seen.add(format!("{} {}", cx.at.run.run_id, cx.text));
        Ok(())
    });
    builder.on(SubagentStop, async |cx| if cx.text == "half" { go_on("and the rest?") } else { proceed() });
    let seen = log.clone();
    builder.watch(SubagentStop, async move |cx| {
        seen.add(format!("{} tokens, {} steps", cx.usage.total_tokens(), cx.steps));
        Ok(())
    });
    builder.build().expect("an agent").run("go").await.expect("a run");
    log.check(&["run-2 half", "4 tokens, 1 steps", "run-3 whole", "8 tokens, 2 steps"]);
}

#[tokio::test]
async fn news_about_news_comes_to_an_end() {
    let model = Script::new().say("done");
    let log = Log::default();
    let mut builder = agent(&model);
    let seen = log.clone();
    builder.on(Notification, async move |cx| {
        seen.add("news");
        let run = cx.scope().clone();
        run.notify(cx.state_mut(), "echo", "again").await?;
        proceed()
    });
    builder.on(BeforeStep, async |cx| {
        let run = cx.scope().clone();
        run.notify(cx.state_mut(), "start", "here").await?;
        proceed()
    });
    let report = builder.build().expect("an agent").run("go").await.expect("a run");
    assert_eq!((report.status, log.lines().len()), (RunStatus::Completed, 8));
}

#[tokio::test]
async fn an_answer_with_too_many_calls_or_too_long_arguments_is_cut_down() {
    let many: Vec<_> = (0..130).map(|_| ("ls", "{}")).collect();
    let long = format!(r#"{{"text": "{}"}}"#, "x".repeat(2 << 20));
    let model = Script::new().calls(many).call("ls", &long).say("done");
    let tool = RecordingTool::new("ls");
    let built = agent(&model).tool(tool.clone()).build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(tool.calls().len(), 128);
    let state = session.state().await;
    let said: Vec<&str> = state.messages().iter().map(Message::text).collect();
    assert!(said.contains(&"2 calls were dropped: a response may contain at most 128"), "{said:?}");
    assert!(said.contains(&"the arguments of `ls` are longer than 1048576 bytes"));
}

#[tokio::test]
async fn hooks_are_told_of_a_failure_that_leaves_nothing_to_go_on_with() {
    let log = Log::default();
    let model = Script::new();
    let mut builder = agent(&model);
    builder.around(Execution.named("wrap"), async |_cx, _next| Err(HookError::new("no room")));
    let seen = log.clone();
    builder.on(OnError, async move |cx| {
        seen.add(&*cx.message);
        recover("never mind")
    });
    let failed = builder.build().expect("an agent").run("go").await.expect_err("a failure");
    assert_eq!(failed.to_string(), "`wrap` failed: no room (runtime)");
    log.check(&["`wrap` failed: no room"]);
}

#[tokio::test]
async fn what_hooks_add_to_a_conversation_is_limited_and_so_is_a_prompt() {
    let model = Script::new().say("done");
    let mut builder = agent(&model);
    builder.max_result_bytes(10).on(PromptSubmit, async |cx| {
        cx.add_context("0123456789abcdef");
        proceed()
    });
    let built = builder.build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let state = session.state().await;
    assert_eq!(
        state.messages().get(1).map(Message::text),
        Some("0123456789\n[6 more bytes were cut: the limit is 10]")
    );
    let failed = session.prompt("x".repeat(5 << 20)).await.expect_err("too long");
    assert_eq!(failed.to_string(), "the prompt is longer than 4194304 bytes (limits)");
}

#[tokio::test]
async fn a_hook_that_asks_for_endless_output_meets_the_token_limit() {
    let model = Script::new();
    let mut builder = agent(&model);
    builder.on(BeforeInference, async |cx| {
        cx.max_output_tokens = Some(u64::MAX);
        proceed()
    });
    let report = builder.build().expect("an agent").run("go").await.expect("a run");
    assert_eq!((report.status, report.stop.reason), (RunStatus::Stopped, vertebra::StopReason::Tokens));
    assert!(model.requests().is_empty());
}
