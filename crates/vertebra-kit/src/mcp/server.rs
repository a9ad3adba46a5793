//! A server: started, asked for its tools, called, and started again when it has ended.

use std::{collections::HashSet, sync::Arc, time::Duration};

use rmcp::{
    Peer, RoleClient,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, PaginatedRequestParams, Tool},
    service::ServiceError,
};
use tokio::sync::Mutex;

use super::{
    McpError,
    client::{Connection, chain, within},
    config::ServerConfig,
    visible,
};

/// How many tools one server may have.
const MAX_TOOLS: usize = 1000;

pub(super) struct Server {
    name: Arc<str>,
    config: ServerConfig,
    link: Mutex<Link>,
}

/// The connection, if it stands, and how often in a row it had to be made again.
struct Link {
    connection: Option<Connection>,
    restarts: u32,
}

impl Server {
    /// Starts or reaches a server. Gives the tools that its configuration lets through, by name.
    pub(super) async fn start(name: Arc<str>, config: ServerConfig) -> Result<(Self, Vec<Tool>), McpError> {
        let failed = |message| McpError::Server { server: name.to_string(), message };
        let connection = Connection::open(&name, &config.transport, config.start_timeout).await.map_err(failed)?;
        let listed = within(config.start_timeout, list(connection.service.peer())).await;
        let mut tools = match listed {
            Ok(tools) => tools,
            Err(problem) => return Err(failed(format!("{problem}{}", connection.last_words().await))),
        };
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let chosen = config.chosen(&names).map_err(failed)?;
        let chosen: HashSet<String> = chosen.into_iter().map(str::to_owned).collect();
        tools.retain(|tool| chosen.contains(&*tool.name));
        let link = Mutex::new(Link { connection: Some(connection), restarts: 0 });
        Ok((Self { name, config, link }, tools))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Calls a tool. Dropped or out of time, the server is told that nobody waits any more.
    pub(super) async fn call(&self, tool: &str, args: JsonObject) -> Result<CallToolResult, String> {
        let peer = self.peer().await?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        let limit = self.config.call_timeout;
        let Ok(answer) = tokio::time::timeout(limit, peer.call_tool_once(params)).await else {
            return Err(self.says(&format!("no answer within {} ms; it was told to stop", limit.as_millis())));
        };
        match answer {
            Ok(CallToolResponse::Complete(result)) => {
                self.link.lock().await.restarts = 0;
                Ok(result)
            }
            Ok(CallToolResponse::InputRequired(_) | CallToolResponse::Task(_)) => {
                Err(self.says("it answered with a question of its own or a task, which this agent does not take"))
            }
            Ok(_) => Err(self.says("it gave an answer that is not known here")),
            Err(ServiceError::McpError(error)) => Err(self.says(&visible::told(&error.message))),
            Err(error) => Err(self.lost(&error).await),
        }
    }

    /// The other end, reached again if it has gone: a few times in a row, and ever later.
    async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        let mut link = self.link.lock().await;
        if let Some(connection) = link.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.service.peer().clone());
        }
        let words = last_words(link.connection.take()).await;
        if link.restarts >= self.config.max_restarts {
            return Err(
                self.says(&format!("it has ended, and is not started again after {} times{words}", link.restarts))
            );
        }
        let wait = self.config.backoff.saturating_mul(2_u32.saturating_pow(link.restarts));
        link.restarts += 1;
        tokio::time::sleep(wait.min(Duration::from_secs(30))).await;
        let opened = Connection::open(&self.name, &self.config.transport, self.config.start_timeout).await;
        let connection =
            opened.map_err(|problem| self.says(&format!("it has ended and cannot be started again: {problem}")))?;
        let peer = connection.service.peer().clone();
        link.connection = Some(connection);
        Ok(peer)
    }

    /// What became of a call whose connection broke.
    async fn lost(&self, error: &ServiceError) -> String {
        let mut link = self.link.lock().await;
        let gone = link.connection.take_if(|connection| connection.is_closed());
        let (error, words) = (chain(error), last_words(gone).await);
        self.says(&format!("the connection broke ({error}); whether the call took effect is not known{words}"))
    }

    fn says(&self, what: &str) -> String {
        format!("MCP server `{}`: {what}", self.name)
    }
}

async fn last_words(connection: Option<Connection>) -> String {
    match connection {
        Some(connection) => connection.last_words().await,
        None => String::new(),
    }
}

/// All tools, page by page, up to a limit.
async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ServiceError> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut cursor = None;
    // A page may be empty, so pages are counted too.
    for _ in 0..MAX_TOOLS {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(params)).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= MAX_TOOLS {
            break;
        }
    }
    tools.truncate(MAX_TOOLS);
    Ok(tools)
}
