//! A subagent that plans, and changes nothing.

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{Args, Capability, ToolOutput, ToolSpec, prelude::*};

use super::{Subagent, spawn};

const NAME: &str = "plan_with_subagent";

/// Gives the model `plan_with_subagent`: a second agent looks around with tools that change nothing, and answers with a
/// plan. The planner never plans by planners, nor by any other agent.
pub struct Planner {
    /// Who plans. By default an agent with the parent's read-only tools and limits.
    pub agent: Subagent,
}

impl Default for Planner {
    fn default() -> Self {
        let agent = Subagent::new("planner", "Plans a change without making it").read_only().prompt(
            "You plan work for another agent. Look around as far as you need to, change nothing, and answer with a plan: \
             short numbered steps in the order they are to be done, each with the files it touches and how to see that it \
             is done. Say what you assume and what could go wrong.",
        );
        Self { agent }
    }
}

impl Capability for Planner {
    fn install(self, kit: &mut Kit) {
        kit.instruct(format!(
            "Before work that takes several steps, call `{NAME}` with a full specification, then follow the plan."
        ));
        kit.tool(Plan { agent: self.agent.tools_deny([NAME, spawn::NAME]) });
    }
}

struct Plan {
    agent: Subagent,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Wanted {
    /// What is to be done, in full: goal, constraints, what is known. The planner knows nothing of this conversation.
    specification: String,
}

impl Tool for Plan {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(NAME, "Asks a second agent, which looks around but changes nothing, for a plan.")
            .input::<Wanted>()
            .delegates()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let Wanted { specification } = args.parse()?;
        if specification.trim().is_empty() {
            return Err(ToolError::new("the specification is empty; say what is to be done"));
        }
        let agent = self.agent.build(invocation.run(), &[])?;
        invocation.delegate(&agent, specification).await?.into_output(self.agent.name())
    }
}
