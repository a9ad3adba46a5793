//! What a server tells of itself, and to whom.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};
use vertebra_server::proto::{ListSessionsRequest, sessions_client::SessionsClient};

use crate::world::{Bearer, TOKEN, World, guard, limits, soon};

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
    let page = get(numbers, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
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
    for line in expected {
        assert!(page.lines().any(|told| told == line), "{line} is not in\n{page}");
    }
    let elsewhere = get(numbers, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
    let nonsense = get(numbers, "\0\0\0\0\r\n\r\n").await;
    assert!(nonsense.is_empty() || nonsense.starts_with("HTTP/1.1 400"), "{nonsense}");
}
