//! What runs outside the process when a hook fires: a command, a worker, a server, a model.

mod command;
mod condition;
mod contract;
mod environment;
mod external;
mod http;
mod mcp_tool;
mod of_project;
mod placed;
pub mod process;
mod prompt;
mod services;
mod template;
#[cfg(feature = "wasm")]
mod wasm;
mod worker;

use std::time::Duration;

use serde_json::Value;
pub use vertebra::BoxFuture;
use vertebra::{AgentState, PointInfo, Run};

pub use self::{
    contract::refusal,
    external::External,
    http::Http,
    services::{HandlerError, Services, build},
};
pub(crate) use self::{of_project::OfProject, placed::Placed};
use crate::wire::{End, Exchange, Reply};

/// How long a handler may take unless told otherwise.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(30);

/// Something outside that answers for a hook. It keeps the limit itself: over sending, waiting and reading together.
pub trait Handler: Send + Sync + 'static {
    /// What people know it as: a command line, an address.
    fn shown(&self) -> String;

    /// Whether it can stand at this point. Whoever puts a hook together asks before anything happens.
    fn fits(&self, point: &'static str) -> Result<(), HandlerError> {
        let _ = point;
        Ok(())
    }

    /// Puts an event to it.
    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered>;
}

/// What a handler is asked.
pub struct Ask<'a> {
    /// The hook that asks, if it has told its name.
    pub hook: &'a str,
    /// The point.
    pub point: &'static PointInfo,
    /// The event in its wire form.
    pub event: &'a Value,
    /// The file that the event is about, if it is about exactly one.
    pub file: Option<&'a str>,
    /// How long it may take.
    pub limit: Duration,
    /// The run the event belongs to: a handler that asks a model does it through this.
    pub run: &'a Run,
    /// The conversation as it stands.
    pub state: &'a AgentState,
}

/// What a handler came to.
#[derive(Debug, Clone)]
pub struct Answered {
    /// Exactly what went on.
    pub exchange: Exchange,
    /// The answer, or why there is none: that is a failure of the hook, under its policy.
    pub reply: Result<Reply, String>,
}

impl Answered {
    /// It could not even be asked.
    fn not_asked(handler: String, message: String) -> Self {
        let end = End::Failed { message: message.clone() };
        let exchange = Exchange { handler, end, stdout: String::new(), stderr: String::new(), took: Duration::ZERO };
        Self { exchange, reply: Err(message) }
    }
}
