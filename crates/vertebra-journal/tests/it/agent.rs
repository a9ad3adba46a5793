//! A whole agent on a journal in a file: it asks, its process ends, somebody answers, and it goes on.

use vertebra::{
    Agent, Decision, RunStatus,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_journal::{Options, Status, Store, Verified, Wanted};

use crate::support::*;

/// An agent that asks before it deploys.
fn careful(store: &Store, model: &Script, deploy: &RecordingTool) -> Agent {
    let mut builder = Agent::builder(model.clone());
    builder.journal(store.clone()).approver(store.inbox()).tool(deploy.clone());
    builder.guard(BeforeToolUse.tool("deploy").named("careful"), async |_| ask("to production?"));
    builder.build().expect("an agent")
}

async fn wait_and_answer(decide: impl Fn(&vertebra::Approval) -> Decision) -> (String, usize) {
    let area = Area::new();
    let options = Options { chain: true, ..Options::default() };
    let deploy = RecordingTool::new("deploy").replying("it is out");

    let store = area.open_with(options);
    let model = Script::new().call("deploy", r#"{"to": "production"}"#);
    let report = careful(&store, &model, &deploy).run("ship it").await.expect("it waits");
    assert_eq!((report.status, deploy.calls().len()), (RunStatus::Suspended, 0));
    assert_eq!(store.find("last").expect("a session").status, Status::Suspended);
    drop(store);

    let elsewhere = area.open();
    let questions = elsewhere.questions(None).expect("questions");
    let [question] = questions.as_slice() else { panic!("one question: {questions:?}") };
    let approval = &question.approval;
    assert_eq!((&*approval.reason, approval.args.text("to")), ("to production?", Some("production")));
    elsewhere
        .answer(&question.session_id, &approval.call_id, &approval.digest, &decide(approval))
        .expect("it is asked about");
    drop(elsewhere);

    let store = area.open_with(options);
    let model = Script::new().say("done");
    let mut session = careful(&store, &model, &deploy).resume(&report.session_id).await.expect("it is free");
    let report = session.go_on().await.expect("it was in the middle of a run").expect("it goes on");
    assert_eq!(report.status, RunStatus::Completed);
    session.close().await;
    model.assert_played();

    let row = store.find("last").expect("a session");
    assert_eq!((row.status, row.questions, row.runs), (Status::Ended, 0, 1));
    assert!(matches!(store.verify(&row.session_id), Ok(Verified::Intact { .. })));
    assert_eq!(store.sessions(&Wanted::default()).expect("sessions").len(), 1);
    let messages = format!("{:?}", model.requests()[0].messages);
    (messages, deploy.calls().len())
}

#[tokio::test]
async fn a_yes_from_another_process_lets_the_call_happen_once() {
    let (read, calls) = wait_and_answer(vertebra::Approval::approve).await;
    assert_eq!(calls, 1);
    assert!(read.contains("it is out"), "{read}");
}

#[tokio::test]
async fn a_no_from_another_process_is_read_by_the_model() {
    let (read, calls) = wait_and_answer(|_| Decision::Deny { reason: "not on a Friday".to_owned() }).await;
    assert_eq!(calls, 0);
    assert!(read.contains("not on a Friday"), "{read}");
}
