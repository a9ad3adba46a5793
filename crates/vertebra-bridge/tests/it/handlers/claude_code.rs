//! Commands that speak Claude Code's contract, as hooks of ours.

use vertebra::{
    AgentPoint, AnyHook as _, AnyPoint,
    testing::{prompt, used},
};

use super::*;

fn claude(line: &str) -> RunSettings {
    RunSettings::Command {
        command: Words::Line(line.to_owned()),
        contract: Contract::ClaudeCode { only_if: None },
        env: Vec::new(),
    }
}

/// What a hook of this command makes of an event.
async fn hooked<P: AgentPoint>(point: P, line: &str, event: P::Event) -> Fired<P> {
    let project = Project::new();
    let handler = project.build(&claude(line));
    handler.fits(P::NAME).expect("an event that Claude Code has");
    let mut set = HookSet::new();
    set.add_hook(point.named("outside"), External::new(handler, LONG).at(point));
    fire(&Hooks::new(set).expect("hooks"), point, event).await
}

fn edit() -> vertebra::events::ToolAsked {
    call("edit_file", json!({ "path": "a.rs", "old_string": "a", "new_string": "b" }))
}

#[tokio::test]
async fn a_script_reads_claude_codes_event_and_denies_in_its_words() {
    let line = r#"event=$(cat); test "$CLAUDE_PROJECT_DIR" = "$(pwd)" || exit 1
        case $event in *'"hook_event_name":"PreToolUse"'*'"tool_name":"Edit"'*'"file_path":"/repo/a.rs"'*)
        echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
               "permissionDecisionReason": "not this file"}}';; esac"#;
    assert_eq!(hooked(BeforeToolUse, line, edit()).await.to_string(), "denied by outside: not this file");
}

#[tokio::test]
async fn exit_code_two_denies_and_plain_text_says_nothing_about_a_call() {
    let fired = hooked(BeforeToolUse, "echo 'no edits' >&2; exit 2", edit()).await;
    assert_eq!(fired.to_string(), "denied by outside: no edits");
    assert_eq!(hooked(BeforeToolUse, "echo checked", edit()).await.to_string(), "proceeded");
}

#[tokio::test]
async fn arguments_that_a_script_changes_come_back_in_our_names() {
    let line = r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"file_path": "/repo/b.rs", "old_string": "a", "new_string": "b"}}}'"#;
    let fired = hooked(BeforeToolUse, line, edit()).await;
    assert_eq!(fired.changes(), ["outside: /args/path = \"/repo/b.rs\""]);
    assert_eq!(fired.verdict().kind(), vertebra::Kind::Allow);
}

#[tokio::test]
async fn what_a_script_says_of_a_prompt_or_a_result_reaches_the_model() {
    let fired = hooked(PromptSubmit, "echo 'It is Monday.'", prompt("hello")).await;
    assert_eq!(fired.event.context, ["It is Monday."]);
    let line = r#"echo '{"decision": "block", "reason": "run the linter"}'"#;
    let mut fired = hooked(AfterToolUse, line, used("bash", json!({ "command": "ls" }), "done")).await;
    assert_eq!(vertebra_bridge::wire::take_context(&mut fired.state), ["run the linter"]);
}

#[tokio::test]
async fn a_failure_is_a_failure_under_the_policy_of_its_hook() {
    for line in ["echo broken >&2; exit 1", "kill -9 $$", "echo '{\"decision\": \"maybe\"}'"] {
        let fired = hooked(BeforeToolUse, line, edit()).await;
        assert!(fired.record.decided_by_failure(), "{line}: {fired}");
    }
}

#[test]
fn a_point_that_claude_code_does_not_have_is_an_error_before_anything_happens() {
    let handler = Project::new().build(&claude("true"));
    let problem = handler.fits("BeforeStep").expect_err("no such event").to_string();
    assert!(problem.starts_with("Claude Code has no event at BeforeStep: leave `contract` out"), "{problem}");
}

#[tokio::test]
async fn a_script_under_a_condition_is_asked_about_the_calls_of_its_rule_alone() {
    let project = Project::new();
    let under = |rule: &str| {
        let contract = Contract::ClaudeCode { only_if: Some(rule.to_owned()) };
        let command = Words::Line("echo no >&2; exit 2".to_owned());
        project.build(&RunSettings::Command { command, contract, env: Vec::new() })
    };
    for (rule, event, expected) in [
        ("Bash(git push *)", call("bash", json!({ "command": "cd app && git push -f" })), "denied by outside: no"),
        ("Bash(git push *)", call("bash", json!({ "command": "git status" })), "proceeded"),
        ("Bash(git push *)", call("bash", json!({ "command": "git $(echo push)" })), "denied by outside: no"),
        ("Edit(*.rs)", edit(), "denied by outside: no"),
        ("Edit(*.ts)", edit(), "proceeded"),
        ("Bash", edit(), "proceeded"),
    ] {
        let mut set = HookSet::new();
        set.add_hook(BeforeToolUse.named("outside"), External::new(under(rule), LONG).at(BeforeToolUse));
        let fired = fire(&Hooks::new(set).expect("hooks"), BeforeToolUse, event).await;
        assert_eq!(fired.to_string(), expected, "{rule}");
    }
    assert!(under("Bash").fits("PromptSubmit").is_err_and(|error| error.to_string().contains("there is none")));
}

