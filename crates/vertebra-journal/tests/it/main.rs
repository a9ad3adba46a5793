//! Promises of the journal on disk.

#[cfg(feature = "otel")]
mod telemetry;
