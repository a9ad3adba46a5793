//! Reading: connections of their own, so that no reader waits for the writer, nor it for them.

use std::{
    collections::VecDeque,
    ops::Deref,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, OptionalExtension};
use vertebra::{Entry, JournalError, JournalFault};

use super::{
    Store,
    account::hash,
    fault::{Trouble, damaged, unknown},
    schema,
};
use crate::chain::Hash;

/// How much is read at once.
const CHUNK: usize = 256 << 10;

/// Connections that only read.
#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<Path>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

/// One of them, until it is dropped.
pub(super) struct Reader {
    connection: Option<Connection>,
    home: Readers,
}

impl Readers {
    pub(super) fn of(path: &Arc<Path>) -> Self {
        Self { path: path.clone(), idle: Arc::default() }
    }

    pub(super) fn take(&self) -> Result<Reader, Trouble> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = idle.map_or_else(|| schema::for_reading(&self.path), Ok)?;
        Ok(Reader { connection: Some(connection), home: self.clone() })
    }
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a reader has its connection until it is dropped")
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok() {
            self.home.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}

/// A line as it is stored.
pub(crate) struct Body {
    pub(crate) number: u64,
    pub(crate) text: String,
    pub(crate) hash: Option<Hash>,
}

/// The stored lines of a session, as they were when reading began. One that cannot be read is an error in its place, and
/// the next one comes after it.
pub(crate) struct Bodies {
    reader: Reader,
    session: i64,
    session_id: Arc<str>,
    /// What the session's row says of its chain.
    pub(crate) head: Option<Hash>,
    next: u64,
    /// The latest line that says all.
    whole: u64,
    pub(crate) last: u64,
    ready: VecDeque<Body>,
}

impl Bodies {
    fn fetch(&mut self) -> Result<(), Trouble> {
        let mut statement = self.reader.prepare_cached(
            "SELECT number, body, hash FROM lines WHERE session = ?1 AND number >= ?2 AND number <= ?3 ORDER BY number",
        )?;
        let mut rows = statement.query((self.session, self.next, self.last))?;
        let mut size = 0;
        while size < CHUNK {
            let Some(row) = rows.next()? else { break };
            let body = Body { number: row.get(0)?, text: row.get(1)?, hash: hash(row, "hash")? };
            size += body.text.len();
            self.ready.push_back(body);
        }
        Ok(())
    }

    /// The first line of this session, chained or not, for which this holds.
    pub(super) fn first(&self, that: &str) -> Result<Option<i64>, JournalError> {
        let find = format!("SELECT min(number) FROM lines WHERE session = ?1 AND ({that})");
        let found = self.reader.query_row(&find, [self.session], |row| row.get(0));
        found.map_err(|error| Trouble::from(error).at(&self.reader.home.path))
    }

    fn damage(&self, number: u64, cause: &str) -> JournalError {
        let what = format!("{}: line {number} of `{}`", self.reader.home.path.display(), self.session_id);
        JournalError::new(JournalFault::Corrupt, damaged(&what, cause))
    }
}

impl Iterator for Bodies {
    type Item = Result<Body, (u64, JournalError)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.last {
            return None;
        }
        let fetched = if self.ready.is_empty() { self.fetch() } else { Ok(()) };
        let number = self.next;
        self.next += 1;
        if let Some(body) = self.ready.pop_front_if(|body| body.number == number) {
            return Some(Ok(body));
        }
        let error = match fetched {
            Ok(()) => self.damage(number, "it is missing"),
            Err(trouble) => match trouble.at(&self.reader.home.path) {
                error if error.kind == JournalFault::Corrupt => self.damage(number, "it cannot be read"),
                error => error,
            },
        };
        Some(Err((number, error)))
    }
}

/// The lines of a session, oldest first, as they were when reading began.
///
/// A line that cannot be read is an error in its place; those after it still come.
pub struct Lines {
    bodies: Bodies,
}

impl Iterator for Lines {
    type Item = Result<Entry, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let body = match self.bodies.next()? {
            Ok(body) => body,
            Err((_, error)) => return Some(Err(error)),
        };
        let entry = serde_json::from_str(&body.text);
        Some(entry.map_err(|error| self.bodies.damage(body.number, &error.to_string())))
    }
}

impl Store {
    /// The lines of a session, oldest first.
    pub fn lines(&self, session_id: &str) -> Result<Lines, JournalError> {
        self.lines_after(session_id, 0)
    }

    /// The lines of a session after this number, oldest first.
    pub fn lines_after(&self, session_id: &str, number: u64) -> Result<Lines, JournalError> {
        let mut bodies = self.bodies(session_id)?;
        bodies.next = number.saturating_add(1);
        Ok(Lines { bodies })
    }

    /// The lines of a session from the latest one on that says all.
    pub(super) fn lines_to_resume(&self, session_id: &str) -> Result<Lines, JournalError> {
        let mut bodies = self.bodies(session_id)?;
        bodies.next = bodies.whole;
        Ok(Lines { bodies })
    }

    /// The lines of a session as they are stored.
    pub(crate) fn bodies(&self, session_id: &str) -> Result<Bodies, JournalError> {
        let reader = self.parts.readers.take().map_err(|trouble| trouble.at(self.path()))?;
        let begin = || -> Result<_, Trouble> {
            // One view of the file for as long as it is read.
            reader.execute_batch("BEGIN")?;
            let find = "SELECT id, session_id, whole, lines, head FROM sessions WHERE session_id = ?1";
            let mut statement = reader.prepare_cached(find)?;
            let found = statement.query_row([session_id], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, hash(row, "head")?))
            });
            found.optional()?.ok_or_else(|| unknown(session_id).into())
        };
        let (session, session_id, whole, last, head) = begin().map_err(|trouble| trouble.at(self.path()))?;
        Ok(Bodies { reader, session, session_id, head, next: 1, whole, last, ready: VecDeque::new() })
    }
}
