//! A random agent, as data.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};

/// A key of a well-known shape, made up.
pub(crate) const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// Everything that varies from agent to agent.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) has: Vec<Has>,
    pub(crate) hooks: Vec<HookPlan>,
    pub(crate) tape: Vec<Turn>,
    /// A tool that a guard of the top agent denies, whoever allows it.
    pub(crate) denied: &'static str,
    pub(crate) mode: u8,
    pub(crate) rules: Vec<(u8, &'static str)>,
    /// Whether the person who is asked says yes.
    pub(crate) person: Option<bool>,
    pub(crate) max_steps: u64,
    pub(crate) max_tokens: u64,
    /// The news at which the caller cancels.
    pub(crate) cancel: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Has {
    Bash,
    Files,
    Metadata,
    Planning,
    Skills,
    Structured,
    Summary,
    Critique,
    Subagents,
    Registry,
    Permissions,
    Limits,
    Retries,
    Fallback,
    Timeouts,
    Cache,
    Redaction,
    Mcp,
    Bundle,
}

const ALL: [Has; 19] = {
    use Has::*;
    [
        Bash,
        Files,
        Metadata,
        Planning,
        Skills,
        Structured,
        Summary,
        Critique,
        Subagents,
        Registry,
        Permissions,
        Limits,
        Retries,
        Fallback,
        Timeouts,
        Cache,
        Redaction,
        Mcp,
        Bundle,
    ]
};

/// What the model answers, whoever asks and for what.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Calls(Vec<(&'static str, &'static str)>),
    Say(&'static str),
    /// The provider is not reached.
    Fail,
}

#[derive(Debug, Clone)]
pub(crate) struct HookPlan {
    pub(crate) place: Place,
    pub(crate) guard: bool,
    pub(crate) priority: i32,
    pub(crate) does: Does,
    /// Acts at every so manieth call, and has no opinion otherwise.
    pub(crate) every: u32,
    pub(crate) fail_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    PromptSubmit,
    BeforeStep,
    BeforeInference,
    AfterInference,
    BeforeToolUse,
    PermissionRequest,
    AfterToolUse,
    ToolUseFailed,
    ShouldContinue,
    OnError,
    SubagentStart,
    AroundTool,
}

/// What a hook does. What its point cannot honour it cannot write, and proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Aims the call at a canary.
    Rewrite,
    Skip,
    Allow,
    Ask,
    Deny,
    Replace,
    Retry,
    Stop,
    GoOn,
    Error,
    Panic,
    Hang,
}

