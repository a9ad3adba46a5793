//! An agent from options: the model, the tools, the rules.

use vertebra::{Agent, ModelId};
use vertebra_kit::{permissions::Rules, steering::Steering};

/// An agent ready to work, and the handles a front end needs.
pub(crate) struct Assembled {
    /// The agent.
    pub(crate) agent: Agent,
    /// The model it asks.
    pub(crate) model: ModelId,
    /// Where a person's words go while it works.
    pub(crate) steering: Steering,
    /// The permission rules, to which an "always" is added.
    pub(crate) rules: Rules,
    /// What a person should know before it begins: what was found, what is missing.
    pub(crate) notices: Vec<String>,
}
