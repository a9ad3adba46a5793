//! What a model says comes out the same, whoever says it and however its bytes are cut.

use std::{collections::HashSet, fmt::Write as _, sync::Arc};

use vertebra::{Deltas, Message, Model, Response, ToolCall};
use vertebra_models::{Adapter, Prices};

use super::{
    answer,
    formats::{Format, MODEL, Say, WIRES, Wire, formats},
    question,
    server::{Reply, Server},
};

const PLAIN: &[Say] = &[Say::Text("Grüße, "), Say::Text("Welt 🌍!")];

/// Each script and what it comes to.
const SCRIPTS: [(&[Say], &str); 5] = [
    (PLAIN, "Grüße, Welt 🌍!"),
    (&[Say::Think("Hm, "), Say::Think("so 🤔."), Say::Text("Yes.")], "(Hm, so 🤔.) Yes."),
    (&[Say::Calls(&[("read", &["{\"path\":", " \"ä", "🌍.txt\"}"])])], " read{\"path\":\"ä🌍.txt\"}"),
    (
        &[Say::Calls(&[("read", &["{\"path\":\"a\"}"]), ("list", &["{}"]), ("read", &["{}"])])],
        " read{\"path\":\"a\"} list{} read{}",
    ),
    EVERYTHING,
];

/// Thoughts, text, and calls written at the same time.
const EVERYTHING: (&[Say], &str) = (
    &[
        Say::Think("Hm 🤔"),
        Say::Text("I lööK."),
        Say::Calls(&[("read", &["{\"pa", "th\":\"ä🌍\"}"]), ("list", &["{", "}"])]),
    ],
    "(Hm 🤔) I lööK. read{\"path\":\"ä🌍\"} list{}",
);

fn told(response: &Response) -> String {
    let mut told = String::new();
    if !response.reasoning.is_empty() {
        write!(told, "({}) ", response.reasoning).expect("a string");
    }
    told.push_str(&response.text);
    for call in &response.calls {
        write!(told, " {}{}", call.tool, call.written()).expect("a string");
    }
    told
}

/// Each reply comes to what is expected.
async fn check(wire: Wire, replies: impl IntoIterator<Item = Reply>, expected: &str) -> usize {
    let replies: Vec<Reply> = replies.into_iter().collect();
    let count = replies.len();
    let server = Server::start(replies).await;
    let driver = wire.driver(&server);
    for at in 0..count {
        let context = format!("{}, reply {at}, expected {expected}", wire.name);
        let mut deltas = Deltas::collect();
        let response = driver.infer(&question(), &mut deltas).await;
        let response = response.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(told(&response), expected, "{context}");
        assert_eq!(deltas.shown(), response.text, "{context}");
        let ids: HashSet<_> = response.calls.iter().map(|call| &call.id).collect();
        assert_eq!(ids.len(), response.calls.len(), "two calls of one name: {context}");
    }
    count
}

/// The body in pieces.
fn pieces<'a>(wire: Wire, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reply {
    Reply::stream(wire.content_type(), pieces.into_iter().map(<[u8]>::to_vec).collect())
}

#[tokio::test]
async fn every_provider_gives_the_same_answer_to_the_same_script() {
    for wire in WIRES {
        for (says, expected) in SCRIPTS {
            check(wire, [wire.reply(says)], expected).await;
        }
    }
}

/// How far two cuts of one answer are from each other: far enough that each is a cut of its own.
const APART: usize = 64;

/// The body in pieces, cut at each place that is `first` plus a multiple of `APART`.
fn cut_from(first: usize, body: &[u8]) -> Vec<&[u8]> {
    let (head, rest) = body.split_at(first.min(body.len()));
    std::iter::once(head).chain(rest.chunks(APART)).collect()
}

#[tokio::test]
async fn an_answer_is_the_same_wherever_it_is_cut() {
    let (says, expected) = EVERYTHING;
    for wire in formats() {
        let body = wire.body(says).into_bytes();
        // Together they cut everywhere. The last one is cut into single bytes.
        let cuts = (1..=APART).map(|first| pieces(wire, cut_from(first, &body)));
        check(wire, cuts.chain([pieces(wire, body.chunks(1))]), expected).await;
    }
}

#[test]
fn the_cuts_are_everywhere() {
    for wire in formats() {
        let body = wire.body(EVERYTHING.0).into_bytes();
        let ends = |pieces: Vec<&[u8]>| {
            let end = |at: &mut usize, piece: &[u8]| {
                *at += piece.len();
                Some(*at)
            };
            pieces.into_iter().scan(0, end).collect::<Vec<_>>()
        };
        let cuts: HashSet<usize> = (1..=APART).flat_map(|first| ends(cut_from(first, &body))).collect();
        assert_eq!(cuts.len(), body.len(), "{}", wire.name);
    }
}

