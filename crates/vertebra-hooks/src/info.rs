//! What is known of a registered hook besides its code.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::Matcher;

/// The name of a hook: what records, constraints and people call it.
pub type Name = Arc<str>;

/// What a hook may do. See the crate's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Wraps the whole operation.
    Around,
    /// May change and decide.
    Hook,
    /// Sees the final form and decides.
    Guard,
    /// Sees the decision.
    Watch,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Around => "around",
            Self::Hook => "hook",
            Self::Guard => "guard",
            Self::Watch => "watch",
        })
    }
}

/// For whom a hook holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// For those it was registered with.
    Own,
    /// For their children too.
    #[default]
    Children,
}

/// What a failure of a hook comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailurePolicy {
    /// As if the hook had no opinion.
    Open,
    /// As if it had refused, where the point can refuse.
    Closed,
    /// As if it had asked; where the point cannot ask, as if it had refused.
    Ask,
}

/// A registered hook, as people see it.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, by its own name")]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HookInfo {
    /// Its name, unique at its point.
    pub name: Name,
    /// The bundle it came in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Name>,
    /// Where it listens.
    pub point: &'static str,
    /// What it may do.
    pub role: Role,
    /// Lower runs first.
    pub priority: i32,
    /// Hooks that have to run after it.
    pub before: Vec<Name>,
    /// Hooks that have to run before it.
    pub after: Vec<Name>,
    /// How long it may take; `None` means as long as it wants.
    pub timeout: Option<Duration>,
    /// How often it is tried again if it fails.
    pub max_retries: u32,
    /// What its failure comes to.
    pub on_failure: FailurePolicy,
    /// Whether it runs behind the dispatch.
    pub detached: bool,
    /// Whether it runs at all.
    pub enabled: bool,
    /// Whether it only stands beside: what it would answer and change is recorded, and nothing comes of it.
    pub shadow: bool,
    /// Whether children have it too.
    pub reach: Reach,
    /// Whether the matcher may name a tool that the agent does not have.
    pub optional: bool,
    /// When it runs; `None` means always.
    pub matcher: Option<Matcher>,
    /// Whether a closure narrows that further.
    pub has_condition: bool,
}

impl HookInfo {
    /// The priority of a hook that asks for none.
    pub const DEFAULT_PRIORITY: i32 = 100;
    /// The timeout of a hook that asks for none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    /// The number of hooks that one point can have.
    pub const MAX_AT_POINT: usize = 0xFFFF;

    /// The hooks that it has to run before or after, with the option that names them.
    pub(crate) fn constraints(&self) -> impl Iterator<Item = (&'static str, &Name)> {
        let before = self.before.iter().map(|name| ("before", name));
        before.chain(self.after.iter().map(|name| ("after", name)))
    }

    pub(crate) fn has_constraints(&self) -> bool {
        !self.before.is_empty() || !self.after.is_empty()
    }

    /// Whether it, or the bundle it came in, is called this.
    pub(crate) fn goes_by(&self, name: &str) -> bool {
        *self.name == *name || self.bundle.as_deref() == Some(name)
    }
}
