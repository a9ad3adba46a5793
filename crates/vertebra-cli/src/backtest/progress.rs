//! A progress bar for terminals.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::sources::Reading;

/// The time between two updates.
const EVERY: Duration = Duration::from_millis(100);

/// The width of the bar.
const WIDTH: u64 = 24;

/// A bar on standard error, if that is a terminal.
pub(super) struct Progress {
    reading: Arc<Reading>,
    weight: u64,
    began: Instant,
    drawn: Option<Mutex<Instant>>,
}

impl Progress {
    pub(super) fn of(weight: u64, reading: &Arc<Reading>) -> Self {
        let began = Instant::now();
        let drawn = std::io::stderr().is_terminal().then(|| Mutex::new(began));
        Self { reading: reading.clone(), weight, began, drawn }
    }

    /// Updates the bar after this many events.
    pub(super) fn tell(&self, events: u64) {
        // Skip the update if another thread is drawing.
        let Some(Ok(mut drawn)) = self.drawn.as_ref().map(Mutex::try_lock) else { return };
        if drawn.elapsed() < EVERY {
            return;
        }
        *drawn = Instant::now();
        let line = bar(self.reading.read(), self.weight, events, self.began.elapsed());
        let _ = write!(std::io::stderr(), "\r{line}\u{1b}[K");
    }

    /// Removes the bar.
    pub(super) fn done(&self) {
        if let Some(drawn) = &self.drawn {
            let _drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

fn bar(read: u64, weight: u64, events: u64, took: Duration) -> String {
    let (read, weight) = (read.min(weight), weight.max(1));
    let full = usize::try_from(read * WIDTH / weight).unwrap_or_default();
    let empty = usize::try_from(WIDTH).unwrap_or_default() - full;
    let speed = u128::from(events) * 1000 / took.as_millis().max(1);
    let (full, empty) = ("█".repeat(full), "░".repeat(empty));
    format!("{full}{empty} {:>3}%  {events} events, {speed}/s", read * 100 / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shows_progress_and_speed() {
        let second = Duration::from_secs(1);
        assert_eq!(bar(1, 2, 500, second), "████████████░░░░░░░░░░░░  50%  500 events, 500/s");
        assert_eq!(bar(9, 2, 1000, 2 * second), "████████████████████████ 100%  1000 events, 500/s");
        assert!(bar(0, 0, 0, Duration::ZERO).contains("   0%"));
    }
}
