//! Every limit of a server, reached on purpose.

use std::collections::HashMap;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{Code, Request};
use vertebra_server::{
    Limits,
    proto::{
        CloseSessionRequest, CreateSessionRequest, EventsRequest, Hook, ListSessionsRequest, SessionEvent,
        hooks_client::HooksClient,
    },
};

use super::world::{
    BOT, Bearer, CI, Client, TOKEN, World, guard, limits, open, patient_guard, prompt, results, soon, three,
};

#[tokio::test]
async fn a_client_has_as_many_sessions_as_one_may_have_and_others_still_have_theirs() {
    let world = World::behind(&[], Limits { sessions_of_one: 1, ..limits() }, three(), None).await;
    let (mut ci, mut bot) = (world.sessions_of(CI).await, world.sessions_of(BOT).await);
    let session_id = open(&mut ci).await;
    let refused = ci.create(CreateSessionRequest::default()).await.expect_err("it has one");
    assert_eq!((refused.code(), refused.message()), (Code::ResourceExhausted, "`ci` has 1 sessions open already"));
    open(&mut bot).await;
    ci.close(CloseSessionRequest { session_id }).await.expect("it closes");
    open(&mut ci).await;
}

#[tokio::test]
async fn sessions_that_are_opened_at_once_are_no_more_than_there_may_be() {
    let world = World::new(Limits { sessions: 3, ..limits() }).await;
    let mut sessions = world.sessions().await;
    let opened = join_all((0..20).map(|_| {
        let mut sessions = sessions.clone();
        async move { soon(sessions.create(CreateSessionRequest::default())).await }
    }));
    let (opened, refused): (Vec<_>, Vec<_>) = opened.await.into_iter().partition(Result::is_ok);
    assert_eq!(opened.len(), 3);
    for refused in refused {
        assert_eq!(refused.expect_err("there is no room").code(), Code::ResourceExhausted);
    }
    let listed = sessions.list(ListSessionsRequest::default()).await.expect("a list").into_inner().sessions;
    assert_eq!(listed.len(), 3);
    let session_id = listed[0].id.clone();
    sessions.close(CloseSessionRequest { session_id }).await.expect("it closes");
    open(&mut sessions).await;
}

