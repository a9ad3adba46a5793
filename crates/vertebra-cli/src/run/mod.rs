//! `vertebra run`: one task, done under rules that a person can see.

mod prompt;

use std::{path::PathBuf, process::ExitCode};

use vertebra::{Prompt, RunReport, RunStatus, StopReason};

use crate::{
    assembly::Assembled,
    drive::{self, Desk, INTERRUPTED, Left, Said},
    options::AgentOptions,
    view::Output,
};

/// What to do, and how to show it.
#[derive(clap::Args)]
#[command(after_help = "\
The task may also come from standard input: alone, or as context for the task in the arguments.

In a terminal you are asked before anything is changed that no rule allows. While it works, what you type is read at the
next step; Esc or Ctrl-C stops it and keeps the session, Ctrl-C twice leaves. In a pipe nobody is asked: what no rule
allows is denied, the answer goes to standard output and the rest to standard error.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 stopped by a limit, 4 denied, 130 cancelled.

Examples:
  vertebra run \"fix the failing test\"
  git diff | vertebra run \"review this\" --mode plan
  vertebra run --allow 'Bash(cargo *)' --max-cost 0.50 --output json \"update the dependencies\"")]
pub(crate) struct Options {
    /// The task; several words need no quotes
    #[arg(value_name = "TASK")]
    task: Vec<String>,
    #[command(flatten)]
    agent: AgentOptions,
    /// Attach a text file to the task; may be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Attach a picture (PNG, JPEG, GIF or WebP) to the task; may be repeated
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
    /// Print nothing but the answer
    #[arg(long, short)]
    quiet: bool,
}

/// Runs a task.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let (mut prompt, mut desk, assembled) = match begin(&options).await {
        Ok(begun) => begun,
        Err(error) => return Ok(drive::cannot_begin(&error)),
    };
    let mut session = assembled.agent.session().await;
    let code = loop {
        let report = match desk.drive(session.stream(prompt)).await {
            Left::Ended(report) => report,
            Left::Exit(code) => break code,
        };
        // What was said too late goes on in the same session; so does somebody who stopped it, or is still typing.
        if let Some(next) = desk.unheard() {
            prompt = next;
            continue;
        }
        let stopped = report.status == RunStatus::Cancelled;
        if !desk.is_live() || !(stopped || desk.has_draft()) {
            break code(&report, desk.was_unanswered());
        }
        match desk.ask("the session is kept: say what to do instead · ctrl-d leaves").await {
            Said::Text(text) => prompt = text.into(),
            Said::Finished => break if stopped { INTERRUPTED } else { code(&report, desk.was_unanswered()) },
            Said::Exit(code) => break code,
        }
    };
    drop(desk);
    drive::leave(session, assembled.telemetry).await;
    Ok(code.into())
}

async fn begin(options: &Options) -> anyhow::Result<(Prompt, Desk, Assembled)> {
    let prompt = prompt::prompt(&options.task, &options.file, &options.image)?;
    let (desk, assembled) = Desk::open(&options.agent, options.output, options.quiet).await?;
    Ok((prompt, desk, assembled))
}

/// The exit code: how it went, as a script needs to know it.
fn code(report: &RunReport, unanswered: bool) -> u8 {
    let refused = report.stop.reason == StopReason::Requested && report.steps == 0;
    match report.status {
        RunStatus::Failed => 1,
        RunStatus::Cancelled => INTERRUPTED,
        RunStatus::Completed | RunStatus::Stopped if unanswered || refused => 4,
        RunStatus::Completed => 0,
        RunStatus::Stopped => 3,
        RunStatus::Suspended => 4,
    }
}
