//! Hundreds of tools, of which the model sees the ones it needs.

use std::sync::{Arc, Mutex};

use serde_json::json;
use vertebra::{
    AgentBuilder, AgentTool,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::registry::{ACTIVE, ToolRegistry};

use crate::{
    sheet::Sheet,
    support::{built, read_by_model, restored},
};

pub(crate) fn sheet() -> Sheet {
    let registry = ToolRegistry::default();
    Sheet {
        name: "ToolRegistry",
        purpose: "Keeps tools out of the context until the model looks them up.",
        install: |builder| {
            builder.with(ToolRegistry::default());
        },
        knobs: vec![("max_active", registry.max_active.to_string()), ("always", format!("{:?}", registry.always))],
    }
}

/// An agent with 300 tools: `alpha_000` to `alpha_298`, and one that sends letters.
fn with_many(model: &Script, registry: ToolRegistry) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    for number in 0..299 {
        builder.tool(RecordingTool::new(&format!("alpha_{number:03}")));
    }
    let schema = json!({
        "type": "object",
        "properties": {"recipient": {"type": "string", "description": "Whom to write to"}},
        "required": ["recipient"]
    });
    let letter =
        |spec: vertebra::ToolSpec| vertebra::ToolSpec { description: "Sends a letter".into(), ..spec.schema(schema) };
    builder.tool(RecordingTool::new("post_send").replying("sent").with(letter)).with(registry);
    builder
}

/// The names of the tools in each request.
fn offered(model: &Script) -> Vec<Vec<String>> {
    let names = |request: &vertebra::Request| request.tools.iter().map(|offer| offer.name.to_string()).collect();
    model.requests().iter().map(names).collect()
}

/// The names of the first so many alphas, as the request has them besides `tools`.
fn alphas(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("alpha_{number:03}")).chain(["tools".to_owned()]).collect()
}

