//! Commands that speak Claude Code's contract, as hooks of ours.

use vertebra::testing::{prompt, used};

use super::*;

fn claude(line: &str) -> RunSettings {
    RunSettings::Command { command: Words::Line(line.to_owned()), contract: Contract::ClaudeCode, env: Vec::new() }
}

/// What a hook of this command makes of an event.
async fn hooked<P: vertebra_bridge::wire::Outside>(point: P, line: &str, event: P::Event) -> Fired<P> {
    let project = Project::new();
    let handler = project.build(&claude(line));
    handler.fits(P::NAME).expect("an event that Claude Code has");
    let mut set = HookSet::new();
    set.add_hook(point, External::new(handler, LONG)).named("outside");
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
        assert!(fired.outcome.record.decided_by_failure(), "{line}: {fired}");
    }
}

#[test]
fn a_point_that_claude_code_does_not_have_is_an_error_before_anything_happens() {
    let handler = Project::new().build(&claude("true"));
    let problem = handler.fits("BeforeStep").expect_err("no such event").to_string();
    assert!(problem.starts_with("Claude Code has no event at BeforeStep: leave `contract` out"), "{problem}");
}
