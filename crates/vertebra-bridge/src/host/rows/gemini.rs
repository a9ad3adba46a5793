//! Gemini CLI, and Qwen Code, which has Gemini CLI's tools and Claude Code's contract.

use super::claude::{
    BEFORE_TOOL as CLAUDE_BEFORE_TOOL, CALL as CLAUDE_CALL, CHILD, CHILD_STOP, COMPACT, END, FAILURE, INFORMED,
    MESSAGE, NEWS, PERMISSION, PROMPT, REFUSABLE, RESULT as CLAUDE_RESULT, STOP, TELLS, moment,
};
use crate::host::row::MINUTE;
use crate::host::{Config, Fields, Form, Host, Moment, NOTHING, Refusal, Rewrite, Sign, Source, Spot, Takes};

const CALL: Fields = &[
    ("tool", "/tool_name"),
    ("args", "/tool_input"),
    ("mcp_server", "/mcp_context/server_name"),
    ("mcp_tool", "/mcp_context/tool_name"),
];
const RESULT: Fields = &[
    ("tool", "/tool_name"),
    ("args", "/tool_input"),
    ("mcp_server", "/mcp_context/server_name"),
    ("mcp_tool", "/mcp_context/tool_name"),
    ("result/output", "/tool_response/llmContent"),
    ("result/error", "/tool_response/error"),
];

const BEFORE_TOOL: Takes = Takes {
    refusal: Refusal::Exit2,
    rewrite: Some(Rewrite { form: r#"{"hookSpecificOutput": {"hookEventName": "$event", "tool_input": "$args"}}"# }),
    stop: Some(END),
    message: Some(MESSAGE),
    ..NOTHING
};
const CAN_STOP: Takes = Takes { refusal: Refusal::Exit2, stop: Some(END), ..INFORMED };

const MOMENTS: &[Moment] = &[
    moment("SessionStart", "SessionStart", &[], INFORMED),
    moment("BeforeAgent", "PromptSubmit", PROMPT, CAN_STOP),
    moment("BeforeTool", "BeforeToolUse", CALL, BEFORE_TOOL),
    moment("AfterTool", "AfterToolUse", RESULT, CAN_STOP),
    moment(
        "AfterAgent",
        "ShouldContinue",
        &[("text", "/prompt_response"), ("continuations", "/stop_hook_active")],
        Takes { context: None, ..CAN_STOP },
    ),
    moment("PreCompress", "BeforeCompact", COMPACT, TELLS),
    moment("Notification", "Notification", NEWS, TELLS),
    moment("SessionEnd", "SessionEnd", &[], TELLS),
];

const TOOLS: &[(&str, &str)] = &[
    ("run_shell_command", "bash"),
    ("replace", "edit_file"),
    ("edit", "edit_file"),
    ("list_directory", "list_dir"),
    ("glob", "search_files"),
    ("search_file_content", "grep"),
    ("grep_search", "grep"),
    ("read_many_files", "read_file"),
    ("google_web_search", "web_search"),
    ("task", "spawn_subagent"),
    ("agent", "spawn_subagent"),
    ("monitor", "bash"),
    ("notebook_edit", "edit_file"),
    ("skill", "load_skill"),
];

/// Qwen Code's moments: those of Claude Code, but it ignores permissions, rewritten arguments and replaced results, and a
/// stop at the end of a run keeps the run going.
const QWEN_MOMENTS: &[Moment] = &[
    moment("SessionStart", "SessionStart", &[], INFORMED),
    moment("UserPromptSubmit", "PromptSubmit", PROMPT, Takes { stop: Some(END), ..REFUSABLE }),
    moment("PreToolUse", "BeforeToolUse", CLAUDE_CALL, Takes { allow: None, rewrite: None, ..CLAUDE_BEFORE_TOOL }),
    moment("PermissionRequest", "PermissionRequest", CLAUDE_CALL, PERMISSION),
    moment("PostToolUse", "AfterToolUse", CLAUDE_RESULT, Takes { stop: Some(END), ..REFUSABLE }),
    moment("PostToolUseFailure", "ToolUseFailed", FAILURE, REFUSABLE),
    moment("Stop", "ShouldContinue", STOP, REFUSABLE),
    moment("SubagentStart", "SubagentStart", CHILD, INFORMED),
    moment("SubagentStop", "SubagentStop", CHILD_STOP, REFUSABLE),
    moment("PreCompact", "BeforeCompact", COMPACT, Takes { refusal: Refusal::Exit2, ..TELLS }),
    moment("PostCompact", "AfterCompact", COMPACT, TELLS),
    moment("Notification", "Notification", NEWS, NOTHING),
    moment("SessionEnd", "SessionEnd", &[], NOTHING),
];

const FORM: Form = Form::Json {
    empty: "{}",
    gate: r#"{"hooks": [{"type": "command", "name": "vertebra", "command": "$command", "timeout": 60000}]}"#,
    entry: r#"{"hooks": [{"type": "command", "name": "vertebra", "command": "$command", "timeout": 60000}]}"#,
};

pub(in crate::host) const GEMINI: Host = Host {
    name: "gemini",
    title: "Gemini CLI",
    other_names: &["gemini-cli"],
    signs: &[
        &[Sign::Event(&["BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "PreCompress"])],
        &[Sign::HasText("/timestamp"), Sign::Variable("GEMINI_SESSION_ID")],
    ],
    readers: &[],
    project: &[Source::Variable("GEMINI_PROJECT_DIR"), Source::At("/cwd")],
    event_at: &["/hook_event_name"],
    moments: MOMENTS,
    tools: TOOLS,
    mcp_prefix: None,
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "open",
    caps_stops: false,
    waits: MINUTE,
    config: Config {
        // The variable names a home, not the folder in it.
        user: Some(Spot { variable: Some("GEMINI_CLI_HOME"), folder: "", file: ".gemini/settings.json" }),
        project: Some(".gemini/settings.json"),
        rival: None,
        form: FORM,
    },
    programs: &["gemini"],
    remark: "Gemini CLI asks once before it runs the hooks of a project.",
};

pub(in crate::host) const QWEN: Host = Host {
    name: "qwen",
    title: "Qwen Code",
    other_names: &["qwen-code"],
    signs: &[
        &[Sign::Has("/hook_event_name"), Sign::Has("/tool_call_id")],
        &[Sign::Event(&["PreToolUse", "PostToolUse", "PermissionRequest"]), Sign::Tool(&["run_shell_command"])],
        &[Sign::Has("/hook_event_name"), Sign::Variable("QWEN_PROJECT_DIR")],
    ],
    readers: &[],
    project: &[Source::Variable("QWEN_PROJECT_DIR"), Source::At("/cwd")],
    event_at: &["/hook_event_name"],
    moments: QWEN_MOMENTS,
    tools: TOOLS,
    mcp_prefix: None,
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "open",
    caps_stops: true,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: Some("QWEN_HOME"), folder: ".qwen", file: "settings.json" }),
        project: Some(".qwen/settings.json"),
        rival: None,
        form: FORM,
    },
    programs: &["qwen"],
    remark: "In non-interactive mode, Qwen Code treats a question as a denial.",
};
