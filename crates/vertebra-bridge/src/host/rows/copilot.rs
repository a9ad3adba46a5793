//! GitHub Copilot CLI, whose payload does not name the event, and the agent of VS Code.

use super::claude::{
    BEFORE_TOOL, CALL, CHILD, CHILD_STOP, COMPACT, INFORMED, PROMPT, REFUSABLE, RESULT, STOP, TELLS, moment,
};
use crate::host::row::MINUTE;
use crate::host::{Ask, Config, Fields, Form, Host, Moment, NOTHING, Refusal, Rewrite, Sign, Source, Spot, Takes};

const OWN_CALL: Fields = &[("tool", "/toolName"), ("args", "/toolArgs")];
/// The arguments have another name where the host would ask a person.
const ASKED_CALL: Fields = &[("tool", "/toolName"), ("args", "/toolArgs"), ("args", "/toolInput")];
const OWN_CONTEXT: Takes = Takes { context: Some(r#"{"additionalContext": "$context"}"#), ..NOTHING };

const OWN_BEFORE_TOOL: Takes = Takes {
    refusal: Refusal::Exit2,
    ask: Ask::Say(r#"{"permissionDecision": "ask", "permissionDecisionReason": "$reason"}"#),
    allow: Some(r#"{"permissionDecision": "allow", "permissionDecisionReason": "$reason"}"#),
    rewrite: Some(Rewrite { form: r#"{"modifiedArgs": "$args"}"# }),
    context: Some(r#"{"additionalContext": "$context"}"#),
    ..NOTHING
};
const GO_ON: Takes = Takes { refusal: Refusal::Say(r#"{"decision": "block", "reason": "$reason"}"#), ..NOTHING };
const AFTER_TOOL: Takes = Takes { refusal: Refusal::Say(r#"{"additionalContext": "$reason"}"#), ..OWN_CONTEXT };
const OWN_AFTER_TOOL: Takes = Takes {
    result: Some(r#"{"modifiedResult": {"resultType": "success", "textResultForLlm": "$result"}}"#),
    ..AFTER_TOOL
};

const MOMENTS: &[Moment] = &[
    moment("sessionStart", "SessionStart", &[], OWN_CONTEXT),
    moment("userPromptSubmitted", "PromptSubmit", &[("prompt", "/prompt")], NOTHING),
    moment("preToolUse", "BeforeToolUse", OWN_CALL, OWN_BEFORE_TOOL),
    moment(
        "permissionRequest",
        "PermissionRequest",
        ASKED_CALL,
        Takes {
            refusal: Refusal::Say(r#"{"behavior": "deny", "message": "$reason"}"#),
            ask: Ask::Anyway,
            allow: Some(r#"{"behavior": "allow"}"#),
            ..NOTHING
        },
    ),
    moment(
        "postToolUse",
        "AfterToolUse",
        &[("tool", "/toolName"), ("args", "/toolArgs"), ("result/output", "/toolResult/textResultForLlm")],
        OWN_AFTER_TOOL,
    ),
    moment(
        "postToolUseFailure",
        "ToolUseFailed",
        &[("tool", "/toolName"), ("args", "/toolArgs"), ("error", "/error")],
        NOTHING,
    ),
    moment("agentStop", "ShouldContinue", &[], GO_ON),
    moment("subagentStart", "SubagentStart", &[("subagent", "/agentName")], OWN_CONTEXT),
    moment("subagentStop", "SubagentStop", &[("subagent", "/agentName")], GO_ON),
    moment("preCompact", "BeforeCompact", &[("reason", "/trigger")], NOTHING),
    moment("sessionEnd", "SessionEnd", &[], NOTHING),
    // Copilot also calls hooks from Claude Code's files. It is not documented which of the two forms it reads then.
    Moment {
        installed: false,
        ..moment(
            "PreToolUse",
            "BeforeToolUse",
            CALL,
            Takes {
                ask: Ask::Say(
                    r#"{"permissionDecision": "ask", "permissionDecisionReason": "$reason", "hookSpecificOutput":
                    {"hookEventName": "$event", "permissionDecision": "ask", "permissionDecisionReason": "$reason"}}"#,
                ),
                allow: None,
                rewrite: None,
                ..OWN_BEFORE_TOOL
            },
        )
    },
    Moment { installed: false, ..moment("PostToolUse", "AfterToolUse", RESULT, AFTER_TOOL) },
    Moment { installed: false, ..moment("Stop", "ShouldContinue", STOP, GO_ON) },
];

const TOOLS: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("powershell", "bash"),
    ("write_bash", "bash"),
    ("write_powershell", "bash"),
    ("view", "read_file"),
    ("create", "write_file"),
    ("edit", "edit_file"),
    ("str_replace", "edit_file"),
    ("str_replace_editor", "edit_file"),
    ("apply_patch", "edit_file"),
    ("glob", "search_files"),
    ("rg", "grep"),
    ("task", "spawn_subagent"),
];

pub(in crate::host) const COPILOT: Host = Host {
    name: "copilot",
    title: "Copilot CLI",
    other_names: &["copilot-cli", "github-copilot"],
    signs: &[
        &[Sign::Has("/toolName"), Sign::Lacks("/hook_event_name")],
        &[Sign::Has("/sessionId"), Sign::Lacks("/hook_event_name"), Sign::Lacks("/hookEventName")],
        &[Sign::Variable("COPILOT_CLI")],
    ],
    readers: &["vscode"],
    project: &[Source::At("/cwd")],
    event_at: &["/hook_event_name"],
    moments: MOMENTS,
    tools: TOOLS,
    mcp_prefix: None,
    mcp_between: Some("-"),
    texts: None,
    quiet: "",
    failing: "closed before a tool call, but open on a timeout",
    caps_stops: true,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: Some("COPILOT_HOME"), folder: ".copilot", file: "hooks/vertebra.json" }),
        project: Some(".github/hooks/vertebra.json"),
        rival: None,
        form: Form::Json {
            empty: r#"{"version": 1}"#,
            gate: r#"{"type": "command", "bash": "$command", "timeoutSec": 60}"#,
            entry: r#"{"type": "command", "bash": "$command", "timeoutSec": 60}"#,
        },
    },
    programs: &["copilot"],
    remark: "The cloud agent reads only the hooks of the project, and treats a question as a denial.",
};

const VSCODE_MOMENTS: &[Moment] = &[
    moment("SessionStart", "SessionStart", &[], INFORMED),
    moment("UserPromptSubmit", "PromptSubmit", PROMPT, REFUSABLE),
    moment("PreToolUse", "BeforeToolUse", CALL, BEFORE_TOOL),
    moment("PostToolUse", "AfterToolUse", RESULT, REFUSABLE),
    moment("Stop", "ShouldContinue", STOP, REFUSABLE),
    moment("SubagentStart", "SubagentStart", CHILD, INFORMED),
    moment("SubagentStop", "SubagentStop", CHILD_STOP, REFUSABLE),
    moment("PreCompact", "BeforeCompact", COMPACT, TELLS),
];

pub(in crate::host) const VSCODE: Host = Host {
    name: "vscode",
    title: "VS Code",
    other_names: &["vs-code"],
    signs: &[
        &[Sign::Has("/hookEventName"), Sign::HasText("/timestamp")],
        &[Sign::Has("/hook_event_name"), Sign::HasText("/timestamp"), Sign::Lacks("/permission_mode")],
    ],
    readers: &[],
    project: &[Source::At("/cwd")],
    event_at: &["/hook_event_name", "/hookEventName"],
    moments: VSCODE_MOMENTS,
    tools: &[
        ("run_in_terminal", "bash"),
        ("runTerminalCommand", "bash"),
        ("create_file", "write_file"),
        ("replace_string_in_file", "edit_file"),
        ("multi_replace_string_in_file", "edit_file"),
        ("insert_edit_into_file", "edit_file"),
        ("editFiles", "edit_file"),
        ("apply_patch", "edit_file"),
        ("file_search", "search_files"),
        ("grep_search", "grep"),
        ("fetch_webpage", "web_fetch"),
        ("runSubagent", "spawn_subagent"),
    ],
    mcp_prefix: Some("mcp_"),
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "open",
    caps_stops: false,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: None, folder: ".copilot/hooks", file: "vertebra-vscode.json" }),
        project: Some(".github/hooks/vertebra-vscode.json"),
        rival: None,
        form: Form::Json {
            empty: "{}",
            gate: r#"{"type": "command", "command": "$command", "timeout": 60}"#,
            entry: r#"{"type": "command", "command": "$command", "timeout": 60}"#,
        },
    },
    programs: &["code", "code-insiders"],
    remark: "Hooks are a preview feature of VS Code. Its other agents (Copilot, Claude, Codex) read their own files.",
};
