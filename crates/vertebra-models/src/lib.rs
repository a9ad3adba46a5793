//! Models for Vertebra: drivers for providers and local servers, ReAct for models without good tool calling, recordings.

#![warn(missing_docs)]

mod cassette;
mod driver;
pub mod found;
pub mod prices;
mod provider;
mod react;
mod secret;

pub use cassette::{CassetteError, Player, Recorder};
pub use driver::{Driver, DriverError, Drivers, RESPONSE_SCHEMA};
pub use prices::Prices;
pub use provider::{Adapter, Choice, PROVIDERS, Provider, Takes, UnknownProvider};
pub use react::React;
pub use secret::Secret;

/// The page about models, so that its example is tried.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/models.md")]
struct Page;
