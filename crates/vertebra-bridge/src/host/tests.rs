//! The arguments of a call, which a model writes, are judged and never mistaken for the host's own fields.

use serde_json::{Value, json};

use super::{HostAnswer, HostEvent, answer, find, read, unread};
use crate::{
    handler::Services,
    policy::Policy,
    settings,
    wire::{Decision, Judgement},
};

fn event(host: &str, event: &Value) -> HostEvent {
    let read = read(event, find(host), None, &|_| None);
    read.unwrap_or_else(|error| panic!("{event}: {error}"))
}

async fn decision(policy: &str, event: &HostEvent) -> Option<Decision> {
    let settings = settings::parse(policy, settings::Level::User, "vertebra.toml").expect("settings").settings;
    let policy = Policy::new(&settings, &Services::default()).expect("a policy");
    policy.judge(&event.happened).await.decision
}

fn hook(matcher: &str) -> String {
    let tools = "[tools]\nknown = [\"my_server_delete_it\"]\n";
    format!("[[hook]]\nname = \"x\"\npoint = \"BeforeToolUse\"\nmatch = {{ {matcher} }}\ndeny = \"no\"\n{tools}")
}

#[test]
fn no_agent_writes_the_configuration_of_any_host() {
    for host in super::HOSTS {
        let user = host.config.user.map(|spot| format!("{}/{}", spot.folder, spot.file));
        let project = host.config.project.map(str::to_owned);
        let rival = host.config.rival.zip(project.as_deref().and_then(|path| path.rsplit_once('/')));
        let rival = rival.map(|(rival, (folder, _))| format!("{folder}/{rival}"));
        for path in [user, project, rival].into_iter().flatten() {
            let path = path.trim_start_matches('/');
            assert!(vertebra_kit::is_protected(path), "{}: {path} is missing in `PROTECTED`", host.name);
        }
    }
    assert!(vertebra_kit::is_protected(settings::FILE_NAME));
}

#[tokio::test]
async fn a_command_that_begins_like_a_patch_is_a_command() {
    let call = |command: Value| {
        let input = json!({ "command": command });
        event("claude-code", &json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input }))
    };
    let policy = hook("command = 'forbidden'");
    let disguised = call(json!("*** Begin Patch\nrun forbidden"));
    assert_eq!(decision(&policy, &disguised).await, Some(Decision::Deny));
    // A tool that is not a patch tool keeps its arguments, whatever they look like.
    let input = json!({ "note": "*** Begin Patch", "paths": [".env"] });
    let other = json!({ "hook_event_name": "PreToolUse", "tool_name": "mcp__a__read", "tool_input": input });
    let policy = hook("path = '.env'");
    assert_eq!(decision(&policy, &event("claude-code", &other)).await, Some(Decision::Deny));
}

#[tokio::test]
async fn the_bash_policy_sees_a_command_under_either_name_and_as_a_list_of_words() {
    // Never run: only read.
    let harm = "rm -rf /";
    for input in [
        json!({ "command": harm }),
        json!({ "cmd": harm }),
        json!({ "command": "ls", "cmd": harm }),
        json!({ "command": ["bash", "-lc", harm] }),
    ] {
        let call = json!({
            "hook_event_name": "PreToolUse", "turn_id": "t", "model": "m", "cwd": "/repo", "tool_name": "Bash", "tool_input": input,
        });
        assert_eq!(decision("", &event("codex", &call)).await, Some(Decision::Deny), "{call}");
    }
    let unreadable =
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": { "a": 1 } } });
    assert!(read(&unreadable, find("codex"), None, &|_| None).is_err(), "no rule could judge it");
}

#[tokio::test]
async fn arguments_cannot_disguise_a_call_as_another_tool() {
    let call = |tool: &str, parameters: Value| {
        let call = json!({ "toolName": tool, "parameters": parameters });
        event("cline", &json!({ "clineVersion": "3", "hookName": "PreToolUse", "preToolUse": call }))
    };
    let shell = call("execute_command", json!({ "command": "rm -rf /", "server_name": "a", "tool_name": "b" }));
    assert_eq!(shell.happened.event["tool"], "bash");
    assert_eq!(decision("", &shell).await, Some(Decision::Deny));
    let server = call("use_mcp_tool", json!({ "server_name": "github", "tool_name": "push", "arguments": "{}" }));
    assert_eq!(server.happened.event["tool"], "mcp__github__push");
}

