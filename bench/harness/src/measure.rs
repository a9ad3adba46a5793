//! Warms up, finds a batch worth timing, takes the samples and sums them up.

use std::time::{Duration, Instant};

use crate::counting::Tally;
use crate::lap::{Lap, Read, Reading};

/// Odd, so that the median is a sample and not an average of two.
const SAMPLES: usize = 31;
/// Long enough that reading the clock, and one interrupt of a few microseconds, vanish in it.
const SHORTEST_BATCH: Duration = Duration::from_millis(2);
/// Caches, branch predictors and thread pools settle in this time, as does a processor that clocks up.
const WARM_UP: Duration = Duration::from_millis(100);

/// What one iteration of a case costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Median of the samples, in nanoseconds.
    pub ns: f64,
    /// The fastest sample: what the work costs when the machine does nothing else.
    pub min_ns: f64,
    /// Median distance of the samples from their median, in nanoseconds. Unlike a standard deviation it forgives
    /// single interrupted samples.
    pub mad_ns: f64,
    /// Allocations of all threads.
    pub allocs: f64,
    /// Bytes of these allocations.
    pub bytes: f64,
}

/// Measures whatever runs a batch when it is given a [`Lap`].
pub(crate) fn measure(mut run: impl FnMut(&Lap)) -> Measurement {
    let batch = warm_up(&mut run);
    let samples = (0..SAMPLES).map(|_| nanoseconds(time(&mut run, batch)) / count(batch)).collect();
    let tally = tally(&mut run, batch);
    summary(samples, tally, batch)
}

/// Runs batches of growing size until one is long enough and the warm-up is over; returns the size found.
fn warm_up(run: &mut impl FnMut(&Lap)) -> u64 {
    let started = Instant::now();
    let mut batch = 1;
    loop {
        // Of two, so that one interruption does not make a short batch look long enough.
        let took = time(run, batch).min(time(run, batch));
        if took < SHORTEST_BATCH {
            batch *= 2;
        } else if started.elapsed() >= WARM_UP {
            return batch;
        }
    }
}

fn time(run: &mut impl FnMut(&Lap), iterations: u64) -> Duration {
    let lap = Lap::new(iterations, Reading::Time);
    run(&lap);
    match lap.read() {
        Read::Took(duration) => duration,
        Read::Allocated(_) | Read::Nothing => unreachable!("a lap reads what it was made to read"),
    }
}

fn tally(run: &mut impl FnMut(&Lap), iterations: u64) -> Tally {
    let lap = Lap::new(iterations, Reading::Allocations);
    run(&lap);
    match lap.read() {
        Read::Allocated(tally) => tally,
        Read::Took(_) | Read::Nothing => unreachable!("a lap reads what it was made to read"),
    }
}

fn summary(samples: Vec<f64>, tally: Tally, batch: u64) -> Measurement {
    let min_ns = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let ns = median(samples.clone());
    let mad_ns = median(samples.into_iter().map(|sample| (sample - ns).abs()).collect());
    Measurement {
        ns,
        min_ns,
        mad_ns,
        allocs: count(tally.allocations) / count(batch),
        bytes: count(tally.bytes) / count(batch),
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn count(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_interrupted_sample_moves_neither_median_nor_spread() {
        let samples = vec![10.0, 11.0, 10.0, 12.0, 9_000.0];
        let summary = summary(samples, Tally::default(), 1);
        assert_eq!((summary.ns, summary.min_ns, summary.mad_ns), (11.0, 10.0, 1.0));
    }

    #[test]
    fn an_iteration_is_charged_for_its_own_allocations() {
        let tally = tally(&mut |lap: &Lap| lap.run_plain(&mut || Box::new([0_u8; 24])), 100_000);
        // Other tests allocate meanwhile, which is lost in so many iterations.
        assert_eq!((tally.allocations / 100_000, tally.bytes / 100_000), (1, 24));
    }
}
