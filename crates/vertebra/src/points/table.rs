//! The skeleton: every point of an agent's life, in the order of that life.

use vertebra_hooks::{Attribute, Cx, HasAttribute, Operation, Point, PointCode, verdict};

use crate::{
    AgentState, Interrupted, Response, RunReport, StepReport, ToolResult,
    points::attributes::attribute,
    points::events::{
        Compacting, Continuing, DeltaArrived, ExecutionEnded, ExecutionStarted, Failed, InferenceAsked, Inferred,
        Notified, PermissionAsked, PromptSubmitted, SessionEnded, SessionStarted, StepEnded, StepStarted,
        SubagentStarted, SubagentStopped, ToolAsked, ToolFailed, ToolUsed,
    },
};

verdict! {
    /// Nothing is decided here: hooks may change, watches may see.
    pub enum Noted {}
}
verdict! {
    /// The thing may be refused.
    pub enum Refusable { deny }
}
verdict! {
    /// The run may be ended.
    pub enum Stoppable { stop }
}
verdict! {
    /// Before a model is asked.
    pub enum InferenceVerdict { deny, replace(Response), retry, stop }
}
verdict! {
    /// While a model answers.
    pub enum DeltaVerdict { hold, halt }
}
verdict! {
    /// After a model has answered or a tool was used.
    pub enum RepeatVerdict { retry, stop }
}
verdict! {
    /// Before a tool is used.
    pub enum ToolVerdict { allow, ask, deny, replace(ToolResult), retry, stop }
}
verdict! {
    /// When somebody asked about a call.
    pub enum PermissionVerdict { allow, deny }
}
verdict! {
    /// After a tool has failed.
    pub enum FailureVerdict { recover(ToolResult), retry, stop }
}
verdict! {
    /// When the run is about to end or to go on.
    pub enum ContinueVerdict { stop, go_on }
}
verdict! {
    /// After a failure outside a tool.
    pub enum ErrorVerdict { recover(String), stop }
}
verdict! {
    /// After a child agent has ended.
    pub enum SubagentVerdict { go_on }
}

