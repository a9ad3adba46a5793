//! `vertebra sessions resume` and `fork`: a session goes on, or another one begins where it was.

use std::process::ExitCode;

use anyhow::bail;
use vertebra::Session;

use super::Past;
use crate::{
    assembly::Assembled,
    drive::{self, Desk},
    options::AgentOptions,
    run::{self, First, Show},
    view::text::short_id,
};

/// Which agent goes on, and how it is shown.
#[derive(clap::Args)]
pub(super) struct Going {
    #[command(flatten)]
    pub(super) agent: AgentOptions,
    #[command(flatten)]
    pub(super) show: Show,
}

/// What to resume.
#[derive(clap::Args)]
#[command(after_help = "\
What had ended is not done again. A call that had begun and has no result is unknown: the model and you are told, and it is
not made again unless its tool says that this does no harm. What had not begun passes the hooks and rules there are now; the
rights that you gave the first run on its command line are not remembered, so give them again. The session's own model and
folder are used unless you name others. Exit codes are those of `vertebra run`.")]
pub(super) struct Resume {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// What to do then
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    #[command(flatten)]
    going: Going,
}

/// What to fork.
#[derive(clap::Args)]
#[command(after_help = "\
The new session knows what the other knew between two of its steps, and goes on from there; the other stays as it is. Files
and everything else outside are as they are now.")]
pub(super) struct Fork {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// What to do there
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// After so many of its steps [default: all]
    #[arg(long, value_name = "N")]
    after_step: Option<u32>,
    #[command(flatten)]
    going: Going,
}

pub(super) async fn resume(options: Resume) -> anyhow::Result<ExitCode> {
    go_on(Past::find(&options.session)?, &options.prompt, options.going).await
}

/// Goes on with a session in this front end.
pub(super) async fn go_on(past: Past, prompt: &[String], going: Going) -> anyhow::Result<ExitCode> {
    let prompt = prompt.join(" ");
    let begin = async |assembled: &Assembled| past.resume(&assembled.agent).await;
    let (mut desk, session) = match open(&past, going, begin).await {
        Ok(opened) => opened,
        Err(error) => return Ok(drive::cannot_begin(&error)),
    };
    if session.unfinished().is_none() && prompt.trim().is_empty() && !desk.is_live() {
        let telemetry = desk.leave();
        drive::leave(session, telemetry, 0).await;
        bail!("nothing was left to do in session {}: say what to do next", short_id(&past.row.session_id));
    }
    if session.unfinished().is_some() {
        desk.note(&format!("going on with session {}", short_id(session.id())));
    }
    let next = (!prompt.trim().is_empty()).then(|| prompt.into());
    Ok(run::work(desk, session, First::GoOn(next)).await.into())
}

pub(super) async fn fork(options: Fork) -> anyhow::Result<ExitCode> {
    let past = Past::find(&options.session)?;
    let begin = async |assembled: &Assembled| Ok(assembled.agent.fork(past.lines()?, options.after_step).await?);
    let (mut desk, session) = match open(&past, options.going, begin).await {
        Ok(opened) => opened,
        Err(error) => return Ok(drive::cannot_begin(&error)),
    };
    let prompt = options.prompt.join(" ");
    desk.note(&format!("session {} begins where {} was", short_id(session.id()), short_id(&past.row.session_id)));
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
        bail!("a session goes on in its journal: --no-journal is for new ones");
    }
    past.prepare(&mut going.agent);
    let (desk, assembled) = Desk::open(&going.agent, &going.show).await?;
    let session = begin(&assembled).await?;
    Ok((desk, session))
}
