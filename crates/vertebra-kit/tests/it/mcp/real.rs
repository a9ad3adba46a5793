//! A server that others wrote: the one that shows every feature of the protocol, from its public package.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};
use vertebra::{
    prelude::*,
    testing::{FixedApprover, Script},
};
use vertebra_kit::mcp::{McpConfig, ServerConfig, Transport};

use super::{connect, connected, names, node};
use crate::support::{built, read_by_model};

/// Where `cargo xtask test` puts the package.
fn everything() -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let folder: PathBuf = target.join("test-servers");
    let script = folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(
        script.exists(),
        "this test talks to a public MCP server; install it with\n  npm install --prefix {} @modelcontextprotocol/server-everything@2026.8.31\nor run `cargo xtask test`, which does",
        folder.display()
    );
    script.to_string_lossy().into_owned()
}

fn as_process() -> ServerConfig {
    node(&everything(), &[])
}

/// The server at an address, for as long as the child is kept.
async fn at_an_address() -> (Child, ServerConfig) {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let mut server = Command::new("node")
        // Node 18, which Debian 12 ships, has the global `crypto` only on request. Later versions accept the option.
        .arg("--experimental-global-webcrypto")
        .args([&everything(), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node");
    let mut lines = BufReader::new(server.stderr.take().expect("its error output")).lines();
    while let Some(line) = lines.next_line().await.expect("text") {
        if line.contains("listening") {
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            break;
        }
    }
    let config =
        json!({"mcpServers": {"s": {"url": format!("http://127.0.0.1:{port}/mcp"), "headers": {"X-Test": "${T}"}}}});
    let config = McpConfig::from_json(&config.to_string(), |name| (name == "T").then(|| "yes".to_owned()));
    (server, config.expect("a valid configuration").servers["s"].clone())
}

const CALLS: [(&str, &str); 5] = [
    ("mcp__s__echo", r#"{"message": "hello"}"#),
    ("mcp__s__get-sum", r#"{"a": 2, "b": 40}"#),
    ("mcp__s__get-structured-content", r#"{"location": "Chicago"}"#),
    ("mcp__s__get-tiny-image", "{}"),
    ("mcp__s__get-sum", r#"{"a": "two"}"#),
];

/// What the model reads of the same calls, however the server is reached.
async fn told(server: ServerConfig) -> Vec<String> {
    let model = CALLS.iter().fold(Script::new(), |model, (tool, args)| model.call(tool, args)).say("done");
    built(Agent::builder(model.clone()).with(connected(server).await)).run("go").await.expect("a run");
    read_by_model(&model)
}

#[track_caller]
fn check(told: &[String]) {
    assert_eq!(told[0], "done: Echo: hello");
    assert_eq!(told[1], "done: The sum of 2 and 40 is 42.");
    let weather: serde_json::Value = serde_json::from_str(told[2].trim_start_matches("done: ")).expect("JSON");
    assert!(weather["temperature"].is_number(), "{weather}");
    assert!(told[3].contains("[image, image/png, ") && told[3].contains(" bytes: left out]"), "{}", told[3]);
    assert!(told[4].starts_with("failed: the arguments of `mcp__s__get-sum` do not fit: "), "{}", told[4]);
}

#[tokio::test]
async fn tools_of_a_process_are_called_and_their_answers_read() {
    check(&told(as_process()).await);
}

#[tokio::test]
async fn tools_at_an_address_are_called_and_their_answers_read() {
    let (_server, config) = at_an_address().await;
    check(&told(config).await);
}

#[tokio::test]
async fn calls_of_one_answer_run_at_the_same_time_and_come_back_in_order() {
    let model = Script::new().calls([CALLS[1], CALLS[0], CALLS[1]]).say("done");
    built(Agent::builder(model.clone()).with(connected(as_process()).await)).run("go").await.expect("a run");
    let sum = "done: The sum of 2 and 40 is 42.";
    assert_eq!(read_by_model(&model), [sum, "done: Echo: hello", sum]);
}

#[tokio::test]
async fn the_same_hooks_guards_and_people_stand_before_every_tool() {
    let model = Script::new().calls([CALLS[0], CALLS[1]]).say("done");
    let asked = FixedApprover::no("not today");
    let mut builder = Agent::builder(model.clone());
    builder.approver(asked.clone()).with(connected(as_process()).await);
    builder.guard(BeforeToolUse.tool("mcp__s__echo").named("quiet"), async |_| deny("no echoes"));
    builder.on(BeforeToolUse.tool("mcp__*"), async |_| ask("is this fine?"));
    built(&mut builder).run("go").await.expect("a run");
    let told = read_by_model(&model);
    assert_eq!(told[0], "blocked: blocked by quiet: no echoes");
    assert!(told[1].starts_with("blocked: ") && told[1].contains("not today"), "{}", told[1]);
    assert_eq!(asked.asked().len(), 1);
}

#[tokio::test]
async fn what_a_server_says_of_its_tools_is_told_and_not_trusted() {
    let mcp = connected(as_process()).await;
    let echo = mcp.tools().find(|spec| &*spec.name == "mcp__s__echo").expect("the tool");
    assert!(echo.description.starts_with("Echoes back the input string"), "{}", echo.description);
    assert!(echo.description.ends_with("[The server says that this tool is read only and idempotent.]"));
    assert!(!echo.read_only && !echo.idempotent);
    assert_eq!(echo.schema["required"], json!(["message"]));
}

#[tokio::test]
async fn a_process_sees_no_variable_that_was_not_named_for_it() {
    let mut config = as_process();
    let Transport::Stdio { env, .. } = &mut config.transport else { panic!("a process") };
    env.insert("NAMED".to_owned(), "yes".to_owned());
    let allowed = env.clone();
    let model = Script::new().call("mcp__s__get-env", "{}").say("done");
    built(Agent::builder(model.clone()).with(connected(config).await)).run("go").await.expect("a run");
    let told = read_by_model(&model).remove(0);
    let seen: std::collections::BTreeMap<String, String> =
        serde_json::from_str(told.trim_start_matches("done: ")).expect("JSON");
    assert_eq!(seen, allowed);
    // Cargo names its package to every test; the server must not know it.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !seen.contains_key("CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn only_the_tools_that_were_chosen_are_there() {
    let mut config = as_process();
    config.allow_tools = vec!["get-*".to_owned(), "echo".to_owned()];
    config.deny_tools = vec!["get-env".to_owned(), "/get-(resource|tiny).+/".to_owned()];
    let chosen = ["mcp__s__echo", "mcp__s__get-annotated-message", "mcp__s__get-structured-content", "mcp__s__get-sum"];
    assert_eq!(names(&connected(config).await), chosen);

    let mut config = as_process();
    config.deny_tools = vec!["get_env".to_owned()];
    let error = connect(config).await.map(drop).expect_err("a misspelt name").to_string();
    let expected =
        "the MCP server `s` cannot be used: denyTools: `get_env` holds for none of its tools, which are: echo, ";
    assert!(error.starts_with(expected), "{error}");
}

#[tokio::test]
async fn an_address_where_nobody_answers_is_an_error_also_behind_tls() {
    let (server, config) = at_an_address().await;
    drop(server);
    let Transport::Http { url, headers } = config.transport else { panic!("an address") };
    for url in [url.clone(), url.replace("http:", "https:")] {
        let config = ServerConfig::new(Transport::Http { url, headers: headers.clone() });
        let error = connect(config).await.map(drop).expect_err("nobody").to_string();
        assert!(error.starts_with("the MCP server `s` cannot be used: "), "{error}");
    }
}
