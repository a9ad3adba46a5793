//! What a model says comes out the same, whoever says it and however its bytes are cut.

use std::fmt::Write as _;

use vertebra::Response;

use super::{
    answer,
    formats::{Format, Say, WIRES, Wire, formats},
    server::Reply,
};

const PLAIN: &[Say] = &[Say::Text("Grüße, "), Say::Text("Welt 🌍!")];
const THOUGHT: &[Say] = &[Say::Think("Hm, "), Say::Think("so 🤔."), Say::Text("Yes.")];
const ONE_CALL: &[Say] = &[Say::Text("I look."), Say::Calls(&[("read", &["{\"path\":", " \"ä", "🌍.txt\"}"])])];
const CALLS: &[Say] =
    &[Say::Calls(&[("read", &["{\"pa", "th\":\"a\"}"]), ("list", &["{}"]), ("read", &["{\"path\":", "\"b\"}"])])];

/// Each script and what it comes to.
const SCRIPTS: [(&str, &[Say], &str); 4] = [
    ("plain", PLAIN, "Grüße, Welt 🌍!"),
    ("thought", THOUGHT, "(Hm, so 🤔.) Yes."),
    ("one call", ONE_CALL, "I look. read{\"path\":\"ä🌍.txt\"}"),
    ("calls", CALLS, " read{\"path\":\"a\"} list{} read{\"path\":\"b\"}"),
];

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

async fn check(wire: Wire, script: &str, reply: Reply, expected: &str, context: &str) {
    let (response, shown) =
        answer(wire, reply).await.unwrap_or_else(|error| panic!("{} {script} {context}: {error}", wire.name));
    assert_eq!(told(&response), expected, "{} {script} {context}", wire.name);
    assert_eq!(shown, response.text, "{} {script} {context}", wire.name);
    let mut ids: Vec<_> = response.calls.iter().map(|call| &call.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), response.calls.len(), "{} {script}: two calls of one name", wire.name);
}

#[tokio::test]
async fn every_provider_gives_the_same_answer_to_the_same_script() {
    for wire in WIRES {
        for (script, says, expected) in SCRIPTS {
            check(wire, script, wire.reply(says), expected, "").await;
        }
    }
}
