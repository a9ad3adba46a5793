//! The `vertebra` command: a table of contents.

mod demo;
mod explain;
mod tree;

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
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Command::parse() {
        Command::Demo(options) => demo::run(options).await,
        Command::ExplainCommand(options) => explain::run(&options),
    }
}
