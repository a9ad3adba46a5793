//! Everything that can go wrong comes out as its class, with the provider's words and without its key.

use std::time::Duration;

use vertebra::{Deltas, ErrorClass, Model, ModelError};
use vertebra_models::Secret;

use super::{
    failure,
    formats::{Format, KEY, Say, WIRES, Wire, formats},
    question,
    server::{Reply, Server},
};

const HELLO: &[Say] = &[Say::Text("Hel"), Say::Text("lo.")];

/// A status, how this kind of provider says it, and what it means.
const SAID: [(&[Format], u16, &str, ErrorClass); 22] = {
    use ErrorClass::{ModelBusy as Busy, ModelRejected as Rejected, TooLong, Unauthorised};
    use Format::{Anthropic, Chat, Gemini, Ollama, Responses};
    const OPENAI: &[Format] = &[Chat, Responses];
    const ALL: &[Format] = &[Chat, Responses, Anthropic, Gemini, Ollama];
    [
        (ALL, 400, r#"{"error":{"message":"bad request"}}"#, Rejected),
        (ALL, 401, r#"{"error":{"message":"who are you?"}}"#, Unauthorised),
        (ALL, 403, "<html>no</html>", Unauthorised),
        (ALL, 404, r#"{"error":"model 'x' not found"}"#, Rejected),
        (ALL, 429, r#"{"error":{"message":"slow down"}}"#, Busy),
        (ALL, 500, "oops", Busy),
        (ALL, 502, "<html>bad gateway</html>", Busy),
        (ALL, 503, "", Busy),
        (ALL, 529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Busy),
        (ALL, 302, "", Rejected),
        (
            OPENAI,
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
            TooLong,
        ),
        (
            OPENAI,
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            TooLong,
        ),
        (OPENAI, 400, r#"{"error":{"message":"Please reduce the length of the messages or completion."}}"#, TooLong),
        (OPENAI, 400, r#"{"code":"invalid-argument","error":"This model's maximum prompt length is 131072"}"#, TooLong),
        (
            OPENAI,
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            Rejected,
        ),
        (OPENAI, 402, r#"{"error":{"message":"Insufficient Balance"}}"#, Rejected),
        (
            &[Anthropic],
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            TooLong,
        ),
        (
            &[Anthropic],
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            TooLong,
        ),
        (
            &[Gemini],
            400,
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            TooLong,
        ),
        (
            &[Gemini],
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            Unauthorised,
        ),
        (&[Ollama], 400, r#"{"error":"registry/model does not support tools"}"#, Rejected),
        (&[Ollama], 500, r#"{"error":"the input length exceeds the context length"}"#, TooLong),
    ]
};

#[tokio::test]
async fn each_status_has_its_class_and_the_providers_words() {
    for wire in WIRES {
        for (formats, status, body, class) in SAID {
            if formats.contains(&wire.format) {
                let error = failure(wire, Reply::status(status, &[("request-id", "req-7")], body)).await;
                assert_eq!(error.class(), class, "{} {status} {body}: {error}", wire.name);
                let text = error.to_string();
                assert!(text.contains(&status.to_string()) && text.ends_with("(request req-7)"), "{text}");
            }
        }
    }
}

fn wait_of(error: &ModelError) -> Option<Duration> {
    match error {
        ModelError::Busy { wait, .. } => *wait,
        error => panic!("not busy: {error}"),
    }
}

#[tokio::test]
async fn a_provider_that_says_how_long_to_wait_is_heard() {
    let wire = WIRES[0];
    let wait =
        async |headers: &[(&str, &str)], body: &str| wait_of(&failure(wire, Reply::status(429, headers, body)).await);
    assert_eq!(wait(&[("retry-after", "7")], "").await, Some(Duration::from_secs(7)));
    assert_eq!(wait(&[("retry-after-ms", "1500"), ("retry-after", "2")], "").await, Some(Duration::from_millis(1500)));
    assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], "").await, Some(Duration::ZERO));
    let far = wait(&[("retry-after", "Tue, 01 Jan 2999 00:00:00 GMT")], "").await;
    assert_eq!(far, Some(Duration::from_hours(24)), "longer than anybody waits");
    let details = r#"{"error":{"message":"quota","details":[{"@type":"x"},{"retryDelay":"23.5s"}]}}"#;
    assert_eq!(wait(&[], details).await, Some(Duration::from_millis(23_500)));
    for nonsense in ["soon", "-1", "NaN", "1e999"] {
        assert_eq!(wait(&[("retry-after", nonsense)], "").await, None, "{nonsense}");
    }
}

/// An error in the middle of a stream, as this provider says it.
fn said_in_the_middle(wire: Wire) -> (&'static str, ErrorClass) {
    match wire.format {
        Format::Chat => (r#"data: {"error":{"message":"Provider disconnected","code":502}}"#, ErrorClass::ModelBusy),
        Format::Responses => (
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}}}",
            ErrorClass::ModelBusy,
        ),
        Format::Anthropic => (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
            ErrorClass::ModelBusy,
        ),
        Format::Gemini => (r#"data: {"promptFeedback":{"blockReason":"SAFETY"}}"#, ErrorClass::ModelRejected),
        Format::Ollama => (r#"{"error":"an unknown thing happened"}"#, ErrorClass::Broken),
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_has_its_class_too() {
    for wire in formats() {
        let (event, class) = said_in_the_middle(wire);
        let mut events = wire.events(HELLO);
        events.insert(2, format!("{event}\n\n"));
        let error = failure(wire, Reply::stream(wire.content_type(), vec![events.concat().into_bytes()])).await;
        assert_eq!(error.class(), class, "{}: {error}", wire.name);
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_before_the_answer_was_not_reached() {
    for wire in formats() {
        let error = failure(wire, Reply::nothing()).await;
        assert_eq!(error.class(), ErrorClass::Network, "{}: {error}", wire.name);
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_anywhere_before_its_end_is_broken() {
    for wire in formats() {
        let events = wire.events(HELLO);
        for whole in 0..events.len() {
            let (said, half) = (events[..whole].concat(), &events[whole][..events[whole].len() / 2]);
            for body in [said.clone(), format!("{said}{half}")] {
                let reply = Reply::stream(wire.content_type(), vec![body.into_bytes()]);
                // Cut in the middle of HTTP, and ended as if all were well.
                for reply in [reply.clone().then_cut(), reply] {
                    let error = failure(wire, reply).await;
                    assert_eq!(error.class(), ErrorClass::Broken, "{} behind {whole}: {error}", wire.name);
                }
            }
        }
    }
}

#[tokio::test]
async fn an_answer_in_the_format_of_somebody_else_is_broken_and_not_empty() {
    for asked in formats() {
        for answers in formats().filter(|answers| answers.format != asked.format) {
            // Some gateways put the end of chat completions behind everything.
            for end in ["", "data: [DONE]\n\n"] {
                let body = answers.body(HELLO) + end;
                let error = failure(asked, Reply::stream("text/event-stream", vec![body.into_bytes()])).await;
                assert_eq!(error.class(), ErrorClass::Broken, "{} by {}: {error}", asked.name, answers.name);
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_utf_8_or_no_json_breaks_an_answer() {
    for wire in formats() {
        let mut bytes = wire.body(HELLO).into_bytes();
        let at = bytes.windows(3).position(|window| window == b"Hel").expect("the text");
        bytes[at] = 0xff;
        let garbage = if wire.format == Format::Ollama { "{oops\n".to_owned() } else { "data: {oops\n\n".to_owned() };
        let torn = garbage + &wire.body(HELLO);
        for body in [bytes, torn.into_bytes()] {
            let error = failure(wire, Reply::stream(wire.content_type(), vec![body])).await;
            assert_eq!(error.class(), ErrorClass::Broken, "{}: {error}", wire.name);
        }
    }
}

#[tokio::test]
async fn a_page_or_an_answer_in_one_piece_is_no_stream() {
    for wire in formats() {
        for (kind, body) in [("text/html", "<html>Welcome</html>"), ("application/json", r#"{"choices":[]}"#)] {
            let error = failure(wire, Reply::status(200, &[("content-type", kind)], body)).await;
            assert_eq!(error.class(), ErrorClass::ModelRejected, "{}: {error}", wire.name);
        }
    }
}

#[tokio::test]
async fn an_error_is_bounded_on_one_line_and_without_the_key() {
    let page = "\u{1b}[31m line\n".repeat(10_000);
    for body in
        [page.clone(), format!("{{\"error\":{{\"message\":\"wrong key {KEY} \\n{}\"}}}}", page.escape_default())]
    {
        for status in [400, 401, 429, 500] {
            let reply = Reply::status(status, &[("x-request-id", KEY)], body.clone());
            let error = failure(WIRES[0], reply).await;
            let (shown, debug) = (error.to_string(), format!("{error:?}"));
            assert!(shown.chars().count() < 1200, "{} characters", shown.chars().count());
            assert!(!shown.contains(|letter: char| letter.is_control()), "{shown}");
            assert!(!shown.contains(KEY) && !debug.contains(KEY), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_told_and_nothing_is_sent_without_it() {
    let server = Server::start([WIRES[0].reply(HELLO)]).await;
    for key in ["“sk-planted”", "sk-plan\nted"] {
        let driver = WIRES[0].driver(&server).key(Secret::new(key));
        let error = driver.infer(&question(), &mut Deltas::collect()).await.expect_err(key);
        let told = "the provider refused our credentials: the API key for openai contains invalid characters; check that it was copied completely";
        assert_eq!(error.to_string(), told);
    }
    assert!(server.received().is_empty());
}
