//! What a model wants to remember: named values in the state.

use serde_json::json;
use vertebra::{AgentTool, Test, ToolStatus, prelude::*, testing::Script};
use vertebra_kit::metadata::MetadataTools;

use crate::{
    sheet::Sheet,
    support::{built, read_by_model, restored, results_in},
};

pub(crate) fn sheet() -> Sheet {
    let limits = MetadataTools::default();
    Sheet {
        name: "MetadataTools",
        purpose: "Lets a model store, read and list its own values for the length of a session.",
        install: |builder| {
            builder.with(MetadataTools::default());
        },
        knobs: vec![
            ("max_keys", limits.max_keys.to_string()),
            ("max_key_bytes", limits.max_key_bytes.to_string()),
            ("max_value_bytes", limits.max_value_bytes.to_string()),
            ("max_total_bytes", limits.max_total_bytes.to_string()),
        ],
    }
}

/// What the model reads of each of its calls, each in a step of its own.
async fn read(limits: MetadataTools, calls: &[(&str, &str)]) -> Vec<String> {
    let model = calls.iter().fold(Script::new(), |model, (tool, args)| model.call(tool, args)).say("done");
    built(Agent::builder(model.clone()).with(limits)).run("go").await.expect("a run");
    read_by_model(&model)
}

/// What the model reads of calls it makes in one answer.
async fn read_at_once(limits: MetadataTools, calls: &[(&str, &str)]) -> Vec<String> {
    let model = Script::new().calls(calls.iter().copied()).say("done");
    built(Agent::builder(model.clone()).with(limits)).run("go").await.expect("a run");
    read_by_model(&model)
}

const STORE: &str = "store_metadata";
const READ: &str = "read_metadata";
const LIST: &str = "list_metadata";

