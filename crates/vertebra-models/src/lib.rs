//! Models for Vertebra: drivers for providers and local servers, ReAct for models without good tool calling, recordings.

#![warn(missing_docs)]

mod cassette;
pub mod prices;
mod secret;

pub use cassette::{CassetteError, Player, Recorder};
pub use prices::Prices;
pub use secret::Secret;
