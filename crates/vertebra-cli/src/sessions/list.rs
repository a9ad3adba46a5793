//! `vertebra sessions list`: which sessions there are, and how they are.

use std::{io::Write as _, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context as _;
use jiff::Timestamp;
use vertebra_journal::{SessionRow, Status, Wanted};

use super::past;
use crate::{
    since,
    view::{
        rows::{BOLD, DIM, GREEN, PLAIN, RED, Row, YELLOW},
        text::{counted, cut, money, on_one_line, short_id, tokens},
    },
};

/// How many are listed, unless told otherwise.
const MANY: usize = 50;
/// How many columns there are where nobody knows.
const COLUMNS: u16 = 120;

/// Which sessions.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Those of all folders
    #[arg(long, conflicts_with = "folder")]
    all: bool,
    /// Those of this folder [default: this one]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Those that something happened in since: `12h`, `7d`, `2026-11-01`
    #[arg(long, value_name = "TIME", value_parser = |text: &str| since::read(text, Timestamp::now()))]
    since: Option<Timestamp>,
    /// Those that are so
    #[arg(long, value_enum)]
    status: Option<StatusChoice>,
    /// So many at most [default: 50 for people, all for programs]
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// As JSON, for programs; in a pipe it is JSON anyway
    #[arg(long)]
    json: bool,
}

/// How a session is.
#[derive(clap::ValueEnum, Clone, Copy)]
enum StatusChoice {
    /// A process runs it
    Running,
    /// It waits for an answer
    #[value(alias = "waiting")]
    Suspended,
    /// Its process died, or let it go, before it had ended
    Left,
    /// It has ended
    Ended,
}

impl From<StatusChoice> for Status {
    fn from(choice: StatusChoice) -> Self {
        match choice {
            StatusChoice::Running => Self::Running,
            StatusChoice::Suspended => Self::Suspended,
            StatusChoice::Left => Self::Left,
            StatusChoice::Ended => Self::Ended,
        }
    }
}

/// Runs the command.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let programs = crate::programs::read_it(options.json);
    let folder = options.folder.clone().unwrap_or_else(|| ".".into());
    let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
    let wanted = Wanted {
        working_directory: (!options.all).then(|| folder.to_string_lossy().into_owned()),
        since: options.since,
        status: options.status.map(Into::into),
        limit: options.limit.or((!programs).then_some(MANY)),
    };
    let sessions = past::read()?.map(|store| store.sessions(&wanted)).transpose()?.unwrap_or_default();
    if programs {
        crate::programs::print(&sessions)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = anstream::stdout().lock();
    if sessions.is_empty() {
        let here = if options.all { "" } else { " in this folder; of all folders: --all" };
        writeln!(out, "no sessions{here}")?;
    }
    // Some terminals say that they have none.
    let columns = crossterm::terminal::size().ok().map(|(columns, _)| columns).filter(|columns| *columns > 0);
    let columns = usize::from(columns.unwrap_or(COLUMNS));
    for session in &sessions {
        writeln!(out, "{}", row(session, options.all, Timestamp::now()).cut(columns).paint(true))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A session on one line.
fn row(session: &SessionRow, with_folder: bool, now: Timestamp) -> Row {
    let (style, status) = match session.status {
        Status::Running => (GREEN, session.held_by.clone().map_or("running".to_owned(), |by| format!("running, {by}"))),
        Status::Suspended => (YELLOW, "waits".to_owned()),
        Status::Left => (RED, "left".to_owned()),
        Status::Ended => (PLAIN, "ended".to_owned()),
    };
    let mut facts = vec![counted(session.steps, "step"), counted(session.tool_calls, "call")];
    if session.usage.total_tokens() > 0 {
        facts.push(format!("{} tokens", tokens(session.usage.total_tokens())));
    }
    if session.usage.cost_micros > 0 {
        facts.push(money(session.usage.cost_micros));
    }
    let row = Row::default()
        .with(BOLD, format!("{:12}", short_id(&session.session_id)))
        .with(DIM, format!("  {:>8}  ", ago(session.touched, now)))
        .with(style, format!("{status:7}"))
        .with(DIM, format!("  {}  ", facts.join(", ")));
    let row = if with_folder { row.with(DIM, format!("{}  ", on_one_line(&session.working_directory))) } else { row };
    row.with(PLAIN, cut(&on_one_line(session.prompt.as_deref().unwrap_or_default()), 200))
}

/// How long ago, in the largest unit that says something.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    let passed = Duration::try_from(now.duration_since(then)).unwrap_or_default().as_secs();
    match passed {
        0..60 => format!("{passed} s ago"),
        60..3600 => format!("{} m ago", passed / 60),
        3600..86_400 => format!("{} h ago", passed / 3600),
        _ => format!("{} d ago", passed / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_passed_is_told_in_its_largest_unit() {
        let day: Timestamp = "2026-11-01T00:00:00Z".parse().expect("a time");
        let hour = day + Duration::from_hours(2);
        assert_eq!([ago(day, hour), ago(hour, day)], ["2 h ago", "0 s ago"]);
    }
}
