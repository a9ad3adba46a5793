//! `vertebra sessions delete` and `prune`: delete sessions, after a question.

use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use vertebra_bridge::settings::Origin;
use vertebra_journal::Pruned;

use super::past;
use crate::{
    assembly::{World, agrees_to, journal_settings, retention},
    options::duration,
    view::text::{bytes, counted, short_id},
};

/// The options of `vertebra sessions delete`.
#[derive(clap::Args)]
pub(super) struct Delete {
    /// Sessions: an ID, a unique start or end of one, or `last`
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
    /// Delete without asking
    #[arg(long)]
    yes: bool,
    /// Print JSON; this is the default in a pipe
    #[arg(long)]
    json: bool,
}

/// The options of `vertebra sessions prune`.
#[derive(clap::Args)]
#[command(after_help = "\
Without an option, the limits under `[journal]` in your settings apply. A session that
is running or waits for an answer is never deleted.")]
pub(super) struct Prune {
    /// Keep sessions that were active within this time, such as 30d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    keep: Option<Duration>,
    /// Keep the latest N sessions
    #[arg(long, value_name = "N")]
    max_sessions: Option<u64>,
    /// Keep the latest N bytes
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
    /// Delete without asking
    #[arg(long)]
    yes: bool,
    /// Print JSON; this is the default in a pipe
    #[arg(long)]
    json: bool,
}

pub(super) fn delete(options: &Delete) -> anyhow::Result<ExitCode> {
    let store = past::write()?;
    let found = options.sessions.iter().map(|words| store.find(words)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = found.iter().map(|row| short_id(&row.session_id)).collect();
    if !agreed(&format!("Delete {}?", names.join(", ")), options.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    let mut all = Pruned::default();
    for row in &found {
        let pruned = store.delete(&row.session_id)?;
        all.freed += pruned.freed;
        all.sessions.extend(pruned.sessions);
    }
    told(&all, options.json)
}

pub(super) fn prune(options: &Prune) -> anyhow::Result<ExitCode> {
    let origin = Origin::command_line();
    let mut settings = journal_settings(&World::of_process())?;
    if options.keep.is_some() || options.max_sessions.is_some() || options.max_bytes.is_some() {
        settings.keep = options.keep.map(|time| origin.said(time));
        settings.max_sessions = options.max_sessions.map(|count| origin.said(count));
        settings.max_bytes = options.max_bytes.map(|count| origin.said(count));
    }
    let retention = retention(&settings, Timestamp::now()).context(
        "no limit given: use --keep 30d, --max-sessions 1000 or --max-bytes 1000000000, or set them under `[journal]` in your settings",
    )?;
    let store = past::write()?;
    if !agreed(&format!("Delete old sessions in {}?", store.path().display()), options.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    told(&store.prune(&retention)?, options.json)
}

fn agreed(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        bail!("cannot ask for confirmation without a terminal; use --yes to delete without asking");
    }
    Ok(agrees_to(question)?)
}

fn told(pruned: &Pruned, json: bool) -> anyhow::Result<ExitCode> {
    past::forget_outputs(pruned.sessions.iter().map(|row| &*row.session_id));
    if crate::programs::read_it(json) {
        crate::programs::print(pruned)?;
    } else {
        let (sessions, lines) = (counted(pruned.sessions.len(), "session"), counted(pruned.lines(), "fact"));
        let freed = bytes(usize::try_from(pruned.freed).unwrap_or(usize::MAX));
        writeln!(std::io::stdout(), "deleted {sessions} with {lines}; freed {freed}")?;
    }
    Ok(ExitCode::SUCCESS)
}
