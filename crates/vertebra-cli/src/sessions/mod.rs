//! `vertebra sessions`: works with recorded sessions.

mod answer;
mod export;
mod going_on;
mod list;
mod past;
mod recap;
mod remove;
mod show;
mod story;

use std::process::ExitCode;

pub(crate) use self::past::Past;

/// The options of `vertebra sessions`.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
SESSION is the ID of a session, a unique start or end of it, or `last`. In a pipe, all
commands print JSON, except `resume` and `fork`, which print like `vertebra run`.

Examples:
  vertebra sessions list                   list the sessions of this folder
  vertebra sessions show last              show what happened in the last session
  vertebra sessions resume last            continue after a crash; nothing is repeated
  vertebra sessions fork last --after-step 3 \"try a different approach\"
  vertebra sessions questions              list the questions that wait for an answer
  vertebra sessions export last --sign --to session.jsonl"
)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the sessions of a folder, latest first
    List(list::Options),
    /// Show the prompts, steps, calls and decisions of a session
    Show(show::Options),
    /// Continue a session: finish its run, then run the prompt
    Resume(Box<going_on::Resume>),
    /// Start a new session from a step of another one
    Fork(Box<going_on::Fork>),
    /// List the questions that wait for an answer
    Questions(answer::Questions),
    /// Answer a question, for exactly the arguments it shows
    Answer(Box<answer::Answer>),
    /// Write a session as JSON lines, optionally signed
    Export(export::Export),
    /// Check that a session or an export was not changed
    Verify(export::Verify),
    /// Delete sessions
    Delete(remove::Delete),
    /// Delete old sessions
    Prune(remove::Prune),
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::List(options) => list::run(&options),
        Command::Show(options) => show::run(&options),
        Command::Resume(options) => going_on::resume(*options).await,
        Command::Fork(options) => going_on::fork(*options).await,
        Command::Questions(options) => answer::questions(&options).await,
        Command::Answer(options) => answer::answer(*options).await,
        Command::Export(options) => export::export(&options),
        Command::Verify(options) => export::verify(&options),
        Command::Delete(options) => remove::delete(&options),
        Command::Prune(options) => remove::prune(&options),
    }
}
