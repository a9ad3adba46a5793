//! `OpenCode` and Amp, which load plugins in their own language. Our plugin calls `vertebra hook`.

use super::claude::moment;
use crate::host::row::MINUTE;
use crate::host::{Config, Fields, Form, Host, Moment, NOTHING, Refusal, Rewrite, Sign, Source, Spot, Takes};

const CALL: Fields = &[("tool", "/tool"), ("args", "/args"), ("call_id", "/call_id")];
const RESULT: Fields = &[("tool", "/tool"), ("args", "/args"), ("call_id", "/call_id"), ("result/output", "/output")];
const REFUSABLE: Takes = Takes { refusal: Refusal::Exit2, ..NOTHING };

const OPENCODE_MOMENTS: &[Moment] = &[
    moment(
        "tool.execute.before",
        "BeforeToolUse",
        CALL,
        Takes { rewrite: Some(Rewrite { form: r#"{"args": "$args"}"# }), ..REFUSABLE },
    ),
    moment(
        "tool.execute.after",
        "AfterToolUse",
        RESULT,
        Takes {
            refusal: Refusal::Say(r#"{"append": "$reason"}"#),
            context: Some(r#"{"append": "$context"}"#),
            result: Some(r#"{"output": "$result"}"#),
            ..NOTHING
        },
    ),
];

pub(in crate::host) const OPENCODE: Host = Host {
    name: "opencode",
    title: "OpenCode",
    other_names: &[],
    signs: &[&[Sign::Has("/vertebra_shim/opencode")]],
    readers: &[],
    project: &[Source::At("/cwd")],
    event_at: &["/event"],
    moments: OPENCODE_MOMENTS,
    tools: &[
        ("bash", "bash"),
        ("read", "read_file"),
        ("write", "write_file"),
        ("edit", "edit_file"),
        ("patch", "edit_file"),
        ("apply_patch", "edit_file"),
        ("list", "list_dir"),
        ("glob", "search_files"),
        ("webfetch", "web_fetch"),
        ("websearch", "web_search"),
        ("skill", "load_skill"),
        // Not tools of an MCP server, although their names look like it.
        ("plan_enter", "plan_enter"),
        ("plan_exit", "plan_exit"),
        ("task", "spawn_subagent"),
    ],
    mcp_prefix: None,
    mcp_between: Some("_"),
    texts: None,
    quiet: "",
    failing: "closed: our plugin throws",
    caps_stops: true,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: Some("XDG_CONFIG_HOME"), folder: ".config", file: "opencode/plugins/vertebra.js" }),
        project: Some(".opencode/plugins/vertebra.js"),
        rival: None,
        form: Form::Shim(include_str!("opencode.js")),
    },
    programs: &["opencode"],
    remark: "",
};

const AMP_MOMENTS: &[Moment] =
    &[moment("tool.call", "BeforeToolUse", CALL, REFUSABLE), moment("tool.result", "AfterToolUse", RESULT, NOTHING)];

pub(in crate::host) const AMP: Host = Host {
    name: "amp",
    title: "Amp",
    other_names: &[],
    signs: &[&[Sign::Has("/vertebra_shim/amp")]],
    readers: &[],
    project: &[Source::At("/cwd")],
    event_at: &["/event"],
    moments: AMP_MOMENTS,
    tools: &[
        ("shell_command", "bash"),
        ("create_file", "write_file"),
        ("apply_patch", "edit_file"),
        ("glob", "search_files"),
        ("read_web_page", "web_fetch"),
    ],
    mcp_prefix: None,
    mcp_between: None,
    texts: None,
    quiet: "",
    failing: "closed: our plugin rejects",
    caps_stops: true,
    waits: MINUTE,
    config: Config {
        user: Some(Spot { variable: None, folder: ".config/amp/plugins", file: "vertebra.ts" }),
        project: Some(".amp/plugins/vertebra.ts"),
        rival: None,
        form: Form::Shim(include_str!("amp.ts")),
    },
    programs: &["amp"],
    remark: "Amp plugins are experimental.",
};
