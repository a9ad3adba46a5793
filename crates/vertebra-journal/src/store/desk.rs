//! The writer's work: lines into transactions, and what becomes of those that do not fit.

use std::{
    collections::{HashMap, hash_map},
    mem,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{Connection, TransactionBehavior};
use vertebra::{JournalError, JournalFault, What};

use super::{
    account::Account,
    fault::{Trouble, unknown},
    lease::{Holder, Holders},
    writer::Line,
};

/// What the thread works with.
pub(crate) struct Desk {
    pub(super) path: Arc<Path>,
    pub(super) connection: Connection,
    pub(super) holders: Holders,
    pub(super) holder: Holder,
    pub(super) chain: bool,
    /// The sessions that this handle runs, and for the how manieth time each was taken when it took it.
    pub(super) held: HashMap<Arc<str>, i64>,
    /// Lines that were taken and could not be written. They go before all others; until they have, no more are taken on
    /// trust, so there are never more than the queue holds.
    pub(super) kept: Vec<Line>,
    /// Sessions with a line that was taken and can never be written, and why. They get no more until they are claimed anew.
    pub(super) lost: HashMap<Arc<str>, JournalError>,
    /// Why lines are kept.
    pub(super) trouble: Option<JournalError>,
    pub(super) trusting: Arc<AtomicBool>,
}

impl Desk {
    pub(super) fn fault(&self, trouble: Trouble) -> JournalError {
        trouble.at(&self.path)
    }

    /// Writes lines, those kept first, and tells whoever waits for one.
    pub(super) fn write(&mut self, fresh: Vec<Line>) {
        let mut batch = mem::take(&mut self.kept);
        batch.extend(fresh);
        self.trouble = None;
        let mut answers = vec![];
        for (mut line, outcome) in self.try_all(batch) {
            match (line.waiting.take(), outcome) {
                (Some(waiting), outcome) => answers.push((waiting, outcome)),
                (None, Ok(())) => {}
                (None, Err(error)) if matches!(error.kind, JournalFault::Fenced | JournalFault::Unknown) => {
                    let (session, kind) = (&line.entry.session_id, line.entry.what.kind());
                    tracing::warn!(%session, kind, %error, "a line came late");
                }
                (None, Err(error)) if error.kind == JournalFault::Corrupt => {
                    let session = line.entry.session_id;
                    tracing::error!(%session, kind = line.entry.what.kind(), %error, "a line is lost");
                    self.lost.insert(session, error);
                }
                (None, Err(error)) => {
                    line.room = None;
                    self.kept.push(line);
                    self.trouble = Some(error);
                }
            }
        }
        // Before anybody hears of it: the next line they give is not taken on trust.
        self.trusting.store(self.kept.is_empty(), Ordering::Release);
        for (waiting, outcome) in answers {
            // Whoever has gone away does not want to know.
            let _ = waiting.send(outcome);
        }
    }

    /// Writes lines together; or, because one session's trouble is not another's, each session's alone.
    fn try_all(&mut self, batch: Vec<Line>) -> Vec<(Line, Result<(), JournalError>)> {
        let trouble = match self.commit(&batch) {
            Ok(outcomes) => return batch.into_iter().zip(outcomes).collect(),
            Err(trouble) => trouble,
        };
        let groups = by_session(batch);
        // Another process that writes for so long is in everybody's way.
        let hopeless = groups.len() == 1 || trouble.is_busy();
        let error = self.fault(trouble);
        let mut tried = vec![];
        for group in groups {
            let alone =
                if hopeless { Err(error.clone()) } else { self.commit(&group).map_err(|trouble| self.fault(trouble)) };
            let outcomes = alone.unwrap_or_else(|error| vec![Err(error); group.len()]);
            tried.extend(group.into_iter().zip(outcomes));
        }
        tried
    }

    /// Writes lines in one transaction, and says of each whether it was let in.
    fn commit(&mut self, batch: &[Line]) -> Result<Vec<Result<(), JournalError>>, Trouble> {
        if batch.is_empty() {
            return Ok(vec![]);
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut accounts: HashMap<&str, Option<Account>> = HashMap::new();
        let mut outcomes = Vec::with_capacity(batch.len());
        for Line { entry, body, .. } in batch {
            let account = match accounts.entry(&entry.session_id) {
                hash_map::Entry::Occupied(known) => known.into_mut(),
                hash_map::Entry::Vacant(place) => place.insert(Account::load(&transaction, &entry.session_id)?),
            };
            if let What::SessionBegan { .. } = entry.what {
                if account.is_none() {
                    *account = Account::begin(&transaction, entry, self.chain)?;
                }
                if let Some(account) = account.as_mut().filter(|account| account.holder.is_none()) {
                    account.take(&self.holder.name);
                }
            }
            let Some(account) = account else {
                outcomes.push(Err(unknown(&entry.session_id)));
                continue;
            };
            if let Some(error) = self.lost.get(&entry.session_id) {
                outcomes.push(Err(error.clone()));
                continue;
            }
            let ours = account.holder.as_ref() == Some(&self.holder.name)
                && (account.taken_now || self.held.get(&entry.session_id) == Some(&account.epoch));
            if ours {
                account.add(&transaction, entry, body)?;
                outcomes.push(Ok(()));
            } else {
                outcomes.push(Err(fenced(&self.holders, account)));
            }
        }
        for account in accounts.values().flatten() {
            account.save(&transaction)?;
        }
        transaction.commit()?;
        for account in accounts.into_values().flatten() {
            self.holder.remember(&mut self.held, account);
        }
        Ok(outcomes)
    }
}

/// The same lines, each session's together, in the order they were given.
fn by_session(lines: Vec<Line>) -> Vec<Vec<Line>> {
    let mut groups: Vec<Vec<Line>> = vec![];
    let mut places: HashMap<Arc<str>, usize> = HashMap::new();
    for line in lines {
        let place = *places.entry(line.entry.session_id.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push(vec![]);
        }
        groups[place].push(line);
    }
    groups
}

fn fenced(holders: &Holders, account: &Account) -> JournalError {
    let by = account.holder.as_ref().and_then(|holder| holders.process_of(holder));
    let by = by.map_or_else(|| "by nobody, since it was let go".to_owned(), |by| format!("by {by}"));
    JournalError::new(JournalFault::Fenced, format!("`{}` is run {by}", account.session_id))
}
