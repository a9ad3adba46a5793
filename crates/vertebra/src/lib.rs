//! An agent runtime whose skeleton is hooks.
//!
//! Every step an agent takes (prompt, model call, tool call, going on, stopping) passes typed, ordered, testable
//! points. What must always happen, happens; what must never happen, cannot.
//!
//! ```
//! use vertebra::{prelude::*, testing::Script};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let model = Script::new().call("bash", r#"{"command": "rm -rf /"}"#).say("I was not allowed to.");
//! let agent = Agent::builder(model)
//!     .tool(tool("bash", "Runs a command", async |input: Command, _| Ok(format!("ran {}", input.command))))
//!     .on(BeforeToolUse.tool("bash"), async |cx| {
//!         cx.args_mut().entry("timeout").or_insert(30_000);
//!         proceed()
//!     })
//!     .guard(BeforeToolUse.command(r"\brm\b"), async |_cx| deny("deletions are for humans"))
//!     .build()?;
//! let run = agent.run("tidy up").await?;
//! assert_eq!(run.text, "I was not allowed to.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Command {
//!     command: String,
//! }
//! ```

#![warn(missing_docs)]

mod args;
mod message;
mod result;
mod usage;

mod at;
mod call;
pub mod events;
mod facts;
pub mod paths;
mod points;
pub mod shell;
mod state;

mod approver;
mod capability;
mod clock;
mod compact;
mod journal;
mod model;
mod tool;

mod budget;
mod counts;
mod error;
mod report;
mod stop;

mod again;
mod check;
mod ending;
mod failure;
mod run;

mod child;
mod delta;
mod front;
mod hookable;
mod inference;
mod invocation;
mod limited;
mod open_calls;
mod permission;
mod prompt;
mod rest;
mod scope;
mod taped;
mod tool_use;
mod tools;
mod turns;
mod veil;

mod agent;
mod alone;
mod builder;
mod replay;
mod resume;
mod run_stream;
mod session;

pub mod testing;

pub use agent::Agent;
pub use alone::Alone;
pub use approver::{Approval, Approver, Decision};
pub use args::{ArgEntry, Args, NotAnObject};
pub use at::{At, RunInfo};
pub use budget::{Budget, Limits, Meter, Reservation, Working};
pub use builder::AgentBuilder;
pub use call::Call;
pub use capability::{Capability, Kit};
pub use check::{CheckCx, Checked};
pub use child::AgentTool;
pub use clock::{Clock, IdFor, Ids, RandomIds, SystemClock};
pub use compact::Compactor;
pub use counts::{Counter, Within};
pub use delta::{DeltaReader, Deltas, Halted};
pub use error::{BuildError, ErrorClass, ErrorPolicy, OnFailure, RunError};
pub use events::{CallInSight, Channel, Purpose, StepKind};
pub use front::{News, RunEvent};
pub use hookable::{Handle, HookableAgent};
pub use inference::{InferenceReport, SharedModel};
pub use invocation::Invocation;
pub use journal::{
    Checkpoint, Divergence, Entry, Journal, JournalError, JournalFault, Left, Likeness, MemoryJournal, NoJournal,
    StateChange, Used, What,
};
pub use message::{Image, Message, Messages, ToolCall};
pub use model::{Model, ModelError, ModelId, Offer, Request, Response};
pub use points::*;
pub use prompt::Prompt;
pub use replay::Replay;
pub use report::{RunFailed, RunReport, RunStatus, SessionReport, StepReport};
pub use rest::RetryNotice;
pub use result::{ToolResult, ToolStatus};
pub use run_stream::RunStream;
pub use scope::{Interrupted, Run};
pub use session::Session;
pub use state::{AgentState, Metadata, RECENT_TOOLS};
pub use stop::{Stop, StopReason};
pub use tokio_util::sync::CancellationToken;
pub use tool::{FnTool, Reconciled, SharedTool, Tool, ToolError, ToolOutput, ToolSpec, tool};
pub use usage::Usage;
pub use vertebra_hooks::*;

/// All that most programs need: `use vertebra::prelude::*`.
pub mod prelude {
    pub use vertebra_hooks::{
        Answer, Around, Attach, Cx, Guard, Hook, HookError, HookSet, Hooks, Kind, Lasting, Match, MatchCall, Matcher,
        Point, Seen, State, Test, Verdict, Watch, allow, ask, deny, go_on, halt, hold, proceed, recover, replace,
        retry, skip, stop,
    };

    pub use crate::{
        Agent, AgentState, Args, Capability, Invocation, Kit, Message, Model, Tool, ToolError, ToolOutput, ToolResult,
        points::*, tool,
    };
}
