//! What hooks could cost: two designs without the promises of an engine.
//!
//! [`middleware`] is a tower stack, fixed at compile time: no engine that adds hooks while it runs gets below it.
//! [`registry`] is what one writes on the first day: a map of boxed closures, called one after the other. Neither
//! knows a timeout, isolates a panic or keeps a record.

pub mod middleware;
pub mod registry;
