//! `vertebra run`: runs an agent on one task.

mod prompt;

use std::{path::PathBuf, process::ExitCode};

use vertebra::{Prompt, RunReport, RunStatus, Session, StopReason};
use vertebra_kit::bash::Outputs;

use self::prompt::Fitted;
use crate::{
    assembly::{Assembled, World, outputs_folder},
    drive::{self, DENIED, Desk, INTERRUPTED, Left, Said, WAITS},
    options::AgentOptions,
    view::Output,
};

/// The options of `vertebra run`.
#[derive(clap::Args)]
#[command(after_help = "\
Standard input can supply the task (`vertebra run -`, or no task at all), or context
for the task in the arguments.

In a terminal, the agent asks before every change that no rule allows. Type while
it works to steer it: it reads your message at the next step. Esc or Ctrl-C stops
the run and keeps the session; press Ctrl-C twice to quit.

In a pipe, the agent never asks: it denies every call that needs approval. The
answer goes to standard output, everything else to standard error.

If the provider cannot be reached, the agent retries for ten minutes. Then the run
is suspended, and the last line is the command that continues it.

Every run is recorded in a journal. See `vertebra sessions` to show, resume or
fork it, and `vertebra replay` to replay it.

Exit codes:
  0    finished
  1    failed
  2    wrong usage, or the run could not start
  3    stopped by a limit or a hook
  4    a call was denied because no one could approve it, or a hook denied the session
       or the task
  5    suspended: waiting for an answer, or the provider could not be reached
  130  cancelled

Examples:
  vertebra run \"fix the failing test\"
  git diff | vertebra run \"review this\" --mode plan
  vertebra run --allow 'Bash(cargo *)' --max-cost 0.50 --output json \"update the dependencies\"")]
pub(crate) struct Options {
    /// Task to run on, or `-` for standard input; several words need no quotes
    #[arg(value_name = "TASK")]
    task: Vec<String>,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    show: Show,
    /// Attach a text file to the task (repeatable)
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Attach a PNG, JPEG, GIF or WebP image to the task (repeatable)
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
}

/// The options that select how a run is shown.
#[derive(clap::Args, Clone)]
pub(crate) struct Show {
    /// Choose what to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Output,
    /// Print only the answer
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Include the events of hooks in stream-json
    #[arg(long)]
    pub(crate) include_hooks: bool,
}

/// What a session starts with.
pub(crate) enum First {
    /// This prompt.
    Prompt(Prompt),
    /// The unfinished run, then this prompt.
    GoOn(Option<Prompt>),
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let (fitted, mut desk, assembled, session) = match begin(&options).await {
        Ok(begun) => begun,
        Err(error) => return Ok(drive::cannot_begin(&error, "run \"…\"")),
    };
    desk.follow_mode(&assembled.rules, session.id());
    let prompt = match outputs_folder(&World::of_process()) {
        Some(folder) => fitted.saved_in(&Outputs::in_folder(folder).folder_of(session.id()))?,
        None => fitted.prompt,
    };
    Ok(work(desk, session, First::Prompt(prompt)).await.into())
}

/// Runs prompts until there are none left or the user quits. Returns the exit code.
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
            // Nothing is unfinished and there is no prompt yet, so the user types one.
            (None, None) => match desk.ask("nothing left to do; type the next prompt · ctrl-d to quit").await {
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
        // Messages that came too late for the run start the next one. The session also stays open if the user
        // stopped the run or is still typing.
        if let Some(unheard) = desk.unheard() {
            next = Some(unheard);
            continue;
        }
        let stopped = report.status == RunStatus::Cancelled;
        if !desk.is_live() || !(stopped || desk.has_draft()) {
            break code(&report, desk.denied_without_approval());
        }
        match desk.ask("session still open; type the next prompt · ctrl-d to quit").await {
            Said::Text(text) => next = Some(text.into()),
            Said::Finished => break if stopped { INTERRUPTED } else { code(&report, desk.denied_without_approval()) },
            Said::Exit(code) => break code,
        }
    };
    // The closing line of a suspended run says it already.
    if code != WAITS {
        // A finished run has nothing to resume, but its session can continue.
        let command = if code == 0 { "chat --resume" } else { "sessions resume" };
        desk.name_session(session.id(), command, code);
    }
    let telemetry = desk.leave();
    drive::leave(session, telemetry, code).await;
    code
}

async fn begin(options: &Options) -> anyhow::Result<(Fitted, Desk, Assembled, Session)> {
    let given = prompt::given(&options.task, &options.file, &options.image)?;
    let mut fitted = Fitted { prompt: Prompt::default(), left_out: Vec::new(), cut: Vec::new() };
    let (desk, assembled) = Desk::open_with(&options.agent, &options.show, |assembled| {
        fitted = given.prompt(assembled.models.window().tokens());
        fitted.left_out.clone()
    })
    .await?;
    let session = assembled.agent.session().await?;
    Ok((fitted, desk, assembled, session))
}

/// Returns the exit code. `docs/output.md` lists them.
fn code(report: &RunReport, unapproved: bool) -> u8 {
    let refused = report.stop.reason == StopReason::Requested && report.steps == 0;
    match report.status {
        RunStatus::Cancelled => INTERRUPTED,
        RunStatus::Completed | RunStatus::Stopped if unapproved || refused => DENIED,
        RunStatus::Completed => 0,
        RunStatus::Stopped => 3,
        RunStatus::Suspended => WAITS,
        // The run failed, or its status has no exit code yet.
        _ => 1,
    }
}
