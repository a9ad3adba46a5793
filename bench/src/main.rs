//! Measures Vertebra beside its peers.

fn main() {}
