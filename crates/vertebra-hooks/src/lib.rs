//! Typed, ordered, testable hook points: the mechanism under Vertebra.
//!
//! A *point* is a named place in the life of a program. It fixes at compile time the *event* that hooks see there, the
//! *state* they may change, and the *verdict* they may answer; an answer that a point cannot honour does not compile.
//! Hooks come in three roles: a *hook* may change the event and decide, a *guard* sees the final form and decides, a
//! *watch* sees the decision and changes nothing. A fourth form, *around*, wraps a whole operation.
//!
//! This crate knows nothing of agents, models or I/O. Anyone can define points on it:
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use vertebra_hooks::{Attach, Bare, Event, HookOptions, HookSet, Hooks, Point, deny, proceed, verdict};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Door { visitor: String }
//! impl Event for Door {}
//!
//! verdict! {
//!     /// What a hook at the door may answer.
//!     pub enum Entry { deny }
//! }
//!
//! #[derive(Clone, Copy)]
//! struct AtTheDoor;
//! impl Point for AtTheDoor {
//!     const NAME: &'static str = "AtTheDoor";
//!     type Event = Door;
//!     type State = Bare;
//!     type Verdict = Entry;
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let mut set = HookSet::new();
//! set.on(AtTheDoor, async |cx| {
//!     cx.visitor = cx.visitor.trim().to_lowercase();
//!     proceed()
//! });
//! set.guard(AtTheDoor.named("doorman"), async |cx| if cx.visitor == "wolf" { deny("no wolves") } else { proceed() });
//! let hooks = Hooks::new(set)?;
//!
//! let outcome = hooks.fire(AtTheDoor, &mut Door { visitor: " Wolf ".into() }).await;
//! assert_eq!(outcome.to_string(), "denied by doorman: no wolves");
//! # Ok::<(), vertebra_hooks::RegisterError>(())
//! # }).unwrap();
//! ```

#![warn(missing_docs)]

mod point;
#[macro_use]
mod verdict;
mod cx;
mod error;
mod hook;
mod notes;
mod record;

mod attribute;
mod compiled;
mod index;
mod matcher;
mod pattern;
mod plain;
mod site;
mod view;

mod around;
mod code;
mod info;
pub mod narrow;
mod options;
mod order;
mod set;
mod table;

mod change;
mod detached;
mod dispatch;
mod layers;
mod log;
mod outcome;
mod registry;
mod supervise;

pub use around::{Around, AroundFn, Next, OpCx, Operation, WrapError};
pub use attribute::{Attribute, AttributeKey, AttributeValue, BadMatcher, Commands, HasAttribute, PatternKind};
pub use change::{Change, below as changes_below, between as changes_between};
pub use code::PointCode;
pub use cx::Cx;
pub use detached::Drained;
pub use dispatch::{Frame, Retries};
pub use error::{Failure, HookError, RegisterError};
pub use hook::{Answer, BoxFuture, Guard, GuardFn, Hook, HookFn, IntoSeen, Seen, SendFn, SendFn2, Watch, WatchFn};
pub use info::{FailurePolicy, HookInfo, Name, Reach, Role};
pub use log::RecordView;
pub use matcher::{Matcher, Test};
pub use notes::{Lasting, Notes};
pub use options::{AroundOptions, HookOptions};
pub use order::nearest;
pub use outcome::{Outcome, Ruling};
pub use point::{Bare, Event, Identity, Point, State};
pub use record::{Ran, Record, Skipped, Trace};
pub use registry::{Explanation, Hooks};
pub use set::{Attach, HookSet};
pub use site::{AroundRegistration, Match, OperationSite, Registration, Site};
pub use verdict::{
    CanAllow, CanAsk, CanDeny, CanGoOn, CanHalt, CanHold, CanRecover, CanReplace, CanRetry, CanStop, Decides, Kind,
    Verdict, allow, ask, deny, go_on, halt, hold, proceed, recover, replace, retry, skip, stop,
};
