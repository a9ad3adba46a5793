//! The policy in an agent.

use serde_json::json;
use vertebra::{
    Agent, AgentBuilder,
    prelude::*,
    testing::{FixedApprover, RecordingTool, Script},
};
use vertebra_kit::bash::policy::BashPolicy;

use super::ground;
use crate::support::{built, run};

/// The commands that reach the tool, of those that a model calls it with.
async fn reached(tool: &str, commands: &[&str], change: impl FnOnce(&mut AgentBuilder)) -> Vec<String> {
    let args: Vec<String> = commands.iter().map(|command| json!({ "command": command }).to_string()).collect();
    let script = args.iter().fold(Script::new(), |script, args| script.call(tool, args)).say("Done.");
    let recording = RecordingTool::new(tool);
    let mut builder = Agent::builder(script);
    builder.tool(recording.clone()).with(BashPolicy::new(ground()));
    change(&mut builder);
    run(&built(&mut builder), "Go.").await;
    recording.calls().iter().filter_map(|args| args.text("command").map(str::to_owned)).collect()
}

const ALL: [&str; 3] = ["cargo test", "frobnicate --now", "rm -rf ~/photos"];

#[tokio::test]
async fn harm_is_denied_and_doubt_is_asked_about() {
    let approver = FixedApprover::yes();
    let asked = approver.clone();
    let reached = reached("bash", &ALL, |builder| {
        builder.approver(approver);
    })
    .await;
    assert_eq!(reached, ["cargo test", "frobnicate --now"]);
    let [question] = asked.asked().try_into().expect("one question");
    assert_eq!(&*question.asked_by, "bash/policy");
    assert_eq!(question.reason, "the policy does not know the program `frobnicate`, so a person must approve it");
}

#[tokio::test]
async fn nobody_to_ask_means_no() {
    assert_eq!(reached("bash", &ALL, |_| {}).await, ["cargo test"]);
}

#[tokio::test]
async fn an_earlier_allow_answers_a_question_and_never_lifts_a_denial() {
    let allowed = |builder: &mut AgentBuilder| {
        builder.on(BeforeToolUse, async |_| allow());
    };
    assert_eq!(reached("bash", &ALL, allowed).await, ["cargo test", "frobnicate --now"]);
}

#[tokio::test]
async fn every_tool_that_takes_a_command_is_guarded() {
    for tool in ["Bash", "shell", "run_in_terminal"] {
        assert_eq!(reached(tool, &ALL, |_| {}).await, ["cargo test"], "{tool}");
    }
}

#[tokio::test]
async fn a_command_as_a_list_of_words_is_judged_too() {
    let script = Script::new().call("exec", r#"{"command": ["rm", "-rf", "/home/user/my photos"]}"#).say("Done.");
    let tool = RecordingTool::new("exec");
    let mut builder = Agent::builder(script);
    builder.tool(tool.clone()).with(BashPolicy::new(ground()));
    run(&built(&mut builder), "Go.").await;
    assert!(tool.calls().is_empty());
}

#[tokio::test]
async fn what_a_hook_rewrites_is_judged_as_it_runs() {
    let rewrite = |builder: &mut AgentBuilder| {
        builder.on(BeforeToolUse, async |cx| {
            cx.args.set("command", "sudo id");
            proceed()
        });
    };
    assert_eq!(reached("bash", &["ls"], rewrite).await, Vec::<String>::new());
}