#[tokio::test]
async fn a_rule_about_an_mcp_tool_applies_at_every_moment_of_its_call() {
    let policy = hook("tool = 'MCP:push'");
    for (moment, tool) in [("preToolUse", "MCP:push"), ("beforeMCPExecution", "push")] {
        let call = json!({ "cursor_version": "2", "hook_event_name": moment, "tool_name": tool, "tool_input": "{}" });
        assert_eq!(decision(&policy, &event("cursor", &call)).await, Some(Decision::Deny), "{moment}");
    }
}

#[test]
fn the_folder_of_a_command_is_not_the_project() {
    let info = json!({ "command_line": "ls", "cwd": "/tmp" });
    let read = event("windsurf", &json!({ "agent_action_name": "pre_run_command", "tool_info": info }));
    assert_eq!(read.project, None, "a model chose that folder");
    assert_eq!(read.happened.event["working_directory"], "/tmp");
}

#[test]
fn control_characters_in_a_reason_are_escaped() {
    let call = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "ls" } });
    let event = event("claude-code", &call);
    let reason = "runs `\u{1b}[2J\u{202e}x`\n\tand more";
    for decision in [Decision::Ask, Decision::Deny] {
        let judged = Judgement {
            decision: Some(decision),
            reason: Some(reason.to_owned()),
            warnings: vec![reason.to_owned()],
            goes_on: true,
            ..Judgement::default()
        };
        let told = answer(&event, &judged);
        let said = told.stdout.clone() + &told.stderr;
        assert!(said.contains("\u{27e8}U+001B\u{27e9}[2J\u{27e8}U+202E\u{27e9}x"), "{said}");
        assert!(!said.contains("\\u001b") && !said.contains(['\u{1b}', '\u{202e}']), "{said}");
    }
    assert!(unread(None, None, reason).stderr.contains("`\n\tand more"), "lines stay lines");
}

#[tokio::test]
async fn an_mcp_tool_has_the_same_name_for_every_host() {
    let call = json!({
        "hook_event_name": "preToolUse", "cwd": "/repo", "tool_name": "@postgres/query", "tool_input": { "sql": "x" },
    });
    for matcher in ["tool = 'mcp__*'", "tool = 'mcp__postgres__query'", "tool = '@postgres/query'"] {
        assert_eq!(decision(&hook(matcher), &event("kiro", &call)).await, Some(Decision::Deny), "{matcher}");
    }
}

#[tokio::test]
async fn a_question_about_rewritten_arguments_is_denied_if_the_host_asks_later() {
    let call = json!({
        "hook_event_name": "preToolUse", "conversation_id": "c", "workspace_roots": ["/repo"], "tool_name": "Shell",
        "tool_input": { "command": "program-x" },
    });
    let rewriting =
        "[[hook]]\nname = \"x\"\npoint = \"BeforeToolUse\"\nmatch = { command = 'program-x' }\nask = \"sure?\"\n";
    let judged = |policy: String| {
        let event = event("cursor", &call);
        async move {
            let settings = settings::parse(&policy, settings::Level::User, "vertebra.toml").expect("settings").settings;
            let policy = Policy::new(&settings, &Services::default()).expect("a policy");
            answer(&event, &policy.judge(&event.happened).await)
        }
    };
    assert!(!judged(rewriting.to_owned()).await.refuses, "it is asked about where it runs");
    assert!(judged(format!("{rewriting}set = {{ command = \"echo safe\" }}\n")).await.refuses);
}

#[tokio::test]
async fn a_missing_variable_fails_only_the_hook_that_needs_it() {
    let call = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "ls" } });
    let run = "run = { http = \"https://example.org/x\", headers = { a = \"$UNSET_X\" }, env = [\"UNSET_X\"] }";
    for (more, expected) in [
        ("shadow = true", None),
        ("role = \"watch\"", None),
        ("on_failure = \"open\"", None),
        ("", Some(Decision::Deny)),
    ] {
        let policy = format!("[[hook]]\npoint = \"BeforeToolUse\"\n{more}\n{run}\n");
        assert_eq!(decision(&policy, &event("claude-code", &call)).await, expected, "{more}");
    }
}

