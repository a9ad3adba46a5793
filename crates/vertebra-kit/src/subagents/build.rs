//! From a definition to an agent, out of what the parent has.

use std::sync::Arc;

use vertebra::{
    Deltas, Limits, Model, ModelError, ModelId, Request, Response, Run, SharedModel, SharedTool, ToolSpec, prelude::*,
};

use super::{Subagent, Subagents};
use crate::tool_list::ToolList;

impl Subagents {
    /// The agent as a child of this run, with the skills it is to know.
    pub(crate) fn build(&self, agent: &Subagent, parent: &Run) -> Result<Agent, ToolError> {
        let mut knowledge = Vec::new();
        for skill in &agent.skills {
            let known = self.skills.as_ref();
            let known = known.ok_or_else(|| ToolError::new(format!("`{}` needs the skill `{skill}`", agent.name)))?;
            knowledge.push(known.text(skill, "")?);
        }
        agent.build(parent, &knowledge)
    }
}

impl Subagent {
    /// The agent as a child of this run: no tool that the parent has not, and `knowledge` at the end of its prompt.
    pub(crate) fn build(&self, parent: &Run, knowledge: &[String]) -> Result<Agent, ToolError> {
        let lists = Lists {
            agent: self.name.clone(),
            permitted: self.tool_lists().map_err(ToolError::new)?,
            denied: self.denied().map_err(ToolError::new)?,
        };
        let permits = |spec: &ToolSpec| (spec.read_only || !self.read_only) && lists.permit(spec);
        let tools: Vec<SharedTool> = parent.tools().filter(|tool| permits(&tool.spec())).collect();
        if tools.is_empty()
            && let Some(wanted) = lists.permitted.iter().find(|list| !list.is_empty())
        {
            return Err(ToolError::new(format!("`{}` needs tools that are not at hand: {wanted}", self.name)));
        }
        let mut builder = parent.child();
        let parts = std::iter::once(&self.prompt).chain(knowledge).map(String::as_str);
        let prompt = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        builder.name(self.name.clone()).system_prompt(prompt).limits(self.limits.clone());
        if let Some(model) = &self.model {
            builder.model(Renamed::new(parent.model(), model));
        }
        for tool in tools {
            builder.tool(tool);
        }
        if lists.look_at_calls() {
            builder.add_guard(BeforeToolUse.named("subagents/tools"), lists);
        }
        if let Some(setup) = &self.setup {
            setup(&mut builder);
        }
        Ok(builder.build()?)
    }

    /// This agent, within these limits as well.
    #[must_use]
    pub(crate) fn within(mut self, other: &Limits) -> Self {
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.into_iter().chain(b).min()
        }
        let own = &self.limits;
        self.limits = Limits {
            steps: least(own.steps, other.steps),
            tokens: least(own.tokens, other.tokens),
            time: least(own.time, other.time),
            cost_micros: least(own.cost_micros, other.cost_micros),
            deadline: least(own.deadline, other.deadline),
        };
        self
    }
}

/// Keeps an agent, and whomever it spawns, to the commands and paths that its lists name.
struct Lists {
    agent: Arc<str>,
    permitted: Vec<ToolList>,
    denied: ToolList,
}

impl Lists {
    fn permit(&self, spec: &ToolSpec) -> bool {
        self.permitted.iter().all(|list| list.names(&spec.name, &spec.aliases))
            && !self.denied.names_wholly(&spec.name, &spec.aliases)
    }

    fn look_at_calls(&self) -> bool {
        self.denied.is_partial() || self.permitted.iter().any(ToolList::is_partial)
    }
}

impl Guard<BeforeToolUse> for Lists {
    async fn check(&self, cx: &ToolCx<'_>) -> Answer<BeforeToolUse> {
        if self.denied.touches(cx) {
            return deny(format!("`{}` may not use {}", self.agent, self.denied));
        }
        // Tools that no list names are not the parent's: the agent's own setup added them.
        let exceeded = |list: &&ToolList| list.names(&cx.tool, &cx.aliases) && !list.covers(cx);
        match self.permitted.iter().find(exceeded) {
            Some(list) => deny(format!("`{}` may use no more than {list}", self.agent)),
            None => proceed(),
        }
    }
}

/// The parent's driver, asked for another of its models.
struct Renamed {
    driver: SharedModel,
    id: ModelId,
}

impl Renamed {
    fn new(driver: SharedModel, name: &str) -> Self {
        Self { id: ModelId { name: name.into(), ..driver.id() }, driver }
    }
}

impl Model for Renamed {
    fn id(&self) -> ModelId {
        self.id.clone()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        self.driver.infer(request, out).await
    }
}
