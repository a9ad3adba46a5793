//! Runs the tests about the repository itself; they live in `xtask/tests`.

use crate::stage::{Report, Stage};

pub(crate) fn run() -> Report {
    Report::of(vec![Stage::new("tidy", "cargo test --quiet --package xtask --tests")])
}
