//! Clients whose hooks do not behave: their guards refuse, and nothing grows.

use tonic::Code;
use vertebra_server::{
    Limits,
    proto::{Hook, ListHooksRequest, Matcher, Register, client_frame::Frame as Said, server_frame::Frame},
};

use super::world::{World, guard, limits, patient_guard, soon};

#[tokio::test]
async fn a_client_that_never_reads_its_events_lets_nothing_pass_and_little_is_kept_for_it() {
    let large = "x".repeat(300_000);
    let world = World::running(&[&large], Limits { event_bytes: 1 << 20, ..limits() }).await;
    let mut client = world.client("c").await;
    client.register(Hook { timeout_ms: Some(20), ..guard("g") }).await.expect("it stands");
    let mut unread = 0;
    for _ in 0..30 {
        let results = world.run().await;
        unread += results.iter().filter(|result| result.contains("the client does not read its events")).count();
    }
    assert_eq!(world.calls(), 0, "nothing passes");
    assert!(unread > 10, "after about 1 MB no more is kept: {unread}");
    // Whoever begins to read is served again.
    while !matches!(client.frame().await, Ok(Frame::Event(_))) {}
    world.serves().await;
}

#[tokio::test]
async fn an_event_that_is_larger_than_any_message_may_be_is_refused_and_the_client_lives() {
    let large = "x".repeat(100_000);
    let world = World::running(&[&large], Limits { message_bytes: 1 << 16, ..limits() }).await;
    let mut client = world.client("c").await;
    client.register(guard("g")).await.expect("it stands");
    let results = world.run().await;
    assert!(results[0].contains("the event is larger than 65536 bytes"), "{}", results[0]);
    assert_eq!(world.calls(), 0);
    client.register(guard("another")).await.expect("it is heard as before");
}

