//! Claude Code, and what it shares with the hosts that adopted its contract.

use crate::host::row::MINUTE;
use crate::host::{Ask, Config, Fields, Form, Host, Moment, NOTHING, Refusal, Rewrite, Sign, Source, Spot, Takes};

pub(super) const CALL: Fields = &[("tool", "/tool_name"), ("args", "/tool_input"), ("call_id", "/tool_use_id")];
pub(super) const RESULT: Fields = &[
    ("tool", "/tool_name"),
    ("args", "/tool_input"),
    ("call_id", "/tool_use_id"),
    ("result/output", "/tool_response"),
];
pub(super) const FAILURE: Fields =
    &[("tool", "/tool_name"), ("args", "/tool_input"), ("call_id", "/tool_use_id"), ("error", "/error")];
pub(super) const PROMPT: Fields = &[("prompt", "/prompt")];
pub(super) const STOP: Fields = &[("text", "/last_assistant_message"), ("continuations", "/stop_hook_active")];
pub(super) const CHILD: Fields = &[("subagent", "/agent_type"), ("prompt", "/prompt")];
pub(super) const CHILD_STOP: Fields =
    &[("subagent", "/agent_type"), ("text", "/last_assistant_message"), ("repeated", "/stop_hook_active")];
pub(super) const COMPACT: Fields = &[("reason", "/trigger"), ("instructions", "/custom_instructions")];
pub(super) const NEWS: Fields = &[("kind", "/notification_type"), ("message", "/message")];

const ASK: &str = r#"{"hookSpecificOutput": {"hookEventName": "$event", "permissionDecision": "ask",
    "permissionDecisionReason": "$reason"}}"#;
const ALLOW: &str = r#"{"hookSpecificOutput": {"hookEventName": "$event", "permissionDecision": "allow",
    "permissionDecisionReason": "$reason"}}"#;
const ARGS: &str = r#"{"hookSpecificOutput": {"hookEventName": "$event", "updatedInput": "$args"}}"#;
const CONTEXT: &str = r#"{"hookSpecificOutput": {"hookEventName": "$event", "additionalContext": "$context"}}"#;
pub(super) const END: &str = r#"{"continue": false, "stopReason": "$reason"}"#;
pub(super) const MESSAGE: &str = r#"{"systemMessage": "$message"}"#;
const OTHER_RESULT: &str = r#"{"hookSpecificOutput": {"hookEventName": "$event", "updatedToolOutput": "$result"}}"#;