#[tokio::test]
async fn what_is_stored_is_read_in_a_later_step() {
    let told = read(
        MetadataTools::default(),
        &[
            (STORE, r#"{"key": "plan", "value": {"a": [1, null]}}"#),
            (STORE, r#"{"key": "name", "value": "Ada"}"#),
            (READ, r#"{"key": "plan"}"#),
            (READ, r#"{"key": "name"}"#),
            (LIST, "{}"),
        ],
    )
    .await;
    assert_eq!(
        told,
        [
            "done: stored `plan` (14 bytes)",
            "done: stored `name` (5 bytes)",
            r#"done: {"a":[1,null]}"#,
            "done: Ada",
            "done: stored: `name` (5 bytes), `plan` (14 bytes)",
        ]
    );
}

#[tokio::test]
async fn calls_of_one_answer_take_effect_in_their_order_although_tools_run_at_the_same_time() {
    let told = read_at_once(
        MetadataTools::default(),
        &[
            (READ, r#"{"key": "n"}"#),
            (STORE, r#"{"key": "n", "value": 1}"#),
            (READ, r#"{"key": "n"}"#),
            (STORE, r#"{"key": "n", "value": 2}"#),
            (STORE, r#"{"key": "m", "value": 3}"#),
            (READ, r#"{"key": "n"}"#),
            (LIST, "{}"),
        ],
    )
    .await;
    assert_eq!(
        told,
        [
            "failed: there is no `n`; nothing is stored",
            "done: stored `n` (1 bytes)",
            "done: 1",
            "done: stored `n` (1 bytes)",
            "done: stored `m` (1 bytes)",
            "done: 2",
            "done: stored: `m` (1 bytes), `n` (1 bytes)",
        ]
    );
}

#[tokio::test]
async fn what_is_not_there_is_an_error_that_lists_what_is() {
    let told =
        read(MetadataTools::default(), &[(STORE, r#"{"key": "b", "value": 1}"#), (READ, r#"{"key": "a"}"#)]).await;
    assert_eq!(told[1], "failed: there is no `a`; stored: `b` (1 bytes)");
}

#[tokio::test]
async fn keys_of_hooks_can_be_neither_written_nor_read_nor_listed() {
    let model = Script::new()
        .call(STORE, r#"{"key": "planning/tasks", "value": []}"#)
        .call(READ, r#"{"key": "planning/tasks"}"#)
        .call(LIST, "{}")
        .say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(MetadataTools::default()).on(ExecutionStart, async |cx| {
        cx.state_mut().metadata_mut().set("planning/tasks", "secret");
        proceed()
    });
    let mut session = built(&mut builder).session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(
        read_by_model(&model),
        [
            "failed: `planning/tasks` is not yours: keys with a slash belong to hooks",
            "failed: `planning/tasks` is not yours: keys with a slash belong to hooks",
            "done: nothing is stored",
        ]
    );
    assert_eq!(session.state().await.metadata().get("planning/tasks"), Some(&json!("secret")));
}

#[tokio::test]
async fn a_hook_that_redirects_a_store_into_a_namespace_is_refused_as_well() {
    let model = Script::new().call(STORE, r#"{"key": "a", "value": 1}"#).say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(MetadataTools::default()).on(BeforeToolUse.tool(STORE), async |cx| {
        cx.args_mut().set("key", "planning/tasks");
        proceed()
    });
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(read_by_model(&model), ["failed: `planning/tasks` is not yours: keys with a slash belong to hooks"]);
}

#[tokio::test]
async fn there_are_so_many_keys_and_no_more_also_when_stored_at_once() {
    let two = || MetadataTools { max_keys: 2, ..MetadataTools::default() };
    let calls = [
        (STORE, r#"{"key": "a", "value": 1}"#),
        (STORE, r#"{"key": "b", "value": 1}"#),
        (STORE, r#"{"key": "c", "value": 1}"#),
        (STORE, r#"{"key": "a", "value": 2}"#),
        (STORE, r#"{"key": "b", "value": null}"#),
        (STORE, r#"{"key": "c", "value": 1}"#),
    ];
    let expected = [
        "done: stored `a` (1 bytes)",
        "done: stored `b` (1 bytes)",
        "failed: there are 2 keys, and no more are stored: store `null` under one to forget it",
        "done: stored `a` (1 bytes)",
        "done: forgot `b`",
        "done: stored `c` (1 bytes)",
    ];
    assert_eq!(read(two(), &calls).await, expected);
    assert_eq!(read_at_once(two(), &calls).await, expected);
}

#[tokio::test]
async fn fifty_keys_fit_by_default_and_keys_of_hooks_do_not_count() {
    let args: Vec<String> = (0..51).map(|n| format!(r#"{{"key": "k{n}", "value": {n}}}"#)).collect();
    let model = Script::new().calls(args.iter().map(|args| (STORE, &**args))).say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(MetadataTools::default()).on(ExecutionStart, async |cx| {
        (0..100).for_each(|n| cx.state_mut().metadata_mut().set(format!("mine/{n}"), n));
        proceed()
    });
    built(&mut builder).run("go").await.expect("a run");
    let told = read_by_model(&model);
    assert_eq!(told.iter().filter(|line| line.starts_with("done")).count(), 50);
    assert!(told[50].starts_with("failed: there are 50 keys"), "{}", told[50]);
}

#[tokio::test]
async fn values_and_all_of_them_together_have_a_size_measured_as_json() {
    let small = || MetadataTools { max_value_bytes: 10, max_total_bytes: 15, ..MetadataTools::default() };
    let calls = [
        (STORE, r#"{"key": "a", "value": "12345678"}"#),
        (STORE, r#"{"key": "b", "value": "123456789"}"#),
        (STORE, r#"{"key": "c", "value": "1234"}"#),
        (STORE, r#"{"key": "d", "value": "123"}"#),
    ];
    let expected = [
        "done: stored `a` (10 bytes)",
        "failed: the value of `b` takes 11 bytes as JSON; at most 10 are stored",
        "failed: all values together would take 16 bytes as JSON; at most 15 are stored",
        "done: stored `d` (5 bytes)",
    ];
    assert_eq!(read(small(), &calls).await, expected);
    assert_eq!(read_at_once(small(), &calls).await, expected);
}

#[tokio::test]
async fn a_key_is_short_and_plain() {
    let limits = MetadataTools { max_key_bytes: 3, ..MetadataTools::default() };
    let calls = [
        (STORE, r#"{"key": "", "value": 1}"#),
        (STORE, r#"{"key": "abcd", "value": 1}"#),
        (STORE, "{\"key\": \"a\\nb\", \"value\": 1}"),
        (STORE, r#"{"key": "a:1", "value": 1}"#),
        (STORE, r#"{"value": 1}"#),
    ];
    let told = read(limits, &calls).await;
    let rule = "cannot be a key: use 1 to 3 letters, digits, `_`, `-`, `.` or `:`";
    assert_eq!(
        told[..3],
        [format!("failed: `` {rule}"), format!("failed: `abcd` {rule}"), format!("failed: `a\\nb` {rule}")]
    );
    assert_eq!(told[3], "done: stored `a:1` (1 bytes)");
    assert!(told[4].contains("\"key\" is a required property"), "{}", told[4]);
}

#[tokio::test]
async fn a_blocked_or_replaced_store_stores_nothing() {
    let model = Script::new()
        .call(STORE, r#"{"key": "a", "value": 1}"#)
        .call(STORE, r#"{"key": "b", "value": 1}"#)
        .call(LIST, "{}")
        .say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(MetadataTools::default());
    builder.guard(BeforeToolUse.arg("/key", Test::Equals(json!("a"))).named("no-a"), async |_| deny("no a"));
    builder.on(BeforeToolUse.arg("/key", Test::Equals(json!("b"))), async |_| replace("pretended"));
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(read_by_model(&model), ["blocked: blocked by no-a: no a", "done: pretended", "done: nothing is stored"]);
}

#[tokio::test]
async fn values_last_from_run_to_run_and_through_a_restart() {
    let model =
        Script::new().call(STORE, r#"{"key": "a", "value": 1}"#).say("one").call(READ, r#"{"key": "a"}"#).say("two");
    let agent = built(Agent::builder(model).with(MetadataTools::default()));
    let mut session = agent.session().await.expect("a session");
    session.prompt("a").await.expect("a run");
    session.prompt("b").await.expect("a run");
    let state = session.state().await;
    assert_eq!(results_in(state.messages())[1], "done: 1");

    let model = Script::new().call(READ, r#"{"key": "a"}"#).say("three");
    let mut builder = Agent::builder(model.clone());
    built(restored(builder.with(MetadataTools::default()), &state)).run("c").await.expect("a run");
    assert_eq!(read_by_model(&model).last().map(String::as_str), Some("done: 1"));
}

#[tokio::test]
async fn a_child_keeps_its_own_values_under_its_own_limits_once() {
    let limit = |max_keys| MetadataTools { max_keys, ..MetadataTools::default() };
    let helper = Script::new()
        .call(STORE, r#"{"key": "a", "value": 1}"#)
        .call(STORE, r#"{"key": "b", "value": 1}"#)
        .say("stored");
    let child = built(Agent::builder(helper.clone()).with(limit(1)));
    let model = Script::new().call("helper", r#"{"prompt": "store"}"#).call(LIST, "{}").say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(limit(50)).tool(AgentTool::new("helper", "Helps", child));
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(
        read_by_model(&helper),
        [
            "done: stored `a` (1 bytes)",
            "failed: there are 1 keys, and no more are stored: store `null` under one to forget it"
        ]
    );
    assert_eq!(read_by_model(&model)[1], "done: nothing is stored");
}

#[tokio::test]
async fn with_its_hook_switched_off_the_model_is_told_that_nothing_happened() {
    let model = Script::new().call(STORE, r#"{"key": "a", "value": 1}"#).say("done");
    let agent = built(Agent::builder(model.clone()).with(MetadataTools::default()));
    agent.hooks().disable("metadata/persist").expect("the hook is there");
    agent.run("go").await.expect("a run");
    assert_eq!(read_by_model(&model), ["done: nothing happened: the hook `metadata/persist` did not run"]);
}

#[tokio::test]
async fn other_hooks_see_what_the_model_reads() {
    let model = Script::new().call(READ, r#"{"key": "a"}"#).say("done");
    let mut builder = Agent::builder(model.clone());
    builder.on(AfterToolUse, async |cx| {
        assert_eq!(cx.result.status, ToolStatus::Failed);
        cx.result.output = cx.result.output.replace("nothing", "[hidden]");
        proceed()
    });
    built(builder.with(MetadataTools::default())).run("go").await.expect("a run");
    assert_eq!(read_by_model(&model), ["failed: there is no `a`; [hidden] is stored"]);
}