#[tokio::test]
async fn of_three_hundred_tools_the_model_finds_one_reads_its_help_and_calls_it_past_the_guards() {
    let model = Script::new()
        .call("tools", r#"{"action": "search", "query": "send a letter"}"#)
        .call("tools", r#"{"action": "help", "tool": "post_send"}"#)
        .call("post_send", r#"{"recipient": "Ada"}"#)
        .call("post_send", r#"{"recipient": "Bob"}"#)
        .say("sent");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let mut builder = with_many(&model, ToolRegistry::default());
    builder.guard(BeforeToolUse.tool("post_send").named("post-office"), async move |cx| {
        let recipient = cx.args.text("recipient").unwrap_or_default().to_owned();
        kept.lock().expect("a log").push(recipient.clone());
        if recipient == "Bob" { deny("not to Bob") } else { proceed() }
    });
    built(&mut builder).run("write to Ada").await.expect("a run");

    assert_eq!(
        offered(&model),
        [
            vec!["tools"],
            vec!["post_send", "tools"],
            vec!["post_send", "tools"],
            vec!["post_send", "tools"],
            vec!["post_send", "tools"]
        ]
    );
    let told = read_by_model(&model);
    assert_eq!(told[0], "done: 1 of 1 tools found, the best first\npost_send: Sends a letter");
    assert!(told[1].starts_with("done: post_send: Sends a letter\nArguments, as a JSON schema: {"), "{}", told[1]);
    assert!(told[1].contains("Whom to write to"), "{}", told[1]);
    assert_eq!(told[2..], ["done: sent", "blocked: blocked by post-office: not to Bob"]);
    assert_eq!(*seen.lock().expect("a log"), ["Ada", "Bob"]);
}

#[tokio::test]
async fn a_call_to_a_tool_that_is_not_in_the_context_works_and_brings_it_in() {
    let model = Script::new().call("alpha_123", "{}").say("done");
    built(&mut with_many(&model, ToolRegistry::default())).run("go").await.expect("a run");
    assert_eq!(read_by_model(&model), ["done: ok"]);
    assert_eq!(offered(&model), [vec!["tools"], vec!["alpha_123", "tools"]]);
}

#[tokio::test]
async fn those_that_are_always_offered_are_named_or_described_by_a_pattern() {
    let model = Script::new().say("done");
    let registry = ToolRegistry::default().always("post_send").always("alpha_00*");
    built(&mut with_many(&model, registry)).run("go").await.expect("a run");
    let mut expected = alphas(0..10);
    expected.insert(10, "post_send".to_owned());
    assert_eq!(offered(&model), [expected]);
}

#[tokio::test]
async fn a_pattern_that_is_none_is_an_error_and_one_that_no_tool_satisfies_is_reported() {
    let mut builder = Agent::builder(Script::new());
    let error = builder.with(ToolRegistry::default().always("/(/")).build().map(drop).expect_err("no pattern");
    assert!(error.to_string().contains("`registry/used` has an invalid tool pattern `(`"), "{error}");
    let mut builder = Agent::builder(Script::new());
    let agent = built(builder.with(ToolRegistry::default().always("bsah")));
    assert_eq!(agent.unmatched_tools(), ["hook `registry/used` matches tool `bsah`, but no tool has that name"]);
}

#[tokio::test]
async fn what_was_found_or_used_longest_ago_leaves_the_context_first() {
    let two = ToolRegistry { max_active: 2, ..ToolRegistry::default() };
    let model = Script::new()
        .call("tools", r#"{"action": "help", "tool": "alpha_001"}"#)
        .call("tools", r#"{"action": "help", "tool": "alpha_002"}"#)
        .call("alpha_001", "{}")
        .call("tools", r#"{"action": "help", "tool": "alpha_003"}"#)
        .say("done");
    built(&mut with_many(&model, two)).run("go").await.expect("a run");
    assert_eq!(offered(&model)[3], ["alpha_001", "alpha_002", "tools"]);
    assert_eq!(offered(&model)[4], ["alpha_001", "alpha_003", "tools"]);
}

#[tokio::test]
async fn a_search_that_finds_everything_fills_the_context_no_further_than_allowed() {
    let model = Script::new().call("tools", r#"{"action": "search", "query": "alpha", "limit": 100}"#).say("done");
    let mut session = built(&mut with_many(&model, ToolRegistry::default())).session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert!(read_by_model(&model)[0].starts_with("done: 100 of 299 tools found, the best first\nalpha_000: "));
    assert_eq!(offered(&model)[1], alphas(0..20));
    let kept = session.state().await.metadata().get(ACTIVE).expect("active tools").clone();
    assert_eq!(kept.as_array().map(Vec::len), Some(20));
}

#[tokio::test]
async fn tools_are_listed_by_name_ten_unless_told_otherwise() {
    let model = Script::new()
        .call("tools", r#"{"action": "list"}"#)
        .call("tools", r#"{"action": "list", "limit": 1}"#)
        .say("done");
    built(&mut with_many(&model, ToolRegistry::default())).run("go").await.expect("a run");
    let told = read_by_model(&model);
    assert_eq!(told[0].lines().count(), 11);
    assert_eq!(
        told[1],
        "done: 300 tools, of which the first 1 by name; `search` finds the others\nalpha_000: remembers its calls"
    );
    assert_eq!(offered(&model)[2], ["tools"], "a list brings nothing in");
}

#[tokio::test]
async fn a_question_that_cannot_be_answered_says_what_is_missing() {
    let cases = [
        (r#"{"action": "search"}"#, "failed: `search` needs a `query`: what the tool should do, in a few words"),
        (
            r#"{"action": "search", "query": "  "}"#,
            "failed: `search` needs a `query`: what the tool should do, in a few words",
        ),
        (r#"{"action": "search", "query": "zebra"}"#, "done: no tool was found: try other words, or `list`"),
        (r#"{"action": "help"}"#, "failed: `help` needs a `tool`: the name of the tool"),
        (
            r#"{"action": "help", "tool": "send_post"}"#,
            "failed: there is no tool `send_post`; did you mean `post_send`?",
        ),
        (r#"{"action": "help", "tool": "zebra"}"#, "failed: there is no tool `zebra`; `search` for it"),
        (r#"{"action": "find"}"#, "failed: the arguments of `tools` do not fit: /action: \"find\" is not one of"),
        (r#"{"action": "list", "limit": 0}"#, "failed: the arguments of `tools` do not fit: /limit: 0 is less than"),
        (
            r#"{"action": "list", "limit": 101}"#,
            "failed: the arguments of `tools` do not fit: /limit: 101 is greater than",
        ),
    ];
    let model = cases.iter().fold(Script::new(), |model, (args, _)| model.call("tools", args)).say("done");
    built(&mut with_many(&model, ToolRegistry::default())).run("go").await.expect("a run");
    for (told, (args, expected)) in read_by_model(&model).iter().zip(cases) {
        assert!(told.starts_with(expected), "{args}:\n{told}");
    }
}

#[tokio::test]
async fn what_was_found_is_still_there_after_a_restart() {
    let model = Script::new().call("tools", r#"{"action": "help", "tool": "post_send"}"#).say("one");
    let mut session = built(&mut with_many(&model, ToolRegistry::default())).session().await.expect("a session");
    session.prompt("a").await.expect("a run");
    let state = session.state().await;
    let model = Script::new().say("two");
    let mut builder = with_many(&model, ToolRegistry::default());
    built(restored(&mut builder, &state)).run("b").await.expect("a run");
    assert_eq!(offered(&model), [["post_send", "tools"]]);
}

#[tokio::test]
async fn a_child_is_offered_what_its_own_registry_says_or_everything_if_it_has_none() {
    let (own, none) = (Script::new().say("a"), Script::new().say("b"));
    let own_child = built(&mut with_many(&own, ToolRegistry::default().always("alpha_001")));
    let plain_child = built(Agent::builder(none.clone()).tool(RecordingTool::new("x")).tool(RecordingTool::new("y")));
    let model = Script::new().calls([("own", r#"{"prompt": "p"}"#), ("plain", r#"{"prompt": "p"}"#)]).say("done");
    let mut builder = Agent::builder(model.clone());
    builder.tool(AgentTool::new("own", "Has one", own_child)).tool(AgentTool::new("plain", "Has none", plain_child));
    built(builder.with(ToolRegistry::default())).run("go").await.expect("a run");
    assert_eq!(offered(&own), [["alpha_001", "tools"]]);
    assert_eq!(offered(&none), [["x", "y"]]);
}
