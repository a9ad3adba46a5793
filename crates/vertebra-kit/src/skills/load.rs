//! The tool that loads a skill.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vertebra::{Args, ToolOutput, ToolSpec, prelude::*};

use super::{Context, Skill, SkillError, Skills, hooks::Active};
use crate::subagents::Subagent;

pub(super) const NAME: &str = "load_skill";

/// Gives the model a skill's instructions, or runs the skill in a child.
pub(super) struct Load {
    skills: Skills,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Asked {
    /// Which skill.
    #[serde(default)]
    skill_name: Option<String>,
    /// Lists the skills instead of loading one.
    #[serde(default)]
    list_skills: bool,
    /// What the skill is to work on.
    #[serde(default)]
    arguments: String,
}

impl Load {
    pub(super) fn new(skills: Skills) -> Self {
        Self { skills }
    }

    /// Runs a skill as a child: the tools it allows, its own limits, and the agent it names.
    async fn fork(&self, skill: &Skill, text: String, invocation: &Invocation) -> Result<ToolOutput, ToolError> {
        let run = invocation.run();
        let mut subagent = match (&skill.agent, &self.skills.agents) {
            (Some(name), Some(agents)) => Subagent::clone(agents.find(name).map_err(ToolError::new)?),
            (Some(name), None) => {
                return Err(ToolError::new(format!("skill `{}` needs the agent `{name}`", skill.name)));
            }
            (None, _) => Subagent::new(skill.name.clone(), &skill.description),
        };
        subagent = subagent.within(&self.skills.fork_limits);
        if let Some(allowed) = &skill.allowed_tools {
            subagent = subagent.tools(allowed);
        }
        if let Some(model) = &skill.model {
            subagent = subagent.model(model);
        }
        let agent = match &self.skills.agents {
            Some(agents) => agents.build(&subagent, run)?,
            None => subagent.build(run, &[])?,
        };
        invocation.delegate(&agent, text).await?.into_output(&skill.name)
    }
}

impl Tool for Load {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(
            NAME,
            "Loads a skill: instructions for a kind of task, written by people who know it. Follow them.",
        )
        .input::<Asked>()
        .alias("Skill")
        .delegates()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let asked: Asked = args.parse()?;
        let Some(name) = asked.skill_name.filter(|name| !asked.list_skills && !name.is_empty()) else {
            return Ok(self.skills.list().into());
        };
        let skill = self.skills.find(&name)?;
        if skill.disable_model_invocation {
            return Err(SkillError::NotForModels { name: skill.name.clone() }.into());
        }
        let text = skill.text(&asked.arguments)?;
        match skill.context {
            Context::Inline => Ok(ToolOutput { text, exit_code: None, data: json!({ "skill": Active::of(skill) }) }),
            Context::Fork => self.fork(skill, text, &invocation).await,
        }
    }
}
