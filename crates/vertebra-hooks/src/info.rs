//! What is known of a registered hook besides its code.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Matcher, RegisterError};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// For those it was registered with.
    Own,
    /// For their children too.
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

    /// Whether it, or the bundle it came in, is called this.
    pub(crate) fn goes_by(&self, name: &str) -> bool {
        *self.name == *name || self.bundle.as_deref() == Some(name)
    }

    /// An option that was set but that this role has no use for.
    fn without_effect(&self) -> Option<&'static str> {
        let usual = match self.role {
            Role::Hook | Role::Guard => return None,
            Role::Watch => FailurePolicy::Open,
            Role::Around => FailurePolicy::Closed,
        };
        if self.max_retries > 0 {
            return Some("max_retries");
        }
        if self.shadow {
            return Some("shadow");
        }
        (self.on_failure != usual).then_some("a failure policy")
    }

    pub(crate) fn check(&self) -> Result<(), RegisterError> {
        if self.role == Role::Guard && self.on_failure != FailurePolicy::Closed {
            return Err(RegisterError::GuardFailsOpen { hook: self.name.clone() });
        }
        if let Some(option) = self.without_effect() {
            return Err(RegisterError::WithoutEffect { hook: self.name.clone(), role: self.role, option });
        }
        if self.role == Role::Guard && self.reach == Reach::Own {
            return Err(RegisterError::GuardNotInherited { hook: self.name.clone() });
        }
        if self.detached && self.role != Role::Watch {
            return Err(RegisterError::NotDetachable { hook: self.name.clone() });
        }
        Ok(())
    }
}
