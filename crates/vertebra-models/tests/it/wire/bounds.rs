//! Nothing from outside is endless, and nobody waits for ever.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpListener};
use vertebra::{Deltas, ErrorClass, Model};

use super::{
    answer, failure,
    formats::{Format, Say, WIRES, formats},
    question,
    server::{Reply, Server},
};

#[tokio::test]
async fn an_endless_answer_ends() {
    for wire in formats() {
        let event = wire.events(&[Say::Text("and so on ")]).remove(usize::from(wire.format == Format::Chat));
        let reply = Reply::stream(wire.content_type(), vec![event.repeat(100).into_bytes()]).then_repeat();
        let server = Server::start([reply]).await;
        let driver = wire.driver(&server).max_answer_bytes(200_000);
        let error = driver.infer(&question(), &mut Deltas::collect()).await.expect_err("endless");
        assert_eq!(error.class(), ErrorClass::Broken, "{}: {error}", wire.name);
    }
}

#[tokio::test]
async fn an_endless_line_ends() {
    for wire in formats() {
        let reply = Reply::stream(wire.content_type(), vec![b"data: ".to_vec(), vec![b'x'; 1 << 16]]).then_repeat();
        let error = failure(wire, reply).await;
        assert_eq!(error.class(), ErrorClass::Broken, "{}: {error}", wire.name);
    }
}

#[tokio::test]
async fn an_endless_error_ends() {
    let error = failure(WIRES[0], Reply::status(500, &[], vec![b'x'; 1 << 14]).then_repeat()).await;
    assert_eq!(error.class(), ErrorClass::ModelBusy, "{error}");
}

/// Calls of chat completions under these indices, two pieces each, and the end.
fn calls(indices: impl IntoIterator<Item = u32>) -> String {
    let chunk = |call: &Value| {
        let choice = json!({ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let call = |index: u32| {
        let begun = json!({ "name": "read", "arguments": "{\"path\":" });
        let begun = json!({ "index": index, "id": format!("id-{index}"), "type": "function", "function": begun });
        chunk(&begun) + &chunk(&json!({ "index": index, "function": { "arguments": format!("\"{index}\"}}") } }))
    };
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    indices.into_iter().map(call).collect::<String>() + &format!("data: {end}\n\ndata: [DONE]\n\n")
}

#[tokio::test]
async fn a_call_comes_once_under_whatever_index_and_there_are_not_too_many() {
    // Some servers begin at 1, and a huge index must take no memory.
    let reply = Reply::stream("text/event-stream", vec![calls([1, 2, u32::MAX]).into_bytes()]);
    let (response, _) = answer(WIRES[0], reply).await.expect("an answer");
    let told: Vec<String> = response.calls.iter().map(|call| format!("{} {}", call.id, call.written())).collect();
    let expected = [r#"id-1 {"path":"1"}"#, r#"id-2 {"path":"2"}"#, r#"id-4294967295 {"path":"4294967295"}"#];
    assert_eq!(told, expected);
    let error = failure(WIRES[0], Reply::stream("text/event-stream", vec![calls(0..300).into_bytes()])).await;
    assert_eq!(error.class(), ErrorClass::Broken, "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_say_what_it_sends_is_held_to_the_same_bounds() {
    for kind in ["", "text/plain", "application/octet-stream"] {
        for wire in formats().filter(|wire| wire.format != Format::Ollama) {
            let body = wire.body(&[Say::Text("Hello.")]);
            let (response, _) = answer(wire, Reply::stream(kind, vec![body.into_bytes()])).await.expect("an answer");
            assert_eq!(response.text, "Hello.", "{} {kind}", wire.name);
            let half = wire.events(&[Say::Text("Hel"), Say::Text("lo.")])[..2].concat();
            let error = failure(wire, Reply::stream(kind, vec![half.into_bytes()])).await;
            assert_eq!(error.class(), ErrorClass::Broken, "{} {kind}: {error}", wire.name);
        }
        let error = failure(WIRES[0], Reply::stream(kind, vec![calls(0..300).into_bytes()])).await;
        assert_eq!(error.class(), ErrorClass::Broken, "{kind}: {error}");
    }
}

#[tokio::test]
async fn a_long_answer_comes_whole() {
    for wire in formats() {
        let events = wire.events(&[Say::Text("0123456789")]);
        let text = events.iter().position(|event| event.contains("0123456789")).expect("the text");
        let mut body = events.clone();
        let huge = events[text].replace("0123456789", &"0123456789".repeat(10_000));
        body.splice(text..=text, std::iter::repeat_n(events[text].clone(), 1_000).chain([huge]));
        let pieces = body.concat().into_bytes().chunks(4096).map(<[u8]>::to_vec).collect();
        let (response, shown) = answer(wire, Reply::stream(wire.content_type(), pieces)).await.expect("an answer");
        assert_eq!((response.text.len(), shown.len()), (110_000, 110_000), "{}", wire.name);
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left() {
    // All at once, so that each may have the time to begin that a busy machine needs.
    let silences = formats().flat_map(|wire| {
        let begun = Reply::stream(wire.content_type(), vec![wire.events(&[Say::Text("Hel")])[0].clone().into_bytes()]);
        let cases = [(begun, ErrorClass::Broken), (Reply::nothing(), ErrorClass::Network)];
        cases.map(|(reply, class)| async move {
            let server = Server::start([reply.then_wait()]).await;
            let (short, long) = (Duration::from_secs(2), Duration::from_mins(9));
            let (first, idle) = if class == ErrorClass::Broken { (long, short) } else { (short, long) };
            let driver = wire.driver(&server).first_timeout(first).idle_timeout(idle);
            let error = driver.infer(&question(), &mut Deltas::collect()).await.expect_err("silence");
            assert_eq!(error.class(), class, "{}: {error}", wire.name);
            assert!(error.to_string().contains("for 2 seconds"), "{error}");
        })
    });
    join_all(silences).await;
}

#[tokio::test]
async fn when_nobody_waits_any_more_the_connection_is_closed() {
    for wire in formats() {
        let begun = wire.events(&[Say::Text("Hel")])[..1].concat();
        let mut server =
            Server::start([Reply::stream(wire.content_type(), vec![begun.into_bytes()]).then_wait()]).await;
        let driver = wire.driver(&server);
        let call = tokio::spawn(async move { driver.infer(&question(), &mut Deltas::collect()).await });
        while server.received().is_empty() {
            tokio::task::yield_now().await;
        }
        call.abort();
        server.a_client_goes().await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_speaks_no_tls_was_not_reached() {
    let server = Server::start([Reply::nothing()]).await;
    let plain = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let no_tls = format!("https://{}/v1", plain.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = plain.accept().await {
            let _ = socket.write_all(b"HTTP/1.1 400 Speak HTTP\r\n\r\n").await;
        }
    });
    for url in ["http://127.0.0.1:1/v1", "https://127.0.0.1:1/v1", "http://no-such-host.invalid/v1", &no_tls] {
        let driver = WIRES[0].driver(&server).base_url(url).expect("a URL");
        let error = driver.infer(&question(), &mut Deltas::collect()).await.expect_err(url);
        assert_eq!(error.class(), ErrorClass::Network, "{url}: {error}");
    }
}