/// The answer to an event under a policy.
async fn answered(policy: &str, event: &HostEvent) -> HostAnswer {
    let settings = settings::parse(policy, settings::Level::User, "vertebra.toml").expect("settings").settings;
    let policy = Policy::new(&settings, &Services::default()).expect("a policy");
    answer(event, &policy.judge(&event.happened).await)
}

#[tokio::test]
async fn neither_a_stop_nor_a_failing_guard_keeps_a_run_from_ending() {
    let stop = json!({ "hook_event_name": "Stop", "cwd": "/repo", "stop_hook_active": false });
    let child = json!({ "hook_event_name": "SubagentStop", "cwd": "/repo", "agent_type": "x" });
    let at = |point: &str, what: &str| format!("[[hook]]\nname = \"x\"\npoint = \"{point}\"\n{what}\n");
    let failing = "run = { command = \"/does/not/exist\" }";
    for host in ["claude-code", "codex", "vscode", "qwen", "factory"] {
        for what in ["stop = \"enough\"", failing] {
            let told = answered(&at("ShouldContinue", what), &event(host, &stop)).await;
            assert!(told.exit_code == 0 && !told.stdout.contains("block"), "{host}: {what}: {told:?}");
        }
        let told = answered(&at("SubagentStop", failing), &event(host, &child)).await;
        assert_eq!(told.exit_code, 0, "{host}: {told:?}");
    }
}

#[test]
fn a_session_is_denied_where_the_host_can_end_it() {
    let deny = Judgement {
        decision: Some(Decision::Deny),
        reason: Some("closed".to_owned()),
        goes_on: true,
        ..Judgement::default()
    };
    let start = json!({ "hook_event_name": "SessionStart", "source": "startup" });
    let denied = answer(&event("claude-code", &start), &deny);
    assert_eq!((&*denied.stdout, denied.refuses), (r#"{"continue":false,"stopReason":"closed"}"#, true), "{denied:?}");
    let lost = answer(&event("codex", &start), &deny);
    assert_eq!(
        (lost.refuses, &*lost.lost),
        (false, &["Codex CLI does not accept a denial from a hook at SessionStart".to_owned()][..])
    );
}

#[test]
fn a_run_without_a_limit_is_kept_going_only_once() {
    let block = Judgement { decision: Some(Decision::Block), goes_on: true, ..Judgement::default() };
    let child = |host: &str, again: bool| {
        let child = json!({ "hook_event_name": "SubagentStop", "agent_type": "x", "stop_hook_active": again });
        answer(&event(host, &child), &block)
    };
    assert!(child("codex", false).refuses && !child("codex", true).refuses, "Codex counts nothing");
    assert!(child("claude-code", true).refuses, "Claude Code counts by itself");
    // Cursor does not count hooks from Claude Code's files.
    let stop = |name: &str| json!({ "cursor_version": "2", "hook_event_name": name, "loop_count": 1 });
    assert!(answer(&event("cursor", &stop("stop")), &block).refuses);
    assert!(!answer(&event("cursor", &stop("Stop")), &block).refuses);
}

#[tokio::test]
async fn a_change_that_the_host_does_not_accept_is_reported() {
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "cwd": "/repo", "prompt": "hi" });
    let policy = "[[hook]]\nname = \"x\"\npoint = \"PromptSubmit\"\nset = { prompt = \"ho\" }\n";
    let told = answered(policy, &event("claude-code", &prompt)).await;
    assert!(told.lost.iter().any(|lost| lost.contains("change `prompt`")), "{told:?}");
}

#[tokio::test]
async fn context_for_a_subagent_reaches_it_or_is_reported_as_lost() {
    let policy = "[[hook]]\nname = \"x\"\npoint = \"SubagentStart\"\nadd_context = \"mind the gap\"\n";
    let child = json!({ "hook_event_name": "SubagentStart", "cwd": "/repo", "agent_type": "x", "prompt": "look" });
    let told = answered(policy, &event("claude-code", &child)).await;
    let said = r#"{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"mind the gap"}}"#;
    assert_eq!(told.stdout, said, "{told:?}");
    let child =
        json!({ "cursor_version": "2", "hook_event_name": "subagentStart", "subagent_type": "x", "task": "look" });
    let told = answered(policy, &event("cursor", &child)).await;
    assert!(told.lost.iter().any(|lost| lost.contains("does not accept context")), "{told:?}");
}

