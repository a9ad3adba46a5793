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
    /// Jobs handed over.
    pushed: AtomicU64,
    /// Jobs done.
    done: watch::Sender<u64>,
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
        if worker.jobs.try_send(job).is_ok() {
            worker.pushed.fetch_add(1, Ordering::AcqRel);
            return true;
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Waits until all that was handed over by now is done, or until the time is up. What others hand over meanwhile is
    /// theirs to wait for. Drops are counted since the last time somebody asked.
    pub(crate) async fn drain(&self, limit: Duration) -> Drained {
        let mut unfinished = 0;
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(worker) = worker {
            let pushed = worker.pushed.load(Ordering::Acquire);
            let mut done = worker.done.subscribe();
            let caught_up = async { done.wait_for(|done| *done >= pushed).await.is_ok() };
            if tokio::time::timeout(limit, caught_up).await.is_err() {
                unfinished = pushed.saturating_sub(*worker.done.borrow());
            }
        }
        Drained { dropped: self.dropped.swap(0, Ordering::Relaxed), unfinished }
    }

    /// The worker; a new one if the runtime that the last one lived in is gone. What that one left undone is lost, and
    /// counted.
    fn worker(&self) -> Arc<Worker> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        match worker.take() {
            Some(alive) if !alive.jobs.is_closed() => worker.insert(alive).clone(),
            gone => {
                let lost = gone.map_or(0, |gone| gone.left());
                self.dropped.fetch_add(lost, Ordering::Relaxed);
                worker.insert(Arc::new(Worker::start())).clone()
            }
        }
    }
}

impl Worker {
    fn start() -> Self {
        let (jobs, mut inbox) = mpsc::channel::<Job>(WAITING);
        let done = watch::Sender::new(0u64);
        let count = done.clone();
        tokio::spawn(async move {
            while let Some(job) = inbox.recv().await {
                job.await;
                count.send_modify(|done| *done += 1);
            }
        });
        Self { jobs, pushed: AtomicU64::default(), done }
    }

    /// Jobs handed over and not done.
    fn left(&self) -> u64 {
        self.pushed.load(Ordering::Acquire).saturating_sub(*self.done.borrow())
    }
}

impl std::ops::Add for Drained {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { dropped: self.dropped + other.dropped, unfinished: self.unfinished + other.unfinished }
    }
}
