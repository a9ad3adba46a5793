//! The tools of an MCP server, behind a guard. The server is a process: this very program, started again.
//!
//! Run it with `cargo run -p vertebra-examples --bin mcp`.

use std::{
    error::Error,
    io::{BufRead as _, Write as _},
};

use serde_json::{Value, json};
use vertebra::{prelude::*, testing::Script};
use vertebra_kit::mcp::{Mcp, McpConfig};

/// A server of three tools, spoken by hand: one line of JSON in, one line out.
fn serve() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "library", "version": "1.0.0"},
            }),
            Some("tools/list") => json!({"tools": [
                {"name": "find", "description": "Finds a book", "annotations": {"readOnlyHint": true},
                 "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}},
                {"name": "burn", "description": "Burns a book", "inputSchema": {"type": "object"}},
                {"name": "close", "description": "Closes the library", "inputSchema": {"type": "object"}},
            ]}),
            Some("tools/call") if request["params"]["name"] == "find" => {
                let title = request["params"]["arguments"]["title"].as_str().unwrap_or_default();
                let key = std::env::var("LIBRARY_KEY").unwrap_or_default();
                json!({"content": [{"type": "text", "text": format!("{title}: shelf 7, with key {key}")}]})
            }
            Some("tools/call") => std::process::exit(1),
            _ => continue,
        };
        println!("{}", json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        std::io::stdout().flush()?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let variable = |name: &str| (name == "KEY").then(|| "k-1".to_owned());
    for mistake in [
        r#"{"mcpServers": {"library": {"comand": "library"}}}"#,
        r#"{"mcpServers": {"library": {"command": "library", "env": {"LIBRARY_KEY": "${KEI}"}}}}"#,
        r#"{"mcpServers": {"library": {"command": "library", "url": "https://example.org/mcp"}}}"#,
    ] {
        if let Err(error) = McpConfig::from_json(mistake, variable) {
            println!("{error}");
        }
    }

    let config = json!({"mcpServers": {"library": {
        "command": std::env::current_exe()?, "args": ["serve"], "env": {"LIBRARY_KEY": "${KEY}"}, "denyTools": ["close"],
    }}});
    let library = Mcp::connect(McpConfig::from_json(&config.to_string(), variable)?).await?;
    for tool in library.tools() {
        println!("\n{}: {}", tool.name, tool.description);
    }

    let model = Script::new()
        .call("mcp__library__find", r#"{"title": "Ulysses"}"#)
        .call("mcp__library__find", "{}")
        .call("mcp__library__burn", "{}")
        .say("It is on shelf 7.");
    let agent = Agent::builder(model)
        .with(library)
        .guard(BeforeToolUse.tool("mcp__library__burn").named("no-fire"), async |_cx| deny("books are not burned"))
        .watch(AfterToolUse, async |cx| {
            println!("  {} {}: {}", cx.tool, cx.result.status, cx.result.output);
            Ok(())
        })
        .build()?;
    println!("\n{}", agent.run("Where is Ulysses?").await?.text);
    Ok(())
}
