//! Codex CLI: Claude Code's contract, read strictly. An unknown field, a bare `allow` or an `ask` makes the whole answer
//! invalid, and the call passes.

use super::claude::{
    CALL, CHILD, CHILD_STOP, COMPACT, INFORMED, PERMISSION, PROMPT, REFUSABLE, RESULT, STOP, TELLS, moment,
};
use crate::host::row::MINUTE;
use crate::host::{Config, Form, Host, Moment, NOTHING, Rewrite, Sign, Source, Spot, Takes};

const BEFORE_TOOL: Takes = Takes {
    rewrite: Some(Rewrite {
        form: r#"{"hookSpecificOutput": {"hookEventName": "$event", "permissionDecision": "allow", "updatedInput": "$args"}}"#,
    }),
    ..REFUSABLE
};

const MOMENTS: &[Moment] = &[
    moment("SessionStart", "SessionStart", &[], INFORMED),
    moment("UserPromptSubmit", "PromptSubmit", PROMPT, REFUSABLE),
    moment("PreToolUse", "BeforeToolUse", CALL, BEFORE_TOOL),
    moment("PermissionRequest", "PermissionRequest", CALL, PERMISSION),
    moment("PostToolUse", "AfterToolUse", RESULT, REFUSABLE),
    moment("Stop", "ShouldContinue", STOP, Takes { context: None, ..REFUSABLE }),
    moment("SubagentStart", "SubagentStart", CHILD, INFORMED),
    moment("SubagentStop", "SubagentStop", CHILD_STOP, Takes { context: None, ..REFUSABLE }),
    moment("PreCompact", "BeforeCompact", COMPACT, TELLS),
    moment("PostCompact", "AfterCompact", COMPACT, TELLS),
    // Codex allows at most three seconds here and warns about every longer limit.
    Moment { installed: false, ..moment("SessionEnd", "SessionEnd", &[], NOTHING) },
];

pub(in crate::host) const CODEX: Host = Host {
    name: "codex",
    title: "Codex CLI",
    other_names: &[],
    signs: &[&[Sign::Has("/hook_event_name"), Sign::Has("/turn_id"), Sign::Has("/model")]],
    readers: &[],
    project: &[Source::At("/cwd")],
    event_at: &["/hook_event_name"],
    moments: MOMENTS,
    tools: &[
        ("apply_patch", "edit_file"),
        ("spawn_agent", "spawn_subagent"),
        ("shell", "bash"),
        ("shell_command", "bash"),
        ("local_shell", "bash"),
        ("exec_command", "bash"),
    ],
    mcp_prefix: None,
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "open",
    caps_stops: false,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: Some("CODEX_HOME"), folder: ".codex", file: "hooks.json" }),
        project: Some(".codex/hooks.json"),
        rival: None,
        form: Form::Json {
            empty: "{}",
            gate: r#"{"hooks": [{"type": "command", "command": "$command", "timeout": 60}]}"#,
            entry: r#"{"hooks": [{"type": "command", "command": "$command", "timeout": 60}]}"#,
        },
    },
    programs: &["codex"],
    remark: "Codex silently skips hooks that are not approved: start Codex, type /hooks and approve these.",
};
