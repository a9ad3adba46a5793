//! Tools of MCP servers, behind the same hooks as every other tool.

mod real;
mod rude;

use std::collections::BTreeMap;

use serde_json::json;
use vertebra_kit::mcp::{Mcp, McpConfig, McpError, ServerConfig, Transport};

use crate::sheet::Sheet;

pub(crate) fn sheet() -> Sheet {
    let server = ServerConfig::new(Transport::Http { url: String::new(), headers: BTreeMap::new() });
    Sheet {
        name: "Mcp",
        purpose: "Connects to MCP servers, as processes or over HTTP. Their tools are named `mcp__server__tool`.",
        install: |_builder| {},
        knobs: vec![
            ("allow_tools", format!("{:?}", server.allow_tools)),
            ("deny_tools", format!("{:?}", server.deny_tools)),
            ("start_timeout", format!("{:?}", server.start_timeout)),
            ("call_timeout", format!("{:?}", server.call_timeout)),
            ("max_restarts", server.max_restarts.to_string()),
            ("backoff", format!("{:?}", server.backoff)),
        ],
    }
}

/// A server that node runs, found by the variables of this very process.
fn node(script: &str, args: &[&str]) -> ServerConfig {
    let args: Vec<&str> = std::iter::once(script).chain(args.iter().copied()).collect();
    let text = json!({"mcpServers": {"s": {"command": "node", "args": args}}}).to_string();
    let config = McpConfig::from_json(&text, |name| std::env::var(name).ok()).expect("a valid configuration");
    config.servers["s"].clone()
}

async fn connect(server: ServerConfig) -> Result<Mcp, McpError> {
    Mcp::connect(McpConfig { servers: BTreeMap::from([("s".to_owned(), server)]) }).await
}

async fn connected(server: ServerConfig) -> Mcp {
    connect(server).await.expect("a server that can be used")
}

fn names(mcp: &Mcp) -> Vec<String> {
    mcp.tools().map(|spec| spec.name.to_string()).collect()
}
