//! The skeleton: every point of an agent's life, in the order of that life.

use serde_json::json;
use vertebra_hooks::{Attribute, Cx, HasAttribute, Operation, Point, PointCode, verdict};

use crate::{
    AgentState, AnyPoint, Args, Interrupted, Limits, Response, RunReport, StepReport, ToolResult, Usage,
    points::attributes::attribute,
    points::events::{
        Compacting, Continuing, DeltaArrived, ExecutionEnded, ExecutionStarted, Failed, InferenceAsked, Inferred,
        Notified, OutputReady, PermissionAsked, PromptSubmitted, SessionEnded, SessionStarted, StepEnded, StepStarted,
        SubagentStarted, SubagentStopped, ToolAsked, ToolFailed, ToolUsed,
    },
    points::info::{AgentPoint, Changeable, ContextMode, PointInfo},
    points::samples::{
        SYSTEM_PROMPT, blank_call, blank_request, blank_stop, call, finished, model, no_model, request, response,
        usage, with,
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
        $point:ident: $event:ty => $verdict:ty, $cx:ident {
            about: $about:literal,
            aliases: [$($alias:literal),*],
            attributes: [$($attribute:ident),*],
            changes: $changes:ident $([$($field:literal),*])?,
            context: $context:ident,
            blank: $blank:expr,
            sample: $sample:expr,
        }
    )*) => {
        $(
            #[doc = $about]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $point;

            impl Point for $point {
                const NAME: &'static str = stringify!($point);
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

            impl AgentPoint for $point {
                fn info(self) -> &'static PointInfo {
                    const INFO: PointInfo = PointInfo {
                        about: $about,
                        aliases: &[$($alias),*],
                        changes: Changeable::$changes $((&[$($field),*]))?,
                        context: points!(@mode $context),
                        blank: |_| $blank,
                        sample: |_| $sample,
                        ..PointInfo::of::<$point>()
                    };
                    &INFO
                }

                fn args_mut(event: &mut Self::Event) -> Option<&mut Args> {
                    points!(@args $changes event)
                }

                fn add_context(event: &mut Self::Event, text: String) -> Option<String> {
                    points!(@context $context event, text)
                }
            }

            #[doc = concat!("What a hook at [`", stringify!($point), "`] is given.")]
            pub type $cx<'a> = Cx<'a, $point>;
        )*

        /// The built-in points, in the order of an agent's life.
        pub const POINT_TABLE: &[AnyPoint] = &[$(AnyPoint::new(&$point)),*];
    };
    (@args Args $event:ident) => { Some($event.args_mut()) };
    (@args $changes:ident $event:ident) => {{
        let _ = $event;
        None
    }};
    (@mode later) => { ContextMode::NextStep };
    (@mode $context:ident) => { ContextMode::Event };
    (@context prompt $event:ident, $text:ident) => {{
        $event.add_context($text);
        None
    }};
    (@context child $event:ident, $text:ident) => {{
        $event.prompt.push_str("\n\n");
        $event.prompt.push_str(&$text);
        None
    }};
    (@context later $event:ident, $text:ident) => {{
        let _ = $event;
        Some($text)
    }};
}

