//! One batch of iterations, and who says when it begins and ends.
//!
//! Results are shown to `black_box` by reference: by value it would move them, and some peers answer in a kilobyte.

use std::hint::black_box;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::counting::{self, Tally};

/// What a batch is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Time,
    Allocations,
    /// Somebody outside of the process counts.
    Nothing,
}

/// What was read off at the end of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Took(Duration),
    Allocated(Tally),
    Nothing,
}

/// One batch: how many iterations to run, and the clock to run them by.
///
/// Most cases never see one. A case whose work happens inside something else (a hook of a peer that cannot be called
/// but from a running agent) gets it by [`Suite::inside_case`](crate::Suite::inside_case), carries it there, and
/// measures only what it means to.
#[derive(Clone, Debug)]
pub struct Lap {
    iterations: u64,
    reading: Reading,
    read: Arc<OnceLock<Read>>,
}

/// A running clock; [`stop`](Timing::stop) ends the batch.
#[must_use = "the batch ends when `stop` is called"]
#[derive(Debug)]
pub struct Timing<'lap> {
    lap: &'lap Lap,
    started: Instant,
}

impl Lap {
    pub(crate) fn new(iterations: u64, reading: Reading) -> Self {
        Self { iterations, reading, read: Arc::default() }
    }

    /// How many times the work has to be done between [`start`](Lap::start) and [`Timing::stop`].
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Starts the clock.
    pub fn start(&self) -> Timing<'_> {
        if self.reading == Reading::Allocations {
            counting::start();
        }
        Timing { lap: self, started: Instant::now() }
    }

    /// Runs the whole batch around an asynchronous routine.
    pub(crate) async fn run<T>(&self, routine: &mut impl AsyncFnMut() -> T) {
        let timing = self.start();
        for _ in 0..self.iterations {
            black_box(&routine().await);
        }
        timing.stop();
    }

    /// Runs the whole batch around a plain function.
    pub(crate) fn run_plain<T>(&self, routine: &mut impl FnMut() -> T) {
        let timing = self.start();
        for _ in 0..self.iterations {
            black_box(&routine());
        }
        timing.stop();
    }

    pub(crate) fn read(&self) -> Read {
        *self.read.get().expect("every case starts and stops the lap it is given")
    }
}

impl Timing<'_> {
    /// Stops the clock.
    ///
    /// # Panics
    ///
    /// When the same lap was stopped before: there is one batch in a lap.
    pub fn stop(self) {
        let took = self.started.elapsed();
        let read = match self.lap.reading {
            Reading::Time => Read::Took(took),
            Reading::Allocations => Read::Allocated(counting::stop()),
            Reading::Nothing => Read::Nothing,
        };
        self.lap.read.set(read).expect("a lap is stopped once");
    }
}
