//! The one who writes: a thread that takes lines from a queue and puts all that wait into one transaction.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use vertebra::{Entry, JournalError, JournalFault};

use super::{Options, desk::Desk, fault::Trouble, lease::Holders, schema};

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
    Line(Box<Line>),
    Work(Box<dyn FnOnce(&mut Desk) + Send>),
}

/// A line on its way.
pub(super) struct Line {
    pub(super) entry: Entry,
    pub(super) body: String,
    /// Whoever waits for it. The others were told that it is taken.
    pub(super) waiting: Option<oneshot::Sender<Result<(), JournalError>>>,
    /// Its place in the queue.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

impl Writer {
    pub(super) fn start(path: &Arc<Path>, options: Options) -> Result<Self, Trouble> {
        schema::create(path)?;
        let mut connection = schema::for_writing(path)?;
        let holders = Holders::of(path);
        let opening = holders.open()?;
        schema::prepare(&mut connection, path, options.sync)?;
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
            lost: HashMap::new(),
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
            return self.send(Job::Line(Box::new(Line { entry, body, waiting: None, room: Some(room) })));
        }
        let (waiting, written) = oneshot::channel();
        self.send(Job::Line(Box::new(Line { entry, body, waiting: Some(waiting), room: Some(room) })))?;
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
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(super) fn stopped() -> JournalError {
    JournalError::new(JournalFault::Failed, "the journal's writer has stopped")
}

/// The lines to write together with this one, and what comes after them.
fn gather(first: Box<Line>, jobs: &Receiver<Job>) -> (Vec<Line>, Option<Job>) {
    let began = Instant::now();
    let (mut size, mut urgent) = (first.body.len(), first.waiting.is_some());
    let mut batch = vec![*first];
    while size < QUEUE / 2 {
        let left = if urgent { Duration::ZERO } else { LINGER.saturating_sub(began.elapsed()) };
        match jobs.recv_timeout(left) {
            Ok(Job::Line(line)) => {
                size += line.body.len();
                urgent |= line.waiting.is_some();
                batch.push(*line);
            }
            Ok(work @ Job::Work(_)) => return (batch, Some(work)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    (batch, None)
}

impl Desk {
    /// Works until nobody can give it anything any more.
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
}
