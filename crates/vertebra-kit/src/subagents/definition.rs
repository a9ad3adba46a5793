//! What a subagent is.

use std::{fmt, sync::Arc};

use vertebra::{AgentBuilder, Limits};

use crate::{
    front_matter::{NAME_RULE, is_name},
    tool_list::ToolList,
};

type Setup = dyn Fn(&mut AgentBuilder) + Send + Sync;

/// An agent that a model can spawn.
#[derive(Clone)]
pub struct Subagent {
    pub(crate) name: Arc<str>,
    pub(crate) description: String,
    pub(crate) prompt: String,
    /// Each list narrows what the parent's tools leave; none leaves all.
    pub(crate) tools: Vec<Vec<String>>,
    pub(crate) tools_deny: Vec<String>,
    pub(crate) read_only: bool,
    pub(crate) model: Option<String>,
    pub(crate) skills: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) setup: Option<Arc<Setup>>,
}

/// A subagent that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("subagent `{name}`: {problem}")]
pub struct InvalidSubagent {
    /// Its name.
    pub name: Arc<str>,
    /// What is wrong, and what to write instead.
    pub problem: SubagentProblem,
}

/// What is wrong with a subagent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubagentProblem {
    /// Models cannot use its name.
    #[error("`{0}` is not a name; {NAME_RULE}")]
    Name(Arc<str>),
    /// Another subagent has its name.
    #[error("there is an agent of that name already")]
    Duplicate,
    /// It has no description.
    #[error("it has no description; say what it is for")]
    NoDescription,
    /// One of the tools that it may use cannot be read.
    #[error("{0}")]
    Tools(String),
    /// One of the tools that it may not use cannot be read.
    #[error("{0}")]
    ToolsDeny(String),
}

impl SubagentProblem {
    /// The field of a file that it is about.
    pub(crate) fn field(&self) -> &'static str {
        match self {
            Self::Name(_) | Self::Duplicate => "name",
            Self::NoDescription => "description",
            Self::Tools(_) => "tools",
            Self::ToolsDeny(_) => "tools_deny",
        }
    }
}

impl Subagent {
    /// An agent of this name. The description tells the model what it is for.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            prompt: String::new(),
            tools: Vec::new(),
            tools_deny: Vec::new(),
            read_only: false,
            model: None,
            skills: Vec::new(),
            limits: Limits::none(),
            setup: None,
        }
    }

    /// What it is told before its task.
    #[must_use]
    pub fn prompt(mut self, text: impl Into<String>) -> Self {
        self.prompt = text.into();
        self
    }

    /// It may use these of its parent's tools and no others: names, aliases, patterns, also `Bash(git *)`. Unless told, it
    /// may use all of them. Called again, both lists hold.
    #[must_use]
    pub fn tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools.push(tools.into_iter().map(Into::into).collect());
        self
    }

    /// It may not use these tools, whatever else permits them.
    #[must_use]
    pub fn tools_deny<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools_deny.extend(tools.into_iter().map(Into::into));
        self
    }

    /// It may use only tools that change nothing outside.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// It asks this model of the parent's provider.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// It knows this skill from the start; see [`Subagents::skills`](super::Subagents::skills).
    #[must_use]
    pub fn skill(mut self, name: impl Into<String>) -> Self {
        self.skills.push(name.into());
        self
    }

    /// How much it may use, out of what its parent has left. Unless told, only the parent's limits hold.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds hooks, tools or anything else that only this agent has. Runs each time it is spawned.
    #[must_use]
    pub fn setup(mut self, setup: impl Fn(&mut AgentBuilder) + Send + Sync + 'static) -> Self {
        self.setup = Some(Arc::new(setup));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Whether it can be spawned; if not, what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), SubagentProblem> {
        if !is_name(&self.name) {
            return Err(SubagentProblem::Name(self.name.clone()));
        }
        if self.description.trim().is_empty() {
            return Err(SubagentProblem::NoDescription);
        }
        self.tool_lists().map_err(SubagentProblem::Tools)?;
        self.denied().map(drop).map_err(SubagentProblem::ToolsDeny)
    }

    pub(crate) fn tool_lists(&self) -> Result<Vec<ToolList>, String> {
        self.tools.iter().map(ToolList::new).collect()
    }

    pub(crate) fn denied(&self) -> Result<ToolList, String> {
        ToolList::new(&self.tools_deny)
    }
}

impl fmt::Debug for Subagent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subagent").field("name", &self.name).field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// One line for the model: `- reviewer: Reviews a change (tools: Read, Grep)`.
impl fmt::Display for Subagent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let description: Vec<&str> = self.description.split_whitespace().collect();
        write!(f, "- {}: {} (tools: ", self.name, description.join(" "))?;
        let list = |list: &Vec<String>| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        match (&*self.tools, self.read_only) {
            ([], true) => f.write_str("all that change nothing")?,
            ([], false) => f.write_str("all of yours")?,
            (lists, _) => f.write_str(&lists.iter().map(list).collect::<Vec<_>>().join(", of those "))?,
        }
        if !self.tools_deny.is_empty() {
            write!(f, ", but not {}", self.tools_deny.join(", "))?;
        }
        f.write_str(")")
    }
}
