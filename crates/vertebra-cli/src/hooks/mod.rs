//! `vertebra hooks`: lists, explains, tests and creates hooks.

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

pub(crate) use self::file::replace;

/// The options of `vertebra hooks`.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List all hooks in the order they run, with file, line and status
    List(list::Options),
    /// Print the JSON schema of vertebra.toml, for editors
    Schema(schema::Options),
    /// Run the matching hooks on one event and print the decision
    Fire(fire::Options),
    /// Show which hooks match an event, their answers and the decision
    Explain(explain::Options),
    /// Run the test cases of a policy
    Test(test::Options),
    /// Create a hook: a script, its entry in vertebra.toml and a test case
    New(new::Options),
    /// Import hooks and permissions from Claude Code
    Import(import::Options),
    /// Find hooks that are broken, unreachable, slow or not trusted
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
