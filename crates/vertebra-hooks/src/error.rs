//! How a hook can fail, and how a registration can.

use std::{any::Any, error::Error, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Name, supervise::panicked};

/// A hook did not do its work. Any error becomes one through `?`.
///
/// It does not itself implement [`Error`]: that is what lets `?` take every type that does.
pub struct HookError(Box<dyn Error + Send + Sync>);

impl HookError {
    /// An error from a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into().into())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HookError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

/// Why a hook has no verdict. Kept apart from a deny everywhere: a crash is not an opinion.
///
/// The list is closed: what redacts records must know every text in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// The hook returned an error.
    #[error("failed: {message}")]
    Error {
        /// What it said.
        message: String,
    },
    /// The hook panicked.
    #[error("panicked: {message}")]
    Panic {
        /// The panic's message.
        message: String,
    },
    /// The hook did not answer in time.
    #[error("gave no answer within {} ms", .after.as_millis())]
    Timeout {
        /// Its limit.
        after: Duration,
    },
    /// The hook asked for one more retry than an operation may have.
    #[error("asked to retry once more than allowed")]
    RetriesExhausted,
}

impl Failure {
    /// What a caught panic carries, as a failure.
    pub fn of_panic(panic: Box<dyn Any + Send>) -> Self {
        panicked(panic)
    }
}

/// Why hooks were not registered. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Two hooks of one point share a name.
    #[error("two hooks at {point} are named `{name}`: give one another name")]
    Duplicate {
        /// The point.
        point: &'static str,
        /// The name.
        name: Name,
    },
    /// A bundle of hooks has the name of another.
    #[error("a bundle named `{bundle}` is installed already: remove it first, or give one another name")]
    DuplicateBundle {
        /// The name.
        bundle: Name,
    },
    /// A constraint names a hook that is not there.
    #[error("`{hook}` is to run {constraint} `{unknown}`, but no hook of that name is at {point}{}", did_you_mean(.nearest.as_deref()))]
    UnknownName {
        /// The point.
        point: &'static str,
        /// The hook with the constraint.
        hook: Name,
        /// `before` or `after`.
        constraint: &'static str,
        /// The name nobody has.
        unknown: Name,
        /// The name most like it.
        nearest: Option<Name>,
    },
    /// The constraints contradict each other.
    #[error("the hooks at {point} cannot be ordered, because each has to run before the next: {}; remove one of these constraints", .names.join(" → "))]
    Cycle {
        /// The point.
        point: &'static str,
        /// The hooks in a circle, the first repeated at the end.
        names: Vec<String>,
    },
    /// A constraint asks for an order that the roles rule out.
    #[error("`{hook}` cannot run {constraint} `{other}`: hooks run first, then guards, then watches")]
    AcrossRoles {
        /// The hook with the constraint.
        hook: Name,
        /// `before` or `after`.
        constraint: &'static str,
        /// The other hook.
        other: Name,
    },
    /// A point has more hooks than its table can hold.
    #[error(
        "{point} cannot have {count} hooks, `{hook}` among them: the limit is {limit}; let one hook decide for several"
    )]
    TooMany {
        /// The point.
        point: &'static str,
        /// The first hook beyond the limit.
        hook: Name,
        /// How many there would be.
        count: usize,
        /// How many there can be.
        limit: usize,
    },
    /// A pattern does not parse.
    #[error("`{hook}` has an invalid {field} pattern `{pattern}`: {message}")]
    Pattern {
        /// The hook.
        hook: Name,
        /// The attribute, or `metadata`.
        field: &'static str,
        /// The pattern.
        pattern: String,
        /// What the parser says.
        message: String,
    },
    /// A matcher tests an attribute that the events of its point do not have.
    #[error("`{hook}` matches `{key}`, but {point} has no attribute `{key}`{}", instead(.nearest.as_deref(), .known))]
    NoAttribute {
        /// The hook.
        hook: Name,
        /// Its point.
        point: &'static str,
        /// The attribute in the matcher.
        key: String,
        /// The attribute of the point whose name is most like it.
        nearest: Option<&'static str>,
        /// All attributes of the point.
        known: Vec<&'static str>,
    },
    /// No hook of this name is registered.
    #[error("no hook is named `{name}`{}", did_you_mean(.nearest.as_deref()))]
    NotFound {
        /// The name nobody has.
        name: String,
        /// The name most like it.
        nearest: Option<Name>,
    },
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map(|name| format!(": did you mean `{name}`?")).unwrap_or_default()
}

/// What to write in place of an attribute that a point does not have.
fn instead(nearest: Option<&str>, known: &[&str]) -> String {
    match (nearest, known) {
        (Some(name), _) => did_you_mean(Some(name)),
        (None, []) => ": it has none".to_owned(),
        (None, known) => format!(": it has `{}`", known.join("`, `")),
    }
}
