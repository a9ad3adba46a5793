//! What matchers may ask of each event, and what its changes are.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use serde_json::Value;
use vertebra_hooks::{CarriesCall, Change, Event};

use crate::{
    At, Request, Response,
    conversation::state::message_changes,
    points::events::{
        Compacting, Continuing, DeltaArrived, ExecutionEnded, ExecutionStarted, Failed, InferenceAsked, Inferred,
        Notified, PermissionAsked, PromptSubmitted, SessionEnded, SessionStarted, StepEnded, StepStarted,
        SubagentStarted, SubagentStopped, ToolAsked, ToolFailed, ToolUsed,
    },
};

/// An event of a run: it knows who, where and when.
pub(crate) trait Located: Event {
    fn at(&self) -> &At;

    /// The call it is about.
    fn call_id(&self) -> Option<&Arc<str>>;

    /// What of it a journal keeps when hooks have changed it.
    fn left(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }

    /// Becomes what hooks left.
    fn recall(&mut self, left: Value) -> Result<(), serde_json::Error> {
        *self = serde_json::from_value(left)?;
        Ok(())
    }
}

macro_rules! located {
    ($($event:ty $(: $call:ident)?),* $(,)?) => {$(
        impl Located for $event {
            fn at(&self) -> &At {
                &self.at
            }

            fn call_id(&self) -> Option<&Arc<str>> {
                None$(.or(Some(&self.$call.id)))?
            }
        }
    )*};
}

located!(
    SessionStarted,
    SessionEnded,
    PromptSubmitted,
    ExecutionStarted,
    ExecutionEnded,
    StepStarted,
    StepEnded,
    Continuing,
    DeltaArrived,
    ToolAsked: call,
    PermissionAsked: call,
    ToolUsed: call,
    ToolFailed: call,
    Failed,
    SubagentStarted,
    SubagentStopped,
    Compacting,
    Notified,
);

/// A request holds the whole conversation, which the state has already; and it is of no use once it was answered.
impl Located for InferenceAsked {
    fn at(&self) -> &At {
        &self.at
    }

    fn call_id(&self) -> Option<&Arc<str>> {
        None
    }

    fn left(&self) -> Option<Value> {
        None
    }
}

/// Of an answer, the request before it is of no use any more.
impl Located for Inferred {
    fn at(&self) -> &At {
        &self.at
    }

    fn call_id(&self) -> Option<&Arc<str>> {
        None
    }

    fn left(&self) -> Option<Value> {
        serde_json::to_value(&self.response).ok()
    }

    fn recall(&mut self, left: Value) -> Result<(), serde_json::Error> {
        self.response = serde_json::from_value(left)?;
        Ok(())
    }
}

macro_rules! facts {
    ($($event:ty $(: $fact:ident $body:expr)?;)*) => {$(
        impl Event for $event {
            fn session(&self) -> Option<&str> {
                Some(&self.at.run.session_id)
            }

            fn agent(&self) -> Option<&str> {
                Some(&self.at.run.agent)
            }

            $(fn $fact(&self) -> Option<&str> {
                let fact: fn(&Self) -> Option<&str> = $body;
                fact(self)
            })?
        }
    )*};
}

facts! {
    SessionStarted;
    SessionEnded;
    PromptSubmitted;
    ExecutionStarted;
    ExecutionEnded;
    StepStarted;
    StepEnded: step |event| Some(event.kind.name());
    Continuing: step |event| Some(event.kind.name());
    Failed;
    SubagentStarted;
    SubagentStopped;
    Compacting;
    Notified;
}

impl Event for DeltaArrived {
    fn session(&self) -> Option<&str> {
        Some(&self.at.run.session_id)
    }

    fn agent(&self) -> Option<&str> {
        Some(&self.at.run.agent)
    }

    /// Says what a piece became, not what it was: records go where the stream goes, and what a hook took out of the
    /// one must not come in through the other.
    fn changes(&self, after: &Self) -> Vec<Change> {
        let changes = vertebra_hooks::changes_between(self, after);
        changes.into_iter().map(|change| Change { before: None, ..change }).collect()
    }
}

macro_rules! call_facts {
    ($($event:ty),*) => {$(
        impl Event for $event {
            fn tool(&self) -> Option<&str> {
                Some(&self.call.tool)
            }

            fn aliases(&self) -> &[Arc<str>] {
                &self.call.aliases
            }

            fn command(&self) -> Option<&str> {
                self.call.command()
            }

            fn commands(&self) -> Vec<String> {
                self.call.simple_commands()
            }

            fn further_commands(&self) -> Vec<String> {
                self.call.further_commands()
            }

            fn paths(&self) -> Vec<String> {
                self.call.path_facts(&self.at.run.working_directory)
            }

            fn arguments(&self) -> Option<Value> {
                Some(self.call.args.to_value())
            }

            /// Most hooks change arguments and nothing else, and the rest of the event need not be written out for that.
            fn changes(&self, after: &Self) -> Vec<Change> {
                let mut same_args = after.clone();
                same_args.call.args = self.call.args.clone();
                if *self == same_args {
                    vertebra_hooks::changes_below("/args", &self.call.args, &after.call.args)
                } else {
                    vertebra_hooks::changes_between(self, after)
                }
            }

            fn session(&self) -> Option<&str> {
                Some(&self.at.run.session_id)
            }

            fn agent(&self) -> Option<&str> {
                Some(&self.at.run.agent)
            }
        }

        impl CarriesCall for $event {}

        impl $event {
            /// Every path among the arguments, absolute and without `.` or `..`: see [`ToolCall::paths`](crate::ToolCall::paths).
            pub fn paths(&self) -> impl Iterator<Item = String> {
                self.call.paths(&self.at.run.working_directory)
            }
        }
    )*};
}

call_facts!(ToolAsked, PermissionAsked, ToolUsed, ToolFailed);

macro_rules! inference_facts {
    ($($event:ident { $changing:ident: $target:ty }),*) => {$(
        impl Event for $event {
            fn session(&self) -> Option<&str> {
                Some(&self.at.run.session_id)
            }

            fn agent(&self) -> Option<&str> {
                Some(&self.at.run.agent)
            }

            /// The conversation is compared by its shared structure: its length must not matter.
            fn changes(&self, after: &Self) -> Vec<Change> {
                let without = |event: &Self| {
                    let mut event = event.clone();
                    event.request.messages = crate::Messages::default();
                    event
                };
                let mut changes = vertebra_hooks::changes_between(&without(self), &without(after));
                changes.extend(message_changes(&self.request.messages, &after.request.messages));
                changes
            }
        }

        impl Deref for $event {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.$changing
            }
        }

        impl DerefMut for $event {
            fn deref_mut(&mut self) -> &mut $target {
                &mut self.$changing
            }
        }
    )*};
}

inference_facts!(InferenceAsked { request: Request }, Inferred { response: Response });
