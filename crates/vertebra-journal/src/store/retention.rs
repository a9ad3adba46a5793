//! What is taken away again, and what never is.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use rusqlite::{OptionalExtension, TransactionBehavior};
use serde::Serialize;
use vertebra::{JournalError, JournalFault};

use super::{
    Desk, SessionRow, Status, Store, Wanted,
    fault::{Trouble, unknown},
    schema::PATIENCE,
    sessions::{Look, SELECT},
};

/// What of a journal is kept; by default all. A session that runs, is suspended or has an open question always is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// What was written to since.
    pub since: Option<Timestamp>,
    /// So many sessions, those written to last.
    pub sessions: Option<usize>,
    /// So many bytes of lines, of the sessions written to last.
    pub bytes: Option<u64>,
}

/// What was taken away.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pruned {
    /// These sessions.
    pub sessions: Vec<SessionRow>,
    /// So many bytes the file is smaller.
    pub freed: u64,
}

impl Pruned {
    /// How many lines.
    pub fn lines(&self) -> u64 {
        self.sessions.iter().map(|session| session.lines).sum()
    }
}

impl Store {
    /// Takes a session away, with all its lines. One that runs stays, and so says the error.
    pub fn delete(&self, session_id: &str) -> Result<Pruned, JournalError> {
        let session_id: Arc<str> = session_id.into();
        self.write(move |desk| {
            let before = desk.size()?;
            let Some(session) = desk.delete(&session_id, |_| true)? else { return Err(unknown(&session_id).into()) };
            desk.give_back()?;
            Ok(Pruned { sessions: vec![session], freed: before.saturating_sub(desk.size()?) })
        })
    }

    /// Takes away what need not be kept, and says what it was.
    pub fn prune(&self, retention: &Retention) -> Result<Pruned, JournalError> {
        let (mut bytes, mut old) = (0_u64, vec![]);
        for (place, session) in self.sessions(&Wanted::default())?.into_iter().enumerate() {
            bytes = bytes.saturating_add(session.bytes);
            let too_old = retention.since.is_some_and(|since| session.touched < since);
            let too_many = retention.sessions.is_some_and(|most| place >= most);
            let too_much = retention.bytes.is_some_and(|most| bytes > most);
            if may_go(&session) && (too_old || too_many || too_much) {
                old.push(session.session_id);
            }
        }
        if old.is_empty() {
            return Ok(Pruned::default());
        }
        self.write(move |desk| {
            let before = desk.size()?;
            let mut sessions = vec![];
            for session_id in old {
                // Somebody may have taken it up since.
                sessions.extend(desk.delete(&session_id, may_go).or_else(unless_busy)?);
            }
            desk.give_back()?;
            Ok(Pruned { sessions, freed: before.saturating_sub(desk.size()?) })
        })
    }
}

fn may_go(session: &SessionRow) -> bool {
    session.questions == 0 && matches!(session.status, Status::Ended | Status::Unfinished)
}

fn unless_busy(trouble: Trouble) -> Result<Option<SessionRow>, Trouble> {
    match trouble {
        Trouble::Refused(error) if error.kind == JournalFault::Busy => Ok(None),
        other => Err(other),
    }
}

impl Desk {
    /// Takes a session away, if it is there and `may` go.
    fn delete(
        &mut self,
        session_id: &str,
        may: impl FnOnce(&SessionRow) -> bool,
    ) -> Result<Option<SessionRow>, Trouble> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let find = format!("{SELECT} WHERE session_id = ?1");
        let found = transaction
            .query_row(&find, [session_id], |row| Ok((row.get::<_, i64>("id")?, Look::new(&self.holders).row(row)?)));
        let Some((id, session)) = found.optional()? else { return Ok(None) };
        if let Some(by) = &session.held_by {
            return Err(JournalError::new(JournalFault::Busy, format!("`{session_id}` is run by {by}")).into());
        }
        if !may(&session) {
            return Ok(None);
        }
        transaction.execute("DELETE FROM questions WHERE session = ?1", [id])?;
        transaction.execute("DELETE FROM lines WHERE session = ?1", [id])?;
        transaction.execute("DELETE FROM sessions WHERE id = ?1", [id])?;
        transaction.commit()?;
        Ok(Some(session))
    }

    /// Gives free pages back to the disk.
    fn give_back(&mut self) -> Result<(), Trouble> {
        let mut statement = self.connection.prepare("PRAGMA incremental_vacuum")?;
        let mut pages = statement.query([])?;
        while pages.next()?.is_some() {}
        // A reader of an older state may stand in the way. Nobody waits for it: a later checkpoint does the same.
        self.connection.busy_timeout(Duration::ZERO)?;
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(self.connection.busy_timeout(PATIENCE)?)
    }

    fn size(&self) -> Result<u64, Trouble> {
        let size = "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)";
        Ok(self.connection.query_row(size, [], |row| row.get(0))?)
    }
}