/// What a script reads at an event.
async fn read_at<P: AgentPoint>(point: P, event: P::Event) -> Value {
    let project = Project::new();
    let handler = project.build(&claude("cat > read.json"));
    let mut set = HookSet::new();
    set.add_hook(point.named("outside"), External::new(handler, LONG).at(point));
    fire(&Hooks::new(set).expect("hooks"), point, event).await;
    let read = fs::read_to_string(project.path("read.json")).expect("what it read");
    serde_json::from_str(&read).expect("an event")
}

fn happened<P: AgentPoint>(point: P, fields: &Value) -> P::Event {
    let fields = fields.as_object().expect("fields");
    let happened = vertebra_bridge::wire::Happened::at(AnyPoint::of(point), fields).expect("an event");
    happened.typed(point).expect("an event of the point")
}

#[tokio::test]
async fn a_script_reads_what_the_event_knows_and_nothing_made_up() {
    let nothing = Value::Null;
    let child =
        json!({ "depth": 1, "run_id": "run-7", "agent": "explorer", "tool": "bash", "args": { "command": "ls" } });
    let of_host = json!({ "depth": 1, "agent": "claude-code", "tool": "bash", "args": { "command": "ls" } });
    let read = read_at(BeforeToolUse, happened(BeforeToolUse, &child)).await;
    for (key, value) in [
        ("agent_id", json!("run-7")),
        ("agent_type", json!("explorer")),
        ("prompt_id", json!("run-7")),
        ("permission_mode", json!("default")),
        ("transcript_path", json!("")),
    ] {
        assert_eq!(read[key], value, "{key}: {read}");
    }
    let read = read_at(BeforeToolUse, happened(BeforeToolUse, &of_host)).await;
    assert_eq!((&read["agent_type"], read["agent_id"].is_string()), (&nothing, true), "{read}");
    let read = read_at(BeforeToolUse, edit()).await;
    assert_eq!((&read["agent_id"], &read["agent_type"]), (&nothing, &nothing), "nobody's child: {read}");

    for (resumed, source) in [(true, "resume"), (false, "startup")] {
        let read = read_at(SessionStart, happened(SessionStart, &json!({ "resumed": resumed }))).await;
        assert_eq!(read["source"], source);
        assert_eq!((&read["permission_mode"], &read["prompt_id"]), (&nothing, &nothing), "{read}");
    }
    let read = read_at(SubagentStop, happened(SubagentStop, &json!({ "subagent": "explorer", "text": "done" }))).await;
    assert_eq!((&read["agent_type"], &read["agent_id"]), (&json!("explorer"), &nothing), "{read}");
    let failed = json!({ "tool": "bash", "args": { "command": "ls" }, "error": "no", "duration_ms": 7 });
    let read = read_at(ToolUseFailed, happened(ToolUseFailed, &failed)).await;
    assert_eq!((&read["duration_ms"], &read["is_interrupt"]), (&json!(7), &json!(false)), "{read}");
}

#[tokio::test]
async fn the_file_of_a_result_is_known_whoever_wrote_it() {
    for key in ["path", "file_path"] {
        let args = json!({ key: "/repo/a.rs", "content": "x" });
        let read = read_at(AfterToolUse, used("write_file", args, "written")).await;
        assert_eq!(read["tool_response"]["filePath"], "/repo/a.rs", "{key}: {read}");
    }
}

#[tokio::test]
async fn what_a_script_says_to_the_person_stands_with_the_reason_or_else_reaches_the_model() {
    let says = |more: &str| format!(r#"echo '{{"systemMessage": "mind the gap"{more}}}'"#);
    let decides = |word: &str| {
        let of = r#", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "WORD",
            "permissionDecisionReason": "because"}"#;
        says(&of.replace("WORD", word))
    };
    let told = hooked(BeforeToolUse, &decides("deny"), edit()).await.to_string();
    assert_eq!(told, "denied by outside: because\nmind the gap");
    for line in [says(""), decides("allow")] {
        let mut fired = hooked(BeforeToolUse, &line, edit()).await;
        assert_eq!(vertebra_bridge::wire::take_context(&mut fired.state), ["mind the gap"], "{line}");
    }
    let fired = hooked(PromptSubmit, &says(r#", "decision": "block", "reason": "not now""#), prompt("hello")).await;
    assert_eq!(fired.to_string(), "denied by outside: mind the gap\nnot now");
}

#[tokio::test]
async fn a_guard_whose_script_tells_the_person_something_still_decides() {
    let says = |more: &str| format!(r#"echo '{{"systemMessage": "checked"{more}}}'"#);
    for (line, expected) in [(says(""), "proceeded"), (says(r#", "decision": "block""#), "denied by outside")] {
        let project = Project::new();
        let mut set = HookSet::new();
        set.add_guard(
            BeforeToolUse.named("outside"),
            External::new(project.build(&claude(&line)), LONG).at(BeforeToolUse),
        );
        let fired = fire(&Hooks::new(set).expect("hooks"), BeforeToolUse, edit()).await.to_string();
        assert!(fired.starts_with(expected), "{fired}");
    }
}
