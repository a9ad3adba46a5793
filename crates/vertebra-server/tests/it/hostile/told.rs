//! What a server tells of itself, and to whom.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{Code, Status};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};
use vertebra_journal::{Status as Kept, Wanted as Rows};
use vertebra_server::{
    Lane, Limits, Places,
    proto::{
        Answer, CreateSessionRequest, Draining, Hook, ListSessionsRequest, ResumeRequest, Role, answer,
        client_frame::Frame as Said, server_frame::Frame, sessions_client::SessionsClient,
    },
};

use super::world::{Bearer, Client, TOKEN, World, guard, limits, open, patient_guard, prompt, results, soon, until};

#[tokio::test]
async fn anybody_may_ask_whether_it_serves_and_when_it_goes_down_it_does_not() {
    let world = World::new(limits()).await;
    for service in ["", "vertebra.v1.Sessions", "vertebra.v1.Hooks"] {
        let mut health = HealthClient::new(world.channel().await);
        let request = HealthCheckRequest { service: service.to_owned() };
        let told = health.check(request.clone()).await.expect("no token is asked for").into_inner();
        assert_eq!(told.status(), ServingStatus::Serving, "{service}");
    }
    let mut health = HealthClient::new(world.channel().await);
    let mut news = health.watch(HealthCheckRequest::default()).await.expect("news").into_inner();
    let first = news.message().await.expect("news").expect("news");
    assert_eq!(first.status(), ServingStatus::Serving);
    let (_, then) = tokio::join!(world.server.shut_down(), soon(news.message()));
    assert_eq!(then.expect("news").expect("news").status(), ServingStatus::NotServing);
}

#[tokio::test]
async fn what_it_can_do_is_told_to_who_is_let_in() {
    let world = World::new(limits()).await;
    let request = || {
        let list = MessageRequest::ListServices(String::new());
        futures_util::stream::iter([ServerReflectionRequest { host: String::new(), message_request: Some(list) }])
    };
    let mut stranger = ServerReflectionClient::new(world.channel().await);
    let refused = stranger.server_reflection_info(request()).await.expect_err("it has no token");
    assert_eq!(refused.code(), Code::Unauthenticated);
    let mut known = ServerReflectionClient::with_interceptor(world.channel().await, Bearer(TOKEN));
    let mut told = known.server_reflection_info(request()).await.expect("it is let in").into_inner();
    let told = told.message().await.expect("an answer").expect("an answer").message_response;
    let Some(MessageResponse::ListServicesResponse(services)) = told else { panic!("{told:?}") };
    assert!(services.service.iter().any(|service| service.name == "vertebra.v1.Hooks"), "{services:?}");
}

/// Asks for the numbers.
const NUMBERS: &str = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

/// Whether these lines are on a page.
#[track_caller]
fn tells(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(page.lines().any(|told| told == *line), "{line} is not in\n{page}");
    }
}

async fn get(address: SocketAddr, request: &str) -> String {
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    connection.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    soon(connection.read_to_string(&mut answer)).await.expect("all of it");
    answer
}

