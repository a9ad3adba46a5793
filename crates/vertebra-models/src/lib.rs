//! Models for Vertebra: drivers for providers and local servers, ReAct for models without tool calling, recordings.
//!
//! Start with [`model`], which takes a name and reads the key from the environment:
//!
//! ```no_run
//! use vertebra::prelude::*;
//!
//! let agent = Agent::builder(vertebra_models::model("anthropic:claude-sonnet-5-5")?).build()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Driver`] takes the key, the base URL and the prices from you. [`found::Search`] lists the providers whose key is set
//! and the local servers that answer.

#![warn(missing_docs)]

mod cassette;
mod driver;
pub mod found;
mod named;
pub mod prices;
mod provider;
mod react;
mod secret;
pub mod windows;

pub use cassette::{CassetteError, Player, Recorder};
pub use driver::{Driver, DriverError, Drivers, RESPONSE_SCHEMA};
pub use named::{ModelNameError, model};
pub use prices::Prices;
pub use provider::{Adapter, Choice, PROVIDERS, Provider, Takes, UnknownProvider};
pub use react::React;
pub use secret::Secret;

/// Pages whose Rust examples are compiled as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../../../docs/models.md")]
    struct Models;

    #[doc = include_str!("../../../docs/tour.md")]
    struct Tour;
}
