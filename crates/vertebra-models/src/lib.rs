//! Models for Vertebra: drivers for providers and local servers, ReAct for models without good tool calling, recordings.

#![warn(missing_docs)]

pub mod prices;

pub use prices::Prices;
