//! Agents that a model can hand work to: fresh context, chosen tools, their own model and limits.
//!
//! A subagent is built at the moment it is spawned, out of what its parent has: it can have fewer tools, never more. The
//! parent's hooks and guards hold for it, its own are added to them, and it spends from the parent's budget.

mod build;
mod definition;
mod planner;
mod spawn;
mod written;

use std::{path::Path, sync::Arc};

use vertebra::{Capability, Kit};

pub use self::{
    definition::{InvalidSubagent, Subagent, SubagentProblem},
    planner::Planner,
};
use crate::{Problem, front_matter::entries, skills::Skills};

/// The agents that a model can spawn, and the tool to do it: `spawn_subagent`.
///
/// Of two agents of one name the first is kept; the other is among the [`problems`](Self::problems).
///
/// ```
/// use vertebra::{Agent, testing::Script};
/// use vertebra_kit::subagents::{Subagent, Subagents};
///
/// let reviewer = Subagent::new("reviewer", "Reviews a change").prompt("You review code.").tools(["Read", "Grep"]);
/// let agents = Subagents::new().agent(reviewer)?.folder(".claude/agents");
/// for problem in agents.problems() {
///     eprintln!("{problem}");
/// }
/// let agent = Agent::builder(Script::new()).with(agents).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Subagents {
    agents: Vec<Arc<Subagent>>,
    problems: Vec<Problem>,
    skills: Option<Skills>,
}

impl Subagents {
    /// No agents yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent.
    pub fn agent(mut self, agent: Subagent) -> Result<Self, InvalidSubagent> {
        let is_taken = self.get(&agent.name).is_some();
        let checked = agent.check().and(if is_taken { Err(SubagentProblem::Duplicate) } else { Ok(()) });
        checked.map_err(|problem| InvalidSubagent { name: agent.name.clone(), problem })?;
        self.agents.push(Arc::new(agent));
        Ok(self)
    }

    /// Adds the agents of a folder: `*.md` with front matter, `*.yaml`, `*.yml`, `*.json`. Nothing in them is executed.
    /// Files that cannot be used are left out and listed among the [`problems`](Self::problems).
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        let (files, problem) = entries(folder.as_ref());
        self.problems.extend(problem);
        for path in files {
            match written::load(&path) {
                Some(Ok(agent)) => match self.get(&agent.name) {
                    Some(_) => {
                        let message = format!("an earlier agent is called `{}` too; that one is used", agent.name);
                        self.problems.push(Problem::new(&path, 1, message));
                    }
                    None => self.agents.push(Arc::new(agent)),
                },
                Some(Err(problem)) => self.problems.push(problem),
                None => {}
            }
        }
        self
    }

    /// The skills that agents may name in their `skills`: they know those from the start.
    #[must_use]
    pub fn skills(mut self, skills: &Skills) -> Self {
        self.skills = Some(skills.clone());
        self
    }

    /// What was not taken over, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The agents, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Subagent> {
        self.agents.iter().map(|agent| &**agent)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Subagent>> {
        self.agents.iter().find(|agent| &*agent.name == name)
    }

    /// The agent of this name, or why there is none.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Subagent>, String> {
        self.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.iter().map(|agent| &*agent.name).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("unknown agent `{name}`. Known: {known}")
        })
    }
}

impl Capability for Subagents {
    fn install(self, kit: &mut Kit) {
        // A tool that can choose among nothing has no place in a prompt.
        if !self.agents.is_empty() {
            kit.tool(spawn::Spawn::new(self));
        }
    }
}
