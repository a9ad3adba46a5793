//! Instructions in folders, loaded when they are needed: the public `SKILL.md` format.
//!
//! A skill that the model has loaded may narrow the tools (`allowed-tools`) and choose the model (`model`). Both hold
//! from the next step on, until another skill is loaded or the run ends; the tools hold in children too, whatever these
//! load. `allowed-tools` grants nothing: it only narrows, and since a model may load another skill at any time, what must
//! never happen belongs into a guard of the agent's own. With `context: fork` a skill runs as a child instead.
//!
//! Loading reads files and runs nothing: a command in a skill's text stays text.

mod hooks;
mod load;
mod render;
mod skill;

use std::{path::Path, sync::Arc, time::Duration};

use vertebra::{Capability, Kit, Limits};

pub use self::skill::{Context, Skill};
use crate::{
    Problem,
    front_matter::{entries, listing},
    subagents::Subagents,
};

/// The skills of some folders, and the tool to load them: `load_skill`.
///
/// ```
/// use vertebra::{Agent, testing::Script};
/// use vertebra_kit::skills::Skills;
///
/// let skills = Skills::new().folder(".agents/skills").folder(".claude/skills");
/// for problem in skills.problems() {
///     eprintln!("{problem}");
/// }
/// let agent = Agent::builder(Script::new()).with(skills).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Skills {
    found: Vec<Arc<Skill>>,
    problems: Vec<Problem>,
    agents: Option<Arc<Subagents>>,
    fork_limits: Limits,
}

/// A skill cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// There is none of that name.
    #[error("unknown skill `{name}`. Known: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// It says `disable-model-invocation: true`.
    #[error("skill `{name}` is for people to start, not for models")]
    NotForModels {
        /// The skill.
        name: Arc<str>,
    },
    /// It says `user-invocable: false`.
    #[error("skill `{name}` is for models to load, not for people to start")]
    NotForPeople {
        /// The skill.
        name: Arc<str>,
    },
    /// Its text is too long with these arguments.
    #[error("skill `{name}` is longer than {limit} bytes with these arguments; shorten them")]
    TooLong {
        /// The skill.
        name: Arc<str>,
        /// How long it may be.
        limit: usize,
    },
}

impl Default for Skills {
    fn default() -> Self {
        Self { found: Vec::new(), problems: Vec::new(), agents: None, fork_limits: Self::FORK_LIMITS }
    }
}

impl Skills {
    /// How much a skill with `context: fork` may use unless told otherwise.
    pub const FORK_LIMITS: Limits = Limits {
        steps: Some(10),
        tokens: Some(16_384),
        time: Some(Duration::from_mins(2)),
        cost_micros: None,
        deadline: None,
    };

    /// No skills yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the skills of a folder: every `*/SKILL.md` in it. Of two skills of one name the first is kept; the other,
    /// and every file that cannot be used, is among the [`problems`](Self::problems).
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        let (folders, problem) = entries(folder.as_ref());
        self.problems.extend(problem);
        for path in folders {
            match Skill::load(&path) {
                Some(Ok(skill)) => match self.get(&skill.name) {
                    Some(first) => {
                        let first = first.folder.display();
                        let message = format!("`{}` is already in {first}; that one is used", skill.name);
                        self.problems.push(Problem::new(&path.join(skill::FILE), 1, message));
                    }
                    None => self.found.push(Arc::new(skill)),
                },
                Some(Err(problem)) => self.problems.push(problem),
                None => {}
            }
        }
        self
    }

    /// The agents that skills may name in `agent`, to run as.
    #[must_use]
    pub fn agents(mut self, agents: &Subagents) -> Self {
        self.agents = Some(Arc::new(agents.clone()));
        self
    }

    /// How much a skill with `context: fork` may use; [`FORK_LIMITS`](Self::FORK_LIMITS) unless told otherwise.
    #[must_use]
    pub fn fork_limits(mut self, limits: Limits) -> Self {
        self.fork_limits = limits;
        self
    }

    /// What was not taken over, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The skills, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.found.iter().map(|skill| &**skill)
    }

    /// The text of a skill, for a person who starts it by name: use it as a prompt.
    pub fn render(&self, name: &str, arguments: &str) -> Result<String, SkillError> {
        let skill = self.find(name)?;
        if !skill.user_invocable {
            return Err(SkillError::NotForPeople { name: skill.name.clone() });
        }
        skill.text(arguments)
    }

    /// The text of a skill, whoever wants it.
    pub(crate) fn text(&self, name: &str, arguments: &str) -> Result<String, SkillError> {
        self.find(name)?.text(arguments)
    }

    fn get(&self, name: &str) -> Option<&Arc<Skill>> {
        self.found.iter().find(|skill| &*skill.name == name)
    }

    fn find(&self, name: &str) -> Result<&Arc<Skill>, SkillError> {
        self.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.for_models().map(|skill| &*skill.name).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            SkillError::Unknown { name: name.to_owned(), known }
        })
    }

    fn for_models(&self) -> impl Iterator<Item = &Skill> {
        self.iter().filter(|skill| !skill.disable_model_invocation)
    }

    /// The skills that a model may load, and what they are for.
    fn list(&self) -> String {
        listing(self.for_models().map(|skill| (&*skill.name, skill.line())))
    }
}

impl Capability for Skills {
    fn install(self, kit: &mut Kit) {
        // A tool that can load nothing has no place in a prompt.
        if self.for_models().next().is_some() {
            hooks::attach(kit, &self);
            kit.tool(load::Load::new(self));
        }
    }
}
