//! Tools made of async functions by `#[tool]`.

use std::sync::{Arc, Mutex};

use serde_json::json;
use vertebra::{prelude::*, testing::Script};

/// Adds two numbers.
///
/// The result is exact,
/// whatever their size.
#[tool]
async fn add(
    /// The first number
    left: i64,
    right: i64,
) -> Result<String, ToolError> {
    let sum = left.checked_add(right).ok_or_else(|| ToolError::new("the sum is too large"))?;
    Ok(sum.to_string())
}

/// Says who calls, politely if asked to.
#[tool(name = "who", alias = "Who", read_only)]
async fn who_calls(invocation: Invocation, polite: Option<bool>) -> String {
    let call = invocation.call_id();
    if polite.unwrap_or_default() { format!("it is {call}, with greetings") } else { format!("it is {call}") }
}

/// Does nothing.
#[tool(idempotent)]
async fn rest() -> &'static str {
    "rested"
}

#[test]
fn the_doc_comment_and_the_parameters_describe_a_tool_to_the_model() {
    let spec = Add.spec();

    assert_eq!(&*spec.name, "add");
    assert_eq!(&*spec.description, "Adds two numbers.\n\nThe result is exact, whatever their size.");
    assert_eq!(spec.schema["properties"]["left"]["description"], "The first number");
    assert_eq!(spec.schema["properties"]["right"]["type"], "integer");
    assert_eq!(spec.schema["required"], json!(["left", "right"]));
    assert!(!spec.read_only && !spec.idempotent);
}

#[test]
fn options_name_a_tool_and_say_what_it_does_not_do() {
    let spec = WhoCalls.spec();

    assert_eq!((&*spec.name, &*spec.aliases[0]), ("who", "Who"));
    assert!(spec.read_only, "{spec:?}");
    assert_eq!(spec.schema.get("required"), None, "an `Option` may be left out, and the model gives no handle");
    assert!(Rest.spec().idempotent && !Rest.spec().read_only);
}

#[tokio::test]
async fn an_agent_uses_functions_as_tools() {
    let model = Script::new()
        .call("add", r#"{"left": 20, "right": 22}"#)
        .call("add", r#"{"left": 9223372036854775807, "right": 1}"#)
        .call("add", r#"{"left": "many", "right": 1}"#)
        .call("who", r#"{"polite": true}"#)
        .call("rest", "{}")
        .say("done");
    let results = Arc::new(Mutex::new(vec![]));
    let seen = Arc::clone(&results);
    let agent = Agent::builder(model)
        .tool(Add)
        .tool(WhoCalls)
        .tool(Rest)
        .watch(AfterToolUse, async move |cx| {
            seen.lock().expect("no panic").push(cx.result.output.clone());
            Ok(())
        })
        .build()
        .expect("an agent");
    agent.run("count").await.expect("a run");

    insta::assert_snapshot!(results.lock().expect("no panic").join("\n"), @r#"
    42
    the sum is too large
    the arguments of `add` do not fit: /left: "many" is not of type "integer"
    it is call-4, with greetings
    rested
    "#);
}

#[tokio::test]
async fn a_function_that_became_a_tool_can_still_be_called() {
    assert_eq!(add(1, 2).await.expect("a sum"), "3");
}
