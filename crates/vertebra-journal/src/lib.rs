//! The journal on disk: nothing lost, nothing done twice, everything replayable.

#![warn(missing_docs)]

pub mod backtest;
pub mod past;
