//! Vertebra from outside the process: what files say, what hooks outside answer, and whether all that is trusted.

#![warn(missing_docs)]

mod kept;
mod shown;
mod told;

pub mod claude;
pub mod handler;
pub mod host;
pub mod policy;
pub mod settings;
pub mod trust;
pub mod wire;

pub(crate) use shown::literal_glob;
pub use shown::{shown, wholly_shown};
