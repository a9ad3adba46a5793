//! An agent runtime whose skeleton is hooks.

pub mod shell;
