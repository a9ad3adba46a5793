//! One moment of the past.

use std::sync::Arc;

use vertebra::{
    AfterInference, AfterStep, AfterToolUse, AgentState, At, BeforeInference, BeforeStep, BeforeToolUse, Point,
    PromptSubmit, Record, ShouldContinue, ToolCall, ToolUseFailed,
    events::{
        Continuing, InferenceAsked, Inferred, PromptSubmitted, StepEnded, StepStarted, ToolAsked, ToolFailed, ToolUsed,
    },
};

/// Something that happened, as hooks would have been told of it.
#[derive(Debug, Clone)]
pub struct Moment {
    /// What.
    pub event: Event,
    /// What the agent knew.
    pub state: AgentState,
    /// What hooks made of it; none if no hook matched.
    pub then: Option<Record>,
}

macro_rules! events {
    ($($(#[$doc:meta])* $point:ident($event:ident),)*) => {
        /// An event at one of the points where hooks decide.
        ///
        /// The list is closed: a backtest has to judge each event.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event {
            $($(#[$doc])* $point($event),)*
        }

        impl Event {
            /// The name of its point.
            pub fn point(&self) -> &'static str {
                match self {
                    $(Self::$point(_) => $point::NAME,)*
                }
            }

            /// Who, where, when.
            pub fn at(&self) -> &At {
                match self {
                    $(Self::$point(event) => &event.at,)*
                }
            }

            pub(super) fn at_mut(&mut self) -> &mut At {
                match self {
                    $(Self::$point(event) => &mut event.at,)*
                }
            }
        }
    };
}

events! {
    /// A prompt came in.
    PromptSubmit(PromptSubmitted),
    /// A step was about to begin.
    BeforeStep(StepStarted),
    /// A model was about to be asked.
    BeforeInference(InferenceAsked),
    /// A model had answered.
    AfterInference(Inferred),
    /// A tool was about to be used.
    BeforeToolUse(ToolAsked),
    /// A tool had failed.
    ToolUseFailed(ToolFailed),
    /// A tool had been used.
    AfterToolUse(ToolUsed),
    /// A step had ended.
    AfterStep(StepEnded),
    /// The run was about to end or to go on.
    ShouldContinue(Continuing),
}

impl Event {
    /// The identifier of the call it is about.
    pub fn call_id(&self) -> Option<&Arc<str>> {
        self.call().map(|call| &call.id)
    }

    /// The call it is about.
    pub fn call(&self) -> Option<&ToolCall> {
        match self {
            Self::BeforeToolUse(event) => Some(&event.call),
            Self::ToolUseFailed(event) => Some(&event.call),
            Self::AfterToolUse(event) => Some(&event.call),
            Self::PromptSubmit(_)
            | Self::BeforeStep(_)
            | Self::BeforeInference(_)
            | Self::AfterInference(_)
            | Self::AfterStep(_)
            | Self::ShouldContinue(_) => None,
        }
    }
}
