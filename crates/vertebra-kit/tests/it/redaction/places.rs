//! Each place where something may be hidden.

use serde_json::json;
use vertebra::testing::{FakeClock, RecordingTool};

use super::*;

#[tokio::test]
async fn a_secret_in_a_prompt_a_result_or_an_old_message_never_reaches_the_model() {
    let model = Script::new().call("cat", "{}").say("ok");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("cat").by(|_| Ok(format!("GITHUB={KEY}").into()))).with(Redaction::default());
    builder.system_prompt(format!("use {KEY}"));
    builder.on(BeforeStep, async |cx| {
        cx.state_mut().push(Message::instruction(format!("an old {KEY}"), "history"));
        proceed()
    });
    left(&mut builder, &format!("deploy with {KEY}")).await;
    let sent = sent(&model);
    assert!(!sent.contains(KEY), "{sent}");
    for kept in ["deploy with [REDACTED", "GITHUB=[REDACTED", "an old [REDACTED", "use [REDACTED:github-token]"] {
        assert!(sent.contains(kept), "{kept}: {sent}");
    }
}

#[tokio::test]
async fn a_streamed_secret_is_never_shown_said_or_thought_whatever_the_pieces() {
    let text = format!("Set TOKEN to {KEY}, then go.");
    let expected = "Set TOKEN to [REDACTED:github-token], then go.";
    for size in [1, 3, 7, 64] {
        let chars: Vec<char> = text.chars().collect();
        let pieces = chars.chunks(size).map(String::from_iter);
        let thoughts = chars.chunks(size + 1).map(String::from_iter);
        let model = thoughts.fold(Script::new().stream(pieces), Script::thinking);
        let left = left(agent(&model).with(Redaction::default()), "go").await;
        assert_eq!(
            (left.shown.as_str(), left.thought.as_str(), left.report.text.as_str()),
            (expected, expected, expected)
        );
        assert!(!left.everything.contains("ghp_"), "{}", left.everything);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_comes_in_one_piece_is_treated_alike() {
    let half = vertebra::ModelError::Rejected { message: "enough".into() };
    let model = Script::new().stream(["the key is ghp_abcdefghijklmnopqrstuvwxyz01", "2345"]).breaking_off(half);
    let left_of = left(agent(&model).with(Redaction::default()), "go").await;
    assert_eq!(left_of.shown, "the key is [REDACTED:github-token]");
    let model = Script::new().say(format!("the key is {KEY}"));
    assert_eq!(left(agent(&model).with(Redaction::default()), "go").await.shown, "the key is [REDACTED:github-token]");
}

#[tokio::test]
async fn a_secret_without_end_ends_the_stream() {
    let endless = std::iter::once("ghp_".to_owned()).chain((0..40).map(|_| "a1B2".repeat(128)));
    let model = Script::new().stream(endless);
    let left = left(agent(&model).with(Redaction::default()), "go").await;
    assert_eq!(left.shown, "");
    assert_eq!(left.report.stop.message, "something that may be a secret is longer than 16384 bytes");
}

#[tokio::test]
async fn what_is_to_be_blocked_is_refused_where_it_can_be() {
    let blocking = || Redaction::default().on(Sensitive::GithubToken, Strategy::Block);
    let reason = "there is something of kind `github-token` in it";
    let model = Script::new();
    let left_of = left(agent(&model).with(blocking()), KEY).await;
    assert_eq!(left_of.report.stop.message, format!("the prompt was denied: {reason}"));

    let model = Script::new().call("cat", "{}").stream(["here: ", KEY, " more"]);
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("cat").replying(KEY)).with(blocking());
    let left_of = left(&mut builder, "go").await;
    assert!(sent(&model).contains(&format!("[the result is withheld: {reason}]")));
    assert_eq!((left_of.shown.as_str(), left_of.report.stop.message.as_str()), ("here: ", reason));
    assert!(!left_of.everything.contains(KEY), "{}", left_of.everything);
}

#[tokio::test]
async fn tools_work_with_the_secrets_a_model_gives_them_unless_told_otherwise() {
    for (redaction, expected) in
        [(Redaction::default(), KEY), (Redaction::default().secrets_at([Place::Arguments]), "[REDACTED:github-token]")]
    {
        let model = Script::new().call("login", &json!({ "with": [KEY] }).to_string()).say("ok");
        let login = RecordingTool::new("login");
        left(agent(&model).tool(login.clone()).with(redaction), "go").await;
        assert_eq!(login.calls()[0].to_value(), json!({ "with": [expected] }));
    }
}

#[tokio::test]
async fn personal_data_is_hidden_only_if_asked_and_in_prompts_only_if_asked_again() {
    let prompt = "write to ann@example.org";
    for (redaction, is_sent, is_shown) in [
        (Redaction::default(), true, true),
        (Redaction::default().personal(), true, false),
        (Redaction::default().personal().personal_at([Place::Prompt, Place::Answers]), false, false),
    ] {
        let model = Script::new().stream(["mail to ann@exam", "ple.org sent"]);
        let left = left(agent(&model).with(redaction), prompt).await;
        assert_eq!(sent(&model).contains("ann@example.org"), is_sent);
        assert_eq!(left.shown.contains("ann@example.org"), is_shown, "{}", left.shown);
    }
}

#[tokio::test]
async fn what_nobody_sees_in_a_result_does_not_reach_the_model() {
    let model = Script::new().call("fetch", "{}").say("ok");
    let mut builder = agent(&model);
    let hidden: String = "obey".chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c))).collect();
    builder.tool(RecordingTool::new("fetch").by(move |_| Ok(format!("a page{hidden}").into())));
    left(builder.with(Redaction::default()), "go").await;
    assert!(sent(&model).contains(r"a page\n[4 invisible characters were taken out]"), "{}", sent(&model));
}

#[tokio::test]
async fn a_child_is_under_the_redaction_of_its_parent() {
    let childs = Script::new().stream(["it is ghp_abcdefghijklmnopqrstuv", "wxyz0123456789"]);
    let mut below = Agent::builder(childs.clone());
    let child = built(below.clock(FakeClock::new()));
    let model = Script::new().call("child", &json!({ "prompt": format!("use {KEY}") }).to_string()).say("ok");
    let mut builder = agent(&model);
    builder.tool(vertebra::AgentTool::new("child", "A child", child)).with(Redaction::default());
    let left = left(&mut builder, "go").await;
    assert!(!left.everything.contains("ghp_"), "{}", left.everything);
    assert!(!sent(&childs).contains("ghp_") && !sent(&model).contains("ghp_"));
}

#[tokio::test]
async fn a_command_that_names_a_configuration_file_shows_no_unquoted_password() {
    let model =
        Script::new().call("bash", r#"{"command": "cat conf/app.ini"}"#).call("bash", r#"{"command": "cat app.py"}"#);
    let model = model.say("ok");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("bash").by(|_| Ok("password = hunter2".into()))).with(Redaction::default());
    left(&mut builder, "look").await;
    let read = crate::support::read_by_model(&model);
    assert!(read[0].ends_with("password = [REDACTED:password]"), "{read:?}");
    assert!(read[1].ends_with("password = hunter2"), "source code is shown: {read:?}");
}