#[tokio::test]
async fn an_answer_given_twice_to_nothing_or_too_late_changes_nothing() {
    let world = World::running(&["one", "two"], limits()).await;
    let mut client = world.client("c").await;
    client.register(guard("g")).await.expect("it stands");
    let (results, ()) = tokio::join!(world.run(), async {
        for id in [0, 999, u64::MAX] {
            client.answer(id, r#"{"verdict":"allow"}"#).await;
        }
        let first = client.event().await;
        client.answer(first.id, r#"{"verdict":"deny","reason":"no"}"#).await;
        client.answer(first.id, r#"{"verdict":"allow"}"#).await;
        let second = client.event().await;
        while !matches!(client.frame().await, Ok(Frame::Withdrawn(gone)) if gone.id == second.id) {}
        client.answer(second.id, r#"{"verdict":"allow"}"#).await;
    });
    assert_eq!(results[0], "blocked by g: no");
    assert!(results[1].contains("no answer within"), "{}", results[1]);
    assert_eq!(world.calls(), 0);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_a_failure_and_a_frame_that_is_ends_the_stream() {
    let world = World::running(&["one", "two", "three"], limits()).await;
    let mut client = world.client("c").await;
    client.register(guard("g")).await.expect("it stands");
    let (results, ()) = tokio::join!(world.run(), async {
        let event = client.event().await;
        client.answer(event.id, &"x".repeat((1 << 20) + 1)).await;
        let event = client.event().await;
        client.fail(event.id, &"x".repeat((1 << 20) + 1)).await;
        let event = client.event().await;
        client.answer(event.id, &"x".repeat(5 << 20)).await;
        let ended = loop {
            if let Err(status) = client.frame().await {
                break status;
            }
        };
        assert_eq!(ended.code(), Code::ResourceExhausted, "{ended}");
    });
    for result in &results[..2] {
        assert!(result.contains("the answer of the client is larger than 1048576 bytes"), "{}", result.len());
    }
    assert_eq!(world.calls(), 0);
    world.serves().await;
}

#[tokio::test]
async fn of_ten_thousand_hooks_as_many_stand_as_may_and_each_is_answered_also_to_who_reads_late() {
    let world = World::new(limits()).await;
    let mut client = world.client("c").await;
    let out = client.out.clone();
    // It says all of it before it reads anything, as far as it is let.
    let says = tokio::spawn(async move {
        for request in 0..10_000 {
            let register = Register { request, hook: Some(guard(&format!("g{request}"))), scope: None };
            let frame = vertebra_server::proto::ClientFrame { frame: Some(Said::Register(register)) };
            out.send(frame).await.expect("the server reads, if slowly");
        }
    });
    for request in 0..10_000 {
        let Ok(Frame::Registered(registered)) = client.frame().await else { panic!("each is answered") };
        assert_eq!(registered.request, request);
        let expected = if request < 256 { "" } else { "a client has at most 256 hooks" };
        assert_eq!(registered.error, expected);
    }
    soon(says).await.expect("it has said all of it");
}

#[tokio::test]
async fn names_and_patterns_that_are_too_long_or_too_deep_do_not_stand() {
    let world = World::new(limits()).await;
    let mut client = world.client("c").await;
    let long = client.register(guard(&"x".repeat(101))).await.expect_err("the name is too long");
    assert!(long.contains("1 to 100 characters"), "{long}");
    let matching = |matcher| Hook { r#match: Some(matcher), ..guard("g") };
    let command = |command: String| matching(Matcher { command: vec![command], ..Matcher::default() });
    let long = client.register(command("x".repeat(300_000))).await.expect_err("the pattern is too long");
    assert!(long.contains("at most 262144 bytes"), "{long}");
    let many = Matcher { tool: (0..5000).map(|number| format!("t{number}")).collect(), ..Matcher::default() };
    let many = client.register(matching(many)).await.expect_err("they are too many");
    assert!(many.contains("at most 4096"), "{many}");
    let deep =
        (0..20).fold(Matcher::default(), |inner, _| Matcher { not: Some(Box::new(inner)), ..Matcher::default() });
    let deep = client.register(matching(deep)).await.expect_err("they are too deep in each other");
    assert!(deep.contains("at most 16 deep"), "{deep}");
    client.register(guard("g")).await.expect("nothing of all that is left");
}

#[tokio::test]
async fn whoever_comes_later_under_the_same_name_is_heard_and_the_other_is_told() {
    let world = World::running(&["ls"], limits()).await;
    let mut first = world.client("c").await;
    first.register(guard("g")).await.expect("it stands");
    let mut second = world.client("c").await;
    let told = first.frame().await.expect_err("it is no longer heard");
    assert_eq!(told.code(), Code::AlreadyExists, "{told}");
    second.register(patient_guard("g")).await.expect("it stands");
    let (results, ()) = tokio::join!(world.run(), async {
        let event = second.event().await;
        // It still speaks: a yes to what the second is asked, and a hook of its own.
        first.answer(event.id, r#"{"verdict":"allow"}"#).await;
        let late = Register { request: 1, hook: Some(guard("late")), scope: None };
        let late = vertebra_server::proto::ClientFrame { frame: Some(Said::Register(late)) };
        let _ = first.out.send(late).await;
        soon(first.out.closed()).await;
        second.answer(event.id, r#"{"verdict":"deny","reason":"the second says"}"#).await;
    });
    assert_eq!(results, ["blocked by g: the second says"]);
    let stand = world.hooks().await.list(ListHooksRequest::default()).await.expect("a list").into_inner().hooks;
    assert_eq!(stand.iter().map(|hook| hook.name.as_str()).collect::<Vec<_>>(), ["g"]);
    // The first is gone, and the second is not lost for it.
    let (results, ()) = tokio::join!(world.run(), async {
        let event = second.event().await;
        second.answer(event.id, r#"{"verdict":"deny","reason":"again"}"#).await;
    });
    assert_eq!(results, ["blocked by g: again"]);
}
