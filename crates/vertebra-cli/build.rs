//! Links the program for a fixed address where that spares `vertebra hook` a fifth of its time: see
//! `docs/decisions/0015-link-the-program-at-a-fixed-address.md`.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let cfg = |name: &str| var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    // What is linked statically brings start files of its own, which fit one kind of program only.
    let is_static = cfg("FEATURE").split(',').any(|feature| feature == "crt-static");
    if cfg("OS") == "linux" && cfg("ENV") == "gnu" && !is_static {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
