//! `vertebra sessions resume` and `fork`: continue a session, or start a new one from it.

use std::process::ExitCode;

use anyhow::bail;
use vertebra::Session;

use super::{Past, recap::Left};
use crate::{
    assembly::Assembled,
    drive::{self, Desk},
    options::AgentOptions,
    run::{self, First, Show},
    view::text::short_id,
};

/// The agent that continues a session, and how its runs are shown.
#[derive(clap::Args)]
pub(super) struct Going {
    #[command(flatten)]
    pub(super) agent: AgentOptions,
    #[command(flatten)]
    pub(super) show: Show,
}

/// The options of `vertebra sessions resume`.
#[derive(clap::Args)]
#[command(after_help = "\
Finished calls are not repeated. A call that had started and has no result is reported
as unknown to you and the model; it is repeated only if its tool says that this is safe.
Calls that had not started are judged by the current hooks and rules.

A run that failed, was stopped or was cancelled is continued with a prompt that says so.

The session keeps its model and folder unless you name others. Permissions from the
command line are not recorded, so repeat --mode and --allow. Exit codes are those of
`vertebra run`.

Examples:
  vertebra sessions resume last
  vertebra sessions resume last --allow 'Bash(cargo *)' \"now run the tests\"")]
pub(super) struct Resume {
    /// Session: its ID, a unique start or end of it, or `last`
    #[arg(value_name = "SESSION")]
    session: String,
    /// Prompt to run after the unfinished run
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    #[command(flatten)]
    going: Going,
}

/// The options of `vertebra sessions fork`.
#[derive(clap::Args)]
#[command(after_help = "\
The new session starts with the conversation and state of the old one after a step. The
old session is not changed. Files are not restored: they are as they are now.

Example:
  vertebra sessions fork last --after-step 3 \"try a different approach\"")]
pub(super) struct Fork {
    /// Session: its ID, a unique start or end of it, or `last`
    #[arg(value_name = "SESSION")]
    session: String,
    /// Prompt to run in the new session
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// Fork after step N [default: the last one]
    #[arg(long, value_name = "N")]
    after_step: Option<u32>,
    #[command(flatten)]
    going: Going,
}

pub(super) async fn resume(options: Resume) -> anyhow::Result<ExitCode> {
    go_on(Past::find(&options.session)?, &options.prompt, options.going).await
}

/// Resumes a session in this front end.
pub(super) async fn go_on(past: Past, prompt: &[String], going: Going) -> anyhow::Result<ExitCode> {
    let prompt = prompt.join(" ");
    let begin = async |assembled: &Assembled| past.resume(&assembled.agent).await;
    let (mut desk, session) = match open(&past, going, begin).await {
        Ok(opened) => opened,
        Err(error) => return Ok(drive::cannot_begin(&error, "sessions resume SESSION")),
    };
    let left = past.left(&session, &mut desk);
    let next = match (left, prompt.trim()) {
        (Left::Undone { prompt }, "") => Some(prompt.into()),
        (Left::Unfinished, "") => None,
        (Left::Nothing, "") => {
            if !desk.is_live() {
                let telemetry = desk.leave();
                drive::leave(session, telemetry, 0).await;
                let session = short_id(&past.row.session_id);
                bail!("session {session} has no unfinished run; pass a prompt to continue it");
            }
            None
        }
        (_, _) => Some(prompt.into()),
    };
    Ok(run::work(desk, session, First::GoOn(next)).await.into())
}

pub(super) async fn fork(options: Fork) -> anyhow::Result<ExitCode> {
    let past = Past::find(&options.session)?;
    let begin = async |assembled: &Assembled| Ok(assembled.agent.fork(past.lines()?, options.after_step).await?);
    let (mut desk, session) = match open(&past, options.going, begin).await {
        Ok(opened) => opened,
        Err(error) => return Ok(drive::cannot_begin(&error, "sessions fork SESSION")),
    };
    let prompt = options.prompt.join(" ");
    desk.note(&format!("session {} forked from {}", short_id(session.id()), short_id(&past.row.session_id)));
    if prompt.trim().is_empty() && !desk.is_live() {
        let telemetry = desk.leave();
        drive::leave(session, telemetry, 0).await;
        return Ok(ExitCode::SUCCESS);
    }
    let next = (!prompt.trim().is_empty()).then(|| prompt.into());
    Ok(run::work(desk, session, First::GoOn(next)).await.into())
}

async fn open(
    past: &Past,
    mut going: Going,
    begin: impl AsyncFnOnce(&Assembled) -> anyhow::Result<Session>,
) -> anyhow::Result<(Desk, Session)> {
    if going.agent.no_journal {
        bail!("--no-journal cannot be used here: a session is continued in its journal");
    }
    past.prepare(&mut going.agent);
    past.end_survivors()?;
    let (mut desk, assembled) = Desk::open(&going.agent, &going.show).await?;
    let session = begin(&assembled).await?;
    Past::granted(&session, &assembled.lift, &mut desk);
    Ok((desk, session))
}