macro_rules! points {
    ($(
        $(#[$doc:meta])*
        $point:ident($name:literal): $event:ty => $verdict:ty, $cx:ident, [$($attribute:ident),*];
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $point;

            impl Point for $point {
                const NAME: &'static str = $name;
                type Event = $event;
                type State = AgentState;
                type Verdict = $verdict;
                const ATTRIBUTES: &'static [Attribute] = &[$(attribute::$attribute::ATTRIBUTE),*];

                // A plain function, so that the code of each point is compiled in this crate and nowhere else.
                #[inline(never)]
                fn code() -> PointCode<Self> {
                    PointCode::compiled_here()
                }
            }

            $(impl HasAttribute<attribute::$attribute> for $point {})*

            #[doc = concat!("What a hook at [`", stringify!($point), "`] is given.")]
            pub type $cx<'a> = Cx<'a, $point>;
        )*

        /// The names of all points, in the order of an agent's life.
        pub const POINTS: &[&str] = &[$($name),*];
    };
}

points! {
    /// A session begins.
    SessionStart("SessionStart"): SessionStarted => Noted, SessionStartCx, [session, agent];
    /// A prompt has come in: rewrite it, add context, or refuse it.
    PromptSubmit("PromptSubmit"): PromptSubmitted => Refusable, PromptCx, [session, agent];
    /// A run begins.
    ExecutionStart("ExecutionStart"): ExecutionStarted => Stoppable, ExecutionStartCx, [session, agent];
    /// A step is about to begin.
    BeforeStep("BeforeStep"): StepStarted => Stoppable, StepStartCx, [session, agent];
    /// A model is about to be asked: change the request, answer in its place, wait, refuse.
    BeforeInference("BeforeInference"): InferenceAsked => InferenceVerdict, InferenceCx, [session, agent];
    /// A piece of the answer has come in: rewrite it, hold it back, end the stream.
    InferenceDelta("InferenceDelta"): DeltaArrived => DeltaVerdict, DeltaCx, [session, agent];
    /// A model has answered: change the answer, ask again.
    AfterInference("AfterInference"): Inferred => RepeatVerdict, ResponseCx, [session, agent];
    /// A tool is about to be used: change the arguments, allow, ask, refuse, answer in its place, wait.
    BeforeToolUse("BeforeToolUse"): ToolAsked => ToolVerdict, ToolCx, [tool, path, command, args, session, agent];
    /// Somebody asked about a call: answer before a person has to.
    PermissionRequest("PermissionRequest"): PermissionAsked => PermissionVerdict, PermissionCx, [tool, path, command, args, session, agent];
    /// A tool call has ended, done, failed or blocked; fires once for every call.
    AfterToolUse("AfterToolUse"): ToolUsed => RepeatVerdict, ToolUsedCx, [tool, path, command, args, session, agent];
    /// A tool has failed: make it good, try again. [`AfterToolUse`] follows.
    ToolUseFailed("ToolUseFailed"): ToolFailed => FailureVerdict, ToolFailedCx, [tool, path, command, args, session, agent];
    /// A step has ended.
    AfterStep("AfterStep"): StepEnded => ContinueVerdict, StepEndCx, [session, agent, step];
    /// The run is about to end or to go on.
    ShouldContinue("ShouldContinue"): Continuing => ContinueVerdict, ContinueCx, [session, agent, step];
    /// Something failed outside a tool.
    OnError("OnError"): Failed => ErrorVerdict, ErrorCx, [session, agent];
    /// The run has ended; fires once, whatever happened.
    ExecutionEnd("ExecutionEnd"): ExecutionEnded => Noted, ExecutionEndCx, [session, agent];
    /// The session ends; fires once, whatever happened.
    SessionEnd("SessionEnd"): SessionEnded => Noted, SessionEndCx, [session, agent];
    /// A child agent is about to begin.
    SubagentStart("SubagentStart"): SubagentStarted => Refusable, SubagentStartCx, [session, agent];
    /// A child agent has ended: change what the parent reads, or make it go on.
    SubagentStop("SubagentStop"): SubagentStopped => SubagentVerdict, SubagentStopCx, [session, agent];
    /// The conversation is about to be made shorter.
    BeforeCompact("BeforeCompact"): Compacting => Refusable, CompactCx, [session, agent];
    /// The conversation has been made shorter.
    AfterCompact("AfterCompact"): Compacting => Noted, CompactedCx, [session, agent];
    /// Something a person may want to know.
    Notification("Notification"): Notified => Noted, NotificationCx, [session, agent];
}

macro_rules! operations {
    ($($(#[$doc:meta])* $operation:ident: $event:ty => $output:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $operation;

        impl Operation for $operation {
            const NAME: &'static str = stringify!($operation);
            type Event = $event;
            type State = AgentState;
            type Output = $output;
        }
    )*};
}

operations! {
    /// A whole run.
    Execution: ExecutionStarted => RunReport;
    /// A step: the model's answer and the tools it asks for.
    Step: StepStarted => Result<StepReport, Interrupted>;
    /// A model call, with its hooks and guards.
    Inference: InferenceAsked => crate::InferenceReport;
    /// A tool call, with its hooks and guards.
    ToolUse: ToolAsked => ToolResult;
}

/// Other names of points, as configuration and SDKs of other agents write them, and the points they mean.
pub const POINT_ALIASES: &[(&str, &str)] = &[
    ("PreToolUse", "BeforeToolUse"),
    ("PostToolUse", "AfterToolUse"),
    ("PostToolUseFailure", "ToolUseFailed"),
    ("UserPromptSubmit", "PromptSubmit"),
    ("InputSubmitted", "PromptSubmit"),
    ("GenerateStart", "BeforeInference"),
    ("GenerateEnd", "AfterInference"),
    ("StepStart", "BeforeStep"),
    ("StepEnd", "AfterStep"),
    ("Stop", "ShouldContinue"),
    ("AgentFailed", "OnError"),
    ("PreCompact", "BeforeCompact"),
    ("PostCompact", "AfterCompact"),
];

/// The name of a point, from its name or an alias in `PascalCase`, `camelCase`, `snake_case` or `kebab-case`.
pub fn point_named(name: &str) -> Option<&'static str> {
    if let Some(point) = POINTS.iter().find(|point| **point == name) {
        return Some(point);
    }
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
    let known = POINTS.iter().find(|point| point.eq_ignore_ascii_case(&plain)).copied();
    known
        .or_else(|| POINT_ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(&plain)).map(|(_, point)| *point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_point_is_understood() {
        let cases = [
            ("PreToolUse", "BeforeToolUse"),
            ("pre_tool_use", "BeforeToolUse"),
            ("preToolUse", "BeforeToolUse"),
            ("before_tool_use", "BeforeToolUse"),
            ("PostToolUseFailure", "ToolUseFailed"),
            ("UserPromptSubmit", "PromptSubmit"),
            ("InputSubmitted", "PromptSubmit"),
            ("generate_start", "BeforeInference"),
            ("GenerateEnd", "AfterInference"),
            ("StepStart", "BeforeStep"),
            ("stepEnd", "AfterStep"),
            ("Stop", "ShouldContinue"),
            ("AgentFailed", "OnError"),
            ("PreCompact", "BeforeCompact"),
            ("session-end", "SessionEnd"),
        ];
        for (name, point) in cases {
            assert_eq!(point_named(name), Some(point), "{name}");
        }
        assert_eq!(point_named("BeforeToolUze"), None);
        assert!(POINTS.iter().all(|point| point_named(point) == Some(point)));
    }
}
