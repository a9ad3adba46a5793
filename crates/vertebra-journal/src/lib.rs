//! The journal on disk: nothing lost, nothing done twice, everything replayable.
//!
//! ```
//! use vertebra::{Agent, testing::Script};
//! use vertebra_journal::{Options, Store, Wanted};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("journal.db");
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let journal = Store::open(&path, &Options::default())?;
//! let mut agent = Agent::builder(Script::new().say("done"));
//! agent.journal(journal.clone());
//! agent.build()?.run("mend the tests").await?;
//!
//! for session in journal.sessions(&Wanted::default())? {
//!     println!("{} {} {}", session.session_id, session.status, session.prompt.unwrap_or_default());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod chain;
mod export;
mod key;
mod store;
#[cfg(feature = "otel")]
pub mod telemetry;

pub mod backtest;
pub mod past;

pub use chain::{Hash, NotHex, Verified};
pub use export::{ExportError, Exported, Signed, verify_export};
pub use key::{NotAKey, SigningKey, VerifyingKey, key_text, read_key};
pub use store::{Inbox, Lines, Options, Pruned, Question, Retention, SessionRow, Status, Store, Sync, Wanted};
