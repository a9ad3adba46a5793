//! The `vertebra` command as a person or a pipe sees it.

mod demo;
mod explain;
mod setup;
mod terminal;
