//! The points of an agent's life, and the events that hooks receive there.

pub(crate) mod any;
pub(crate) mod any_hook;
pub(crate) mod attributes;
pub(crate) mod declared;
pub mod events;
mod fire;
pub(crate) mod head;
pub(crate) mod info;
pub(crate) mod known;
pub(crate) mod matching;
pub(crate) mod own;
mod samples;
pub(crate) mod table;