#[tokio::test]
async fn an_answer_is_the_same_with_the_line_ends_of_mail() {
    for wire in formats() {
        let (says, expected) = EVERYTHING;
        let body = wire.body(says).replace("\r\n", "\n").replace('\n', "\r\n").into_bytes();
        check(wire, [pieces(wire, body.chunks(1))], expected).await;
    }
}

#[tokio::test]
async fn comments_pings_and_blank_lines_are_not_part_of_an_answer() {
    for wire in formats() {
        let noise = match wire.format {
            Format::Ollama => "\n \n",
            Format::Anthropic => ": keep-alive\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n\n",
            Format::Chat | Format::Responses | Format::Gemini => ": OPENROUTER PROCESSING\n\n\n:\nretry: 10\nid: 1\n\n",
        };
        let (says, expected) = EVERYTHING;
        let events = wire.events(says);
        let among = events.iter().flat_map(|event| [noise.as_bytes(), event.as_bytes()]);
        check(wire, [pieces(wire, among)], expected).await;
    }
}

#[tokio::test]
async fn usage_finish_and_request_id_are_told() {
    for wire in WIRES {
        let (response, _) = answer(wire, wire.reply(PLAIN)).await.expect("an answer");
        let usage = response.usage;
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (100, 20, 40), "{}", wire.name);
        let written = if wire.format == Format::Anthropic { 10 } else { 0 };
        assert_eq!(usage.cache_write_tokens, written, "{}", wire.name);
        assert!(
            ["stop", "end_turn", "completed", "STOP"].contains(&&*response.finish),
            "{}: {}",
            wire.name,
            response.finish
        );
        assert_eq!(response.request_id.as_deref(), Some("req-of-header"), "{}", wire.name);
    }
}

#[tokio::test]
async fn an_answer_costs_what_the_prices_say() {
    let anthropic = formats().find(|wire| wire.format == Format::Anthropic).expect("a wire");
    let prices =
        format!("[{}]\n{MODEL} = {{ input = 1000, output = 100, cache_read = 10, cache_write = 1 }}", anthropic.name);
    let server = Server::start([anthropic.reply(PLAIN)]).await;
    let driver = anthropic.driver(&server);
    let unknown = driver.infer(&question(), &mut Deltas::collect()).await.expect("an answer").usage.cost_micros;
    let driver = driver.prices(Arc::new(Prices::parse(&prices).expect("prices")));
    let known = driver.infer(&question(), &mut Deltas::collect()).await.expect("an answer").usage.cost_micros;
    // 50 tokens in, 20 out, 40 from the cache, 10 into it.
    assert_eq!((unknown, known), (0, 50_000 + 2_000 + 400 + 10));
}

#[tokio::test]
async fn arguments_that_are_no_json_are_kept_as_they_were_written() {
    const TORN: &[Say] = &[Say::Calls(&[("read", &["{\"path\": ", "oops"])])];
    for wire in formats().filter(|wire| !matches!(wire.format, Format::Gemini | Format::Ollama)) {
        let (response, _) = answer(wire, wire.reply(TORN)).await.expect("an answer");
        assert_eq!(response.calls[0].malformed.as_deref(), Some("{\"path\": oops"), "{}", wire.name);
    }
}

#[tokio::test]
async fn a_call_has_a_name_that_no_other_call_of_the_conversation_has() {
    const CALL: &[Say] = &[Say::Calls(&[("read", &["{}"])])];
    for wire in formats() {
        let server = Server::start([wire.reply(CALL)]).await;
        let mut request = question();
        // The second was made when the conversation was longer, before it was summed up.
        let calls: Vec<_> = ["id-0", "call-2-0"].map(|id| ToolCall::from_text(id, "read", "{}")).into();
        request.messages.push(Message::assistant(Response { calls: calls.clone(), ..Response::default() }));
        let response = wire.driver(&server).infer(&request, &mut Deltas::collect()).await.expect("an answer");
        assert!(calls.iter().all(|call| call.id != response.calls[0].id), "{}: {:?}", wire.name, response.calls);
    }
}

#[tokio::test]
async fn cohere_is_read_too() {
    let wire = Wire { name: "cohere", adapter: Adapter::Cohere, format: Format::Ollama };
    let lines = [
        r#"{"is_finished":false,"event_type":"stream-start","generation_id":"g"}"#,
        r#"{"is_finished":false,"event_type":"text-generation","text":"Hello."}"#,
        r#"{"is_finished":true,"event_type":"stream-end","finish_reason":"COMPLETE","response":{"meta":{"tokens":{"input_tokens":3,"output_tokens":2}}}}"#,
    ];
    for (lines, whole) in [(&lines[..], true), (&lines[..2], false)] {
        let reply = Reply::stream("application/stream+json", vec![lines.join("\n").into_bytes()]);
        let told = answer(wire, reply).await.map(|(response, _)| response.text);
        assert_eq!(told.is_ok_and(|text| text == "Hello."), whole);
    }
}
