//! The journal on disk: nothing lost, nothing done twice, everything replayable.

#![warn(missing_docs)]

mod chain;
mod export;
mod store;

pub mod backtest;
pub mod past;

pub use chain::{Hash, NotHex, Verified};
pub use ed25519_dalek::{SigningKey, VerifyingKey};
pub use export::{ExportError, Exported, Signed, verify_export};
pub use store::{Inbox, Lines, Options, Pruned, Question, Retention, SessionRow, Status, Store, Sync, Wanted};
