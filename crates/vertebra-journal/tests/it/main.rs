//! The journal on disk, on real files, with real processes that die.

mod agent;
mod chain;
mod claims;
mod conformance;
mod crash;
mod damage;
mod disk;
mod inbox;
mod kill;
mod lists;
mod open;
mod property;
mod queue;
mod retention;
mod signed;
mod support;
#[cfg(feature = "otel")]
mod telemetry;
