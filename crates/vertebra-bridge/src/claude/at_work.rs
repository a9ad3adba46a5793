//! Skills and agents that bring hooks of their own, and which of them are at work where an event happens.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::settings::Declared;

/// Who brings hooks in its front matter. They run while it is at work: an agent until it ends, a skill from when it is
/// loaded to the end of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bringer {
    /// A skill, by its name.
    Skill(Arc<str>),
    /// An agent, by its name.
    Agent(Arc<str>),
}

impl fmt::Display for Bringer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skill(name) => write!(f, "skill {name}"),
            Self::Agent(name) => write!(f, "agent {name}"),
        }
    }
}

/// Who is at work where an event happens.
#[derive(Debug, Clone)]
pub(super) enum AtWork {
    /// Whoever there are hooks of: a person has named them.
    All,
    /// These.
    Known {
        /// The agent whose event it is, if it is not the first.
        agent: Option<Arc<str>>,
        /// What the session remembers.
        remembered: Remembered,
    },
}

/// What a session remembers of such hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// The skills that were loaded.
    pub(super) skills: Vec<Arc<str>>,
    /// Where handlers are written that were to run once, and did.
    pub(super) spent: Vec<String>,
}

impl AtWork {
    /// Whether a handler counts here and now.
    pub(super) fn has(&self, declared: &Declared) -> bool {
        let Self::Known { agent, remembered } = self else { return true };
        let is_here = match &declared.bringer {
            None => true,
            // A skill that runs as a child is the child.
            Some(Bringer::Skill(name)) => remembered.skills.contains(name) || agent.as_ref() == Some(name),
            Some(Bringer::Agent(name)) => agent.as_ref() == Some(name),
        };
        is_here && !(declared.is_for_once() && remembered.spent.contains(&declared.spot))
    }
}
