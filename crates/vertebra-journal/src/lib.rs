//! The journal on disk: nothing lost, nothing done twice, everything replayable.

#[cfg(feature = "otel")]
pub mod telemetry;
