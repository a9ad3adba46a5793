//! The points of an agent's life, and the events that hooks receive there.

pub(crate) mod attributes;
pub mod events;
pub(crate) mod head;
pub(crate) mod info;
pub(crate) mod matching;
mod samples;
pub(crate) mod table;
