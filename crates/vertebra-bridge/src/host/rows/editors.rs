//! Windsurf, Cline and Kiro, which accept a denial and little else.

use super::claude::moment;
use crate::host::{
    Config, Fields, Form, Host, Moment, NOTHING, Refusal, Sign, Source, Spot, Takes,
    row::{HALF_A_MINUTE, MINUTE, THROUGH},
};

const REFUSABLE: Takes = Takes { refusal: Refusal::Exit2, ..NOTHING };
const COMMAND: Fields = &[("tool", "=run_command"), ("args/command", "/tool_info/command_line")];
const MCP: Fields = &[
    ("mcp_server", "/tool_info/mcp_server_name"),
    ("mcp_tool", "/tool_info/mcp_tool_name"),
    ("args", "/tool_info/mcp_tool_arguments"),
];
const READ: Fields = &[("tool", "=read_code"), ("args", "/tool_info")];
const WRITE: Fields = &[("tool", "=write_code"), ("args", "/tool_info")];

const WINDSURF_MOMENTS: &[Moment] = &[
    moment("pre_user_prompt", "PromptSubmit", &[("prompt", "/tool_info/user_prompt")], REFUSABLE),
    moment("pre_run_command", "BeforeToolUse", COMMAND, REFUSABLE),
    moment("pre_read_code", "BeforeToolUse", READ, REFUSABLE),
    moment("pre_write_code", "BeforeToolUse", WRITE, REFUSABLE),
    moment("pre_mcp_tool_use", "BeforeToolUse", MCP, REFUSABLE),
    moment("post_run_command", "AfterToolUse", COMMAND, NOTHING),
    moment("post_read_code", "AfterToolUse", READ, NOTHING),
    moment("post_write_code", "AfterToolUse", WRITE, NOTHING),
    moment("post_mcp_tool_use", "AfterToolUse", MCP, NOTHING),
    moment("post_cascade_response", "ShouldContinue", &[("text", "/tool_info/response")], NOTHING),
];

pub(in crate::host) const WINDSURF: Host = Host {
    name: "windsurf",
    title: "Windsurf",
    other_names: &["cascade", "devin-desktop"],
    signs: &[&[Sign::Has("/agent_action_name")]],
    readers: &[],
    // Windsurf starts hooks in the workspace. The folder in an event is the one that the model chose for a command.
    project: &[],
    event_at: &["/agent_action_name"],
    moments: WINDSURF_MOMENTS,
    tools: &[("run_command", "bash"), ("read_code", "read_file"), ("write_code", "edit_file")],
    mcp_prefix: None,
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "open",
    caps_stops: true,
    // Windsurf has no setting for this and documents none.
    waits: HALF_A_MINUTE,
    config: Config {
        user: Some(Spot { variable: None, folder: ".codeium/windsurf", file: "hooks.json" }),
        project: Some(".windsurf/hooks.json"),
        rival: None,
        form: Form::Json {
            empty: "{}",
            gate: r#"{"command": "$command", "show_output": true}"#,
            entry: r#"{"command": "$command", "show_output": false}"#,
        },
    },
    programs: &["windsurf"],
    remark: "",
};

const CANCEL: &str = r#"{"cancel": true, "errorMessage": "$reason"}"#;
const LATER: &str = r#"{"cancel": false, "contextModification": "$context"}"#;
const CANCELLED: Takes = Takes { refusal: Refusal::Say(CANCEL), stop: Some(CANCEL), context: Some(LATER), ..NOTHING };

