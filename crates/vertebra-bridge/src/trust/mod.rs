//! Trust: what comes with a folder counts only after a person has seen it.
//!
//! A folder from elsewhere may bring settings, hooks, instructions, skills and agents. None of it runs, widens a permission,
//! moves a request or speaks to a model before a person said so, and what they said holds for exactly the bytes they were
//! shown: each file, and each script that a hook names, is kept with the fingerprint of its content, so a change to one
//! asks again.

mod hooks;
mod project;
mod scripts;
mod seals;
mod store;

pub use self::{
    hooks::ProjectHook,
    project::{Kind, Project, ProjectFile},
    scripts::words,
    seals::Seals,
    store::{Store, TrustError},
};
pub(crate) use self::{hooks::does, project::CLAUDE};

/// How a folder stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It brings nothing.
    Empty,
    /// All that it brings was seen and is as it was.
    Trusted,
    /// Nobody was asked yet.
    Unknown,
    /// Somebody said yes, and these files are new or other than they were, or are settings that are gone.
    Changed(Vec<String>),
}

#[cfg(test)]
mod tests;
