//! What a contributor runs: `cargo xtask test`, and the parts of it.
//!
//! One file per subcommand; each file is a list of stages, and `stage.rs` runs them. Only what measures is a folder.

mod attack;
mod bench;
mod bubblewrap;
mod build_times;
mod crash;
mod fix;
mod hook;
mod journal;
mod man;
mod picture;
mod programs;
mod proto;
mod sandbox;
mod sdk;
mod served;
mod stage;
mod startup;
mod test;
mod tidy;
mod vsock;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "What a contributor runs")]
enum Task {
    /// Installs what the tests need and runs all of them
    Test,
    /// Runs only the tests about the repository itself: arrows between crates, file lengths, documents
    Tidy,
    /// Repairs what a machine can repair: clippy's suggestions, then formatting
    Fix,
    /// Generates the Rust code of the gRPC contract in `proto/`
    Proto,
    /// Writes the manual pages of `vertebra`
    Man(man::Request),
    /// Draws docs/demo.svg, the picture in the README, from a run of the demo
    Picture,
    /// Attacks the program as root and as an ordinary user: every probe must hold
    Attack(attack::Request),
    /// Kills an agent's process again and again, and resumes it: every effect must have happened once
    Crash(crash::Request),
    /// Measures how long builds take, from a clean clone
    BuildTimes(build_times::Request),
    /// Measures Vertebra beside its peers: one table, two plots
    Bench(bench::Request),
    /// Counts the instructions of a dispatch and of a turn, and compares them with the committed counts
    Instructions(bench::guard::Request),
    /// Measures the journal, beside the checkpointer of `LangGraph`
    Journal(journal::Request),
    /// Measures how soon `vertebra` answers, beside two other coding agents
    Startup(startup::Request),
    /// Measures `vertebra hook` beside hooks in Python, Node and bash that make the same check
    Hook(hook::Request),
    /// Measures what the sandbox costs: builds, clones and archives as a command of the agent and without it
    Sandbox(sandbox::Request),
    /// Measures `vertebra serve`: a guard in another process, and a thousand sessions at once
    Served(served::Request),
    /// Boots a virtual machine with `vertebra serve` in it, and governs a session there over vsock
    Vsock,
}

fn main() -> anyhow::Result<ExitCode> {
    let task = Task::parse();
    enter_workspace()?;
    let report = match task {
        Task::Test => test::run()?,
        Task::Tidy => tidy::run(),
        Task::Fix => fix::run(),
        Task::Proto => proto::run(),
        Task::Man(request) => man::run(&request),
        Task::Picture => {
            picture::run()?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Attack(request) => {
            attack::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Crash(request) => {
            crash::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::BuildTimes(request) => {
            build_times::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Bench(request) => {
            bench::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Instructions(request) => {
            bench::guard::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Journal(request) => {
            journal::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Startup(request) => {
            startup::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Hook(request) => {
            hook::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Sandbox(request) => {
            sandbox::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Served(request) => {
            served::run(&request)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Vsock => {
            vsock::run()?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    println!("\n{report}");
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Stages are written as seen from the root of the workspace, so that a line of the report can be pasted there.
fn enter_workspace() -> anyhow::Result<()> {
    // Asked at run time: a target folder shared by several clones may hold a binary built in another one.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").context("start this as `cargo xtask`")?;
    let root = PathBuf::from(here).join("..").canonicalize()?;
    std::env::set_current_dir(&root).with_context(|| format!("cannot enter {}", root.display()))
}
