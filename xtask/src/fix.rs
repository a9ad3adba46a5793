//! Repairs what a machine can repair.

use crate::stage::{Report, Stage};

pub(crate) fn run() -> Report {
    // Formatting comes last: clippy's replacements are not formatted.
    Report::of(vec![
        Stage::new(
            "clippy",
            "cargo clippy --workspace --all-targets --all-features --fix --allow-dirty --allow-staged",
        ),
        Stage::new("format", "cargo fmt --all"),
    ])
}