#[tokio::test]
async fn prometheus_reads_how_many_there_are_and_what_was_refused() {
    let world = World::running(&["one", "two"], limits()).await;
    let numbers = world.tell_metrics().await;
    let mut client = world.client("c").await;
    client.register(guard("g")).await.expect("it stands");
    let (results, ()) = tokio::join!(world.run(), async {
        let event = client.event().await;
        client.answer(event.id, "{}").await;
        client.event().await;
    });
    assert!(results[1].contains("no answer within"), "{results:?}");
    for _ in 0..3 {
        let stranger = SessionsClient::new(world.channel().await).list(ListSessionsRequest::default()).await;
        stranger.expect_err("it has no token");
    }
    let page = get(numbers, NUMBERS).await;
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    assert!(page.contains("connection: close"), "nobody holds a connection that others wait for: {page}");
    let expected = [
        "# TYPE vertebra_sessions_open gauge",
        "vertebra_sessions_open 1",
        "vertebra_sessions_running 0",
        "vertebra_clients_connected 1",
        "vertebra_hooks 1",
        "vertebra_approvals_waiting 0",
        "vertebra_lane_under_way{lane=\"generate\"} 0",
        "vertebra_events_put_total 2",
        "vertebra_events_ended_total{end=\"answered\"} 1",
        "vertebra_events_ended_total{end=\"timed_out\"} 1",
        "vertebra_requests_refused_total{code=\"Unauthenticated\"} 3",
        "vertebra_connections_refused_total{reason=\"timed_out\"} 0",
    ];
    tells(&page, &expected);
    let elsewhere = get(numbers, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
    let nonsense = get(numbers, "\0\0\0\0\r\n\r\n").await;
    assert!(nonsense.is_empty() || nonsense.starts_with("HTTP/1.1 400"), "{nonsense}");
}

#[tokio::test]
async fn prometheus_reads_what_failed_what_is_under_way_and_what_waits() {
    let one = Places { at_once: 1, at_once_of_one: 1, waiting: 1, waiting_of_one: 1 };
    let world = World::running(&["ask", "ask"], Limits { generate: one, ..limits() }).await;
    let numbers = world.tell_metrics().await;
    let mut client = world.client("c").await;
    client.register(patient_guard("g")).await.expect("it stands");
    let watch = Hook { point: "ExecutionEnd".to_owned(), role: Role::Watch.into(), ..guard("w") };
    client.register(watch).await.expect("it stands");
    // The guard fails once, then its client is lost, and nobody is there to see the end.
    let mut sessions = world.sessions().await;
    let session_id = open(&mut sessions).await;
    let events = prompt(&mut sessions, &session_id).await.expect("a run");
    let event = client.event().await;
    let failed = Some(answer::Answer::Failed("it threw".to_owned()));
    client.send(Said::Answer(Answer { id: event.id, answer: failed })).await;
    client.event().await;
    drop(client);
    results(events).await;
    let failed = [
        "vertebra_clients_connected 0",
        "vertebra_events_put_total 2",
        "vertebra_events_ended_total{end=\"answered\"} 0",
        "vertebra_events_ended_total{end=\"failed\"} 2",
        "vertebra_events_ended_total{end=\"missed\"} 1",
    ];
    tells(&get(numbers, NUMBERS).await, &failed);
    soon(async { while !get(numbers, NUMBERS).await.contains("\nvertebra_clients 0\n") {} }).await;

    // One run waits for an answer, and another for its turn.
    let (asks, _events) = world.asks(TOKEN).await;
    let waits = tokio::spawn(async move { prompt(&mut sessions, &asks).await.map(|_| ()) });
    until(|| world.server.waiting(Lane::Generate) == 1).await;
    soon(async { while !get(numbers, NUMBERS).await.contains("\nvertebra_approvals_waiting 1\n") {} }).await;
    let busy = [
        "vertebra_sessions_open 2",
        "vertebra_sessions_running 1",
        "vertebra_lane_under_way{lane=\"generate\"} 1",
        "vertebra_lane_waiting{lane=\"generate\"} 1",
        "vertebra_draining 0",
    ];
    tells(&get(numbers, NUMBERS).await, &busy);
    waits.abort();
}

#[tokio::test]
async fn prometheus_reads_which_connections_were_shown_out_and_why() {
    let world = World::new(Limits { connections: 1, patience: Duration::from_millis(300), ..limits() }).await;
    let numbers = world.tell_metrics().await;
    let connect = async || TcpStream::connect(world.address).await.expect("a connection");
    let (mut first, mut second) = (connect().await, connect().await);
    for connection in [&mut first, &mut second] {
        // Closed or broken off, it is over.
        let _ = soon(connection.read_to_end(&mut Vec::new())).await;
    }
    let shown_out = [
        "vertebra_connections_refused_total{reason=\"crowded_out\"} 1",
        "vertebra_connections_refused_total{reason=\"timed_out\"} 1",
    ];
    tells(&get(numbers, NUMBERS).await, &shown_out);
}

#[tokio::test]
async fn a_server_that_goes_down_says_so_to_everybody_and_begins_nothing() {
    let world = World::running(&["ls"], limits()).await;
    let numbers = world.tell_metrics().await;
    let mut client = world.client("c").await;
    client.register(patient_guard("g")).await.expect("it stands");
    let mut sessions = world.sessions().await;
    let (busy, idle) = (open(&mut sessions).await, open(&mut sessions).await);
    let under_way = prompt(&mut sessions, &busy).await.expect("a run");
    let event = client.event().await;
    let (mut others, of) = (sessions.clone(), busy.clone());
    let waits = tokio::spawn(async move { prompt(&mut others, &of).await.map(|_| ()) });
    until(|| world.server.waiting(Lane::Generate) == 1).await;
    let start = Hook { point: "SessionStart".to_owned(), role: Role::Watch.into(), ..patient_guard("start") };
    client.register(start).await.expect("it stands");
    let mut others = sessions.clone();
    let opens = tokio::spawn(async move { others.create(CreateSessionRequest::default()).await });
    let begins = client.event().await;

    let server = world.server.clone();
    let going_down = tokio::spawn(async move { server.shut_down().await });
    until(|| world.server.is_going_down()).await;
    let told = client.frame().await.expect("it is told");
    assert!(matches!(told, Frame::Draining(Draining { within_ms: 20_000 })), "{told:?}");
    tells(&get(numbers, NUMBERS).await, &["vertebra_draining 1"]);
    let unavailable = |status: Status| assert_eq!(status.code(), Code::Unavailable, "{status}");
    unavailable(sessions.create(CreateSessionRequest::default()).await.expect_err("nothing is opened"));
    unavailable(prompt(&mut sessions, &idle).await.expect_err("nothing is begun"));
    let resume = ResumeRequest { session_id: busy };
    unavailable(sessions.resume(resume).await.expect_err("nothing is taken up"));
    unavailable(Client::attach(world.hooks().await, "d").await.err().expect("nobody comes"));
    client.answer(begins.id, "{}").await;
    unavailable(soon(opens).await.expect("it ends").expect_err("it came too late"));
    client.answer(event.id, "{}").await;
    results(under_way).await;
    unavailable(soon(waits).await.expect("it ends").expect_err("it waited in vain"));
    assert_eq!(soon(going_down).await.ok(), Some(0));
    let mut kept: Vec<_> = world.journal.sessions(&Rows::default()).expect("the journal");
    kept.retain(|row| row.status != Kept::Unfinished);
    assert_eq!(kept.iter().map(|row| row.status).collect::<Vec<_>>(), [Kept::Suspended], "all others were left");
}
