//! The `vertebra` command.

fn main() {}
