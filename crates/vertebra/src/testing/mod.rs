//! All that a test of hooks or of an agent needs: a scripted model, recording tools, a fake clock, hooks fired alone.
//!
//! ```
//! use serde_json::json;
//! use vertebra::{prelude::*, testing::{call, fire}};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let mut set = HookSet::new();
//! set.guard(BeforeToolUse.command(r"\brm\b").named("no-rm"), async |_cx| deny("deletions are for humans"));
//! let hooks = Hooks::new(set)?;
//!
//! let fired = fire(&hooks, BeforeToolUse, call("bash", json!({"command": "cd /tmp && rm -rf x"}))).await;
//! assert_eq!(fired.to_string(), "denied by no-rm: deletions are for humans");
//! # Ok::<(), RegisterError>(())
//! # }).unwrap();
//! # use vertebra::RegisterError;
//! ```

mod clock;
mod fire;
mod samples;
mod script;
mod tools;

pub use clock::{FakeClock, SequentialIds};
pub use fire::{Fired, fire, fire_with, scope};
pub use samples::{at, call, output, prompt, request, response, step_ended, used};
pub use script::Script;
pub use tools::{FixedApprover, RecordingTool};
