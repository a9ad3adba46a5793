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
    Steering,
    Mcp,
    Bundle,
}

const ALL: [Has; 20] = {
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
        Steering,
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

/// Calls of every tool, with sense and without, by the capability it comes with. What is called `canary` no guard lets through.
const CALLS: &[(Has, &str, &str)] = &[
    (Has::Bash, "bash", r#"{"command": "touch canary"}"#),
    (Has::Bash, "bash", r#"{"command": "sh -c 'cd . && touch canary'"}"#),
    (Has::Bash, "bash", r#"{"command": "echo hi > made"}"#),
    (Has::Bash, "Bash", r#"{"command": "echo ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#),
    (Has::Bash, "bash", r#"{"command": 7}"#),
    (Has::Files, "write_file", r#"{"path": "canary", "content": "x"}"#),
    (Has::Files, "Write", r#"{"path": "deep/canary", "content": "x", "create_parents": true}"#),
    (Has::Files, "write_file", r#"{"path": "new", "content": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#),
    (Has::Files, "read_file", r#"{"path": "secret"}"#),
    (Has::Files, "read_file", r#"{"path": "long"}"#),
    (Has::Files, "read_file", r#"{"path": "long", "limit": 200}"#),
    (Has::Bash, "bash", r#"{"command": "seq 500"}"#),
    (Has::Files, "edit_file", r#"{"path": "long", "old_string": "line 7\n", "new_string": "7\n"}"#),
    (Has::Files, "list_dir", r#"{"path": "../.."}"#),
    (Has::Files, "grep", r#"{"pattern": "("}"#),
    (Has::Files, "search_files", r#"{"pattern": "**"}"#),
    (Has::Metadata, "store_metadata", r#"{"key": "planning/tasks", "value": "hijack"}"#),
    (Has::Metadata, "store_metadata", r#"{"key": "skills/active", "value": "hijack"}"#),
    (Has::Metadata, "store_metadata", r#"{"key": "other/owner", "value": null}"#),
    (Has::Metadata, "store_metadata", r#"{"key": "plain", "value": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#),
    (Has::Metadata, "read_metadata", r#"{"key": "plain"}"#),
    (Has::Metadata, "list_metadata", "{}"),
    (Has::Planning, "todo_write", r#"{"todos": [{"content": "Test", "status": "in_progress"}]}"#),
    (Has::Planning, "todo_write", r#"{"todos": "none"}"#),
    (Has::Skills, "load_skill", r#"{"skill_name": "careful"}"#),
    (Has::Skills, "load_skill", r#"{"skill_name": "fork", "arguments": "x"}"#),
    (Has::Skills, "load_skill", r#"{"skill_name": "none"}"#),
    (Has::Subagents, "spawn_subagent", r#"{"agent": "worker", "prompt": "Work."}"#),
    (Has::Subagents, "Task", r#"{"agent": "lead", "prompt": "Lead."}"#),
    (Has::Subagents, "spawn_subagent", r#"{"agent": "lead", "prompt": "Lead again."}"#),
    (Has::Subagents, "spawn_subagent", r#"{"agent": "nobody", "prompt": ""}"#),
    (Has::Structured, "structured_output", r#"{"input": "Acme, 7", "schema": "bill", "store_as": "files/seen"}"#),
    (Has::Structured, "structured_output", r#"{"input": "Acme, 7", "schema": "bill", "store_as": "bill"}"#),
    (Has::Summary, "read_offloaded", r#"{"id": "../../etc/passwd"}"#),
    (Has::Registry, "tools", r#"{"action": "search", "query": "file metadata note bash"}"#),
    (Has::Registry, "tools", r#"{"action": "list"}"#),
    (Has::Mcp, "mcp__s__note", r#"{"text": "canary"}"#),
    (Has::Mcp, "mcp__s__note", r#"{"text": "plain"}"#),
    (Has::Bundle, "nothing", "{}"),
    (Has::Bash, "bash", "{"),
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

/// Calls are mostly of tools that are there.
fn turn(has: &[Has]) -> impl Strategy<Value = Turn> + use<> {
    let there: Vec<_> =
        CALLS.iter().filter(|(of, ..)| has.contains(of)).map(|(_, tool, args)| (*tool, *args)).collect();
    let all: Vec<_> = CALLS.iter().map(|(_, tool, args)| (*tool, *args)).collect();
    let there = if there.is_empty() { all.clone() } else { there };
    prop_oneof![
        16 => vec(prop_oneof![9 => select(there), 1 => select(all)], 1..4).prop_map(Turn::Calls),
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
    (place, does, (any::<bool>(), 0..200i32, 1..6u32, any::<bool>())).prop_map(
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
    let limits = (1..30u64, 3_000..90_000u64);
    let has = prop_oneof![1 => Just(ALL.to_vec()), 4 => subsequence(ALL.to_vec(), 7..=ALL.len())];
    let person = prop_oneof![2 => Just(Some(true)), 1 => Just(Some(false)), 1 => Just(None)];
    let people = (0..4u8, rules, person, select(TOOLS));
    let has = has.prop_flat_map(|has| (vec(turn(&has), 2..12), Just(has)));
    (has, vec(hook(), 0..4), people, limits, cancel).prop_map(
        |((tape, has), hooks, (mode, rules, person, denied), (max_steps, max_tokens), cancel)| Plan {
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
