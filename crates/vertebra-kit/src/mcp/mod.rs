//! Tools of MCP servers, behind the same hooks as every other tool.
//!
//! ```no_run
//! use vertebra::{Agent, testing::Script};
//! use vertebra_kit::mcp::{Mcp, McpConfig};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let text = r#"{"mcpServers": {"time": {"command": "mcp-server-time", "env": {"TOKEN": "${TIME_TOKEN}"}}}}"#;
//! let config = McpConfig::from_json(text, |name| std::env::var(name).ok())?;
//! let agent = Agent::builder(Script::new()).with(Mcp::connect(config).await?).build()?;
//! # Ok(())
//! # }
//! ```
//!
//! What a server says is data from outside:
//!
//! - Its tools are called `mcp__server__tool` and stand in the agent as they were when it was connected. If the server
//!   changes its list later, that is logged and not followed: what a person has looked at does not change behind their
//!   back. Connect again to see the new list.
//! - Its annotations ("read only", "idempotent") are told to the model as the server's words; they set nothing that a
//!   permission or a retry relies on. Its instructions for the model are not passed on.
//! - Characters that nobody sees (tags, changes of direction, zero width) are taken out of whatever a model reads.
//! - Each size, time and number has a limit, and the answer to a call that met one says so.
//!
//! A server that ends is started again by the next call, a few times and ever later. The call that it ended under is not
//! repeated: whether it took effect, nobody knows.

mod client;
mod config;
mod http;
mod names;
mod result;
mod server;
mod tool;
mod visible;

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value};
use vertebra::{BoxFuture, Capability, Kit, Tool, ToolError, ToolOutput, ToolSpec};

pub use config::{McpConfig, ServerConfig, Transport};

use server::Server;
use tool::{McpTool, Remote};

/// Connected servers and their tools: a capability.
///
/// The servers live as long as the tools do. With the last of them, the connection is closed, and a process that was
/// started for it is ended together with all that it started.
pub struct Mcp {
    tools: Vec<McpTool>,
    left_out: Vec<String>,
}

/// Why servers were not connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The configuration cannot be meant like this.
    #[error("the MCP configuration is not valid: {0}")]
    Config(String),
    /// A server was not reached, or not in time.
    #[error("the MCP server `{server}` cannot be used: {message}")]
    Server {
        /// Its name in the configuration.
        server: String,
        /// Why, and what it wrote to its error output.
        message: String,
    },
}

impl Mcp {
    /// Starts or reaches all servers, at the same time, and asks for their tools.
    pub fn connect(config: McpConfig) -> BoxFuture<'static, Result<Self, McpError>> {
        Box::pin(Self::connected(config))
    }

    async fn connected(config: McpConfig) -> Result<Self, McpError> {
        config.servers.keys().try_for_each(|name| names::check_server(name))?;
        let servers = config.servers.into_iter().map(|(name, config)| Server::start(name.into(), config));
        let mut mcp = Self { tools: Vec::new(), left_out: Vec::new() };
        for started in join_all(servers).await {
            let (server, offers) = started?;
            mcp.add(&Arc::new(server), offers);
        }
        Ok(mcp)
    }

    fn add(&mut self, server: &Arc<Server>, offers: Vec<rmcp::model::Tool>) {
        let names = names::of(server.name(), offers.iter().map(|offer| &*offer.name));
        for (offer, name) in offers.into_iter().zip(names) {
            let own_name = visible::text(&offer.name);
            match McpTool::new(server.clone(), name, offer) {
                Ok(tool) => self.tools.push(tool),
                Err(why) => self.left_out.push(format!("tool `{own_name}` of MCP server `{}`: {why}", server.name())),
            }
        }
    }

    /// What is known of the tools that an agent is given.
    pub fn tools(&self) -> impl Iterator<Item = ToolSpec> {
        self.tools.iter().map(Tool::spec)
    }

    /// The same tools for whoever calls one in place of a model: a hook.
    pub fn servers(&self) -> Servers {
        Servers(self.tools.iter().map(McpTool::remote).cloned().collect())
    }

    /// Tools that no agent is given because something is wrong with them, and what that is.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

/// The tools of connected servers, for whoever calls one in place of a model. They live as long as this does.
#[derive(Clone, Default)]
pub struct Servers(Arc<[Arc<Remote>]>);

/// Several as one.
impl FromIterator<Servers> for Servers {
    fn from_iter<I: IntoIterator<Item = Servers>>(several: I) -> Self {
        Self(several.into_iter().flat_map(|servers| servers.0.to_vec()).collect())
    }
}

impl Servers {
    /// Calls a tool of a server, by the server's own names. A tool that no agent may have is not there.
    pub fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        args: Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.0.iter().find(|remote| remote.is(server, tool)) {
                Some(remote) => remote.call(args).await,
                None => Err(ToolError::new(format!("no MCP server `{server}` with a tool `{tool}` is connected"))),
            }
        })
    }
}

impl Capability for Mcp {
    fn install(self, kit: &mut Kit) {
        for tool in self.tools {
            kit.tool(tool);
        }
    }
}
