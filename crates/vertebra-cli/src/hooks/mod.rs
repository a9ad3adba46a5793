//! `vertebra hooks`: what people type to see a policy, try it, test it and write it.

use std::process::ExitCode;

/// What to do with hooks.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {}

/// Runs the command.
#[expect(clippy::unused_async, reason = "its commands fire hooks")]
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    match options.command {}
}
