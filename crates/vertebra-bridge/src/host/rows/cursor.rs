//! Cursor: its own names, and permissions in a flat answer.

use super::claude::{CALL, moment};
use crate::host::row::MINUTE;
use crate::host::{Ask, Config, Form, Host, Moment, NOTHING, Refusal, Rewrite, Sign, Source, Spot, Takes};

const ALLOW: &str = r#"{"permission": "allow"}"#;
const CONTEXT: &str = r#"{"additional_context": "$context"}"#;

const BEFORE_TOOL: Takes = Takes {
    refusal: Refusal::Exit2,
    // Cursor accepts a question here but never asks it. It asks right before it runs a command or calls a server.
    ask: Ask::Later(&["bash", "mcp__*"]),
    allow: Some(ALLOW),
    rewrite: Some(Rewrite { form: r#"{"permission": "allow", "updated_input": "$args"}"# }),
    ..NOTHING
};
const BEFORE_RUN: Takes = Takes {
    refusal: Refusal::Exit2,
    ask: Ask::Say(r#"{"permission": "ask", "user_message": "$reason", "agent_message": "$reason"}"#),
    allow: Some(ALLOW),
    ..NOTHING
};
const REFUSABLE: Takes = Takes { refusal: Refusal::Exit2, ..NOTHING };
const GO_ON: Takes = Takes { refusal: Refusal::Say(r#"{"followup_message": "$reason"}"#), ..NOTHING };

const MOMENTS: &[Moment] = &[
    moment("sessionStart", "SessionStart", &[], Takes { context: Some(CONTEXT), ..NOTHING }),
    moment(
        "beforeSubmitPrompt",
        "PromptSubmit",
        &[("prompt", "/prompt")],
        Takes { refusal: Refusal::Say(r#"{"continue": false, "user_message": "$reason"}"#), ..NOTHING },
    ),
    moment("preToolUse", "BeforeToolUse", CALL, BEFORE_TOOL),
    moment("beforeShellExecution", "BeforeToolUse", &[("tool", "=Shell"), ("args/command", "/command")], BEFORE_RUN),
    moment("beforeMCPExecution", "BeforeToolUse", &[("mcp_tool", "/tool_name"), ("args", "/tool_input")], BEFORE_RUN),
    moment("beforeReadFile", "BeforeToolUse", &[("tool", "=Read"), ("args/file_path", "/file_path")], REFUSABLE),
    moment(
        "postToolUse",
        "AfterToolUse",
        &[
            ("tool", "/tool_name"),
            ("args", "/tool_input"),
            ("call_id", "/tool_use_id"),
            ("result/output", "/tool_output"),
        ],
        Takes { refusal: Refusal::Say(r#"{"additional_context": "$reason"}"#), context: Some(CONTEXT), ..NOTHING },
    ),
    moment(
        "postToolUseFailure",
        "ToolUseFailed",
        &[("tool", "/tool_name"), ("args", "/tool_input"), ("call_id", "/tool_use_id"), ("error", "/error_message")],
        NOTHING,
    ),
    moment("stop", "ShouldContinue", &[("continuations", "/loop_count")], GO_ON),
    moment("subagentStart", "SubagentStart", &[("subagent", "/subagent_type"), ("prompt", "/task")], REFUSABLE),
    moment("subagentStop", "SubagentStop", &[("subagent", "/subagent_type")], GO_ON),
    moment(
        "preCompact",
        "BeforeCompact",
        &[("reason", "/trigger")],
        Takes { message: Some(r#"{"user_message": "$message"}"#), ..NOTHING },
    ),
    moment("sessionEnd", "SessionEnd", &[], NOTHING),
    // The form in which Cursor calls hooks from Claude Code's files.
    lent("UserPromptSubmit", "PromptSubmit", &[("prompt", "/prompt")], REFUSABLE),
    lent("PreToolUse", "BeforeToolUse", CALL, BEFORE_TOOL_LENT),
    lent("PostToolUse", "AfterToolUse", CALL, Takes { context: Some(CONTEXT), ..NOTHING }),
    lent("Stop", "ShouldContinue", &[("continuations", "/loop_count")], GO_ON),
    lent("SubagentStop", "SubagentStop", &[("subagent", "/subagent_type"), ("repeated", "/stop_hook_active")], GO_ON),
];

/// Hooks from Claude Code's files have no later moment.
const BEFORE_TOOL_LENT: Takes = Takes { ask: Ask::No, ..BEFORE_TOOL };

const fn lent(name: &'static str, point: &'static str, fields: crate::host::Fields, takes: Takes) -> Moment {
    Moment { installed: false, ..moment(name, point, fields, takes) }
}

pub(in crate::host) const CURSOR: Host = Host {
    name: "cursor",
    title: "Cursor",
    other_names: &[],
    signs: &[&[Sign::Has("/cursor_version")], &[Sign::Has("/conversation_id"), Sign::Variable("CURSOR_VERSION")]],
    readers: &[],
    project: &[Source::Variable("CURSOR_PROJECT_DIR"), Source::At("/workspace_roots/0"), Source::At("/cwd")],
    event_at: &["/hook_event_name"],
    moments: MOMENTS,
    tools: &[("Shell", "bash"), ("Delete", "delete_file")],
    mcp_prefix: Some("MCP:"),
    mcp_between: None,
    texts: None,
    quiet: "{}",
    failing: "open; closed with our entry",
    caps_stops: true,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: None, folder: ".cursor", file: "hooks.json" }),
        project: Some(".cursor/hooks.json"),
        rival: None,
        form: Form::Json {
            empty: r#"{"version": 1}"#,
            gate: r#"{"command": "$command", "timeout": 60, "failClosed": true}"#,
            entry: r#"{"command": "$command", "timeout": 60}"#,
        },
    },
    programs: &["cursor", "cursor-agent"],
    remark: "Cursor does not say which server an MCP tool belongs to, so the policy sees `mcp__unknown__TOOL`.",
};
