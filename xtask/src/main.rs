//! What a contributor runs: tests, benchmarks, checks.

fn main() {}