/// Calls of every tool, with sense and without. What is called `canary` no guard lets through.
const CALLS: &[(&str, &str)] = &[
    ("bash", r#"{"command": "touch canary"}"#),
    ("bash", r#"{"command": "sh -c 'cd . && touch canary'"}"#),
    ("bash", r#"{"command": "echo hi > made"}"#),
    ("Bash", r#"{"command": "echo ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#),
    ("bash", r#"{"command": 7}"#),
    ("write_file", r#"{"path": "canary", "content": "x"}"#),
    ("Write", r#"{"path": "deep/canary", "content": "x", "create_parents": true}"#),
    ("write_file", r#"{"path": "new", "content": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#),
    ("read_file", r#"{"path": "secret"}"#),
    ("read_file", r#"{"path": "long"}"#),
    ("edit_file", r#"{"path": "long", "old_string": "line 7\n", "new_string": "7\n"}"#),
    ("list_dir", r#"{"path": "../.."}"#),
    ("grep", r#"{"pattern": "("}"#),
    ("search_files", r#"{"pattern": "**"}"#),
    ("store_metadata", r#"{"key": "planning/tasks", "value": "hijack"}"#),
    ("store_metadata", r#"{"key": "skills/active", "value": "hijack"}"#),
    ("store_metadata", r#"{"key": "other/owner", "value": null}"#),
    ("store_metadata", r#"{"key": "plain", "value": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#),
    ("read_metadata", r#"{"key": "plain"}"#),
    ("list_metadata", "{}"),
    ("todo_write", r#"{"todos": [{"content": "Test", "status": "in_progress"}]}"#),
    ("todo_write", r#"{"todos": "none"}"#),
    ("load_skill", r#"{"skill_name": "careful"}"#),
    ("load_skill", r#"{"skill_name": "fork", "arguments": "x"}"#),
    ("load_skill", r#"{"skill_name": "none"}"#),
    ("spawn_subagent", r#"{"agent": "worker", "prompt": "Work."}"#),
    ("Task", r#"{"agent": "lead", "prompt": "Lead."}"#),
    ("spawn_subagent", r#"{"agent": "nobody", "prompt": ""}"#),
    ("structured_output", r#"{"input": "Acme, 7", "schema": "bill", "store_as": "files/seen"}"#),
    ("structured_output", r#"{"input": "Acme, 7", "schema": "bill", "store_as": "bill"}"#),
    ("read_offloaded", r#"{"id": "../../etc/passwd"}"#),
    ("tools", r#"{"action": "search", "query": "file metadata note bash"}"#),
    ("tools", r#"{"action": "list"}"#),
    ("mcp__s__note", r#"{"text": "canary"}"#),
    ("mcp__s__note", r#"{"text": "plain"}"#),
    ("nothing", "{}"),
    ("bash", "{"),
];

const SAYINGS: &[&str] = &[
    "done",
    "",
    r#"{"from": "hijack", "total": 7}"#,
    r#"{"approved": true, "summary": "good"}"#,
    r#"{"approved": false, "summary": "bad"}"#,
    "the key is ghp_abcdefghijklmnopqrstuvwxyz0123456789, they say",
];

const RULES: &[&str] =
    &["Bash", "Bash(touch *)", "Write", "Edit", "Read", "mcp__s__note", "store_metadata", "Task", "Skill"];

const TOOLS: &[&str] = &["bash", "write_file", "read_file", "mcp__s__note", "spawn_subagent", "load_skill", "none"];

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        8 => vec(select(CALLS), 1..4).prop_map(Turn::Calls),
        3 => select(SAYINGS).prop_map(Turn::Say),
        1 => Just(Turn::Fail),
    ]
}

fn hook() -> impl Strategy<Value = HookPlan> {
    use Does::*;
    use Place::*;
    let place = prop_oneof![
        4 => Just(BeforeToolUse),
        2 => Just(AroundTool),
        2 => Just(AfterToolUse),
        3 => select(vec![BeforeInference, AfterInference, BeforeStep, ShouldContinue, PromptSubmit]),
        2 => select(vec![PermissionRequest, ToolUseFailed, OnError, SubagentStart]),
    ];
    let does = prop_oneof![
        2 => Just(Rewrite),
        4 => select(vec![Skip, Allow, Ask, Replace, Retry]),
        2 => select(vec![Deny, Stop, GoOn, Error, Panic, Hang]),
    ];
    (place, does, (any::<bool>(), 0..200i32, 1..5u32, any::<bool>())).prop_map(
        |(place, does, (guard, priority, every, fail_open))| HookPlan {
            place,
            guard,
            priority,
            does,
            every,
            fail_open,
        },
    )
}

/// An agent with many capabilities, few hooks, and a model that goes on for a while.
pub(crate) fn plan(cancel: impl Strategy<Value = Option<usize>>) -> impl Strategy<Value = Plan> {
    let rules = vec((0..3u8, select(RULES)), 0..5);
    let limits = (1..25u64, 3_000..60_000u64);
    let has = prop_oneof![1 => Just(ALL.to_vec()), 4 => subsequence(ALL.to_vec(), 4..=ALL.len())];
    let people = (0..4u8, rules, any::<Option<bool>>(), select(TOOLS));
    (has, vec(hook(), 0..5), vec(turn(), 1..9), people, limits, cancel).prop_map(
        |(has, hooks, tape, (mode, rules, person, denied), (max_steps, max_tokens), cancel)| Plan {
            has,
            hooks,
            tape,
            denied,
            mode,
            rules,
            person,
            max_steps,
            max_tokens,
            cancel,
        },
    )
}
