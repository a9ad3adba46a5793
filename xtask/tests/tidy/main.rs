//! Promises about the repository itself, kept by tests.

mod arrows;
mod commands;
mod crates;
mod files;
mod packages;
mod points;
mod proto;
mod readme;
mod repo;
mod seeds;
mod tour;

use repo::Complaints;

/// Every check hands over what it found; the test fails with all of it at once, so that one run repairs everything.
#[track_caller]
fn expect_none(complaints: &Complaints) {
    assert!(complaints.is_empty(), "\n  {}\n", complaints.join("\n  "));
}
