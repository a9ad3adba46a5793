//! `vertebra hooks`: what people type to see a policy, try it, test it and write it.

mod explain;
mod page;
mod trial;

use std::process::ExitCode;

/// What to do with hooks.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Say which hooks match an event, in which order, what each says, and who decides
    Explain(explain::Options),
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::Explain(options) => explain::run(options).await,
    }
}
