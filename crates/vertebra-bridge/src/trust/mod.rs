//! Trust: a person's recorded consent to the configuration of a folder.
//!
//! A folder may contain settings, hooks, instructions, skills and agents. None of it runs, widens a permission, redirects a
//! request or reaches a model before a person trusts it. Trust covers exactly the bytes that the person was shown: each file,
//! and each script that a hook names, is recorded with the hash of its content, so a change to one of them asks again.

mod code;
mod expected;
mod folder;
mod hooks;
mod inline;
mod loads;
mod own;
mod programs;
mod project;
mod record;
mod remains;
mod scan;
mod scripts;
mod seals;
mod shell;
mod store;

pub use self::{
    hooks::ProjectHook,
    own::Own,
    project::{Kind, Project, ProjectFile},
    remains::{Remains, ask_person, needs_person, only_refusing, unreadable},
    seals::{Seal, Seals},
    store::{Store, TrustError},
};
pub(crate) use self::{
    hooks::does,
    project::CLAUDE,
    remains::{By, held, refuses},
    seals::Bound,
};

/// Whether a folder is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The folder contains nothing that needs trust.
    Empty,
    /// A person trusts the folder, and nothing changed since.
    Trusted,
    /// No person has decided yet.
    Unknown,
    /// A person trusted the folder, and these files are new, changed or deleted since.
    Changed(Vec<String>),
}

#[cfg(test)]
mod tests;
