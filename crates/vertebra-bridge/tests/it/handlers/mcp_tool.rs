//! A tool of an MCP server that answers for a hook.

use vertebra_kit::mcp::{Mcp, McpConfig};

use super::*;

/// A server with tools that judge: one denies by the word, one is not allowed to be used, one hangs.
const SERVER: &str = r#"
import { createInterface } from "node:readline";
const tools = ["judge", "hidden", "hang"].map((name) => ({ name, inputSchema: { type: "object" } }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const reply = (result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  if (method === "initialize")
    reply({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
  if (method === "tools/list") reply({ tools });
  if (method === "tools/call" && params.name !== "hang")
    reply({ content: [{ type: "text", text: JSON.stringify({ verdict: "deny", reason: `no ${params.arguments.what}` }) }] });
});
"#;

async fn with_server() -> Project {
    let mut project = Project::new();
    project.file("server.mjs", SERVER, 0o644);
    let server = json!({ "command": "node", "args": [project.path("server.mjs")], "denyTools": ["hidden"] });
    let config = json!({ "mcpServers": { "rules": server } }).to_string();
    let config = McpConfig::from_json(&config, |name| std::env::var(name).ok()).expect("a configuration");
    project.services.servers = Mcp::connect(config).await.expect("a server").servers();
    project
}

fn tool(tool: &str, input: Value) -> RunSettings {
    let Value::Object(input) = input else { panic!("an object") };
    RunSettings::McpTool { server: "rules".to_owned(), tool: tool.to_owned(), input }
}

#[tokio::test]
async fn a_tool_is_given_parts_of_the_event_and_its_text_is_the_answer() {
    let project = with_server().await;
    let fired = project.guards(&tool("judge", json!({ "what": "${tool} ${args.command}" }))).await;
    assert_eq!(fired.to_string(), "denied by outside: no bash ls");
    assert_eq!(account(&fired)["handler"], "mcp__rules__judge");
}

#[tokio::test]
async fn what_is_not_there_or_does_not_answer_is_a_failure() {
    let project = with_server().await;
    let cases = [
        (tool("judge", json!({ "what": "${args.nothing}" })), "the event has nothing at `args.nothing`"),
        (tool("hidden", json!({})), "no MCP server `rules` with a tool `hidden` is connected"),
        (tool("hang", json!({})), "it gave no answer within 300 ms"),
    ];
    for (run, says) in cases {
        let handler = project.build(&run);
        let limit = Duration::from_millis(300);
        let fired = project.guards_with(&handler, FailurePolicy::Closed, limit, json!({ "command": "ls" })).await;
        assert!(fired.record.decided_by_failure(), "{fired}");
        assert!(fired.to_string().contains(says), "{fired}");
    }
}

#[test]
fn a_place_that_is_none_is_an_error_before_anything_happens() {
    let problem = build(&tool("judge", json!({ "a": ["${"] })), &Services::default()).map(drop).expect_err("no place");
    assert!(problem.to_string().contains("write `${args.command}`"), "{problem}");
}
