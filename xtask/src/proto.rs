//! Generates the Rust code of the gRPC contract.
//!
//! The generator is a test of `xtask` that compares the committed code with the contract. It lives there so that
//! `cargo xtask` itself builds without a Protobuf compiler.

use crate::stage::{Report, Stage};

pub(crate) fn run() -> Report {
    let generate = "cargo test --quiet --package xtask --test tidy proto::";
    Report::of(vec![Stage::new("proto", generate).env("UPDATE_EXPECTED", "1")])
}
