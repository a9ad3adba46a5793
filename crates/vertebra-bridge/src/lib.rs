//! Vertebra from outside the process: what a file says, and whether it is trusted.

#![warn(missing_docs)]

mod shown;

pub mod settings;

pub use shown::shown;
