//! The tool that spawns a subagent.

use serde::Deserialize;
use serde_json::json;
use vertebra::{Args, ToolOutput, ToolSpec, prelude::*};

use super::{Subagent, Subagents};
use crate::front_matter::listing;

pub(super) const NAME: &str = "spawn_subagent";

/// Lets one of the agents do something. Several calls in one answer run at the same time.
pub(super) struct Spawn {
    subagents: Subagents,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Task {
    agent: String,
    prompt: String,
}

impl Spawn {
    pub(super) fn new(subagents: Subagents) -> Self {
        let agents = listing(subagents.iter().map(|agent| (agent.name(), agent.to_string())));
        let description = format!(
            "Gives a task to another agent, which starts afresh and answers with its result. To have several tasks done at \
             the same time, call this several times in one answer. The agents:\n{agents}"
        );
        let names: Vec<&str> = subagents.iter().map(Subagent::name).collect();
        let schema = json!({
            "type": "object",
            "properties": {
                "agent": { "type": "string", "enum": names, "description": "Which agent." },
                "prompt": {
                    "type": "string",
                    "description": "What it is to do, in full: it knows nothing of this conversation.",
                },
            },
            "required": ["agent", "prompt"],
        });
        Self { spec: ToolSpec::new(NAME, description).schema(schema).alias("Task").delegates(), subagents }
    }
}

impl Tool for Spawn {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let task: Task = args.parse()?;
        let subagent = self.subagents.find(&task.agent).map_err(ToolError::new)?;
        let agent = self.subagents.build(subagent, invocation.run())?;
        invocation.delegate(&agent, task.prompt).await?.into_output(&subagent.name)
    }
}
