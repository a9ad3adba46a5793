//! Says whether the cases that some machines have beside this repository are here, so that a test that needs them is
//! reported as ignored where they are not.

fn main() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/claude-code-cases.json");
    println!("cargo::rustc-check-cfg=cfg(shared_cases)");
    // Cargo takes a file that is not there for one that has changed, and would build this crate again each time.
    println!("cargo::rerun-if-changed=build.rs");
    if std::path::Path::new(cases).exists() {
        println!("cargo::rerun-if-changed={cases}");
        println!("cargo::rustc-cfg=shared_cases");
    }
}
