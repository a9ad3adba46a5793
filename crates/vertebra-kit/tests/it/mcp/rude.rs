//! Servers that crash, hang, lie, flood and smuggle.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio, time::Duration};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};
use vertebra::{prelude::*, testing::Script};
use vertebra_kit::mcp::{Mcp, McpConfig, ServerConfig, Transport};

use super::{connect, connected, names, node};
use crate::support::{built, read_by_model};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/rude.mjs");

fn rude(mode: &str, file: &str) -> ServerConfig {
    let mut config = node(SCRIPT, &[mode, file]);
    config.backoff = Duration::from_millis(1);
    config
}

/// The same server at an address, for as long as the child is kept.
async fn rude_at_an_address(mode: &str) -> (Child, ServerConfig) {
    let mut server = Command::new("node");
    server.args([SCRIPT, mode]).stdout(Stdio::piped()).kill_on_drop(true);
    let mut server = server.spawn().expect("node");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    let port = lines.next_line().await.expect("text").expect("the port");
    let transport = Transport::Http { url: format!("http://127.0.0.1:{port}/mcp"), headers: BTreeMap::new() };
    (server, ServerConfig::new(transport))
}

/// What the model reads of these calls, each in a step of its own.
async fn told(config: ServerConfig, calls: &[&str]) -> Vec<String> {
    let model =
        calls.iter().fold(Script::new(), |model, tool| model.call(&format!("mcp__s__{tool}"), "{}")).say("done");
    built(Agent::builder(model.clone()).with(connected(config).await)).run("go").await.expect("a run");
    read_by_model(&model)
}

/// Waits until it holds, for a bounded time.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn a_server_that_crashes_is_told_of_in_its_own_words_and_started_again() {
    let told = told(rude("plain", ""), &["count", "count", "crash", "count"]).await;
    assert_eq!(told[..2], ["done: 1", "done: 2"]);
    assert!(told[2].starts_with("failed: MCP server `s`: the connection broke ("), "{}", told[2]);
    let words = "whether the call took effect is not known (exit status: 3; it wrote: [31mabout to fall over)";
    assert!(told[2].ends_with(words), "{}", told[2]);
    assert_eq!(told[3], "done: 1", "a new process begins to count again");
}

#[tokio::test]
async fn a_server_that_keeps_crashing_is_not_started_for_ever() {
    let mut config = rude("plain", "");
    config.max_restarts = 2;
    let told = told(config, &["crash", "crash", "crash", "crash", "count"]).await;
    assert!(told[..3].iter().all(|line| line.contains("the connection broke")), "{told:?}");
    assert_eq!(told[3], "failed: MCP server `s`: it has ended, and is not started again after 2 times");
    assert_eq!(told[4], told[3]);
}

#[tokio::test]
async fn a_call_that_works_forgives_earlier_crashes() {
    let mut config = rude("plain", "");
    config.max_restarts = 1;
    let told = told(config, &["crash", "count", "crash", "count"]).await;
    assert_eq!([&*told[1], &*told[3]], ["done: 1", "done: 1"]);
}

