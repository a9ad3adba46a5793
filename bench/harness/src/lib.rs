//! Measures hook engines the same way, whoever wrote them.
//!
//! A binary names its cases and hands them to [`Suite::main`]; the harness finds out how often to run each, takes the
//! samples, counts the allocations and prints one JSON line per case. Every peer and Vertebra itself are measured by
//! this code on the inputs of [`work`], so that a ratio between two lines means something.
//!
//! ```no_run
//! use bench_harness::Suite;
//!
//! fn main() -> std::process::ExitCode {
//!     Suite::of("nobody")
//!         .case("no_hook", || async || ())
//!         .plain_case("sum", || {
//!             let numbers = vec![1_u64; 100];
//!             move || numbers.iter().sum::<u64>()
//!         })
//!         .main()
//! }
//! ```

mod case;
mod counting;
mod lap;
mod measure;
mod report;
mod request;
mod suite;
pub mod work;

pub use counting::CountingAllocator;
pub use lap::{Lap, Timing};
pub use measure::Measurement;
pub use suite::Suite;

/// Stands here and not in the binaries, so that none of them can forget it and report no allocations.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
