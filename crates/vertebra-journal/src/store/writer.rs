//! The one who writes: a thread that takes lines from a queue and puts all that wait into one transaction.

use std::{
    collections::HashMap,
    mem,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use vertebra::{Entry, JournalError, JournalFault, What};

use super::{
    Options,
    account::Account,
    fault::Trouble,
    lease::{Holder, Holders},
    schema,
};

/// How many bytes of lines may wait to be written. Whoever has more waits.
const QUEUE: usize = 4 << 20;

/// How large a line may be.
const LARGEST: usize = 64 << 20;

/// How long lines that nobody waits for may wait for company. A process that dies can lose so much of them.
const LINGER: Duration = Duration::from_millis(10);

/// The way to the thread.
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    room: Arc<Semaphore>,
    /// Whether lines are taken that are not yet written.
    trusting: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Line(Line),
    Work(Box<dyn FnOnce(&mut Desk) + Send>),
}

/// A line on its way.
struct Line {
    entry: Entry,
    body: String,
    /// Whoever waits for it. The others were told that it is taken.
    waiting: Option<oneshot::Sender<Result<(), JournalError>>>,
    /// Its place in the queue.
    room: Option<OwnedSemaphorePermit>,
}

impl Writer {
    pub(super) fn start(path: &Arc<Path>, options: &Options) -> Result<Self, Trouble> {
        schema::create(path)?;
        let holders = Holders::of(path);
        let opening = holders.open()?;
        let connection = schema::for_writing(path, options.sync)?;
        let holder = holders.enter(&opening)?;
        drop(opening);
        let (jobs, queue) = mpsc::channel();
        let trusting = Arc::new(AtomicBool::new(true));
        let desk = Desk {
            path: path.clone(),
            connection,
            holders,
            holder,
            chain: options.chain,
            held: HashMap::new(),
            kept: vec![],
            trouble: None,
            trusting: trusting.clone(),
        };
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || desk.serve(&queue))?;
        Ok(Self { jobs: Some(jobs), room: Arc::new(Semaphore::new(QUEUE)), trusting, thread: Some(thread) })
    }

    /// Takes a line. Waits for room, and until it is safe if it must last.
    pub(super) async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        let refuse = |why: String| JournalError::new(JournalFault::Failed, why);
        let body = serde_json::to_string(&entry).map_err(|error| refuse(error.to_string()))?;
        if body.len() > LARGEST {
            let (kind, session_id) = (entry.what.kind(), &entry.session_id);
            return Err(refuse(format!(
                "a `{kind}` of `{session_id}` has {} bytes, and a line at most {LARGEST}",
                body.len()
            )));
        }
        let places = u32::try_from(body.len().clamp(1, QUEUE)).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(places).await.map_err(|_| stopped())?;
        if !entry.what.must_last() && self.trusting.load(Ordering::Acquire) {
            return self.send(Job::Line(Line { entry, body, waiting: None, room: Some(room) }));
        }
        let (waiting, written) = oneshot::channel();
        self.send(Job::Line(Line { entry, body, waiting: Some(waiting), room: Some(room) }))?;
        written.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Has work done behind all lines given before.
    pub(super) fn queue(&self, work: impl FnOnce(&mut Desk) + Send + 'static) -> Result<(), JournalError> {
        self.send(Job::Work(Box::new(work)))
    }

    fn send(&self, job: Job) -> Result<(), JournalError> {
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(stopped)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        // The last clone may be dropped by the thread itself, as part of a job it had been given.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

pub(super) fn stopped() -> JournalError {
    JournalError::new(JournalFault::Failed, "the journal's writer has stopped")
}

/// What the thread works with.
pub(crate) struct Desk {
    path: Arc<Path>,
    pub(super) connection: Connection,
    pub(super) holders: Holders,
    pub(super) holder: Holder,
    chain: bool,
    /// The sessions that this handle runs, and for the how manieth time each was taken when it took it.
    held: HashMap<Arc<str>, i64>,
    /// Lines that were taken and could not be written. They go before all others; until they have, no more are taken on
    /// trust, so there are never more than the queue holds.
    kept: Vec<Line>,
    /// Why.
    trouble: Option<JournalError>,
    trusting: Arc<AtomicBool>,
}

impl Desk {
    fn serve(mut self, jobs: &Receiver<Job>) {
        let mut next = jobs.recv().ok();
        while let Some(job) = next {
            next = match job {
                Job::Line(line) => {
                    let (batch, next) = gather(line, jobs);
                    self.write(batch);
                    next
                }
                Job::Work(work) => {
                    work(&mut self);
                    None
                }
            };
            next = next.or_else(|| jobs.recv().ok());
        }
        self.write(vec![]);
        for line in &self.kept {
            tracing::error!(session = %line.entry.session_id, kind = line.entry.what.kind(), "a line was not written");
        }
        let left = "UPDATE sessions SET holder = NULL WHERE holder = ?1";
        if let Err(error) = self.connection.execute(left, [&self.holder.name]) {
            // Whoever wants one of them will find that this handle is gone.
            tracing::debug!(%error, "sessions were not let go");
        }
    }

    pub(super) fn fault(&self, trouble: Trouble) -> JournalError {
        trouble.at(&self.path)
    }

    /// Writes lines, those kept first. One session's trouble is not another's: if they cannot be written together, each
    /// session's are tried alone.
    fn write(&mut self, fresh: Vec<Line>) {
        let mut batch = mem::take(&mut self.kept);
        batch.extend(fresh);
        self.trouble = None;
        match self.commit(&batch) {
            Ok(outcomes) => self.settle(batch, outcomes),
            Err(trouble) => {
                let groups = by_session(batch);
                let mut failed = (groups.len() == 1).then_some(trouble);
                for group in groups {
                    let result = failed.take().map_or_else(|| self.commit(&group), Err);
                    let outcomes = result.unwrap_or_else(|trouble| {
                        let error = self.fault(trouble);
                        vec![Err(error); group.len()]
                    });
                    self.settle(group, outcomes);
                }
            }
        }
        self.trusting.store(self.kept.is_empty(), Ordering::Release);
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
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(Account::load(&transaction, &entry.session_id)?)
                }
            };
            if let What::SessionBegan { .. } = entry.what {
                match account {
                    None => *account = Account::begin(&transaction, entry, self.chain)?,
                    Some(account) if account.holder.is_none() => account.epoch += 1,
                    Some(_) => {}
                }
                if let Some(account) = account.as_mut().filter(|account| account.holder.is_none()) {
                    account.holder = Some(self.holder.name.clone());
                    account.taken_now = true;
                }
            }
            let Some(account) = account else {
                outcomes.push(Err(unknown(&entry.session_id)));
                continue;
            };
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
            remember(&mut self.held, &self.holder, account);
        }
        Ok(outcomes)
    }

    fn settle(&mut self, lines: Vec<Line>, outcomes: Vec<Result<(), JournalError>>) {
        for (mut line, outcome) in lines.into_iter().zip(outcomes) {
            match (line.waiting.take(), outcome) {
                // Whoever has gone away does not want to know.
                (Some(waiting), outcome) => drop(waiting.send(outcome)),
                (None, Ok(())) => {}
                (None, Err(error)) if matches!(error.kind, JournalFault::Fenced | JournalFault::Unknown) => {
                    tracing::warn!(session = %line.entry.session_id, kind = line.entry.what.kind(), %error, "a line came late");
                }
                (None, Err(error)) => {
                    line.room = None;
                    self.kept.push(line);
                    self.trouble = Some(error);
                }
            }
        }
    }

    /// Takes a session for this handle, if nobody runs it.
    pub(super) fn claim(&mut self, session_id: &str) -> Result<(), Trouble> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut account = known(&transaction, session_id)?;
        if let Some(holder) = &account.holder {
            let by = match holder {
                ours if *ours == self.holder.name => Some("this process".to_owned()),
                other => self.holders.process_of(other),
            };
            if let Some(by) = by {
                return Err(JournalError::new(JournalFault::Busy, format!("`{session_id}` is run by {by}")).into());
            }
        }
        account.holder = Some(self.holder.name.clone());
        account.epoch += 1;
        account.save(&transaction)?;
        transaction.commit()?;
        remember(&mut self.held, &self.holder, account);
        Ok(())
    }

    /// Lets a session go that this handle runs, after all its lines.
    pub(super) fn release(&mut self, session_id: &str) -> Result<(), Trouble> {
        self.write(vec![]);
        if self.kept.iter().any(|line| &*line.entry.session_id == session_id) {
            return Err(self.trouble.clone().unwrap_or_else(stopped).into());
        }
        let release = "UPDATE sessions SET holder = NULL WHERE session_id = ?1 AND holder = ?2";
        self.connection.execute(release, [session_id, &self.holder.name])?;
        self.held.remove(session_id);
        Ok(())
    }

    /// Takes a session from whoever runs it.
    pub(super) fn take_over(&mut self, session_id: &str) -> Result<Option<String>, Trouble> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut account = known(&transaction, session_id)?;
        let was = account.holder.take().and_then(|holder| self.holders.process_of(&holder));
        account.epoch += 1;
        account.save(&transaction)?;
        transaction.commit()?;
        self.held.remove(session_id);
        Ok(was)
    }
}