/// One run waits for the guard `g`, another finds no room and is refused for this reason, and then the first is answered.
async fn while_one_waits_another_is_refused(world: &World, client: &mut Client, reason: &str) {
    let (first, ()) = tokio::join!(world.run(), async {
        let event = client.event().await;
        let second = world.run().await;
        assert!(second[0].contains(reason), "{second:?}");
        client.answer(event.id, r#"{"verdict":"deny","reason":"no"}"#).await;
    });
    assert_eq!(first, ["blocked by g: no"]);
}

#[tokio::test]
async fn so_many_events_wait_for_a_client_and_the_next_is_refused() {
    let world = World::running(&["ls"], Limits { in_flight: 1, ..limits() }).await;
    let mut client = world.client("c").await;
    client.register(patient_guard("g")).await.expect("it stands");
    while_one_waits_another_is_refused(&world, &mut client, "the client already has 1 unanswered events").await;
    assert_eq!(world.calls(), 0);
}

#[tokio::test]
async fn so_many_bytes_wait_for_the_answers_of_a_client_that_reads_and_answers_make_room() {
    let large = "x".repeat(300_000);
    let world = World::running(&[&large], Limits { event_bytes: 500_000, ..limits() }).await;
    let mut client = world.client("c").await;
    client.register(patient_guard("g")).await.expect("it stands");
    for _ in 0..3 {
        while_one_waits_another_is_refused(&world, &mut client, "the unanswered events of the client already take")
            .await;
    }
    assert_eq!(world.calls(), 0);
}

#[tokio::test]
async fn so_many_frames_are_kept_for_a_client_that_does_not_read() {
    let large = "x".repeat(30_000);
    let world = World::running(&[&large], Limits { in_flight: 1, event_bytes: usize::MAX, ..limits() }).await;
    let hooks = HooksClient::with_interceptor(world.narrow_channel().await, Bearer(TOKEN));
    let mut client = Client::attach(hooks, "c").await.expect("it is let in");
    client.register(Hook { timeout_ms: Some(1), ..guard("g") }).await.expect("it stands");
    let mut results = Vec::new();
    // An event that nobody waits for any more is two frames: that it was put, and that it was taken back.
    for _ in 0..60 {
        results.extend(world.run().await);
    }
    let unread = results.iter().filter(|result| result.contains("the client does not read its events")).count();
    assert!(unread > 10, "after some frames no more are kept: {unread}");
    assert_eq!(world.calls(), 0, "nothing passes");
}

#[tokio::test]
async fn a_message_that_is_larger_than_this_server_takes_is_refused() {
    let world = World::new(Limits { message_bytes: 1 << 16, ..limits() }).await;
    let large = CreateSessionRequest { system_prompt: "x".repeat(1 << 17), ..CreateSessionRequest::default() };
    let refused = world.sessions().await.create(large).await.expect_err("it is too large");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    let mut client = world.client("c").await;
    client.answer(1, &"x".repeat(1 << 17)).await;
    let ended = client.frame().await.expect_err("its stream ends");
    assert_eq!(ended.code(), Code::ResourceExhausted, "{ended}");
    world.serves().await;
}

/// What a server says of itself at the beginning of a connection, by number.
async fn settings(world: &World) -> HashMap<u16, u32> {
    let mut connection = TcpStream::connect(world.address).await.expect("a connection");
    connection.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("it is read");
    let mut head = [0; 9];
    soon(connection.read_exact(&mut head)).await.expect("a frame");
    let [_, high, low, kind, ..] = head;
    assert_eq!(kind, 4, "the first frame is of settings");
    let mut told = HashMap::new();
    for _ in 0..u16::from_be_bytes([high, low]) / 6 {
        let (what, how_much) = (soon(connection.read_u16()).await, soon(connection.read_u32()).await);
        told.insert(what.expect("a number"), how_much.expect("a number"));
    }
    told
}

#[tokio::test]
async fn a_connection_is_told_how_many_requests_may_be_open_and_how_large_their_headers_may_be() {
    let world = World::new(Limits { streams: 7, header_bytes: 4096, ..limits() }).await;
    let told = settings(&world).await;
    assert_eq!((told.get(&3), told.get(&6)), (Some(&7), Some(&4096)), "{told:?}");
    let mut sessions = world.sessions().await;
    let mut request = Request::new(ListSessionsRequest::default());
    request.metadata_mut().insert("x-large", "x".repeat(6000).parse().expect("a value"));
    soon(sessions.list(request)).await.expect_err("there are 6 kB of them");
    world.serves().await;
}

/// All that is kept of a session after a run in it, as somebody reads it who comes then.
async fn kept(limits: Limits) -> Vec<SessionEvent> {
    let world = World::running(&["one", "two", "three"], limits).await;
    let mut sessions = world.sessions().await;
    let session_id = open(&mut sessions).await;
    results(prompt(&mut sessions, &session_id).await.expect("a run")).await;
    let request = EventsRequest { session_id: session_id.clone(), after: 0 };
    let mut events = sessions.events(request).await.expect("events").into_inner();
    sessions.close(CloseSessionRequest { session_id }).await.expect("it closes");
    let mut kept = Vec::new();
    while let Some(event) = soon(events.message()).await.expect("an event") {
        kept.push(event);
    }
    kept
}

#[tokio::test]
async fn a_session_keeps_so_many_events_and_bytes_and_whoever_comes_late_is_told_what_it_missed() {
    let all = kept(limits()).await;
    assert!(all.iter().map(|event| event.number).eq(1..=all.len() as u64), "every one, once and in order");
    let few = kept(Limits { kept_events: 3, ..limits() }).await;
    assert_eq!(few.len(), 4);
    let small = kept(Limits { kept_bytes: 2000, ..limits() }).await;
    for some in [few, small] {
        let (missed, rest) = some.split_first().expect("there are some");
        assert_eq!((missed.kind.as_str(), missed.number), ("missed", (all.len() - rest.len()) as u64));
        let told: Value = serde_json::from_str(&missed.json).expect("JSON");
        assert_eq!(told["events"], missed.number);
        assert!(rest.iter().map(|event| event.number).eq(missed.number + 1..=all.len() as u64), "{rest:?}");
        assert_eq!(rest.last().map(|event| event.kind.as_str()), Some("ended"));
    }
}
