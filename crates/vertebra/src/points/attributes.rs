//! The attributes of events, which matchers test, and what the changes of an event are.

use std::{
    borrow::Cow,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use serde_json::Value;
use vertebra_hooks::{Attribute, AttributeValue, Change, Event, PatternKind};

use crate::{
    At, Request, Response, ToolCall,
    conversation::state::message_changes,
    points::events::{
        Compacting, Continuing, DeltaArrived, ExecutionEnded, ExecutionStarted, Failed, InferenceAsked, Inferred,
        Notified, OutputReady, PermissionAsked, PromptSubmitted, SessionEnded, SessionStarted, StepEnded, StepStarted,
        SubagentStarted, SubagentStopped, ToolAsked, ToolFailed, ToolUsed,
    },
};

macro_rules! attributes {
    ($($(#[$doc:meta])* $attribute:ident: $kind:ident;)*) => {
        /// The attributes of an agent's events: types that are named like them, so that the compiler knows which points have
        /// which. See [`HasAttribute`](crate::HasAttribute).
        #[expect(non_camel_case_types, reason = "the compiler's messages name an attribute as matchers do")]
        pub mod attribute {
            use super::{Attribute, PatternKind};

            $(
                $(#[$doc])*
                pub enum $attribute {}

                impl $attribute {
                    /// The attribute as data.
                    pub const ATTRIBUTE: Attribute =
                        Attribute { key: stringify!($attribute), kind: PatternKind::$kind };
                }
            )*
        }

        /// All attributes of an agent's events. Each point has some of them.
        pub const ATTRIBUTES: &[Attribute] = &[$(attribute::$attribute::ATTRIBUTE),*];
    };
}

attributes! {
    /// The tool of a call: its name and its aliases.
    tool: Name;
    /// Every path among the arguments of a call, absolute and relative to the working directory.
    path: Glob;
    /// The command line of a call, each simple command inside it, and further commands that it may run.
    command: Regex;
    /// The arguments of a call.
    args: Json;
    /// The session.
    session: Exact;
    /// The name of the agent.
    agent: Word;
    /// What a step did: `tool_execution`, `final_response` or `no_response`.
    step: Word;
}

/// The attributes that every event of a run has.
pub(crate) fn of_run<'e>(at: &'e At, key: &str) -> Option<AttributeValue<'e>> {
    match key {
        "session" => Some(AttributeValue::Text(&at.run.session_id)),
        "agent" => Some(AttributeValue::Text(&at.run.agent)),
        _ => None,
    }
}

/// The attributes of a call.
fn of_call<'e>(call: &'e ToolCall, at: &'e At, key: &str) -> Option<AttributeValue<'e>> {
    match key {
        "tool" => Some(AttributeValue::Names(&call.tool, &call.aliases)),
        "path" => {
            let paths = call.path_texts(&at.run.working_directory);
            Some(AttributeValue::Texts(paths.into_iter().map(Cow::Owned).collect()))
        }
        "command" => Some(AttributeValue::Commands(Box::new(call.commands()))),
        "args" => Some(AttributeValue::Json(Cow::Owned(call.args.to_value()))),
        _ => of_run(at, key),
    }
}

/// An event of a run: it knows who, where and when.
pub(crate) trait Located: Event {
    fn at(&self) -> &At;

    /// The call it is about.
    fn call(&self) -> Option<&ToolCall> {
        None
    }

    fn call_id(&self) -> Option<&Arc<str>> {
        self.call().map(|call| &call.id)
    }

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

            $(fn call(&self) -> Option<&ToolCall> {
                Some(&self.$call)
            })?
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
    OutputReady,
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

    fn left(&self) -> Option<Value> {
        None
    }
}

/// Of an answer, the request before it is of no use any more.
impl Located for Inferred {
    fn at(&self) -> &At {
        &self.at
    }

    fn left(&self) -> Option<Value> {
        serde_json::to_value(&self.response).ok()
    }

    fn recall(&mut self, left: Value) -> Result<(), serde_json::Error> {
        self.response = serde_json::from_value(left)?;
        Ok(())
    }
}

macro_rules! run_events {
    ($($event:ty $(: $key:literal $value:expr)?;)*) => {$(
        impl Event for $event {
            fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
                match key {
                    $($key => {
                        let value: fn(&Self) -> &str = $value;
                        Some(AttributeValue::Text(value(self)))
                    })?
                    _ => of_run(&self.at, key),
                }
            }
        }
    )*};
}

run_events! {
    SessionStarted;
    SessionEnded;
    PromptSubmitted;
    ExecutionStarted;
    ExecutionEnded;
    StepStarted;
    StepEnded: "step" |event| event.kind.name();
    Continuing: "step" |event| event.kind.name();
    Failed;
    SubagentStarted;
    SubagentStopped;
    Compacting;
    Notified;
}

macro_rules! answer_events {
    ($($event:ident)*) => {$(
        impl Event for $event {
            fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
                of_run(&self.at, key)
            }

            /// Says what a text became, not what it was: records go where the text goes, and what a hook took out of the
            /// one must not come in through the other.
            fn changes(&self, after: &Self) -> Vec<Change> {
                let changes = vertebra_hooks::changes_between(self, after);
                changes.into_iter().map(|change| Change { before: None, ..change }).collect()
            }
        }
    )*};
}

answer_events!(DeltaArrived OutputReady);

macro_rules! call_events {
    ($($event:ty),*) => {$(
        impl Event for $event {
            fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
                of_call(&self.call, &self.at, key)
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
        }

        impl $event {
            /// Every path among the arguments, absolute and without `.` or `..`: see [`ToolCall::paths`](crate::ToolCall::paths).
            pub fn paths(&self) -> impl Iterator<Item = String> {
                self.call.paths(&self.at.run.working_directory)
            }
        }
    )*};
}

call_events!(ToolAsked, PermissionAsked, ToolUsed, ToolFailed);

macro_rules! inference_events {
    ($($event:ident { $changing:ident: $target:ty }),*) => {$(
        impl Event for $event {
            fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
                of_run(&self.at, key)
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

inference_events!(InferenceAsked { request: Request }, Inferred { response: Response });
