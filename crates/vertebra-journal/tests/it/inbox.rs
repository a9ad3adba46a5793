//! Answers from elsewhere: for one question, for its arguments, in its time, once.

use jiff::{SignedDuration, Timestamp};
use vertebra::{Approver, Args, Decision, Journal, What};
use vertebra_journal::Store;

use crate::support::*;

fn soon() -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(24)
}

fn no() -> Decision {
    Decision::Deny { reason: "not today".to_owned() }
}

#[tokio::test]
#[ignore = "it is the other process of the test below"]
async fn answers_the_only_question() {
    let store = Store::open(given_journal(), &OFTEN).expect("a journal");
    let questions = store.questions(None).expect("questions");
    let approval = &questions[0].approval;
    store
        .answer(&questions[0].session_id, &approval.call.id, &approval.digest, &approval.approve())
        .expect("an answer");
}

#[tokio::test]
async fn a_run_finds_the_answer_that_another_process_gave() {
    let area = Area::new();
    let store = area.open();
    let (question, until) = (approval("s", "call-1", "d1"), soon());
    write(&store, [began("s"), asked(&question, until), suspended("s")]).await;
    assert_eq!(store.inbox().decide(&question).await, Decision::Later);
    store.claim("s").await.expect("it is free");
    let later = What::Answered { call_id: "call-1".into(), decision: Decision::Later };
    write(&store, [entry("s", later), suspended("s")]).await;
    let open = store.questions(Some("s")).expect("questions");
    assert_eq!((open.len(), &open[0].approval, open[0].until), (1, &question, until));
    assert!(store.questions(Some("t")).expect("questions").is_empty());
    drop(store);

    Other::start("inbox::answers_the_only_question", &area.path()).end();

    let store = area.open();
    assert!(store.questions(None).expect("questions").is_empty());
    store.claim("s").await.expect("it is free");
    for _ in 0..2 {
        assert_eq!(store.inbox().decide(&question).await, question.approve(), "it is there until the run has taken it");
    }
    let taken = What::Answered { call_id: "call-1".into(), decision: question.approve() };
    write(&store, [entry("s", taken)]).await;
    settle(&store).await;
    assert_eq!(store.inbox().decide(&question).await, Decision::Later, "an answer is to one question");
    assert_eq!(store.find("s").expect("a session").questions, 0);
}

#[tokio::test]
async fn an_answer_holds_for_exactly_what_was_shown() {
    let area = Area::new();
    let store = area.open();
    let question = approval("s", "call-1", "d1");
    write(&store, [began("s"), asked(&question, soon())]).await;
    store.answer("s", "call-1", "d1", &question.approve()).expect("an answer");
    for other in [approval("s", "call-1", "d2"), approval("s", "call-2", "d1"), approval("t", "call-1", "d1")] {
        assert_eq!(store.inbox().decide(&other).await, Decision::Later);
    }
    // Asked again about the same, the answer stays; about something else, it does not.
    write(&store, [asked(&question, soon())]).await;
    assert_eq!(store.inbox().decide(&question).await, question.approve());
    write(&store, [asked(&approval("s", "call-1", "d2"), soon()), asked(&question, soon())]).await;
    assert_eq!(store.inbox().decide(&question).await, Decision::Later);
}

#[tokio::test]
async fn an_answer_that_cannot_count_says_why() {
    let area = Area::new();
    let store = area.open();
    let past = Timestamp::now() - SignedDuration::from_secs(1);
    let late = approval("s", "call-3", "d3");
    write(&store, [began("s"), asked(&approval("s", "call-1", "d1"), soon())]).await;
    write(&store, [asked(&approval("s", "call-2", "d2"), soon()), asked(&late, past)]).await;
    store.answer("s", "call-2", "d2", &no()).expect("the first answer");
    let yes = |digest: &str| Decision::Approve { digest: digest.to_owned(), grants: Vec::new() };
    let over =
        format!("its time was over at {}", Timestamp::from_microsecond(past.as_microsecond()).expect("a moment"));
    let cases = [
        ("t", "call-1", "d1", no(), "nobody asks about it"),
        ("s", "call-9", "d1", no(), "nobody asks about it"),
        ("s", "call-1", "d2", yes("d2"), "it is asked about other arguments now"),
        ("s", "call-1", "d1", yes("d2"), "the yes is to other arguments than those that were shown"),
        ("s", "call-1", "d1", Decision::Later, "`later` is not an answer"),
        ("s", "call-2", "d2", yes("d2"), "it is answered already"),
        ("s", "call-3", "d3", yes("d3"), over.as_str()),
    ];
    for (session, call, digest, decision, expected) in cases {
        let error = store.answer(session, call, digest, &decision).expect_err(expected);
        assert!(error.message.contains(expected), "{error}");
    }
    assert_eq!(store.inbox().decide(&approval("s", "call-2", "d2")).await, no(), "the first answer stands");
    let Decision::Deny { reason } = store.inbox().decide(&late).await else { panic!("no answer is a no") };
    assert_eq!(reason, "no one answered in time");
    let edit = Decision::Edit { args: Args::default() };
    store.answer("s", "call-1", "d1", &edit).expect("other arguments are an answer too");
    assert_eq!(store.inbox().decide(&approval("s", "call-1", "d1")).await, edit);
}

#[tokio::test]
async fn nobody_is_asked_for_a_run_or_a_session_that_has_ended() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), asked(&approval("s", "call-1", "d1"), soon()), ended("s")]).await;
    assert!(store.questions(None).expect("questions").is_empty());
    assert!(store.answer("s", "call-1", "d1", &no()).is_err());
    write(&store, [began("t"), asked(&approval("t", "call-1", "d1"), soon()), run_ended("t", false)]).await;
    assert!(store.questions(None).expect("questions").is_empty());
}
