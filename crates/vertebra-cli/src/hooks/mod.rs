//! `vertebra hooks`: what people type to see a policy, try it, test it and write it.

mod doctor;
mod explain;
mod file;
mod fire;
mod import;
mod list;
mod new;
pub(crate) mod page;
mod schema;
mod test;
pub(crate) mod trial;

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
    /// List the hooks in force in the order they run, with file and line, and those that are not, with the reason
    List(list::Options),
    /// Print the JSON schema of vertebra.toml, for editors
    Schema(schema::Options),
    /// Fire one event for real, and print what comes of it
    Fire(fire::Options),
    /// Say which hooks match an event, in which order, what each says, and who decides
    Explain(explain::Options),
    /// Try the cases of a policy
    Test(test::Options),
    /// Make a hook to begin with: a script, its entry, a case that passes
    New(new::Options),
    /// Take over hooks and permissions of Claude Code
    Import(import::Options),
    /// Look for hooks that cannot work, cannot be reached, are slow or are not trusted
    Doctor(doctor::Options),
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::List(options) => list::run(&options),
        Command::Schema(options) => schema::run(&options),
        Command::Fire(options) => fire::run(options).await,
        Command::Explain(options) => explain::run(options).await,
        Command::Test(options) => test::run(options).await,
        Command::New(options) => new::run(&options),
        Command::Import(options) => import::run(&options),
        Command::Doctor(options) => doctor::run(options).await,
    }
}