points! {
    SessionStart: SessionStarted => Refusable, SessionStartCx {
        about: "A session is about to open: change its system prompt, or refuse it.",
        aliases: [],
        attributes: [session, agent],
        changes: Fields ["system_prompt"],
        context: later,
        blank: json!({ "system_prompt": "", "model": no_model() }),
        sample: json!({ "system_prompt": SYSTEM_PROMPT, "model": model(), "resumed": false }),
    }

    PromptSubmit: PromptSubmitted => Refusable, PromptCx {
        about: "A prompt has come in: rewrite it, add context, or refuse it.",
        aliases: ["UserPromptSubmit", "InputSubmitted"],
        attributes: [session, agent],
        changes: Fields ["prompt", "context"],
        context: prompt,
        blank: json!({ "prompt": "" }),
        sample: json!({
            "prompt": "Release it.", "images": [{ "media_type": "image/png", "data": "iVBORw0KGgo=" }],
            "context": ["The tests are run with `just test`."],
        }),
    }

    ExecutionStart: ExecutionStarted => Stoppable, ExecutionStartCx {
        about: "A run begins.",
        aliases: [],
        attributes: [session, agent],
        changes: Nothing,
        context: later,
        blank: json!({ "prompt": "", "limits": Limits::default() }),
        sample: json!({ "prompt": "Release it." }),
    }

    BeforeStep: StepStarted => Stoppable, StepStartCx {
        about: "A step is about to begin.",
        aliases: ["StepStart"],
        attributes: [session, agent],
        changes: Nothing,
        context: later,
        blank: json!({ "messages": 0, "usage": Usage::default() }),
        sample: json!({ "messages": 2, "usage": usage() }),
    }

    BeforeInference: InferenceAsked => InferenceVerdict, InferenceCx {
        about: "A model is about to be asked: change the request, answer in its place, wait, refuse.",
        aliases: ["GenerateStart"],
        attributes: [session, agent],
        changes: Fields ["model", "system_prompt", "messages", "tools", "max_output_tokens", "temperature", "options"],
        context: later,
        blank: with(blank_request(), json!({ "purpose": "step" })),
        sample: with(request(), json!({ "purpose": "step" })),
    }

    InferenceDelta: DeltaArrived => DeltaVerdict, DeltaCx {
        about: "A piece of the answer has come in: rewrite it, hold it back, end the stream.",
        aliases: [],
        attributes: [session, agent],
        changes: Fields ["text"],
        context: later,
        blank: json!({ "model": no_model(), "channel": "text", "text": "", "last": false }),
        sample: json!({
            "model": model(), "channel": "call", "call": { "index": 0, "tool": "bash" }, "text": "{\"command\":",
            "follows": "a", "last": true,
            "end": { "how": "finished", "reason": "tool_use", "calls": response()["calls"] },
        }),
    }

    AfterInference: Inferred => RepeatVerdict, ResponseCx {
        about: "A model has answered: change the answer, ask again.",
        aliases: ["GenerateEnd"],
        attributes: [session, agent],
        changes: Fields ["response"],
        context: later,
        blank: json!({
            "purpose": "step", "duration_ms": 0, "request": blank_request(),
            "response": { "text": "", "calls": [], "usage": Usage::default() },
        }),
        sample: json!({ "purpose": "step", "request": request(), "response": response(), "duration_ms": 2100 }),
    }

    BeforeToolUse: ToolAsked => ToolVerdict, ToolCx {
        about: "A tool is about to be used: change the arguments, allow, ask, refuse, answer in its place, wait.",
        aliases: ["PreToolUse"],
        attributes: [tool, path, command, args, session, agent],
        changes: Args,
        context: later,
        blank: blank_call(),
        sample: call(),
    }

    PermissionRequest: PermissionAsked => PermissionVerdict, PermissionCx {
        about: "Somebody asked about a call: answer before a person has to.",
        aliases: [],
        attributes: [tool, path, command, args, session, agent],
        changes: Nothing,
        context: later,
        blank: with(blank_call(), json!({ "reason": "", "asked_by": "" })),
        sample: with(call(), json!({ "reason": "a push cannot be taken back", "asked_by": "careful-push" })),
    }

    AfterToolUse: ToolUsed => RepeatVerdict, ToolUsedCx {
        about: "A tool call has ended, done, failed or blocked; fires once for every call.",
        aliases: ["PostToolUse"],
        attributes: [tool, path, command, args, session, agent],
        changes: Fields ["result"],
        context: later,
        blank: with(blank_call(), json!({ "result": ToolResult::done("") })),
        sample: with(call(), json!({
            "result": {
                "status": "done", "success": true, "output": "ok", "exit_code": 0, "duration_ms": 40, "data": { "lines": 1 },
            },
            "blocked_by": "no-force-push",
        })),
    }

    ToolUseFailed: ToolFailed => FailureVerdict, ToolFailedCx {
        about: "A tool has failed: make it good, try again. `AfterToolUse` follows.",
        aliases: ["PostToolUseFailure"],
        attributes: [tool, path, command, args, session, agent],
        changes: Nothing,
        context: later,
        blank: with(blank_call(), json!({ "error": "", "reached": true, "attempts": 1, "duration_ms": 0 })),
        sample: with(call(), json!({
            "error": "the remote hung up", "reached": true, "attempts": 1, "duration_ms": 40,
        })),
    }

    AfterStep: StepEnded => ContinueVerdict, StepEndCx {
        about: "A step has ended.",
        aliases: ["StepEnd"],
        attributes: [session, agent, step],
        changes: Nothing,
        context: later,
        blank: json!({ "kind": "final_response", "text": "", "tools": [], "usage": Usage::default(), "duration_ms": 0 }),
        sample: json!({
            "kind": "tool_execution", "text": "I push it.", "tools": ["bash"], "usage": usage(), "duration_ms": 2300,
        }),
    }

    ShouldContinue: Continuing => ContinueVerdict, ContinueCx {
        about: "The run is about to end or to go on.",
        aliases: ["Stop"],
        attributes: [session, agent, step],
        changes: Nothing,
        context: later,
        blank: json!({ "kind": "final_response", "text": "", "stops": [blank_stop()], "continuations": 0 }),
        sample: json!({ "kind": "final_response", "text": "Done.", "stops": [finished()], "continuations": 0 }),
    }

    Output: OutputReady => Refusable, OutputCx {
        about: "The run has its final answer: change it, or refuse it, before anyone receives it.",
        aliases: [],
        attributes: [session, agent],
        changes: Fields ["text"],
        context: later,
        blank: json!({ "text": "", "stop": blank_stop() }),
        sample: json!({ "text": "Done.", "stop": finished() }),
    }

    OnError: Failed => ErrorVerdict, ErrorCx {
        about: "Something failed outside a tool.",
        aliases: ["AgentFailed"],
        attributes: [session, agent],
        changes: Nothing,
        context: later,
        blank: json!({ "class": "internal", "message": "", "attempts": 1 }),
        sample: json!({
            "class": "model_busy", "message": "too many requests", "attempts": 2, "wait": { "secs": 2, "nanos": 0 },
        }),
    }

    ExecutionEnd: ExecutionEnded => Noted, ExecutionEndCx {
        about: "The run has ended; fires once, whatever happened.",
        aliases: [],
        attributes: [session, agent],
        changes: Nothing,
        context: later,
        blank: json!({
            "status": "completed", "stop": blank_stop(), "text": "", "steps": 1, "usage": Usage::default(), "duration_ms": 0,
        }),
        sample: json!({
            "status": "completed", "stop": finished(), "text": "Done.", "steps": 2, "usage": usage(), "duration_ms": 4200,
        }),
    }

    SessionEnd: SessionEnded => Noted, SessionEndCx {
        about: "The session ends; fires once, whatever happened.",
        aliases: [],
        attributes: [session, agent],
        changes: Nothing,
        context: later,
        blank: json!({
            "usage": Usage::default(), "total_tokens": 0, "total_tool_calls": 0, "runs": 1, "steps": 1, "duration_ms": 0,
        }),
        sample: json!({
            "usage": usage(), "total_tokens": 1280, "total_tool_calls": 1, "runs": 1, "steps": 2, "duration_ms": 60_000,
        }),
    }

    SubagentStart: SubagentStarted => Refusable, SubagentStartCx {
        about: "A child agent is about to begin.",
        aliases: [],
        attributes: [session, agent],
        changes: Fields ["prompt", "limits"],
        context: child,
        blank: json!({ "subagent": "", "prompt": "", "limits": Limits::default() }),
        sample: json!({ "subagent": "reviewer", "prompt": "Review the change.", "metadata": {} }),
    }

    SubagentStop: SubagentStopped => SubagentVerdict, SubagentStopCx {
        about: "A child agent has ended: change what the parent reads, or make it go on.",
        aliases: [],
        attributes: [session, agent],
        changes: Fields ["text"],
        context: later,
        blank: json!({
            "subagent": "", "status": "completed", "stop": blank_stop(), "text": "", "usage": Usage::default(), "steps": 1,
        }),
        sample: json!({
            "subagent": "reviewer", "status": "completed", "stop": finished(), "text": "It is fine.", "usage": usage(),
            "steps": 1,
        }),
    }

    BeforeCompact: Compacting => Refusable, CompactCx {
        about: "The conversation is about to be made shorter.",
        aliases: ["PreCompact"],
        attributes: [session, agent],
        changes: Fields ["instructions"],
        context: later,
        blank: json!({ "reason": "", "messages": 0, "tokens": 0 }),
        sample: json!({
            "reason": "the conversation is long", "messages": 40, "tokens": 30_000, "instructions": "Keep the decisions.",
        }),
    }

    AfterCompact: Compacting => Noted, CompactedCx {
        about: "The conversation has been made shorter.",
        aliases: ["PostCompact"],
        attributes: [session, agent],
        changes: Nothing,
        context: later,
        blank: json!({ "reason": "", "messages": 0, "tokens": 0 }),
        sample: json!({
            "reason": "the conversation is long", "messages": 40, "tokens": 30_000, "instructions": "Keep the decisions.",
        }),
    }

    Notification: Notified => Noted, NotificationCx {
        about: "Something a person may want to know.",
        aliases: [],
        attributes: [session, agent],
        changes: Nothing,
        context: later,
        blank: json!({ "kind": "", "message": "" }),
        sample: json!({ "kind": "waiting", "message": "A call waits for a yes.", "data": { "call_id": "call-1" } }),
    }
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
