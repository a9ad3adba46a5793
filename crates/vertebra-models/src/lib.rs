//! Models for Vertebra: drivers for providers and local servers, ReAct for models without good tool calling, recordings.

#![warn(missing_docs)]

mod driver;
mod provider;
mod react;
mod secret;

pub use driver::{Driver, DriverError, RESPONSE_SCHEMA};
pub use provider::{Adapter, Provider};
pub use react::React;
pub use secret::Secret;
