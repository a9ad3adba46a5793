//! A session that is left and resumed is told of in two traces that know each other.

use vertebra::{
    Approval, Checkpoint, Entry, ModelId, RunStatus, StateChange, Stop, StopReason, ToolCall, Usage, What, testing::at,
};

use super::*;

fn line(run: &str, what: What) -> Entry {
    let timestamp = jiff::Timestamp::now();
    Entry { session_id: "session-1".into(), run_id: run.into(), within: None, timestamp, what }
}

fn began() -> Entry {
    let model = ModelId::new("script", "script-1");
    let (agent, working_directory) = ("lead".into(), "/".into());
    line("session-1", What::SessionBegan { agent, working_directory, model, forked_from: None })
}

fn run_began() -> Entry {
    let (prompt, agent) = ("go".into(), "lead".into());
    line(
        "run-1",
        What::RunBegan { prompt, agent, depth: 0, parent: Some("session-1".into()), for_call: None, foreign: false },
    )
}

fn approval() -> Approval {
    let args = Args::default();
    Approval {
        at: at(PermissionRequest),
        digest: args.digest(),
        call: ToolCall::new("call-2", "deploy", args),
        reason: "it is Friday".to_owned(),
        asked_by: "careful".into(),
        preview: None,
        only_once: false,
    }
}

fn ended() -> Entry {
    let report = RunReport {
        session_id: "session-1".into(),
        run_id: "run-1".into(),
        status: RunStatus::Completed,
        stop: Stop::soft(StopReason::Finished, "model", "done"),
        text: "done".to_owned(),
        steps: 1,
        tool_calls: 2,
        usage: Usage::default(),
        duration_ms: 1,
    };
    line("run-1", What::RunEnded { report: Box::new(report), checkpoint: Box::default() })
}

/// The first part of a session: one tool under way, one question open.
async fn left(journal: impl Journal) {
    let (call_id, key) = (std::sync::Arc::<str>::from("call-1"), "key-1".to_owned());
    let args = Args::default();
    let intended = What::ToolIntended {
        call_id: call_id.clone(),
        key: key.clone(),
        tool: "ls".into(),
        digest: args.digest(),
        args,
    };
    let later = What::Answered { call_id: "call-2".into(), decision: vertebra::Decision::Later };
    let lines = [
        began(),
        run_began(),
        line("run-1", What::StepBegan { step: 1 }),
        line("run-1", intended),
        line("run-1", What::ToolStarted { call_id, key }),
        line("run-1", What::Asked { approval: Box::new(approval()), until: jiff::Timestamp::MAX }),
        line("run-1", later),
        line("run-1", What::Suspended { message: "waiting for a person".to_owned() }),
    ];
    for line in lines {
        journal.append(line).await.expect("a line");
    }
}

fn resumed() -> Entry {
    line("session-1", What::SessionResumed { times: 1 })
}

#[tokio::test]
async fn a_suspended_run_ends_one_trace_and_goes_on_in_another_that_links_to_it() {
    let (first, second) = (Collector::that(Manner::Takes), Collector::that(Manner::Takes));
    let journal = MemoryJournal::default();
    let telemetry = to(&first);
    left(telemetry.beside(journal.clone())).await;
    telemetry.finish(PATIENCE).await;
    let status = |span: &Span| texts(&span.attributes).get("vertebra.run.status").cloned().unwrap_or_default();
    let expected = "\
session
  invoke_agent lead suspended
    step
      execute_tool ls
      approval deploy
";
    assert_eq!(tree(&first.spans(), status), expected);

    let telemetry = to(&second);
    let traced = telemetry.beside(journal.another());
    traced.claim("session-1").await.expect("its lines");
    let result = ToolResult::done("a file");
    let lines = [
        resumed(),
        line("run-1", What::Answered { call_id: "call-2".into(), decision: approval().approve() }),
        line("run-1", What::ToolEnded { call_id: "call-1".into(), key: "key-1".to_owned(), result }),
        ended(),
        line("session-1", What::SessionEnded),
    ];
    for line in lines {
        traced.append(line).await.expect("a line");
    }
    telemetry.finish(PATIENCE).await;
    // What goes on began again when the session was resumed.
    let expected = expected.replace("suspended", "completed");
    let expected = expected
        .replace("      execute_tool ls\n      approval deploy\n", "      approval deploy\n      execute_tool ls\n");
    assert_eq!(tree(&second.spans(), status), expected);

    let (first, second) = (first.spans(), second.spans());
    assert_ne!(first[0].trace_id, second[0].trace_id);
    for name in ["session", "invoke_agent lead"] {
        let (before, after) = (named(&first, name)[0].0, named(&second, name)[0].0);
        assert!(before.links.is_empty());
        let linked: Vec<_> = after.links.iter().map(|link| (&link.trace_id, &link.span_id)).collect();
        assert_eq!(linked, [(&before.trace_id, &before.span_id)], "{name}");
    }
    assert_eq!(named(&second, "approval deploy")[0].1["vertebra.approval.decision"], "approve");
    assert_eq!(named(&second, "execute_tool ls")[0].1["vertebra.tool.status"], "done");
}

