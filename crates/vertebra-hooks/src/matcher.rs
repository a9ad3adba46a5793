//! Matchers as data: when a hook runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    compiled::{BadPattern, Compiled, NamePattern},
    pattern::Compile,
};

/// Says when a hook runs. Compiled once, at registration; an invalid pattern is an error there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matcher {
    /// The tool's name or one of its aliases, without regard to case: `bash`, `edit|write`, `read_*`, `/mcp__.+/`.
    /// Always the whole name.
    Tool(String),
    /// A glob over every path the event mentions: `*` stays within a folder, `**` crosses folders, and a glob without
    /// a slash matches at any depth.
    Path(String),
    /// A regular expression over the whole command line and over each simple command inside it.
    Command(String),
    /// This session.
    Session(String),
    /// The agent of this name.
    Agent(String),
    /// A kind of step.
    Step(String),
    /// A metadata key of the state.
    Metadata {
        /// The key.
        key: String,
        /// What must hold for its value.
        is: Test,
    },
    /// A place in the arguments.
    Args {
        /// A JSON pointer, such as `/options/force`.
        at: String,
        /// What must hold there.
        is: Test,
    },
    /// All of these hold.
    All(Vec<Matcher>),
    /// One of these holds.
    Any(Vec<Matcher>),
    /// This does not hold. A [`Command`](Self::Command) or [`Path`](Self::Path) inside is asked of each command and path of the
    /// event: the whole matcher holds if it does for one of them, so `git log; rm x` is not excused by `git log`.
    Not(Box<Matcher>),
    /// This holds for every command and every path of the event, not only for one: for hooks that allow something.
    Every(Box<Matcher>),
}

/// What must hold for a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// It is there.
    Exists,
    /// It is this.
    Equals(Value),
    /// It is text that matches this regular expression.
    Matches(String),
}

impl Matcher {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut all) => {
                all.push(other);
                Self::All(all)
            }
            first => Self::All(vec![first, other]),
        }
    }

    /// Does not hold.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Holds for every command and every path.
    #[must_use]
    pub fn for_every(self) -> Self {
        Self::Every(Box::new(self))
    }

    /// Whether all patterns inside parse. That is all: none of them is compiled.
    pub fn check(&self) -> Result<(), BadPattern> {
        Compiled::check(self)
    }

    /// Every tool pattern inside, wherever it stands.
    pub fn tool_patterns(&self) -> Vec<&str> {
        match self {
            Self::Tool(pattern) => vec![pattern],
            Self::All(inner) | Self::Any(inner) => inner.iter().flat_map(Self::tool_patterns).collect(),
            Self::Not(inner) | Self::Every(inner) => inner.tool_patterns(),
            Self::Path(_)
            | Self::Command(_)
            | Self::Session(_)
            | Self::Agent(_)
            | Self::Step(_)
            | Self::Metadata { .. }
            | Self::Args { .. } => Vec::new(),
        }
    }

    /// Whether a tool of one of these names could satisfy this tool pattern. `None` if the pattern does not parse.
    pub fn tool_pattern_holds(pattern: &str, names: &[&str]) -> Option<bool> {
        Self::names_held(pattern, names.iter().copied()).map(|held| !held.is_empty())
    }

    /// Which of these names satisfy this tool pattern. `None` if the pattern does not parse.
    pub fn names_held<'n>(pattern: &str, names: impl IntoIterator<Item = &'n str>) -> Option<Vec<&'n str>> {
        let compiled = NamePattern::new(pattern, Compile::Now).ok()?;
        Some(names.into_iter().filter(|name| compiled.holds(name).unwrap_or(true)).collect())
    }
}
