//! Vertebra from outside the process: what a file says, and whether it is trusted.

#![warn(missing_docs)]

mod shown;

pub mod settings;
pub mod trust;

pub use shown::{shown, wholly_shown};