#[tokio::test]
async fn a_rewrite_that_cannot_be_translated_back_is_denied() {
    let call = json!({ "toolName": "write_bash", "toolArgs": { "shellId": "1", "input": "x{enter}" } });
    let read = read(&call, find("copilot"), Some("preToolUse"), &|_| None).expect("an event");
    let policy = "[[hook]]\nname = \"x\"\npoint = \"BeforeToolUse\"\nset = { command = \"echo safe\" }\n";
    let told = answered(policy, &read).await;
    assert!(told.refuses && told.stderr.contains("in its own format"), "{told:?}");
}

#[tokio::test]
async fn a_rule_about_a_server_matches_wherever_its_name_may_end() {
    let call = json!({
        "vertebra_shim": { "opencode": 1 }, "event": "tool.execute.before", "tool": "my_server_delete_it", "args": {},
    });
    for rule in
        ["mcp__my__server_delete_it", "mcp__my_server__delete_it", "mcp__my_server_delete__it", "my_server_delete_it"]
    {
        let policy = hook(&format!("tool = '{rule}'"));
        assert_eq!(decision(&policy, &event("opencode", &call)).await, Some(Decision::Deny), "{rule}");
    }
    let own = json!({ "vertebra_shim": { "opencode": 1 }, "event": "tool.execute.before", "tool": "apply_patch", "args": {} });
    assert_eq!(decision(&hook("tool = 'mcp__*'"), &event("opencode", &own)).await, None, "it is not an MCP tool");
}

#[test]
fn every_host_waits_longer_than_the_answer_takes() {
    /// Returns the limits in a text that is installed, in milliseconds: `"timeout": 60`, `timeout: 60000`.
    fn limits(text: &str) -> Vec<u64> {
        let parts = text.split("timeout").skip(1);
        let numbers = parts.filter_map(|part| {
            let is_millis = part.starts_with("_ms");
            let part = part.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            let number: u64 = digits.parse().ok()?;
            Some(if is_millis || number >= 1000 { number } else { number * 1000 })
        });
        numbers.collect()
    }
    for host in crate::host::HOSTS {
        let installed = match host.config.form {
            crate::host::Form::Json { gate, entry, .. } => vec![limits(gate), limits(entry)],
            crate::host::Form::Shim(text) => vec![limits(text)],
            crate::host::Form::Programs => vec![Vec::new()],
        };
        for limits in installed {
            match limits[..] {
                [] => assert_eq!(host.waits.as_secs(), 30, "{} is not told how long to wait", host.name),
                _ => assert!(limits.iter().all(|limit| u128::from(*limit) == host.waits.as_millis()), "{}", host.name),
            }
        }
        let spare = host.waits.saturating_sub(host.deadline());
        assert!(spare.as_secs() >= 5, "{} gives up {spare:?} after the deadline", host.name);
        assert!(host.deadline().as_secs() >= 20, "{} leaves hooks no time", host.name);
    }
}

#[tokio::test]
async fn a_tool_is_known_however_its_name_is_written_and_one_that_is_not_known_may_be_a_shell() {
    for (host, theirs, ours) in [
        ("claude-code", "BASH", "bash"),
        ("codex", "Shell", "bash"),
        ("codex", "exec_command", "bash"),
        ("gemini", "Run_Shell_Command", "bash"),
        ("kiro", "write", "edit_file"),
        ("kiro", "Write", "write_file"),
    ] {
        assert_eq!(find(host).expect("a host").our_name(theirs), ours, "{host} {theirs}");
    }
    let call = |tool: &str| json!({ "hook_event_name": "PreToolUse", "cwd": "/r", "tool_name": tool, "tool_input": { "command": "rm -rf /" } });
    for (tool, expected) in [("Terminal", Some(Decision::Deny)), ("mcp__there__run", None)] {
        assert_eq!(decision("", &event("claude-code", &call(tool))).await, expected, "{tool}");
    }
}

#[test]
fn where_a_host_reads_its_hooks_from_is_a_policy() {
    for host in super::HOSTS {
        let project = host.config.project.map(|path| path.replace('*', "any"));
        let user = host.config.user.map(|spot| format!("{}/{}", spot.folder, spot.file.replace('*', "any")));
        for path in project.into_iter().chain(user) {
            assert!(vertebra_kit::is_policy(path.trim_start_matches('/').as_ref()), "{}: {path}", host.name);
        }
    }
}
