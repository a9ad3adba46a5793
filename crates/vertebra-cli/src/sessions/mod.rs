//! `vertebra sessions`: what was recorded, and what can be done with it.

mod answer;
mod export;
mod going_on;
mod list;
mod past;
mod remove;
mod show;
mod story;

use std::process::ExitCode;

pub(crate) use self::past::Past;

/// What to do with sessions.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
A SESSION is its identifier, a beginning or an end of it that no other has, or `last`. In a pipe everything is
JSON, but for what `resume` and `fork` do: that is shown as `vertebra run` shows it.

Examples:
  vertebra sessions list                          those of this folder
  vertebra sessions resume last                   go on after a crash: what was done is not done again
  vertebra sessions fork last --after-step 3 \"try it another way\"
  vertebra sessions questions                     what waits for an answer
  vertebra sessions export last --sign --to session.jsonl"
)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List sessions, the latest first: of this folder, or all
    List(list::Options),
    /// Show what happened in a session: prompts, steps, calls, what hooks and people decided
    Show(show::Options),
    /// Finish what a session was in the middle of, then do what is said
    Resume(Box<going_on::Resume>),
    /// Begin a session where another one was
    Fork(Box<going_on::Fork>),
    /// List what waits for an answer
    Questions(answer::Questions),
    /// Answer what waits, for exactly the arguments that were shown
    Answer(Box<answer::Answer>),
    /// Write a session out as lines of JSON, signed if you like
    Export(export::Export),
    /// Look whether a session, or an export, is what was recorded
    Verify(export::Verify),
    /// Delete sessions
    Delete(remove::Delete),
    /// Delete what need not be kept
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