#[tokio::test]
async fn a_server_that_dies_at_once_says_why() {
    let error = connect(rude("dies", "")).await.map(drop).expect_err("dead").to_string();
    assert!(error.starts_with("the MCP server `s` cannot be used: "), "{error}");
    assert!(error.ends_with("; it wrote: the licence has expired)"), "{error}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let text = r#"{"mcpServers": {"s": {"command": "no-program-has-this-name"}}}"#;
    let config = McpConfig::from_json(text, |name| std::env::var(name).ok()).expect("valid");
    let error = Mcp::connect(config).await.map(drop).expect_err("not there").to_string();
    let expected = "the MCP server `s` cannot be used: cannot start `no-program-has-this-name`: ";
    assert!(error.starts_with(expected), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let mut config = rude("silent", "");
    config.start_timeout = Duration::from_millis(50);
    let error = connect(config).await.map(drop).expect_err("silent").to_string();
    assert!(error.starts_with("the MCP server `s` cannot be used: no answer within 50 ms ("), "{error}");
}

#[tokio::test]
async fn a_list_of_tools_without_end_is_cut() {
    assert!(names(&connected(rude("endless", "")).await).is_empty());
}

#[tokio::test]
async fn noise_on_the_output_of_a_server_is_passed_over() {
    assert_eq!(told(rude("noisy", ""), &["count"]).await, ["done: 1"]);
}

#[tokio::test]
async fn a_call_out_of_time_fails_and_the_server_is_told_to_stop() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("heard").to_string_lossy().into_owned();
    let mut config = rude("plain", &file);
    config.call_timeout = Duration::from_secs(2);
    let model = Script::new().call("mcp__s__hang", "{}").call("mcp__s__count", "{}").say("done");
    let agent = built(Agent::builder(model.clone()).with(connected(config).await));
    agent.run("go").await.expect("a run");
    assert_eq!(
        read_by_model(&model),
        ["failed: MCP server `s`: no answer within 2000 ms; it was told to stop", "done: 1"]
    );
    eventually("the server hears of it", || fs::read_to_string(&file).is_ok_and(|heard| heard == "cancelled")).await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_cancels_its_call() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("heard").to_string_lossy().into_owned();
    let model = Script::new().call("mcp__s__hang", "{}").may_end_early().say("never");
    let agent = built(Agent::builder(model).with(connected(rude("plain", &file)).await));
    let stream = agent.stream("go");
    eventually("the call arrives", || Path::new(&file).exists()).await;
    stream.cancel();
    assert_eq!(stream.finish().await.map(|report| report.status).ok(), Some(vertebra::RunStatus::Cancelled));
    eventually("the server hears of it", || fs::read_to_string(&file).is_ok_and(|heard| heard == "cancelled")).await;
}

#[tokio::test]
async fn a_message_that_is_too_long_is_not_read_and_the_server_can_still_be_used() {
    let mut config = rude("plain", "");
    config.call_timeout = Duration::from_secs(2);
    let told = told(config, &["huge", "count"]).await;
    assert_eq!(told, ["failed: MCP server `s`: no answer within 2000 ms; it was told to stop", "done: 1"]);
}

#[tokio::test]
async fn an_answer_over_http_that_is_too_long_is_not_read_to_its_end() {
    for (mode, expected) in [("http", "the answer is longer than 8388608 bytes"), ("sse", "the connection broke")] {
        let (_server, config) = rude_at_an_address(mode).await;
        let told = told(config, &["huge", "count"]).await;
        assert!(told[0].starts_with("failed: ") && told[0].contains(expected), "{mode}: {:.300}", told[0]);
        assert_eq!(told[1], "done: 1", "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_wants_to_know_who_asks_is_told_of_with_its_words() {
    let (_server, config) = rude_at_an_address("closed").await;
    let error = connect(config).await.map(drop).expect_err("closed").to_string();
    assert!(error.contains("HTTP 401 Unauthorized: who are you?"), "{error}");
}

#[tokio::test]
async fn headers_of_the_protocol_cannot_be_set() {
    let headers = BTreeMap::from([("Mcp-Session-Id".to_owned(), "x".to_owned())]);
    let config = ServerConfig::new(Transport::Http { url: "http://127.0.0.1:9/mcp".to_owned(), headers });
    let error = connect(config).await.map(drop).expect_err("ours").to_string();
    let expected =
        "the MCP server `s` cannot be used: the header `mcp-session-id` belongs to the protocol and cannot be set";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn nobody_reads_what_nobody_can_see() {
    let mcp = connected(rude("plain", "")).await;
    let dirty = mcp.tools().find(|spec| &*spec.name == "mcp__s__dirty").expect("the tool");
    assert_eq!((&*dirty.description, &dirty.schema["description"]), ("A clock.", &serde_json::json!("now")));
    let told = told(rude("plain", ""), &["fail", "dirty", "refuse", "kinds"]).await;
    assert_eq!(told[..3], ["failed: no luck", r#"done: {"time":"12"}"#, "failed: MCP server `s`: not like this"]);
    let kinds = "done: plain\n[sound, audio/wav, 3 bytes: left out]\n[file:///a]\ninside\n[file:///b]\n\
                 [file, application/zip, 3 bytes: left out]\n[c: file:///c]";
    assert_eq!(told[3], kinds);
}

#[tokio::test]
async fn a_tool_that_no_agent_can_have_is_left_out_and_told_of_and_none_takes_the_name_of_another() {
    let mcp = connected(rude("plain", "")).await;
    assert_eq!(mcp.left_out().len(), 1);
    assert!(
        mcp.left_out()[0].starts_with("tool `broken` of MCP server `s`: its schema is not valid: "),
        "{:?}",
        mcp.left_out()
    );
    let names = names(&mcp);
    let like_ab: Vec<_> = names.iter().filter(|name| name.starts_with("mcp__s__a_b")).collect();
    assert_eq!(like_ab.len(), 2);
    assert!(!names.contains(&"mcp__s__a_b".to_owned()), "{names:?}");
    built(Agent::builder(Script::new()).with(mcp));
}

#[tokio::test]
async fn with_the_agent_its_servers_end_and_all_that_they_started() {
    let model = Script::new().call("mcp__s__spawn", "{}").say("done");
    let agent = built(Agent::builder(model.clone()).with(connected(rude("plain", "")).await));
    agent.run("go").await.expect("a run");
    let told = read_by_model(&model).remove(0);
    let processes: Vec<String> = told.trim_start_matches("done: ").split(' ').map(|id| format!("/proc/{id}")).collect();
    assert_eq!(processes.len(), 2);
    assert!(processes.iter().all(|process| Path::new(process).exists()), "{processes:?}");
    drop(agent);
    eventually("both processes end", || processes.iter().all(|process| is_gone(process))).await;
}

/// Gone, or dead and not yet waited for by whoever inherited it.
fn is_gone(process: &str) -> bool {
    fs::read_to_string(format!("{process}/stat")).map_or(true, |stat| stat.contains(") Z "))
}
