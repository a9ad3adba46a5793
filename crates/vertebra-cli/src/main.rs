//! The `vertebra` command: a table of contents.

mod assembly;
mod demo;
mod doctor;
mod explain;
mod init;
mod manual;
mod options;
mod surface;
mod tree;
mod trust;
#[allow(dead_code, reason = "`run` and `chat` draw with it")]
mod view;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

/// An agent runtime whose skeleton is hooks.
#[derive(Parser)]
#[command(name = "vertebra", version, arg_required_else_help = true)]
enum Command {
    /// Show an agent at work under three hooks: one rewrites, one denies, one watches
    Demo(demo::Options),
    /// Say what the bash policy makes of a command: allow, ask or deny, and why
    ExplainCommand(explain::Options),
    /// Write a commented vertebra.toml
    Init(init::Options),
    /// Look at what a folder brings along, and trust it or not
    Trust(trust::Options),
    /// Check the whole set-up, and say what to do about what is missing
    Doctor(doctor::Options),
    /// Print completions for a shell
    Completions(manual::Completions),
    /// Print the manual page
    Man(manual::Man),
}

fn main() -> anyhow::Result<ExitCode> {
    // Shell commands are launched by a copy of this very program, which becomes the command here.
    vertebra_kit::bash::sandbox::launch_if_asked();
    match Command::parse() {
        Command::Demo(options) => asynchronously(demo::run(options)),
        Command::ExplainCommand(options) => explain::run(&options),
        Command::Init(options) => init::run(&options),
        Command::Trust(options) => trust::run(&options),
        Command::Doctor(options) => asynchronously(doctor::run(options)),
        Command::Completions(options) => Ok(manual::completions(&options, Command::command())),
        Command::Man(options) => manual::man(&options, Command::command()),
    }
}

fn asynchronously(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}
