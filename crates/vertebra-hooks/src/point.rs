//! Points, and what an event and a state must offer to stand at one.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Change, Notes, PointCode, Verdict, change};

/// A place in a program's life where hooks run, such as "before a tool call".
///
/// Implemented by unit structs, so that the type is the name: `hooks.on(BeforeToolUse, …)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a point",
    label = "no hooks run here",
    note = "hooks, guards and watches stand at points; operations are wrapped with `around`"
)]
pub trait Point: Copy + Send + Sync + 'static {
    /// The name in records, on the wire and in configuration.
    const NAME: &'static str;
    /// The event that hooks receive at this point.
    type Event: Event;
    /// State that lives longer than one event and that hooks may modify.
    type State: State;
    /// The verdicts that hooks may return here. Made with [`verdict!`](crate::verdict!).
    type Verdict: Verdict;

    /// The point's compiled code. A crate that declares points for other crates overrides it with
    /// `#[inline(never)] fn code() -> PointCode<Self> { PointCode::compiled_here() }`, so that the code exists once.
    #[doc(hidden)]
    fn code() -> PointCode<Self> {
        PointCode::compiled_here()
    }
}

/// The data of one firing: exactly what a hook sees, and exactly what crosses a wire.
///
/// Cloning must be cheap (shared structure inside), because a hook that changes an event costs one clone: the form to
/// go back to if it fails. The methods are the facts that matchers ask for; answer those that the event has.
pub trait Event: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The tool that the event is about.
    fn tool(&self) -> Option<&str> {
        None
    }

    /// Other names under which policies may know that tool.
    fn aliases(&self) -> &[Arc<str>] {
        &[]
    }

    /// The command line, if the event carries one.
    fn command(&self) -> Option<&str> {
        None
    }

    /// Each simple command inside the command line. Asked only when a command matcher is in force.
    fn commands(&self) -> Vec<String> {
        Vec::new()
    }

    /// More commands that the line may run, by ways that are not certain. A pattern that is negated, or that allows something,
    /// need not match them.
    fn further_commands(&self) -> Vec<String> {
        Vec::new()
    }

    /// Every path the event mentions, normalised: the form relative to the working directory, if it has one, and behind it the
    /// absolute form.
    fn paths(&self) -> Vec<String> {
        Vec::new()
    }

    /// The arguments as JSON, for matchers by pointer.
    fn arguments(&self) -> Option<Value> {
        None
    }

    /// The session.
    fn session(&self) -> Option<&str> {
        None
    }

    /// The agent's name.
    fn agent(&self) -> Option<&str> {
        None
    }

    /// The kind of step.
    fn step(&self) -> Option<&str> {
        None
    }

    /// What changed between this form and `after`, for the record.
    fn changes(&self, after: &Self) -> Vec<Change> {
        change::between(self, after)
    }
}

/// An event about a call: tool, path and command matchers hold where one is carried.
#[diagnostic::on_unimplemented(
    message = "`{Self}` carries no call, so no tool, path or command can be matched here",
    label = "there is no call at this point"
)]
pub trait CarriesCall: Event {}

/// What outlives one event: a persistent value whose clone is O(1).
pub trait State: Clone + Send + Sync + 'static {
    /// What hooks may reach but not change: the run, its clock, its services.
    type Scope: Clone + Send + Sync + 'static;

    /// Notes that hooks left for later hooks.
    fn notes(&self) -> &Notes;

    /// The same, to write.
    fn notes_mut(&mut self) -> &mut Notes;

    /// A metadata value, for matchers.
    fn metadata(&self, key: &str) -> Option<&Value> {
        let _ = key;
        None
    }

    /// What changed between this form and `after`, for the record.
    fn changes(&self, after: &Self) -> Vec<Change>;
}

/// The state of points that have none but notes.
#[derive(Debug, Clone, Default)]
pub struct Bare {
    notes: Notes,
}

impl State for Bare {
    type Scope = ();

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn notes_mut(&mut self) -> &mut Notes {
        &mut self.notes
    }

    fn changes(&self, after: &Self) -> Vec<Change> {
        self.notes.changes(&after.notes)
    }
}
