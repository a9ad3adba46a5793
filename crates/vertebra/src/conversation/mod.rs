//! What an agent and a model say to each other, and the state that it leaves.

pub(crate) mod compact;
pub(crate) mod message;
pub(crate) mod messages;
pub(crate) mod state;
pub(crate) mod usage;
