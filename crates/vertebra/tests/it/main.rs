//! The promises of the runtime, kept by whole agents on scripted models.

mod support;

mod complete;
mod skeleton;
mod verdicts;
mod verdicts_on_tools;

mod approvals;
mod arounds;
mod bad_input;
mod checks;
mod children;
mod limits;
mod matching;
mod order;
mod own_points;
mod parallel;
mod replays;
mod resume;
mod retries;
mod stops;

mod cancellation;
mod cancelled_state;
mod hookable;
mod journal;
mod opening;
mod output;
mod scripts;
mod sessions;
mod streaming;

mod escapes;
mod laws;
mod tools;
mod traps;
mod unhurt;
mod veils;
