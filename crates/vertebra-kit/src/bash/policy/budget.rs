//! What one judgement may cost: steps in proportion to the command, and time.

use std::time::Duration;

use vertebra::Clock;

/// Steps that every command may take, however short it is.
pub(super) const BASE: usize = 256 * 1024;
/// Steps that each byte of a command adds.
pub(super) const PER_BYTE: usize = 48;
/// The longest that a judgement may take. An ordinary command takes less than a millisecond.
const MAX_TIME: Duration = Duration::from_millis(500);
/// How many steps pass between two looks at the clock.
const LOOK: usize = 2048;

/// Steps that a command may take on a thread that others wait for: less than a millisecond.
const QUICK: usize = 16 * 1024;

/// Counts the steps of a judgement. One step is about one byte read.
pub(super) struct Budget<'c> {
    clock: &'c dyn Clock,
    until: Duration,
    spent: usize,
    limit: usize,
    next_look: usize,
    over: bool,
}

impl<'c> Budget<'c> {
    /// The budget of a command of this length.
    pub(super) fn new(length: usize, clock: &'c dyn Clock) -> Self {
        let limit = PER_BYTE * length + BASE;
        Self { clock, until: clock.elapsed() + MAX_TIME, spent: 0, limit, next_look: LOOK, over: false }
    }

    /// The budget of a first look, which gives up early.
    pub(super) fn quick(clock: &'c dyn Clock) -> Self {
        Self { limit: QUICK, ..Self::new(0, clock) }
    }

    /// Spends steps, and says whether there were enough. Once there are none left, or no time, there never are again.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.spent = self.spent.saturating_add(steps);
        if self.spent >= self.next_look {
            self.next_look = self.spent + LOOK;
            self.over |= self.clock.elapsed() > self.until;
        }
        self.over |= self.spent > self.limit;
        !self.over
    }

    /// Leaves nothing, where something would take more than is known beforehand.
    pub(super) fn exhaust(&mut self) {
        self.over = true;
    }

    /// Whether the steps or the time are used up.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn left(&self) -> usize {
        self.limit.saturating_sub(self.spent)
    }

    #[cfg(test)]
    pub(super) fn spent(&self) -> usize {
        self.spent
    }
}
