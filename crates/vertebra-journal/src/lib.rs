//! The journal on disk: nothing lost, nothing done twice, everything replayable.

#![warn(missing_docs)]

mod chain;
mod export;
mod store;

pub use chain::{Hash, NotHex, Verified};
pub use ed25519_dalek::{SigningKey, VerifyingKey};
pub use export::{ExportError, Exported, NotAKey, Signed, key_text, read_key, verify_export};
pub use store::{Inbox, Lines, Options, Pruned, Question, Retention, SessionRow, Status, Store, Sync, Wanted};