/// The lines to write together with this one, and what comes after them.
fn gather(first: Line, jobs: &Receiver<Job>) -> (Vec<Line>, Option<Job>) {
    let began = Instant::now();
    let (mut size, mut urgent) = (first.body.len(), first.waiting.is_some());
    let mut batch = vec![first];
    while size < QUEUE / 2 {
        let left = if urgent { Duration::ZERO } else { LINGER.saturating_sub(began.elapsed()) };
        match jobs.recv_timeout(left) {
            Ok(Job::Line(line)) => {
                size += line.body.len();
                urgent |= line.waiting.is_some();
                batch.push(line);
            }
            Ok(work @ Job::Work(_)) => return (batch, Some(work)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    (batch, None)
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

fn remember(held: &mut HashMap<Arc<str>, i64>, holder: &Holder, account: Account) {
    if account.holder.as_ref() == Some(&holder.name) {
        held.insert(account.session_id, account.epoch);
    } else {
        held.remove(&account.session_id);
    }
}

fn known(transaction: &Transaction<'_>, session_id: &str) -> Result<Account, Trouble> {
    Account::load(transaction, session_id)?.ok_or_else(|| unknown(session_id).into())
}

pub(super) fn unknown(session_id: &str) -> JournalError {
    JournalError::new(JournalFault::Unknown, format!("`{session_id}`"))
}

fn fenced(holders: &Holders, account: &Account) -> JournalError {
    let by = account.holder.as_ref().and_then(|holder| holders.process_of(holder));
    let by = by.map_or_else(|| "by nobody, since it was let go".to_owned(), |by| format!("by {by}"));
    JournalError::new(JournalFault::Fenced, format!("`{}` is run {by}", account.session_id))
}
