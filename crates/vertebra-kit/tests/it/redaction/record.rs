//! Secrets planted everywhere appear in no journal, at no front end and in no report.

use serde_json::{Value, json};
use vertebra::{
    ModelError,
    testing::{FixedApprover, RecordingTool},
};

use super::*;

/// A value without any shape, as an environment variable might hold it.
const VALUE: &str = "quite an ordinary phrase";

const PEM: &str =
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ\n-----END PRIVATE KEY-----";

#[tokio::test]
async fn secrets_planted_anywhere_are_in_no_journal_at_no_front_end_and_in_no_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("id_rsa");
    std::fs::write(&path, PEM).expect("a file");
    let reads = RecordingTool::new("read").by(move |_| Ok(std::fs::read_to_string(&path)?.into()));
    let says = tool("env", "Shows variables", async |_: Value, invocation: Invocation| {
        invocation.say(format!("TOKEN={KEY}\n"));
        invocation.notify("env", format!("found {VALUE}")).await?;
        Ok(ToolOutput { text: format!("{KEY} {VALUE}"), exit_code: None, data: json!({ "raw": [KEY, VALUE] }) })
    });
    let fails = RecordingTool::new("fail").by(|_| Err(ToolError::new(format!("cannot log in with {KEY}"))));
    let model = Script::new()
        .calls([("env", &*json!({ "key": KEY, "nested": { "value": [VALUE] } }).to_string()), ("read", "{}")])
        .saying(format!("I use {KEY}"))
        .call("fail", &format!("{KEY} is not JSON"))
        .call("fail", "{}")
        .stream(["thinking of ", VALUE])
        .thinking(format!("the key {KEY}"))
        .fail(ModelError::Rejected { message: format!("invalid key {KEY}") });
    let redaction = Redaction::default().value("DEPLOY_PHRASE", VALUE).expect("a value");
    let mut builder = agent(&model);
    builder.with(redaction).tool(says).tool(reads).tool(fails).approver(FixedApprover::yes());
    builder.guard(BeforeToolUse.tool("env"), async |_cx| ask(format!("may it see {VALUE}?")));
    builder.on(AfterToolUse, async |cx| {
        cx.state_mut().metadata_mut().set("audit/last", format!("{KEY} {VALUE}"));
        Err(HookError::new(format!("the audit of {KEY} failed")))
    });
    builder.on(ShouldContinue.step("final_response"), async |_cx| go_on(format!("try {KEY} again")));

    let left = left(&mut builder, &format!("my key is {KEY}, my phrase {VALUE}")).await;

    for secret in ["ghp_", VALUE, "MIIEvQ", "BKcwgg"] {
        assert!(!left.everything.contains(secret), "{secret} is in {}", left.everything);
        assert!(!sent(&model).contains(secret), "{secret} was sent");
    }
    let told = [
        "my key is [REDACTED:github-token], my phrase [REDACTED:DEPLOY_PHRASE]",
        "TOKEN=[REDACTED:",
        "the audit of [REDACTED",
    ];
    for kept in told {
        assert!(left.everything.contains(kept), "{kept}: {}", left.everything);
    }
    assert_eq!(left.report.stop.message, "the model rejected the request: invalid key [REDACTED:github-token]");
}

#[tokio::test]
async fn the_values_of_environment_variables_are_found_by_name() {
    // One that every test process has.
    let value = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let redaction = Redaction::default().environment(["CARGO_MANIFEST_DIR", "NO_SUCH_VARIABLE"]).expect("a long value");
    let model = Script::new().say(format!("it is {value}"));
    let left = left(agent(&model).with(redaction), "go").await;
    assert_eq!(left.shown, "it is [REDACTED:CARGO_MANIFEST_DIR]");
}
