//! `mcp_tool`: a tool of an MCP server.

use std::time::Instant;

use serde_json::{Map, Value};
use tokio::time::timeout;
use vertebra_kit::mcp::Servers;

use super::{Answered, Ask, BoxFuture, Handler, HandlerError, Services, process::MAX_OUTPUT, template};
use crate::{
    settings::Contract,
    wire::{End, Exchange},
};

/// A tool of a server whose text is the answer.
pub(super) struct McpTool {
    servers: Servers,
    server: String,
    tool: String,
    input: Map<String, Value>,
}

impl McpTool {
    pub(super) fn new(
        server: &str,
        tool: &str,
        input: &Map<String, Value>,
        services: &Services,
    ) -> Result<Self, HandlerError> {
        input.values().try_for_each(template::check)?;
        let servers = services.servers.clone();
        Ok(Self { servers, server: server.to_owned(), tool: tool.to_owned(), input: input.clone() })
    }

    async fn call(&self, ask: &Ask<'_>) -> Result<String, End> {
        let failed = |message| End::Failed { message };
        let input = template::fill(&self.input, ask.event).map_err(failed)?;
        let call = self.servers.call(&self.server, &self.tool, input);
        match timeout(ask.limit, call).await {
            Ok(Ok(answer)) if answer.text.len() > MAX_OUTPUT => Err(End::TooLarge { limit: MAX_OUTPUT }),
            Ok(Ok(answer)) => Ok(answer.text),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(End::TimedOut { after: ask.limit }),
        }
    }
}

impl Handler for McpTool {
    fn shown(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool)
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async move {
            let began = Instant::now();
            let (end, stdout) = match self.call(&ask).await {
                Ok(answer) => (End::Answered, answer),
                Err(end) => (end, String::new()),
            };
            let exchange =
                Exchange { handler: self.shown(), end, stdout, stderr: String::new(), took: began.elapsed() };
            let reply = Contract::Vertebra.read(&ask, &exchange);
            Answered { exchange, reply }
        })
    }
}
