//! Questions that clients answer.

use serde_json::json;
use tonic::Code;
use vertebra::{AgentBuilder, Attach as _};
use vertebra_server::proto::{
    AnswerApprovalRequest, Approval, ListApprovalsRequest, answer_approval_request::Decision, approval_event::Event,
};

use crate::world::{World, commands, limits, report, results};

fn asks(builder: &mut AgentBuilder) {
    builder.guard(vertebra::BeforeToolUse, async |_| vertebra::ask("may I?")).named("careful");
}

/// Runs one command, and answers the question about it.
async fn answered(answer: impl FnOnce(&Approval) -> Decision) -> (World, Vec<serde_json::Value>) {
    let world = World::with(|| commands(&["ls"]), asks, limits()).await;
    let session = world.open().await;
    let mut approvals = world.approvals().await;
    let mut news = approvals.watch(ListApprovalsRequest::default()).await.expect("it watches").into_inner();
    let (events, ()) = tokio::join!(world.run(&session), async {
        let asked = news.message().await.expect("news").expect("news").event;
        let Some(Event::Asked(asked)) = asked else { panic!("it asks first: {asked:?}") };
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
    assert_eq!(results(&events), ["blocked by a person: not today"]);
    assert!(world.calls().is_empty());
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
    let elsewhere = world.elsewhere().resume(&session_id).await.expect("it waits for anybody");
    let resume = || async { world.sessions().await.resume(ResumeRequest { session_id: session_id.clone() }).await };
    resume().await.expect_err("somebody else has it");
    elsewhere.leave().await;
    let mut events = resume().await.expect("it goes on").into_inner();
    let first = events.message().await.expect("news").expect("news");
    assert_eq!(first.run_id, report(&before)["run_id"], "the run that waits");
}
