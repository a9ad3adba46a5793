//! Questions that clients answer.

use std::time::Duration;

use serde_json::json;
use tonic::{Code, Streaming};
use vertebra::{AgentBuilder, Attach as _, HookOptions as _, MatchAttribute as _};
use vertebra_server::proto::{
    AnswerApprovalRequest, Approval, ApprovalEvent, CloseSessionRequest, ListApprovalsRequest, PromptRequest,
    ReadRecordsRequest, answer_approval_request::Decision, approval_event::Event,
};

use crate::world::{World, commands, limits, read, report, results};

fn asks(builder: &mut AgentBuilder) {
    builder.guard(vertebra::BeforeToolUse.named("careful"), async |_| vertebra::ask("may I?"));
}

/// The question that is heard of next.
async fn asked_in(news: &mut Streaming<ApprovalEvent>) -> Approval {
    match news.message().await.expect("news").expect("news").event {
        Some(Event::Asked(asked)) => asked,
        other => panic!("it asks first: {other:?}"),
    }
}

/// Runs one command, and answers the question about it.
async fn answered(answer: impl FnOnce(&Approval) -> Decision) -> (World, Vec<serde_json::Value>) {
    let world = World::with(|| commands(&["ls"]), asks, limits()).await;
    let session = world.open().await;
    let mut approvals = world.approvals().await;
    let mut news = approvals.watch(ListApprovalsRequest::default()).await.expect("it watches").into_inner();
    let (events, ()) = tokio::join!(world.run(&session), async {
        let asked = asked_in(&mut news).await;
        assert_eq!((&*asked.tool, &*asked.reason, &*asked.asked_by), ("bash", "may I?", "careful"));
        let wrong = AnswerApprovalRequest {
            session_id: asked.session_id.clone(),
            call_id: asked.call_id.clone(),
            decision: Some(Decision::ApproveDigest("of something else".to_owned())),
        };
        let refused = approvals.answer(wrong).await.expect_err("it is a yes to something else");
        assert_eq!(refused.code(), Code::FailedPrecondition);
        let decision = Some(answer(&asked));
        let request = AnswerApprovalRequest { session_id: asked.session_id, call_id: asked.call_id, decision };
        assert!(approvals.answer(request.clone()).await.expect("it is taken").into_inner().taken);
        assert!(matches!(news.message().await, Ok(Some(event)) if matches!(event.event, Some(Event::Settled(_)))));
        approvals.answer(request).await.expect_err("the first answer counts");
    });
    (world, events)
}

#[tokio::test]
async fn a_yes_is_for_the_arguments_that_were_shown() {
    let (world, events) = answered(|asked| Decision::ApproveDigest(asked.digest.clone())).await;
    assert_eq!(report(&events)["status"], "completed");
    assert_eq!(world.calls(), [json!({ "command": "ls" })]);
}

#[tokio::test]
async fn a_no_is_read_by_the_model() {
    let (world, events) = answered(|_| Decision::DenyReason("not today".to_owned())).await;
    assert_eq!(results(&events), ["denied: not today"]);
    assert!(world.calls().is_empty());
}

#[tokio::test]
async fn a_yes_to_other_arguments_is_for_those_and_what_cannot_be_arguments_is_refused() {
    use prost_types::{ListValue, Struct, Value, value::Kind};
    let world = World::with(|| commands(&["rm -r build"]), asks_about_rm, limits()).await;
    let session = world.open().await;
    let mut approvals = world.approvals().await;
    let mut news = approvals.watch(ListApprovalsRequest::default()).await.expect("it watches").into_inner();
    let (events, ()) = tokio::join!(world.run(&session), async {
        let asked = asked_in(&mut news).await;
        let edited = |command: Value| {
            let fields = [("command".to_owned(), command)].into();
            let decision = Some(Decision::EditArgs(Struct { fields }));
            AnswerApprovalRequest { session_id: asked.session_id.clone(), call_id: asked.call_id.clone(), decision }
        };
        let list = |value: Value| Value { kind: Some(Kind::ListValue(ListValue { values: vec![value] })) };
        let refused = approvals.answer(edited((0..20).fold(list(Value::default()), |value, _| list(value)))).await;
        assert_eq!(refused.expect_err("they are too deep").code(), Code::InvalidArgument);
        let shorter = Value { kind: Some(Kind::StringValue("ls build".to_owned())) };
        assert!(approvals.answer(edited(shorter)).await.expect("it is taken").into_inner().taken);
        let settled = news.message().await.expect("news").expect("news").event;
        assert!(matches!(&settled, Some(Event::Settled(settled)) if settled.decision == "edit"), "{settled:?}");
    });
    assert_eq!(report(&events)["status"], "completed");
    assert_eq!(world.calls(), [json!({ "command": "ls build" })]);
}

fn asks_about_rm(builder: &mut AgentBuilder) {
    builder.guard(vertebra::BeforeToolUse.command("^rm").named("careful"), async |_| vertebra::ask("may I?"));
}