#[tokio::test]
async fn a_run_whose_beginning_is_not_read_again_is_still_told_of() {
    let collector = Collector::that(Manner::Takes);
    let journal = MemoryJournal::default();
    let whole = Checkpoint { starts_over: true, state: StateChange::default(), ..Checkpoint::default() };
    for line in [began(), run_began(), line("run-1", What::Checkpoint(Box::new(whole)))] {
        journal.append(line).await.expect("a line");
    }
    journal.release("session-1").await.expect("released");
    let telemetry = to(&collector);
    let traced = telemetry.beside(journal.another());
    assert_eq!(traced.claim("session-1").await.expect("its lines").len(), 1);
    for line in [resumed(), line("run-1", What::StepBegan { step: 2 })] {
        traced.append(line).await.expect("a line");
    }
    traced.release("session-1").await.expect("released");
    telemetry.finish(PATIENCE).await;
    assert_eq!(tree(&collector.spans(), |_| String::new()), "session\n  invoke_agent\n    step\n");
}

/// An agent that has to ask before it deploys.
fn careful(journal: impl Journal, model: Script, approver: FixedApprover) -> Agent {
    let mut builder = Agent::builder(model);
    builder.name("lead").journal(journal).approver(approver).tool(RecordingTool::new("deploy"));
    builder.on(BeforeToolUse.tool("deploy").named("careful"), async |_| ask("it is Friday"));
    builder.build().expect("an agent")
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_and_is_resumed_is_told_of_from_both_sides() {
    let (first, second) = (Collector::that(Manner::Takes), Collector::that(Manner::Takes));
    let journal = MemoryJournal::default();
    let telemetry = to(&first);
    let later = FixedApprover::by(|_| vertebra::Decision::Later);
    let agent = careful(telemetry.beside(journal.clone()), Script::new().call("deploy", "{}"), later);
    let mut session = agent.session().await.expect("a session");
    let id = session.id().to_owned();
    let report = session.prompt("go").await.expect("a run");
    assert_eq!(report.status, RunStatus::Suspended);
    session.close().await;
    telemetry.finish(PATIENCE).await;

    let telemetry = to(&second);
    let agent = careful(telemetry.beside(journal.another()), Script::new().say("done"), FixedApprover::yes());
    let mut session = agent.resume(&id).await.expect("the session");
    let report = session.go_on().await.expect("a run").expect("its end");
    assert_eq!(report.status, RunStatus::Completed);
    session.close().await;
    telemetry.finish(PATIENCE).await;

    let expected = [
        (&first, "suspended", &["chat script-1", "approval deploy"][..]),
        (&second, "completed", &["approval deploy", "execute_tool deploy", "chat script-1"]),
    ];
    for (collector, status, names) in expected {
        let spans = collector.spans();
        assert_eq!(named(&spans, "invoke_agent lead")[0].1["vertebra.run.status"], status);
        for name in names {
            assert_eq!(named(&spans, name).len(), 1, "{name}: {}", tree(&spans, |_| String::new()));
        }
    }
    let (first, second) = (first.spans(), second.spans());
    let (before, after) = (named(&first, "invoke_agent lead")[0].0, named(&second, "invoke_agent lead")[0].0);
    assert_eq!(after.links[0].span_id, before.span_id);
}
