//! Everything that must hold before a change is done, cheapest first.

use std::env;
use std::path::PathBuf;

use crate::stage::{Report, Stage, answers};

/// Pinned, so that a new release of the checker cannot turn an old commit red.
const CARGO_DENY: &str = "0.20.2";

/// A public MCP server that the tests of the kit talk to, pinned as well: the tests name this version too.
const MCP_SERVER: (&str, &str) = ("@modelcontextprotocol/server-everything", "2026.8.31");

pub(crate) fn run() -> Report {
    let mut stages = missing_components();
    stages.extend(missing_server());
    stages.extend([
        Stage::new("format", "cargo fmt --all --check"),
        Stage::new("clippy", "cargo clippy --workspace --all-targets --all-features -- -D warnings"),
        tests(),
        Stage::new("doc tests", "cargo test --workspace --doc"),
        Stage::new("documentation", "cargo doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"),
    ]);
    stages.extend(dependencies());
    Report::of(stages).not_run("advisories", "needs a database from the network: `cargo deny check advisories`")
}

/// A minimal toolchain comes without these two.
fn missing_components() -> Vec<Stage> {
    let present = answers("cargo fmt --version") && answers("cargo clippy --version");
    if present { vec![] } else { vec![Stage::new("components", "rustup component add rustfmt clippy")] }
}

/// Beside the other build products, where the tests look for it. Once there, it is not asked for again.
fn missing_server() -> Option<Stage> {
    let folder = target_dir().join("test-servers");
    let (name, version) = MCP_SERVER;
    let manifest = std::fs::read_to_string(folder.join("node_modules").join(name).join("package.json"));
    if manifest.is_ok_and(|manifest| manifest.contains(&format!("\"version\": \"{version}\""))) {
        return None;
    }
    let install = Stage::new("get MCP server", "npm install --no-audit --no-fund --prefix");
    Some(install.arg(folder).arg(format!("{name}@{version}")))
}

/// Nextest is quicker and isolates tests from each other, but nobody has to install it.
fn tests() -> Stage {
    if answers("cargo nextest --version") {
        Stage::new("tests", "cargo nextest run --workspace")
    } else {
        // `--tests` leaves out the doc tests, which have a stage of their own.
        Stage::new("tests", "cargo test --workspace --tests")
    }
}

/// Licences, duplicates and origins of what we depend on.
///
/// `cargo install` does nothing when the version is already there. Unoptimised, the checker is built in less than half
/// the time and still reads our graph in a moment.
fn dependencies() -> [Stage; 2] {
    let tools = tools_dir();
    let install = Stage::new("get cargo-deny", "cargo install cargo-deny --locked --debug")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .args(["--version", CARGO_DENY])
        .arg("--root")
        .arg(&tools);
    let check = Stage::program("dependencies", tools.join("bin").join("cargo-deny")).args([
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]);
    [install, check]
}

/// Beside the other build products, so that it is kept between runs and `cargo clean` removes it.
fn tools_dir() -> PathBuf {
    target_dir().join("tools")
}

pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}