const CLINE_PROMPT: Fields = &[("prompt", "/userPromptSubmit/prompt")];
const CLINE_CALL: Fields = &[("tool", "/preToolUse/toolName"), ("args", "/preToolUse/parameters")];
const CLINE_RESULT: Fields = &[
    ("tool", "/postToolUse/toolName"),
    ("args", "/postToolUse/parameters"),
    ("result/output", "/postToolUse/result"),
    ("result/success", "/postToolUse/success"),
];
const CLINE_AFTER_TOOL: Takes =
    Takes { refusal: Refusal::Say(r#"{"cancel": false, "contextModification": "$reason"}"#), ..CANCELLED };

const CLINE_MOMENTS: &[Moment] = &[
    moment("TaskStart", "SessionStart", &[], Takes { refusal: Refusal::No, ..CANCELLED }),
    moment("TaskResume", "SessionStart", &[], Takes { refusal: Refusal::No, ..CANCELLED }),
    moment("UserPromptSubmit", "PromptSubmit", CLINE_PROMPT, CANCELLED),
    moment("PreToolUse", "BeforeToolUse", CLINE_CALL, CANCELLED),
    moment("PostToolUse", "AfterToolUse", CLINE_RESULT, CLINE_AFTER_TOOL),
    moment("PreCompact", "BeforeCompact", &[], Takes { refusal: Refusal::Say(CANCEL), ..NOTHING }),
    moment("TaskComplete", "ShouldContinue", &[], NOTHING),
    moment("TaskCancel", "SessionEnd", &[], NOTHING),
    // Cline's command line calls the same programs, and waits for an answer only at tool calls.
    of_cli("agent_start", "SessionStart", &[], NOTHING),
    of_cli("agent_resume", "SessionStart", &[], NOTHING),
    of_cli("prompt_submit", "PromptSubmit", CLINE_PROMPT, NOTHING),
    of_cli("tool_call", "BeforeToolUse", CLINE_CALL, CANCELLED),
    of_cli("tool_result", "AfterToolUse", CLINE_RESULT, CLINE_AFTER_TOOL),
    of_cli("agent_end", "ShouldContinue", &[], NOTHING),
    of_cli("agent_abort", "SessionEnd", &[], NOTHING),
    of_cli("session_shutdown", "SessionEnd", &[], NOTHING),
];

const fn of_cli(name: &'static str, point: &'static str, fields: Fields, takes: Takes) -> Moment {
    Moment { installed: false, ..moment(name, point, fields, takes) }
}

/// Arguments that are plain text: file contents, search terms, messages.
const CLINE_TEXTS: &[&str] = &[
    "content", "old_text", "new_text", "diff", "input", "command", "cmd", "regex", "question", "prompt", "context",
    "result",
];

pub(in crate::host) const CLINE: Host = Host {
    name: "cline",
    title: "Cline",
    other_names: &[],
    signs: &[&[Sign::Has("/clineVersion")], &[Sign::Has("/hookName"), Sign::Has("/taskId")]],
    readers: &[],
    project: &[Source::At("/workspaceRoots/0")],
    event_at: &["/hookName"],
    moments: CLINE_MOMENTS,
    tools: &[
        ("execute_command", "bash"),
        ("run_commands", "bash"),
        ("read_files", "read_file"),
        ("editor", "edit_file"),
        ("search_codebase", "grep"),
        ("fetch_web_content", "web_fetch"),
        ("skills", "load_skill"),
        ("spawn_agent", "spawn_subagent"),
        ("write_to_file", "write_file"),
        ("replace_in_file", "edit_file"),
        ("apply_patch", "edit_file"),
        ("list_files", "list_dir"),
        ("search_files", "grep"),
        ("web_fetch", "web_fetch"),
        ("new_task", "spawn_subagent"),
        ("use_mcp_tool", THROUGH),
    ],
    mcp_prefix: None,
    mcp_between: Some("__"),
    texts: Some(CLINE_TEXTS),
    quiet: r#"{"cancel":false}"#,
    failing: "open",
    caps_stops: true,
    waits: HALF_A_MINUTE,
    config: Config {
        user: Some(Spot { variable: None, folder: "Documents/Cline", file: "Hooks" }),
        project: Some(".clinerules/hooks"),
        rival: None,
        form: Form::Programs,
    },
    programs: &["cline"],
    remark: "Turn hooks on in Cline's settings.",
};

const KIRO_CALL: Fields = &[("tool", "/tool_name"), ("args", "/tool_input")];
/// The model reads what a hook prints there.
const PRINTS: Takes = Takes { context: Some(r#""$context""#), ..NOTHING };

const KIRO_MOMENTS: &[Moment] = &[
    moment("agentSpawn", "SessionStart", &[], PRINTS),
    moment("userPromptSubmit", "PromptSubmit", &[("prompt", "/prompt")], PRINTS),
    moment("preToolUse", "BeforeToolUse", KIRO_CALL, REFUSABLE),
    moment(
        "postToolUse",
        "AfterToolUse",
        &[("tool", "/tool_name"), ("args", "/tool_input"), ("result/output", "/tool_response")],
        NOTHING,
    ),
    moment("stop", "ShouldContinue", &[], NOTHING),
];

pub(in crate::host) const KIRO: Host = Host {
    name: "kiro",
    title: "Kiro CLI",
    other_names: &["kiro-cli"],
    signs: &[&[Sign::Event(&["agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop"])]],
    readers: &[],
    project: &[Source::At("/cwd")],
    event_at: &["/hook_event_name"],
    moments: KIRO_MOMENTS,
    tools: &[
        ("execute_bash", "bash"),
        ("execute_cmd", "bash"),
        ("shell", "bash"),
        ("fs_read", "read_file"),
        ("read", "read_file"),
        ("fs_write", "edit_file"),
        ("write", "edit_file"),
        ("use_subagent", "spawn_subagent"),
    ],
    mcp_prefix: Some("@"),
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "open",
    caps_stops: true,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: None, folder: ".kiro/agents", file: "*.json" }),
        project: Some(".kiro/agents/*.json"),
        rival: None,
        form: Form::Json {
            empty: r#"{"name": "vertebra", "description": "The default agent, under the policy of vertebra.toml", "tools": ["*"]}"#,
            gate: r#"{"command": "$command", "timeout_ms": 60000}"#,
            entry: r#"{"command": "$command", "timeout_ms": 60000}"#,
        },
    },
    programs: &["kiro-cli", "kiro"],
    remark: "In Kiro, hooks belong to an agent: the policy covers only the agents in this folder. Start Kiro with `--agent NAME`.",
};
