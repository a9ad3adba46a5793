//! The `vertebra` command: a table of contents.

mod assembly;
mod demo;
mod explain;
mod options;
mod surface;
mod tree;
mod trust;
#[allow(dead_code, reason = "`run` and `chat` draw with it")]
mod view;

use std::process::ExitCode;

use clap::Parser;

/// An agent runtime whose skeleton is hooks.
#[derive(Parser)]
#[command(name = "vertebra", version, arg_required_else_help = true)]
enum Command {
    /// Show an agent at work under three hooks: one rewrites, one denies, one watches
    Demo(demo::Options),
    /// Say what the bash policy makes of a command: allow, ask or deny, and why
    ExplainCommand(explain::Options),
    /// Look at what a folder brings along, and trust it or not
    Trust(trust::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    // Shell commands are launched by a copy of this very program, which becomes the command here.
    vertebra_kit::bash::sandbox::launch_if_asked();
    match Command::parse() {
        Command::Demo(options) => asynchronously(demo::run(options)),
        Command::ExplainCommand(options) => explain::run(&options),
        Command::Trust(options) => trust::run(&options),
    }
}

fn asynchronously(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}
