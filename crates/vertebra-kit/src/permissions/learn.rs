//! How long a rule applies that a person adds at a question, and why it may not be added.

use std::sync::Arc;

use super::{file::FileError, rule::RuleError};

/// How long an added rule applies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum For {
    /// In this session, including its subagents.
    Session(Arc<str>),
    /// Permanently, in sessions that work in the folder of this one: the rule is written to the settings file, under the
    /// name of the folder.
    Folder(Arc<str>),
    /// Permanently: the rule is written to the settings file.
    Good,
}

/// Why a rule could not be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The rule is invalid.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no settings file.
    #[error("there is no settings file to save the rule to")]
    NoFile,
    /// It is not known which folder the session works in.
    #[error("it is not known which folder this session works in")]
    NoFolder,
    /// The rule uses `~`, and the home folder is not known.
    #[error("`{rule}` uses `~`, but the home folder is not known; write an absolute path")]
    NoHome {
        /// The rule.
        rule: Arc<str>,
    },
    /// There are too many rules.
    #[error("the limit of {most} rules is reached")]
    TooMany {
        /// The limit.
        most: usize,
    },
}
