//! The row of a session: what its lines add up to, kept in the transaction that writes them.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, named_params, types::Type};
use serde::de::DeserializeOwned;
use vertebra::{Decision, Entry, RunStatus, Usage, What};

use super::fault::Trouble;
use crate::chain::Hash;

/// How much of a session's first prompt a list shows.
const PROMPT: usize = 200;

/// A session's row while lines are added to it.
pub(super) struct Account {
    id: i64,
    pub(super) session_id: Arc<str>,
    prompt: Option<String>,
    touched: i64,
    runs: i64,
    steps: i64,
    tool_calls: i64,
    usage: Usage,
    state: String,
    lines: i64,
    bytes: i64,
    latest: i64,
    whole: i64,
    /// How often it was taken by a handle.
    pub(super) epoch: i64,
    /// The handle that runs it.
    pub(super) holder: Option<Arc<str>>,
    head: Option<Hash>,
    /// Whether it was taken in this very transaction.
    pub(super) taken_now: bool,
}

impl Account {
    pub(super) fn load(transaction: &Transaction<'_>, session_id: &str) -> Result<Option<Self>, Trouble> {
        let mut statement = transaction.prepare_cached("SELECT * FROM sessions WHERE session_id = ?1")?;
        Ok(statement.query_row([session_id], Self::read).optional()?)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            session_id: row.get("session_id")?,
            prompt: row.get("prompt")?,
            touched: row.get("touched")?,
            runs: row.get("runs")?,
            steps: row.get("steps")?,
            tool_calls: row.get("tool_calls")?,
            usage: json(row, "usage")?,
            state: row.get("state")?,
            lines: row.get("lines")?,
            bytes: row.get("bytes")?,
            latest: row.get("latest")?,
            whole: row.get("whole")?,
            epoch: row.get("epoch")?,
            holder: row.get("holder")?,
            head: hash(row, "head")?,
            taken_now: false,
        })
    }

    /// Makes the row of a new session, if this is the line it begins with.
    pub(super) fn begin(transaction: &Transaction<'_>, entry: &Entry, chain: bool) -> Result<Option<Self>, Trouble> {
        let What::SessionBegan { agent, working_directory, model, forked_from } = &entry.what else { return Ok(None) };
        let head = chain.then_some(Hash::START);
        let time = entry.timestamp.as_microsecond();
        transaction
            .prepare_cached(
                "INSERT INTO sessions (session_id, agent, folder, provider, model, forked_from, began, touched, epoch, head)
                 VALUES (:session_id, :agent, :folder, :provider, :model, :forked_from, :time, :time, 0, :head)",
            )?
            .execute(named_params! {
                ":session_id": entry.session_id,
                ":agent": agent,
                ":folder": working_directory,
                ":provider": model.provider,
                ":model": model.name,
                ":forked_from": forked_from,
                ":time": time,
                ":head": head.as_ref().map(Hash::as_bytes),
            })?;
        Ok(Some(Self {
            id: transaction.last_insert_rowid(),
            session_id: entry.session_id.clone(),
            prompt: None,
            touched: time,
            runs: 0,
            steps: 0,
            tool_calls: 0,
            usage: Usage::default(),
            state: "open".to_owned(),
            lines: 0,
            bytes: 0,
            latest: 0,
            whole: 1,
            epoch: 0,
            holder: None,
            head,
            taken_now: false,
        }))
    }

    /// Gives the session to a handle.
    pub(super) fn take(&mut self, holder: &Arc<str>) {
        self.holder = Some(holder.clone());
        self.epoch += 1;
        self.taken_now = true;
    }

    /// Adds a line.
    pub(super) fn add(&mut self, transaction: &Transaction<'_>, entry: &Entry, body: &str) -> Result<(), Trouble> {
        self.lines += 1;
        self.head = self.head.map(|head| head.then(body));
        transaction
            .prepare_cached("INSERT INTO lines (session, number, body, hash) VALUES (?1, ?2, ?3, ?4)")?
            .execute((self.id, self.lines, body, self.head.as_ref().map(Hash::as_bytes)))?;
        self.latest = transaction.last_insert_rowid();
        self.bytes = self.bytes.saturating_add_unsigned(body.len() as u64);
        self.touched = entry.timestamp.as_microsecond();
        if entry.what.starts_over() {
            self.whole = self.lines;
        }
        self.count(transaction, entry)
    }

    fn count(&mut self, transaction: &Transaction<'_>, entry: &Entry) -> Result<(), Trouble> {
        if entry.what.starts_over() {
            self.whole = self.lines;
        }
        // The loop counts calls that were refused too, and one that was tried twice once.
        if let What::Checkpoint(checkpoint) | What::RunEnded { checkpoint, .. } = &entry.what
            && checkpoint.used.session_calls > 0
        {
            self.tool_calls = i64::try_from(checkpoint.used.session_calls).unwrap_or(i64::MAX);
        }
        match &entry.what {
            What::SessionBegan { .. } | What::SessionResumed { .. } => "open".clone_into(&mut self.state),
            What::RunBegan { prompt, depth: 0, .. } => {
                self.runs += 1;
                "open".clone_into(&mut self.state);
                self.prompt.get_or_insert_with(|| prompt.text.chars().take(PROMPT).collect());
            }
            What::StepBegan { .. } => self.steps += 1,
            What::ModelAnswered { usage, .. } => self.usage += *usage,
            What::ToolIntended { .. } | What::ToolLeftOut { .. } => self.tool_calls += 1,
            What::Asked { approval, until } => {
                let until = until.as_microsecond();
                // The same question asked again keeps an answer it was given meanwhile; another one does not.
                transaction
                    .prepare_cached(
                        "INSERT INTO questions (session, call_id, run_id, digest, until, line) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                         ON CONFLICT DO UPDATE SET
                             answer = CASE WHEN digest = excluded.digest THEN answer END,
                             digest = excluded.digest, until = excluded.until, line = excluded.line",
                    )?
                    .execute((self.id, &approval.call.id, &approval.at.run.run_id, &approval.digest, until, self.lines))?;
            }
            // Whoever said so is asked again.
            What::Answered { decision: Decision::Later, .. } => {}
            What::Answered { call_id, .. } => {
                transaction
                    .prepare_cached("DELETE FROM questions WHERE session = ?1 AND call_id = ?2 AND run_id = ?3")?
                    .execute((self.id, call_id, &entry.run_id))?;
            }
            What::Suspended { .. } => {
                "suspended".clone_into(&mut self.state);
                self.holder = None;
            }
            What::RunEnded { report, .. } if report.status != RunStatus::Suspended => {
                transaction
                    .prepare_cached("DELETE FROM questions WHERE session = ?1 AND run_id = ?2")?
                    .execute((self.id, &entry.run_id))?;
            }
            What::SessionEnded => {
                "ended".clone_into(&mut self.state);
                self.holder = None;
                transaction.prepare_cached("DELETE FROM questions WHERE session = ?1")?.execute([self.id])?;
            }
            // The other facts change nothing in the account.
            _ => {}
        }
        if self.holder.is_none() {
            self.taken_now = false;
        }
        Ok(())
    }

    pub(super) fn save(&self, transaction: &Transaction<'_>) -> Result<(), Trouble> {
        let usage = serde_json::to_string(&self.usage).expect("numbers are JSON");
        transaction
            .prepare_cached(
                "UPDATE sessions SET
                     prompt = :prompt, touched = :touched, runs = :runs, steps = :steps, tool_calls = :tool_calls,
                     usage = :usage, state = :state, lines = :lines, bytes = :bytes, latest = :latest, whole = :whole,
                     epoch = :epoch, holder = :holder, head = :head
                 WHERE id = :id",
            )?
            .execute(named_params! {
                ":id": self.id,
                ":prompt": self.prompt,
                ":touched": self.touched,
                ":runs": self.runs,
                ":steps": self.steps,
                ":tool_calls": self.tool_calls,
                ":usage": usage,
                ":state": self.state,
                ":lines": self.lines,
                ":bytes": self.bytes,
                ":latest": self.latest,
                ":whole": self.whole,
                ":epoch": self.epoch,
                ":holder": self.holder,
                ":head": self.head.as_ref().map(Hash::as_bytes),
            })?;
        Ok(())
    }
}

/// A column that holds JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| conversion(Type::Text, error))
}

/// A column that holds a link of a chain, or nothing.
pub(super) fn hash(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Hash>> {
    let Some(bytes) = row.get::<_, Option<Vec<u8>>>(column)? else { return Ok(None) };
    let hash = Hash::from_bytes(&bytes);
    hash.map(Some).ok_or_else(|| conversion(Type::Blob, "a link of a chain has 32 bytes"))
}

/// A column that holds a moment.
pub(super) fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    Timestamp::from_microsecond(row.get(column)?).map_err(|error| conversion(Type::Integer, error))
}

fn conversion(from: Type, error: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, from, error.into())
}
