//! How long to wait before trying again.

use std::time::Duration;

/// Waits that grow, and vary a little so that many who failed together do not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub first: Duration,
    /// How much longer each wait is than the one before.
    pub factor: u32,
    /// No wait is longer.
    pub longest: Duration,
    /// How much of a wait may be left out, in percent. How much of that is, depends on who waits and nothing else: a
    /// replay waits as long.
    pub jitter_percent: u32,
}

impl Default for Backoff {
    /// One second, doubled each time, a minute at most, up to a quarter less.
    fn default() -> Self {
        Self { first: Duration::from_secs(1), factor: 2, longest: Duration::from_mins(1), jitter_percent: 25 }
    }
}

impl Backoff {
    /// The wait before the `retry`th retry, from 1, of `who`.
    pub fn wait(&self, retry: u32, who: &str) -> Duration {
        let growth = self.factor.saturating_pow(retry.saturating_sub(1));
        let wait = self.first.saturating_mul(growth).min(self.longest);
        let [a, b, ..] = *blake3::hash(format!("{who} {retry}").as_bytes()).as_bytes();
        let share = u32::from(u16::from_le_bytes([a, b])) * self.jitter_percent.min(100) / 100;
        wait.saturating_sub(wait / u32::from(u16::MAX) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let even = Backoff { jitter_percent: 0, ..Backoff::default() };
        let waits: Vec<u64> = [1, 2, 3, 6, 7, 40, u32::MAX].map(|retry| even.wait(retry, "run-1").as_secs()).into();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60]);
    }

    #[test]
    fn waits_differ_between_runs_by_a_quarter_at_most_and_never_for_one_run() {
        let backoff = Backoff::default();
        let waits: Vec<Duration> = (0..100).map(|run| backoff.wait(1, &format!("run-{run}"))).collect();
        let (least, most) = (waits.iter().min().expect("waits"), waits.iter().max().expect("waits"));
        assert!(*least >= Duration::from_millis(749) && *most <= Duration::from_secs(1), "{least:?} {most:?}");
        assert!(*most > *least + Duration::from_millis(100), "{least:?} {most:?}");
        assert_eq!(backoff.wait(2, "run-1"), backoff.wait(2, "run-1"));
    }
}
