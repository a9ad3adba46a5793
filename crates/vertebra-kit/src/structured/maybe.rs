//! An answer that may say that there is nothing to answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value, or why there is none: `agent.extract::<Maybe<Invoice>>(…)`.
///
/// A model that has to fill in a form invents what it does not find. This gives it another way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Maybe<T> {
    /// The value.
    Found(T),
    /// There is no such value; why, in a sentence.
    Nothing(String),
}

impl<T> Maybe<T> {
    /// The value, if there is one.
    pub fn found(self) -> Option<T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Nothing(_) => None,
        }
    }
}
