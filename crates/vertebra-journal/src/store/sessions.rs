//! Which sessions there are.

use std::{collections::HashMap, fmt, sync::Arc};

use jiff::Timestamp;
use rusqlite::Row;
use serde::Serialize;
use vertebra::{JournalError, JournalFault, ModelId, Usage};

use super::{
    Store,
    account::{hash, json, time},
    fault::{Trouble, unknown},
    lease::Holders,
};
use crate::chain::Hash;

/// How many sessions an ambiguous name is answered with.
const EXAMPLES: usize = 5;

/// All that [`Look`] reads. What comes after it narrows it down.
pub(super) const SELECT: &str =
    "SELECT *, (SELECT count(*) FROM questions WHERE session = sessions.id) AS questions FROM sessions";

/// What a journal knows of a session without reading its lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionRow {
    /// Its identifier.
    pub session_id: Arc<str>,
    /// Its agent.
    pub agent: Arc<str>,
    /// The folder it works in.
    pub working_directory: Arc<str>,
    /// The model it began on.
    pub model: ModelId,
    /// It began where this one was.
    pub forked_from: Option<Arc<str>>,
    /// The beginning of its first prompt.
    pub prompt: Option<String>,
    /// When its first line was written.
    pub began: Timestamp,
    /// When its latest line was written.
    pub touched: Timestamp,
    /// Its runs, without those of children.
    pub runs: u64,
    /// Its steps, children included.
    pub steps: u64,
    /// Its tool calls, blocked ones and those of children included.
    pub tool_calls: u64,
    /// What its model calls cost, children included.
    pub usage: Usage,
    /// The questions whose answers it has not taken yet.
    pub questions: u64,
    /// How it is.
    pub status: Status,
    /// Who runs it, in words.
    pub held_by: Option<String>,
    /// How often it was begun or taken over.
    pub epoch: u64,
    /// Its lines.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last link of its chain, if it has one.
    pub head: Option<Hash>,
}

/// How a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// A process runs it.
    Running,
    /// It waits for somebody's answer, or for its provider, without a process.
    Suspended,
    /// It has not ended, and nobody runs it: its process let it go, or died.
    Unfinished,
    /// It has ended. It can be taken up again all the same.
    Ended,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Unfinished => "unfinished",
            Self::Ended => "ended",
        })
    }
}

/// Which sessions are wanted; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of this folder alone.
    pub working_directory: Option<String>,
    /// Written to since.
    pub since: Option<Timestamp>,
    /// That are so.
    pub status: Option<Status>,
    /// So many at most.
    pub limit: Option<usize>,
}

impl Store {
    /// Sessions, the one that was written to last first.
    pub fn sessions(&self, wanted: &Wanted) -> Result<Vec<SessionRow>, JournalError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "{SELECT} WHERE (?1 IS NULL OR folder = ?1) AND (?2 IS NULL OR touched >= ?2)
                 ORDER BY latest DESC",
            ))?;
            let since = wanted.since.map(Timestamp::as_microsecond);
            let mut rows = statement.query((&wanted.working_directory, since))?;
            let mut look = Look::new(&self.parts.holders);
            let mut found = vec![];
            while found.len() < wanted.limit.unwrap_or(usize::MAX)
                && let Some(row) = rows.next()?
            {
                let session = look.row(row)?;
                if wanted.status.is_none_or(|status| status == session.status) {
                    found.push(session);
                }
            }
            Ok(found)
        })
    }

    /// The session somebody means: by its identifier, by a beginning or an end of it that no other has, with or without the
    /// word before its dash, or by `last`.
    pub fn find(&self, words: &str) -> Result<SessionRow, JournalError> {
        if words == "last" {
            let last = self.sessions(&Wanted { limit: Some(1), ..Wanted::default() })?.pop();
            return last.ok_or_else(|| JournalError::new(JournalFault::Unknown, "the journal is empty"));
        }
        let mut found = self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "{SELECT} WHERE session_id = ?1 OR (length(?1) > 0 AND
                     (substr(session_id, 1, length(?1)) = ?1 OR substr(session_id, -length(?1)) = ?1
                      OR instr(session_id, '-' || ?1) > 0))
                 ORDER BY session_id = ?1 DESC, latest DESC",
            ))?;
            let mut look = Look::new(&self.parts.holders);
            let rows = statement.query_and_then([words], |row| look.row(row).map_err(Trouble::from))?;
            rows.take(EXAMPLES + 1).collect::<Result<Vec<_>, Trouble>>()
        })?;
        match found.as_slice() {
            [] => Err(unknown(words)),
            [first, ..] if &*first.session_id == words || found.len() == 1 => Ok(found.swap_remove(0)),
            several => {
                let names = several.iter().take(EXAMPLES).map(|session| &*session.session_id).collect::<Vec<_>>();
                let more = if several.len() > EXAMPLES { " and more" } else { "" };
                let message = format!("`{words}` could be {}{more}: write more of it", names.join(", "));
                Err(JournalError::new(JournalFault::Unknown, message))
            }
        }
    }
}

/// Reads rows, and asks about each handle once.
pub(super) struct Look<'a> {
    holders: &'a Holders,
    seen: HashMap<String, Option<String>>,
}

impl<'a> Look<'a> {
    pub(super) fn new(holders: &'a Holders) -> Self {
        Self { holders, seen: HashMap::new() }
    }

    pub(super) fn row(&mut self, row: &Row<'_>) -> rusqlite::Result<SessionRow> {
        let holder: Option<String> = row.get("holder")?;
        let held_by = holder.and_then(|holder| {
            let process = |name: &String| self.holders.process_of(name);
            self.seen.entry(holder).or_insert_with_key(process).clone()
        });
        let state: String = row.get("state")?;
        let status = match state.as_str() {
            _ if held_by.is_some() => Status::Running,
            "suspended" => Status::Suspended,
            "ended" => Status::Ended,
            _ => Status::Unfinished,
        };
        Ok(SessionRow {
            session_id: row.get("session_id")?,
            agent: row.get("agent")?,
            working_directory: row.get("folder")?,
            model: ModelId { provider: row.get("provider")?, name: row.get("model")? },
            forked_from: row.get("forked_from")?,
            prompt: row.get("prompt")?,
            began: time(row, "began")?,
            touched: time(row, "touched")?,
            runs: row.get("runs")?,
            steps: row.get("steps")?,
            tool_calls: row.get("tool_calls")?,
            usage: json(row, "usage")?,
            questions: row.get("questions")?,
            status,
            held_by,
            epoch: row.get("epoch")?,
            lines: row.get("lines")?,
            bytes: row.get("bytes")?,
            head: hash(row, "head")?,
        })
    }
}
