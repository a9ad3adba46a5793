//! Counts what a process asks of its allocator, on all of its threads, while somebody wants to know.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Off while the clock runs: two atomic additions per allocation would punish in nanoseconds whoever allocates, and
/// that is reported in a column of its own.
static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, which remembers how often it was asked and for how much.
///
/// A reallocation counts as one allocation of the bytes it grows by.
pub struct CountingAllocator;

/// What was asked of the allocator during one piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) allocations: u64,
    pub(crate) bytes: u64,
}

/// Starts to count from zero.
pub(crate) fn start() {
    ALLOCATIONS.store(0, Relaxed);
    BYTES.store(0, Relaxed);
    COUNTING.store(true, Relaxed);
}

/// Stops counting and says what was counted since [`start`].
pub(crate) fn stop() -> Tally {
    COUNTING.store(false, Relaxed);
    Tally { allocations: ALLOCATIONS.load(Relaxed), bytes: BYTES.load(Relaxed) }
}

fn note(bytes: usize) {
    if COUNTING.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(bytes as u64, Relaxed);
    }
}

// SAFETY: every method hands its arguments unchanged to `System`, which keeps the contract of `GlobalAlloc`, and
// returns what `System` returned. Counting touches atomics only: it neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size.saturating_sub(layout.size()));
        // SAFETY: `block` came from this allocator, hence from `System`, with this layout.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from this allocator, hence from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}