#[tokio::test]
async fn whoever_closes_a_session_ends_its_run_and_takes_its_question_back() {
    let world = World::with(|| commands(&["ls"]), asks, limits()).await;
    let session_id = world.open().await;
    let mut sessions = world.sessions().await;
    let request = PromptRequest { session_id: session_id.clone(), text: "go".to_owned() };
    let events = sessions.prompt(request.clone()).await.expect("a run").into_inner();
    let mut approvals = world.approvals().await;
    let of = ListApprovalsRequest { session_id: session_id.clone() };
    let mut news = approvals.watch(of).await.expect("it watches").into_inner();
    assert!(matches!(news.message().await, Ok(Some(event)) if matches!(event.event, Some(Event::Asked(_)))));
    let (closed, (), events) = tokio::join!(
        sessions.close(CloseSessionRequest { session_id }),
        async {
            let settled = loop {
                match news.message().await.expect("news").and_then(|event| event.event) {
                    Some(Event::Settled(settled)) => break settled.decision,
                    asked => assert!(asked.is_some(), "it is settled before the end"),
                }
            };
            assert_eq!(settled, "gone");
        },
        read(events),
    );
    closed.expect("it closes");
    assert_eq!(report(&events)["status"], "cancelled");
    assert!(world.calls().is_empty());
    assert!(approvals.list(ListApprovalsRequest::default()).await.expect("a list").into_inner().approvals.is_empty());
    let refused = sessions.prompt(request).await.expect_err("it is closed");
    assert_eq!(refused.code(), Code::NotFound);
}

#[tokio::test]
async fn a_question_put_off_waits_in_the_journal_and_is_answered_there() {
    use vertebra_server::proto::{ResumeRequest, answer_approval_request::Later};
    let (world, events) = answered(|_| Decision::Later(Later {})).await;
    assert_eq!(report(&events)["status"], "suspended");
    let waiting = world.approvals().await.list(ListApprovalsRequest::default()).await.expect("a list");
    let [asked] = &waiting.into_inner().approvals[..] else { panic!("one waits") };
    assert!(asked.suspended);
    let request = AnswerApprovalRequest {
        session_id: asked.session_id.clone(),
        call_id: asked.call_id.clone(),
        decision: Some(Decision::ApproveDigest(asked.digest.clone())),
    };
    let taken = world.approvals().await.answer(request).await.expect("it is kept").into_inner().taken;
    assert!(!taken, "nobody waits for it in this process");
    let request = ResumeRequest { session_id: asked.session_id.clone() };
    let events = world.sessions().await.resume(request).await.expect("it goes on").into_inner();
    assert_eq!(report(&crate::world::read(events).await)["status"], "completed");
    assert_eq!(world.calls(), [json!({ "command": "ls" })]);
}

#[tokio::test]
async fn a_session_that_somebody_else_has_taken_up_meanwhile_is_taken_up_again_once_they_leave_it() {
    use vertebra_server::proto::{ResumeRequest, answer_approval_request::Later};
    let (world, before) = answered(|_| Decision::Later(Later {})).await;
    let session_id = report(&before)["session_id"].as_str().expect("a name").to_owned();
    let follow = ReadRecordsRequest {
        session_id: session_id.clone(),
        follow: true,
        kinds: vec!["suspended".to_owned(), "session_resumed".to_owned()],
        after: 0,
    };
    let mut records = world.records().await.read(follow).await.expect("its journal").into_inner();
    assert_eq!(records.message().await.expect("a line").expect("a line").kind, "suspended");
    let elsewhere = world.elsewhere().resume(&session_id).await.expect("it waits for anybody");
    let line = tokio::time::timeout(Duration::from_secs(5), records.message()).await;
    let line = line.expect("what others write is told too").expect("a line").expect("a line");
    assert_eq!(line.kind, "session_resumed");
    let resume = || async { world.sessions().await.resume(ResumeRequest { session_id: session_id.clone() }).await };
    resume().await.expect_err("somebody else has it");
    elsewhere.leave().await;
    let mut events = resume().await.expect("it goes on").into_inner();
    let first = events.message().await.expect("news").expect("news");
    assert_eq!(first.run_id, report(&before)["run_id"], "the run that waits");
}

#[tokio::test]
async fn a_yes_that_is_given_as_soon_as_it_is_asked_for_is_not_lost() {
    let world = World::with(|| commands(&["ls"]), asks, limits()).await;
    let world = &world;
    let runs = (0..50).map(|_| async move {
        let session_id = world.open().await;
        let request = PromptRequest { session_id: session_id.clone(), text: "go".to_owned() };
        let mut events = world.sessions().await.prompt(request).await.expect("a run").into_inner();
        let mut approvals = world.approvals().await;
        let asked: serde_json::Value = loop {
            let event = events.message().await.expect("an event").expect("it asks first");
            if event.kind == "asked" {
                break serde_json::from_str(&event.json).expect("JSON");
            }
        };
        let text = |name: &str| asked["approval"][name].as_str().expect("a text").to_owned();
        let (call_id, decision) = (text("call_id"), Some(Decision::ApproveDigest(text("digest"))));
        approvals.answer(AnswerApprovalRequest { session_id, call_id, decision }).await.expect("it is asked");
        assert_eq!(report(&read(events).await)["status"], "completed");
    });
    let runs = futures_util::future::join_all(runs);
    tokio::time::timeout(Duration::from_secs(30), runs).await.expect("every one is answered");
    assert_eq!(world.calls().len(), 50);
}
