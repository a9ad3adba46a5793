//! What runs outside the process when a hook fires: a command, a worker, a server, a model.

mod build;
mod external;
pub mod process;

use std::{pin::Pin, time::Duration};

use serde_json::Value;
use vertebra::Run;

pub use self::{
    build::{HandlerError, Services, build},
    external::External,
};
use crate::wire::{Exchange, Reply};

/// A future in a box, so that handlers share a type.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How long a handler may take unless told otherwise.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(30);

/// Something outside that answers for a hook. It keeps the limit itself: over sending, waiting and reading together.
pub trait Handler: Send + Sync + 'static {
    /// What people know it as: a command line, an address.
    fn shown(&self) -> String;

    /// Puts an event to it.
    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered>;
}

/// What a handler is asked.
pub struct Ask<'a> {
    /// The point.
    pub point: &'static str,
    /// The event in its wire form.
    pub event: &'a Value,
    /// How long it may take.
    pub limit: Duration,
    /// The run the event belongs to: a handler that asks a model does it through this.
    pub run: &'a Run,
}

/// What a handler came to.
#[derive(Debug, Clone)]
pub struct Answered {
    /// Exactly what went on.
    pub exchange: Exchange,
    /// The answer, or why there is none: that is a failure of the hook, under its policy.
    pub reply: Result<Reply, String>,
}
