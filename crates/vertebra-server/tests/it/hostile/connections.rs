//! Connections that say nothing, little, or nonsense.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, interval},
};
use vertebra_server::{
    Limits,
    door::{Door, Known},
    proto::ListSessionsRequest,
};

use super::world::{Papers, TOKEN, World, limits, soon};

/// What every HTTP/2 client says first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Waits until the server hangs up.
async fn hung_up(mut connection: TcpStream) {
    let mut told = Vec::new();
    // Closed or broken off, it is over.
    let _ = soon(connection.read_to_end(&mut told)).await;
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("a connection")
}

fn impatient() -> Limits {
    Limits { patience: Duration::from_millis(300), ..limits() }
}

/// Says a byte now and then, without end, until nobody listens.
async fn drip(address: SocketAddr, bytes: &[u8]) {
    let mut connection = connect(address).await;
    let mut ticks = interval(Duration::from_millis(20));
    for byte in bytes.iter().cycle() {
        ticks.tick().await;
        if connection.write_all(&[*byte]).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn whoever_connects_and_says_nothing_or_a_byte_now_and_then_is_shown_out_in_time() {
    let world = World::new(impatient()).await;
    let began = Instant::now();
    // A preface, and the head of a frame of settings that never ends.
    let slow = [PREFACE, &[0, 0x40, 0, 4, 0, 0, 0, 0, 0], &[0; 1 << 14]].concat();
    let silent = async { hung_up(connect(world.address).await).await };
    let preface = async {
        let mut connection = connect(world.address).await;
        connection.write_all(PREFACE).await.expect("it is read");
        hung_up(connection).await;
    };
    soon(async { tokio::join!(silent, preface, drip(world.address, &slow), world.serves()) }).await;
    assert!(began.elapsed() >= Duration::from_millis(300), "nobody is shown out at once");
    world.serves().await;
}

#[tokio::test]
async fn nor_does_it_help_to_be_slow_with_tls() {
    let papers = Papers::new();
    let door = Door::Token(Known::one(TOKEN).into());
    let world = World::behind(&[], impatient(), door, Some(papers.tls(None))).await;
    // The head of a handshake, and nothing else.
    soon(drip(world.address, &[0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0])).await;
    hung_up(connect(world.address).await).await;
}

#[tokio::test]
async fn a_connection_stays_as_long_as_it_likes_once_a_request_on_it_was_let_in() {
    let world = World::new(impatient()).await;
    let mut sessions = world.sessions().await;
    sessions.list(ListSessionsRequest::default()).await.expect("a list");
    hung_up(connect(world.address).await).await;
    hung_up(connect(world.address).await).await;
    sessions.list(ListSessionsRequest::default()).await.expect("the same connection");
    // Tries to be let in do not make a connection stay.
    let channel = world.channel().await;
    let mut stranger = tonic_health::pb::health_client::HealthClient::new(channel);
    let mut watched = stranger.watch(tonic_health::pb::HealthCheckRequest::default()).await.expect("news").into_inner();
    while let Ok(Some(_)) = soon(watched.message()).await {}
}

#[tokio::test]
async fn where_there_is_no_room_strangers_make_some_and_whoever_was_let_in_stays() {
    let world = World::new(Limits { connections: 4, ..limits() }).await;
    let mut inside = Vec::new();
    for _ in 0..3 {
        let mut sessions = world.sessions().await;
        sessions.list(ListSessionsRequest::default()).await.expect("a list");
        inside.push(sessions);
    }
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(connect(world.address).await);
    }
    let last = strangers.pop();
    for stranger in strangers {
        hung_up(stranger).await;
    }
    let mut fourth = world.sessions().await;
    fourth.list(ListSessionsRequest::default()).await.expect("there is room for somebody who is let in");
    hung_up(last.expect("there is one")).await;
    // Now everybody inside was let in, and there is no room.
    hung_up(connect(world.address).await).await;
    for sessions in inside.iter_mut().chain([&mut fourth]) {
        sessions.list(ListSessionsRequest::default()).await.expect("nobody who was let in is shown out");
    }
    drop(inside);
    soon(async { while world.sessions().await.list(ListSessionsRequest::default()).await.is_err() {} }).await;
}

#[tokio::test]
async fn nonsense_is_hung_up_on_and_the_server_goes_on() {
    let world = World::new(limits()).await;
    let huge = [PREFACE, &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]].concat();
    let settings = [PREFACE, &[0, 0, 3, 4, 0, 0, 0, 0, 0, 1, 2, 3]].concat();
    let unasked = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0], &[0, 0, 4, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4]].concat();
    let header = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0], &[0, 0, 4, 1, 4, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]].concat();
    let noise: Vec<u8> = (0_u32..50_000).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let nonsense: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        &noise,
        &huge,
        &settings,
        &unasked,
        &header,
    ];
    for said in nonsense {
        let mut connection = connect(world.address).await;
        // It may hang up before it has heard all of it.
        let _ = connection.write_all(said).await;
        hung_up(connection).await;
    }
    world.serves().await;
}

#[tokio::test]
async fn somebody_who_holds_on_does_not_keep_the_server_from_going_down() {
    let world = World::new(limits()).await;
    let mut client = world.client("c").await;
    let _silent = connect(world.address).await;
    assert_eq!(soon(world.server.shut_down()).await, 0);
    soon(world.serving).await.expect("it ends").expect("in order");
    while client.frame().await.is_ok() {}
}
