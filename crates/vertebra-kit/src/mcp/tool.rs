//! A tool of a server as a tool of an agent.

use std::sync::Arc;

use serde_json::{Map, Value};
use vertebra::{Args, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{result, server::Server, visible};

/// How long a description may be.
const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// How long a schema may be, written as JSON.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

pub(super) struct McpTool {
    remote: Arc<Remote>,
    spec: ToolSpec,
}

/// A tool where it is.
pub(super) struct Remote {
    server: Arc<Server>,
    /// The server's own name for it.
    name: String,
}

impl Remote {
    pub(super) fn is(&self, server: &str, tool: &str) -> bool {
        self.server.name() == server && self.name == tool
    }

    pub(super) async fn call(&self, args: Map<String, Value>) -> Result<ToolOutput, ToolError> {
        let answer = self.server.call(&self.name, args).await.map_err(ToolError::new)?;
        result::read(answer)
    }
}

impl McpTool {
    /// A tool as a server describes it, under the name that an agent has for it; or why no agent should have it.
    pub(super) fn new(server: Arc<Server>, name: String, offer: rmcp::model::Tool) -> Result<Self, String> {
        let schema = visible::value(Value::Object((*offer.input_schema).clone()));
        let length = schema.to_string().len();
        if length > MAX_SCHEMA_BYTES {
            return Err(format!("its schema takes {length} bytes; at most {MAX_SCHEMA_BYTES} are read"));
        }
        jsonschema::validator_for(&schema).map_err(|error| format!("its schema is not valid: {error}"))?;
        let words =
            visible::cut(&visible::text(offer.description.as_deref().unwrap_or_default()), MAX_DESCRIPTION_BYTES);
        let hints = offer.annotations.unwrap_or_default();
        let hints = [("read only", hints.read_only_hint), ("idempotent", hints.idempotent_hint)];
        let hints: Vec<&str> =
            hints.into_iter().filter(|(_, hint)| *hint == Some(true)).map(|(name, _)| name).collect();
        let description = match &*hints {
            [] => words,
            hints => format!("{words}\n[The server says that this tool is {}.]", hints.join(" and ")),
        };
        let spec = ToolSpec::new(name, description).schema(schema);
        Ok(Self { remote: Arc::new(Remote { server, name: offer.name.into_owned() }), spec })
    }

    pub(super) fn remote(&self) -> &Arc<Remote> {
        &self.remote
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Args, _invocation: Invocation) -> Result<ToolOutput, ToolError> {
        self.remote.call(args.iter().map(|(name, value)| (name.clone(), value.clone())).collect()).await
    }
}
