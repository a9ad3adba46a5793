//! `vertebra run`: one task, done under rules that a person can see.

mod prompt;

use std::{path::PathBuf, process::ExitCode};

use vertebra::{Prompt, RunReport, RunStatus, Session, StopReason};

use crate::{
    assembly::Assembled,
    drive::{self, Desk, INTERRUPTED, Left, Said, WAITS},
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

What happens is recorded in a journal, from which a session is shown, resumed after a crash, forked and replayed: see
`vertebra sessions`.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 stopped by a limit, 4 denied, 5 waits for an answer, 130 cancelled.

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
    #[command(flatten)]
    show: Show,
    /// Attach a text file to the task; may be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Attach a picture (PNG, JPEG, GIF or WebP) to the task; may be repeated
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
}

/// How to show a run.
#[derive(clap::Args, Clone)]
pub(crate) struct Show {
    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Output,
    /// Print nothing but the answer
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What a session does first.
pub(crate) enum First {
    /// It does this.
    Prompt(Prompt),
    /// It finishes what was left without an end, then does this.
    GoOn(Option<Prompt>),
}

/// Runs a task.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let (prompt, desk, assembled) = match begin(&options).await {
        Ok(begun) => begun,
        Err(error) => return Ok(drive::cannot_begin(&error)),
    };
    let session = assembled.agent.session().await;
    Ok(work(desk, session, First::Prompt(prompt)).await.into())
}

/// Works until all is done, or the person leaves. Answers with the exit code.
pub(crate) async fn work(mut desk: Desk, mut session: Session, first: First) -> u8 {
    let (mut left, mut next) = match first {
        First::Prompt(prompt) => (None, Some(prompt)),
        First::GoOn(next) => (session.stream_on(), next),
    };
    let code = loop {
        let stream = match (left.take(), next.take()) {
            (Some(left), then) => {
                next = then;
                left
            }
            (None, Some(prompt)) => session.stream(prompt),
            // Nothing was left, and nothing is said yet: somebody is there to say it.
            (None, None) => match desk.ask("nothing was left to do: say what to do next · ctrl-d leaves").await {
                Said::Text(text) => session.stream(text),
                Said::Finished => break 0,
                Said::Exit(code) => break code,
            },
        };
        let report = match desk.drive(stream).await {
            Left::Ended(report) => report,
            Left::Exit(code) => break code,
        };
        if report.status == RunStatus::Suspended {
            break WAITS;
        }
        if next.is_some() && report.status == RunStatus::Completed {
            continue;
        }
        // What was said too late goes on in the same session; so does somebody who stopped it, or is still typing.
        if let Some(unheard) = desk.unheard() {
            next = Some(unheard);
            continue;
        }
        let stopped = report.status == RunStatus::Cancelled;
        if !desk.is_live() || !(stopped || desk.has_draft()) {
            break code(&report, desk.was_unanswered());
        }
        match desk.ask("the session is kept: say what to do instead · ctrl-d leaves").await {
            Said::Text(text) => next = Some(text.into()),
            Said::Finished => break if stopped { INTERRUPTED } else { code(&report, desk.was_unanswered()) },
            Said::Exit(code) => break code,
        }
    };
    desk.name_session(session.id());
    let telemetry = desk.leave();
    drive::leave(session, telemetry, code).await;
    code
}

async fn begin(options: &Options) -> anyhow::Result<(Prompt, Desk, Assembled)> {
    let prompt = prompt::prompt(&options.task, &options.file, &options.image)?;
    let (desk, assembled) = Desk::open(&options.agent, &options.show).await?;
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
        RunStatus::Suspended => WAITS,
    }
}
