//! `vertebra sessions list`: lists sessions and their status.

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

/// How many sessions are listed by default.
const MANY: usize = 50;
/// The width of a terminal that does not report it.
const COLUMNS: u16 = 120;

/// The options of `vertebra sessions list`.
#[derive(clap::Args)]
pub(super) struct Options {
    /// List the sessions of all folders
    #[arg(long, conflicts_with = "folder")]
    all: bool,
    /// List the sessions of this folder [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// List sessions active since this time, such as 12h, 7d or 2026-11-01
    #[arg(long, value_name = "TIME", value_parser = |text: &str| since::read(text, Timestamp::now()))]
    since: Option<Timestamp>,
    /// List sessions with this status
    #[arg(long, value_enum)]
    status: Option<StatusChoice>,
    /// List at most N sessions [default: 50 in a terminal, all in a pipe]
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// Print JSON; this is the default in a pipe
    #[arg(long)]
    json: bool,
}

/// The status of a session.
#[derive(clap::ValueEnum, Clone, Copy)]
enum StatusChoice {
    /// A process is running the session
    Running,
    /// The session waits for an answer or for its provider
    Suspended,
    /// The process ended before the run did; resume the session to continue
    Unfinished,
    /// The session has ended
    Ended,
}

impl From<StatusChoice> for Status {
    fn from(choice: StatusChoice) -> Self {
        match choice {
            StatusChoice::Running => Self::Running,
            StatusChoice::Suspended => Self::Suspended,
            StatusChoice::Unfinished => Self::Unfinished,
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
        let here = if options.all { "" } else { " in this folder; use --all for all folders" };
        writeln!(out, "no sessions{here}")?;
    }
    // Some terminals report a width of 0.
    let columns = crossterm::terminal::size().ok().map(|(columns, _)| columns).filter(|columns| *columns > 0);
    let columns = usize::from(columns.unwrap_or(COLUMNS));
    for session in &sessions {
        writeln!(out, "{}", row(session, options.all, Timestamp::now()).cut(columns).paint(true))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats a session as one row.
fn row(session: &SessionRow, with_folder: bool, now: Timestamp) -> Row {
    let style = match session.status {
        Status::Running => GREEN,
        Status::Suspended => YELLOW,
        Status::Unfinished => RED,
        _ => PLAIN,
    };
    let status = session.status;
    let status = session.held_by.as_ref().map_or(status.to_string(), |by| format!("{status}, {by}"));
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
        .with(style, format!("{status:10}"))
        .with(DIM, format!("  {}  ", facts.join(", ")));
    let row = if with_folder { row.with(DIM, format!("{}  ", on_one_line(&session.working_directory))) } else { row };
    row.with(PLAIN, cut(&on_one_line(session.prompt.as_deref().unwrap_or_default()), 200))
}

/// Formats how long ago a time is, in its largest unit.
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
    fn elapsed_time_is_shown_in_its_largest_unit() {
        let day: Timestamp = "2026-11-01T00:00:00Z".parse().expect("a time");
        let hour = day + Duration::from_hours(2);
        assert_eq!([ago(day, hour), ago(hour, day)], ["2 h ago", "0 s ago"]);
    }
}