/// A message for the person, at any moment.
pub(super) const TELLS: Takes = Takes { message: Some(MESSAGE), ..NOTHING };
/// Context for the model and a message for the person.
pub(super) const INFORMED: Takes = Takes { context: Some(CONTEXT), ..TELLS };
/// A denial, context for the model and a message for the person.
pub(super) const REFUSABLE: Takes = Takes { refusal: Refusal::Exit2, ..INFORMED };
/// Every kind of answer before a tool call.
pub(super) const BEFORE_TOOL: Takes = Takes {
    refusal: Refusal::Exit2,
    ask: Ask::Say(ASK),
    allow: Some(ALLOW),
    rewrite: Some(Rewrite { form: ARGS }),
    context: Some(CONTEXT),
    stop: Some(END),
    result: None,
    message: Some(MESSAGE),
};
/// The host ignores exit codes where it would ask a person.
pub(super) const PERMISSION: Takes = Takes {
    refusal: Refusal::Say(
        r#"{"hookSpecificOutput": {"hookEventName": "$event", "decision": {"behavior": "deny", "message": "$reason"}}}"#,
    ),
    ask: Ask::Anyway,
    allow: Some(r#"{"hookSpecificOutput": {"hookEventName": "$event", "decision": {"behavior": "allow"}}}"#),
    ..TELLS
};
const AFTER_TOOL: Takes = Takes { result: Some(OTHER_RESULT), stop: Some(END), ..REFUSABLE };

pub(super) const fn moment(name: &'static str, point: &'static str, fields: Fields, takes: Takes) -> Moment {
    Moment { name, point, fields, takes, installed: true }
}

/// Claude Code's moments that correspond to one of our points.
pub(super) const MOMENTS: &[Moment] = &[
    moment("SessionStart", "SessionStart", &[], Takes { refusal: Refusal::Say(END), stop: Some(END), ..INFORMED }),
    moment("UserPromptSubmit", "PromptSubmit", PROMPT, Takes { stop: Some(END), ..REFUSABLE }),
    moment("PreToolUse", "BeforeToolUse", CALL, BEFORE_TOOL),
    moment("PermissionRequest", "PermissionRequest", CALL, PERMISSION),
    moment("PostToolUse", "AfterToolUse", RESULT, AFTER_TOOL),
    moment("PostToolUseFailure", "ToolUseFailed", FAILURE, REFUSABLE),
    moment("Stop", "ShouldContinue", STOP, Takes { stop: Some(END), ..REFUSABLE }),
    moment("SubagentStart", "SubagentStart", CHILD, INFORMED),
    moment("SubagentStop", "SubagentStop", CHILD_STOP, REFUSABLE),
    moment("PreCompact", "BeforeCompact", COMPACT, Takes { refusal: Refusal::Exit2, ..TELLS }),
    moment("PostCompact", "AfterCompact", COMPACT, TELLS),
    moment("Notification", "Notification", NEWS, NOTHING),
    moment("SessionEnd", "SessionEnd", &[], NOTHING),
];

pub(in crate::host) const CLAUDE_CODE: Host = Host {
    name: "claude-code",
    title: "Claude Code",
    other_names: &["claude"],
    signs: &[&[Sign::Has("/hook_event_name")]],
    readers: &["cursor", "copilot", "vscode"],
    project: &[Source::Variable("CLAUDE_PROJECT_DIR"), Source::At("/cwd")],
    event_at: &["/hook_event_name"],
    moments: MOMENTS,
    tools: &[],
    mcp_prefix: None,
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "open; closed with our entry, from 2.1.295",
    caps_stops: true,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: Some("CLAUDE_CONFIG_DIR"), folder: ".claude", file: "settings.json" }),
        project: Some(".claude/settings.json"),
        rival: None,
        form: Form::Json {
            empty: "{}",
            gate: r#"{"hooks": [{"type": "command", "command": "$command", "timeout": 60, "onFailure": "block"}]}"#,
            entry: r#"{"hooks": [{"type": "command", "command": "$command", "timeout": 60}]}"#,
        },
    },
    programs: &["claude"],
    remark: "Versions before 2.1.295 do not know `onFailure`: if the hook cannot start, the call passes.",
};

/// Factory Droid follows Claude Code's contract, with other tool names.
pub(in crate::host) const FACTORY: Host = Host {
    name: "factory",
    title: "Factory Droid",
    other_names: &["droid"],
    signs: &[&[Sign::Has("/hook_event_name"), Sign::Variable("FACTORY_PROJECT_DIR")]],
    readers: &[],
    project: &[Source::Variable("FACTORY_PROJECT_DIR"), Source::At("/cwd")],
    tools: &[("Execute", "bash"), ("Create", "write_file"), ("ApplyPatch", "edit_file"), ("FetchUrl", "web_fetch")],
    failing: "open",
    config: Config {
        user: Some(Spot { variable: None, folder: ".factory", file: "settings.json" }),
        project: Some(".factory/settings.json"),
        rival: Some("hooks.json"),
        form: Form::Json {
            empty: "{}",
            gate: r#"{"hooks": [{"type": "command", "command": "$command", "timeout": 60}]}"#,
            entry: r#"{"hooks": [{"type": "command", "command": "$command", "timeout": 60}]}"#,
        },
    },
    programs: &["droid"],
    remark: "",
    ..CLAUDE_CODE
};
