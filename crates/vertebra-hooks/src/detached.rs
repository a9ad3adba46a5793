//! Watches that run behind the dispatch: bounded queues, drained at the end, drops counted.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{mpsc, watch};

use crate::hook::BoxFuture;

/// How many events may wait for one detached watch. A watch that is slower than this is not waited for.
const WAITING: usize = 1024;

/// One unit of work: the watch, already holding all it looks at.
type Job = BoxFuture<'static, ()>;

/// The queue of one detached watch. Its worker runs one event after the other, so the watch sees them in order.
#[derive(Default)]
pub(crate) struct Queue {
    worker: Mutex<Option<Arc<Worker>>>,
    dropped: AtomicU64,
}

struct Worker {
    jobs: mpsc::Sender<Job>,
    pending: watch::Sender<u64>,
}

/// What became of the events for detached watches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Drained {
    /// Events that never reached their watch because its queue was full.
    pub dropped: u64,
    /// Events that were still waiting when the time was up.
    pub unfinished: u64,
}

impl Queue {
    /// Hands a job over without waiting. Answers whether there was room.
    pub(crate) fn push(&self, job: Job) -> bool {
        let worker = self.worker();
        worker.pending.send_modify(|pending| *pending += 1);
        if worker.jobs.try_send(job).is_ok() {
            return true;
        }
        worker.pending.send_modify(|pending| *pending -= 1);
        self.dropped.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Waits until nothing is pending, or until the time is up.
    pub(crate) async fn drain(&self, limit: Duration) -> Drained {
        let mut unfinished = 0;
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(worker) = worker {
            let mut pending = worker.pending.subscribe();
            let idle = async { pending.wait_for(|pending| *pending == 0).await.is_ok() };
            if tokio::time::timeout(limit, idle).await.is_err() {
                unfinished = *worker.pending.borrow();
            }
        }
        Drained { dropped: self.dropped.load(Ordering::Relaxed), unfinished }
    }

    /// The worker; a new one if the runtime that the last one lived in is gone. What that one left undone is lost, and
    /// counted.
    fn worker(&self) -> Arc<Worker> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        match worker.take() {
            Some(alive) if !alive.jobs.is_closed() => worker.insert(alive).clone(),
            gone => {
                let lost = gone.map_or(0, |gone| *gone.pending.borrow());
                self.dropped.fetch_add(lost, Ordering::Relaxed);
                worker.insert(Arc::new(Worker::start())).clone()
            }
        }
    }
}

impl Worker {
    fn start() -> Self {
        let (jobs, mut inbox) = mpsc::channel::<Job>(WAITING);
        let pending = watch::Sender::new(0u64);
        let done = pending.clone();
        tokio::spawn(async move {
            while let Some(job) = inbox.recv().await {
                job.await;
                done.send_modify(|pending| *pending -= 1);
            }
        });
        Self { jobs, pending }
    }
}

impl std::ops::Add for Drained {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { dropped: self.dropped + other.dropped, unfinished: self.unfinished + other.unfinished }
    }
}
