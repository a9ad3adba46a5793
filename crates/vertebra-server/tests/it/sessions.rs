//! Sessions: opened, run, watched, left and taken up again.

use std::collections::HashMap;

use serde_json::json;
use tonic::Code;
use vertebra::Attach as _;
use vertebra_server::{
    Limits,
    proto::{
        CancelRequest, CloseSessionRequest, CreateSessionRequest, EventsRequest, GetSessionRequest,
        ListSessionsRequest, PromptRequest, SessionStatus,
    },
};

use crate::world::{World, commands, limits, read, report, results};

#[tokio::test]
async fn a_prompt_is_run_and_everything_that_happens_is_told() {
    let world = World::new(|| commands(&["ls"])).await;
    let session = world.open().await;
    let events = world.run(&session).await;
    assert_eq!(report(&events)["status"], "completed");
    assert_eq!(report(&events)["text"], "done");
    assert_eq!(world.calls(), [json!({ "command": "ls" })]);
    assert_eq!(results(&events).len(), 1);
    let told = world.sessions().await.get(GetSessionRequest { session_id: session }).await.expect("it is there");
    let told = told.into_inner();
    assert_eq!((told.status(), told.last_event), (SessionStatus::Idle, events.len() as u64));
}

#[tokio::test]
async fn whoever_lost_the_stream_reads_the_rest_once_and_in_order() {
    let world = World::new(|| commands(&["one", "two", "three"])).await;
    let session_id = world.open().await;
    let mut sessions = world.sessions().await;
    let request = PromptRequest { session_id: session_id.clone(), text: "go".to_owned() };
    let mut events = sessions.prompt(request).await.expect("a run").into_inner();
    let first = events.message().await.expect("an event").expect("an event").number;
    drop(events);
    let mut rest = world
        .sessions()
        .await
        .events(EventsRequest { session_id: session_id.clone(), after: first })
        .await
        .expect("it goes on")
        .into_inner();
    let mut numbers = Vec::new();
    let mut last = String::new();
    while last != "ended" {
        let event = rest.message().await.expect("an event").expect("it has not ended");
        numbers.push(event.number);
        last = event.kind;
    }
    assert_eq!(numbers, (first + 1..=first + numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(world.calls().len(), 3, "the run went on without anybody reading");
    let closed = sessions.close(CloseSessionRequest { session_id }).await.expect("it closes").into_inner();
    assert!(closed.report_json.contains("\"tool_calls\":3"), "{}", closed.report_json);
    assert_eq!(rest.message().await.expect("the end"), None, "whoever watches hears of the end");
}

#[tokio::test]
async fn prompts_of_a_session_come_one_after_the_other() {
    let world = World::new(|| commands(&["first"]).call("bash", r#"{"command":"second"}"#).say("done again")).await;
    let session = world.open().await;
    let (one, other) = tokio::join!(world.run(&session), world.run(&session));
    let mut texts = [&one, &other].map(|events| report(events)["text"].to_string());
    texts.sort();
    assert_eq!(texts, ["\"done again\"", "\"done\""]);
    for events in [one, other] {
        assert_eq!(events.iter().filter(|event| event["event"] == "ended").count(), 1, "each reads its own run");
    }
}

#[tokio::test]
async fn a_run_is_cancelled_and_the_session_goes_on() {
    let world = World::with(
        || commands(&["ls"]).say("again"),
        |builder| {
            builder.approval_timeout(std::time::Duration::from_mins(1));
            builder.guard(vertebra::BeforeToolUse, async |_| vertebra::ask("may I?"));
        },
        limits(),
    )
    .await;
    let session_id = world.open().await;
    let mut sessions = world.sessions().await;
    let request = PromptRequest { session_id: session_id.clone(), text: "go".to_owned() };
    let mut events = sessions.prompt(request).await.expect("a run").into_inner();
    while events.message().await.expect("an event").expect("it asks first").kind != "asked" {}
    let cancelled = sessions.cancel(CancelRequest { session_id: session_id.clone() }).await.expect("it is told");
    assert!(cancelled.into_inner().was_running);
    assert_eq!(report(&read(events).await)["status"], "cancelled");
    let cancelled = sessions.cancel(CancelRequest { session_id: session_id.clone() }).await.expect("it is told");
    assert!(!cancelled.into_inner().was_running);
    assert!(world.calls().is_empty());
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_says_so() {
    let few = Limits { sessions: 2, prompt_bytes: 10, ..limits() };
    let world = World::with(|| commands(&[]), |_| {}, few).await;
    let session_id = world.open().await;
    world.open().await;
    let mut sessions = world.sessions().await;
    let refused = sessions.create(CreateSessionRequest::default()).await.expect_err("there is no room");
    assert_eq!((refused.code(), refused.message()), (Code::ResourceExhausted, "2 sessions are open already"));
    let request = PromptRequest { session_id: session_id.clone(), text: "far too long".to_owned() };
    let refused = sessions.prompt(request).await.expect_err("it is too long");
    assert_eq!((refused.code(), refused.message()), (Code::ResourceExhausted, "a prompt has at most 10 bytes"));
    sessions.close(CloseSessionRequest { session_id }).await.expect("it closes");
    sessions.create(CreateSessionRequest::default()).await.expect("there is room again");
    let wrong = CreateSessionRequest { folder: "elsewhere".to_owned(), ..CreateSessionRequest::default() };
    sessions.close(CloseSessionRequest { session_id: "none".to_owned() }).await.expect_err("there is none");
    let listed = sessions.list(ListSessionsRequest::default()).await.expect("a list").into_inner().sessions;
    assert_eq!(listed.len(), 2);
    let mut more = World::new(|| commands(&[])).await.sessions().await;
    assert_eq!(more.create(wrong).await.expect_err("there is no such folder").code(), Code::InvalidArgument);
}

#[tokio::test]
async fn sessions_are_found_by_their_labels_and_listed_as_many_as_are_wanted() {
    let world = World::new(|| commands(&[])).await;
    let mut sessions = world.sessions().await;
    let labels = |team: &str| HashMap::from([("team".to_owned(), team.to_owned())]);
    for team in ["red", "blue", "blue"] {
        let request = CreateSessionRequest { labels: labels(team), ..CreateSessionRequest::default() };
        sessions.create(request).await.expect("a session");
    }
    let mut listed = async |labels, limit| {
        let told = sessions.list(ListSessionsRequest { labels, limit }).await.expect("a list").into_inner();
        (told.sessions.len(), told.more)
    };
    assert_eq!(listed(HashMap::new(), 0).await, (3, false));
    assert_eq!(listed(labels("blue"), 0).await, (2, false));
    assert_eq!(listed(labels("blue"), 1).await, (1, true));
    assert_eq!(listed(labels("green"), 0).await, (0, false));
    let long = CreateSessionRequest { labels: labels(&"x".repeat(257)), ..CreateSessionRequest::default() };
    assert_eq!(sessions.create(long).await.expect_err("it is too long").code(), Code::InvalidArgument);
}
