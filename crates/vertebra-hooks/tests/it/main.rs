//! The engine's promises, one test each.

mod world;

mod allocations;
mod around;
mod bundles;
mod child;
mod detached;
mod failure;
mod laws;
mod matchers;
mod mistakes;
mod notes;
mod order;
mod panics;
mod patterns;
mod record;
mod refusals;
mod roles;
mod shadow;
mod stress;
mod swap;
mod untouched;
mod verdicts;
mod wire;
