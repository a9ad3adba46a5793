//! Requests that are not what they should be.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use tonic::{Code, Request, Status, body::Body, codegen::Service as _};
use vertebra_server::{
    Limits,
    proto::{
        CreateSessionRequest, Hello, ListSessionsRequest, PromptRequest, Unregister, Welcome,
        client_frame::Frame as Said, server_frame::Frame,
    },
};

use super::world::{Client, TOKEN, World, limits, soon};

/// Sends these bytes as the body of a request, and tells what the server says.
async fn raw(world: &World, method: &str, body: Vec<u8>) -> Status {
    let mut channel = world.channel().await;
    let request = hyper::Request::post(format!("http://{}/vertebra.v1.{method}", world.address))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {TOKEN}"))
        .body(Body::new(Full::new(Bytes::from(body)).map_err(|never| match never {})))
        .expect("a request");
    let answer = soon(async {
        std::future::poll_fn(|cx| channel.poll_ready(cx)).await.expect("a connection");
        channel.call(request).await.expect("an answer")
    })
    .await;
    if let Some(status) = Status::from_header_map(answer.headers()) {
        return status;
    }
    let rest = soon(answer.into_body().collect()).await.expect("all of it");
    Status::from_header_map(rest.trailers().expect("a status")).expect("a status")
}

/// A message behind its length.
fn message(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("it is short").to_be_bytes();
    [&[0], &length[..], bytes].concat()
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_the_fault_of_who_sent_it() {
    let world = World::new(limits()).await;
    // Field 1, five bytes of text, of which two are there.
    for bytes in [&[0x0a, 5, b'a', b'b'][..], &[0xff; 16], &[0x0a, 2, 0xff, 0xfe], &[0x0b; 1000]] {
        let status = raw(&world, "Sessions/Create", message(bytes)).await;
        assert_eq!(status.code(), Code::InvalidArgument, "{bytes:?}: {status}");
        let status = raw(&world, "Hooks/Attach", message(bytes)).await;
        assert_eq!(status.code(), Code::InvalidArgument, "{bytes:?}: {status}");
    }
    // To be registered: a hook that matches what does not match what does not match…
    let within = |tag: u8, inner: &[u8]| [&[tag][..], &varint(inner.len()), inner].concat();
    let deep = (0..10_000).fold(Vec::new(), |inner, _| within(0x5a, &inner));
    let status = raw(&world, "Hooks/Attach", message(&within(0x12, &within(0x12, &within(0x22, &deep))))).await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    assert!(status.message().contains("recursion limit"), "{status}");
    world.serves().await;
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = vec![];
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).expect("seven bits") | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).expect("seven bits"));
    bytes
}

#[tokio::test]
async fn what_is_too_large_is_refused_by_its_length_before_it_is_there() {
    let world = World::new(limits()).await;
    for length in [u32::MAX, (4 << 20) + 1] {
        let claimed = [&[0][..], &length.to_be_bytes()].concat();
        let status = raw(&world, "Sessions/Create", claimed.clone()).await;
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        let status = raw(&world, "Hooks/Attach", claimed).await;
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    }
    let mut sessions = world.sessions().await;
    let session_id = sessions.create(CreateSessionRequest::default()).await.expect("a session").into_inner().id;
    let long = PromptRequest { session_id, text: "x".repeat((1 << 20) + 1) };
    let status = sessions.prompt(long).await.expect_err("it is too long");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let labels = (0..33).map(|number| (number.to_string(), String::new())).collect();
    let many = CreateSessionRequest { labels, ..CreateSessionRequest::default() };
    assert_eq!(sessions.create(many).await.expect_err("they are too many").code(), Code::InvalidArgument);
}

#[tokio::test]
async fn headers_have_a_bound_and_unknown_methods_are_not_there() {
    let world = World::new(limits()).await;
    let mut sessions = world.sessions().await;
    let mut request = Request::new(ListSessionsRequest::default());
    for number in 0..40 {
        let key = tonic::metadata::MetadataKey::from_bytes(format!("x-{number}").as_bytes()).expect("a key");
        request.metadata_mut().insert(key, "x".repeat(1000).parse().expect("a value"));
    }
    soon(sessions.list(request)).await.expect_err("there are 40 kB of them");
    world.serves().await;
    assert_eq!(raw(&world, "Sessions/Destroy", message(&[])).await.code(), Code::Unimplemented);
    assert_eq!(raw(&world, "Nothing/List", message(&[])).await.code(), Code::Unimplemented);
}

#[tokio::test]
async fn the_first_frame_is_a_hello_with_a_name_and_comes_in_time() {
    let world = World::new(Limits { patience: Duration::from_millis(300), ..limits() }).await;
    let hello = |client_id: String| Said::Hello(Hello { client_id, agent: String::new() });
    let refused = [
        Said::Unregister(Unregister { request: 1, name: "x".to_owned() }),
        hello(String::new()),
        hello("x".repeat(201)),
    ];
    for first in refused {
        let status = Client::begin(world.hooks().await, first).await.err().expect("it is refused");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    let silent = soon(world.hooks().await.attach(futures_util::stream::pending())).await.expect_err("nothing came");
    assert_eq!(silent.code(), Code::DeadlineExceeded, "{silent}");
}

#[tokio::test]
async fn a_client_is_told_who_it_is_what_it_may_and_whether_it_was_waited_for() {
    let few = Limits { grace: Duration::from_millis(1500), in_flight: 7, answer_bytes: 1234, ..limits() };
    let world = World::new(few).await;
    let hello = || Said::Hello(Hello { client_id: "c".to_owned(), agent: String::new() });
    for resumed in [false, true] {
        let mut client = Client::begin(world.hooks().await, hello()).await.expect("it is let in");
        let Ok(Frame::Welcome(welcome)) = client.frame().await else { panic!("it is welcome") };
        let expected = Welcome {
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            principal: "token".to_owned(),
            grace_ms: 1500,
            max_in_flight: 7,
            max_answer_bytes: 1234,
            resumed,
        };
        assert_eq!(welcome, expected);
    }
}

#[tokio::test]
async fn clients_beyond_the_limit_are_refused_until_somebody_has_left() {
    let world = World::new(Limits { clients: 2, ..limits() }).await;
    let (_one, two) = (world.client("one").await, world.client("two").await);
    let status = Client::attach(world.hooks().await, "three").await.err().expect("there is no room");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    drop(two);
    soon(async { while Client::attach(world.hooks().await, "three").await.is_err() {} }).await;
}
