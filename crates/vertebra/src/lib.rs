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

mod agent;
mod points;

mod conversation;
mod model;
mod tool;

mod budget;
mod run;
mod session;
mod timeline;

mod alone;
mod approval;
mod clock;
mod error;

pub mod testing;

pub use points::events;
pub use tool::paths;
/// Command lines of a shell as data.
pub use vertebra_shell as shell;

pub use agent::Agent;
pub use agent::builder::AgentBuilder;
pub use agent::capability::{Capability, Kit};
pub use agent::child::AgentTool;
pub use agent::foreign::{Handle, HookableAgent};
pub use alone::Alone;
pub use approval::{Approval, Approver, Decision};
pub use budget::counters::{Counter, Within};
pub use budget::{Budget, Limits, Meter, Reservation, Working};
pub use clock::{Clock, IdFor, Ids, RandomIds, SystemClock};
pub use conversation::compact::Compactor;
pub use conversation::message::{Image, Message};
pub use conversation::messages::Messages;
pub use conversation::state::{AgentState, Metadata, RECENT_TOOLS};
pub use conversation::usage::Usage;
pub use error::{BuildError, ErrorClass, ErrorPolicy, OnFailure, RunError, SessionError};
pub use model::delta::{DeltaReader, Deltas, Halted};
pub use model::{Model, ModelError, ModelId, Offer, Request, Response};
pub use points::any::{AnyFired, AnyPoint};
pub use points::any_hook::{AnyCx, AnyHook, AnySight, AnySite, AnyVerdict, HookAt};
pub use points::attributes::{ATTRIBUTES, attribute};
pub use points::declared::{DECLARED_POWERS, PointDeclaration};
pub use points::events::{AnswerEnd, CallInSight, Channel, Purpose, StepKind};
pub use points::head::{At, RunInfo};
pub use points::info::{AgentPoint, Changeable, ContextMode, PointInfo};
pub use points::known::{PointError, Points, UnknownPoint, point_named};
pub use points::matching::MatchAttribute;
pub use points::own::OwnEvent;
pub use points::table::*;
pub use run::control::RetryNotice;
pub use run::decision::{Stop, StopReason};
pub use run::handle::{Interrupted, Run};
pub use run::inference::{InferenceReport, SharedModel};
pub use run::prompt::Prompt;
pub use run::report::{RunFailed, RunReport, RunStatus, SessionReport, StepReport};
pub use session::Session;
pub use session::replay::Replay;
pub use session::stream::RunStream;
pub use timeline::feed::{News, RunEvent};
pub use timeline::{
    Checkpoint, Divergence, Entry, Journal, JournalError, JournalFault, Left, Likeness, MemoryJournal, NoJournal,
    StateChange, StateChangeError, Used, What,
};
pub use tokio_util::sync::CancellationToken;
pub use tool::args::{ArgEntry, Args, NotAnObject};
pub use tool::call::{FlatCall, ToolCall};
pub use tool::check::{CheckCx, Checked};
pub use tool::invocation::Invocation;
pub use tool::name::ToolName;
pub use tool::result::{ToolResult, ToolStatus};
pub use tool::{FnTool, IntoOutput, Reconciled, SharedTool, Tool, ToolError, ToolOutput, ToolSpec, tool};
pub use vertebra_hooks::*;

/// Makes a tool of an async function.
///
/// The doc comment tells the model what the tool is for, the parameters are its arguments, and their types make its
/// schema. The tool is a type with the name of the function, `Add` for `add`. An [`Invocation`] among the parameters is the
/// handle to the call. The function returns what becomes a [`ToolOutput`], or a `Result` of it.
///
/// ```
/// use vertebra::{prelude::*, testing::Script};
///
/// /// Adds two numbers.
/// #[tool(read_only)]
/// async fn add(
///     /// The first number
///     left: i64,
///     right: i64,
/// ) -> String {
///     (left + right).to_string()
/// }
///
/// let agent = Agent::builder(Script::new().say("done")).tool(Add).build()?;
/// # Ok::<(), vertebra::BuildError>(())
/// ```
///
/// Options stand in brackets: `name = "…"` (instead of the function's), `alias = "…"`, `read_only`, `idempotent`. Attributes
/// of parameters are those of fields: `#[serde(default)]`, `#[schemars(range(min = 1))]`.
///
/// For a tool with state, use the function [`tool`](fn@tool) or implement [`Tool`].
pub use vertebra_macros::tool;

/// What the code that [`#[tool]`](macro@tool) and [`point!`] write is made of.
#[doc(hidden)]
pub mod macros {
    pub use schemars;
    pub use serde;

    /// A sample event of a point as JSON.
    pub fn json(sample: &impl serde::Serialize) -> serde_json::Value {
        serde_json::to_value(sample).unwrap_or_default()
    }
}

/// All that most programs need: `use vertebra::prelude::*`.
pub mod prelude {
    pub use vertebra_hooks::{
        Answer, Around, AroundOptions, Attach, Cx, Guard, Hook, HookError, HookOptions, HookSet, Hooks, Lasting,
        Match as _, Matcher, Point, Seen, State as _, Verdict, Watch, allow, ask, deny, go_on, halt, hold, proceed,
        recover, replace, retry, skip, stop,
    };

    pub use crate::{
        Agent, AgentState, Args, Capability, Invocation, Kit, MatchAttribute as _, Message, Model, Tool, ToolError,
        ToolOutput, ToolResult, points::table::*, tool,
    };
}
