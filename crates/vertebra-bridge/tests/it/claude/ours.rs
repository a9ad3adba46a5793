//! Cases of our own, from the contract: what events do.

use serde_json::{Value, json};
use vertebra_bridge::wire::{Decision, Judgement};

use super::world::{World, bash, serve};

pub(super) fn event(name: &str) -> Value {
    json!({ "hook_event_name": name })
}

pub(super) fn prints(text: &str) -> String {
    format!("cat > /dev/null; printf '%s' '{text}'")
}

pub(super) fn fails(code: i32, stderr: &str) -> String {
    format!("echo '{stderr}' >&2; exit {code}")
}

pub(super) fn specific(event: &str, more: &str) -> String {
    prints(&format!("{{\"hookSpecificOutput\":{{\"hookEventName\":\"{event}\",{more}}}}}"))
}

pub(super) async fn at(name: &str, command: &str, fields: Value) -> Judgement {
    let mut event = fields;
    event["hook_event_name"] = name.into();
    World::command(name, command).fire(&event).await
}

pub(super) fn effect(judgement: &Judgement, key: &str) -> Value {
    judgement.effects.get(key).cloned().unwrap_or_default()
}

#[tokio::test]
async fn exit_code_2_blocks_where_the_event_can_block() {
    let cases = [
        ("PostToolUse", json!({ "tool_name": "Bash" }), Some(Decision::Block), "tool_result", json!("kept")),
        ("PostToolUseFailure", json!({ "tool_name": "Bash" }), Some(Decision::Block), "", Value::Null),
        ("TaskCompleted", json!({}), Some(Decision::Block), "task", json!("not completed")),
        ("TeammateIdle", json!({}), Some(Decision::Block), "teammate", json!("continues")),
        ("PreCompact", json!({ "trigger": "auto" }), Some(Decision::Block), "compaction", json!("blocked")),
        ("PreModelSwitch", json!({ "to_model": "m" }), Some(Decision::Block), "model_switch", json!("blocked")),
        ("Elicitation", json!({ "mcp_server_name": "s" }), Some(Decision::Block), "action", json!("decline")),
        ("ElicitationResult", json!({ "mcp_server_name": "s" }), Some(Decision::Block), "action", json!("decline")),
        ("ConfigChange", json!({ "source": "policy_settings" }), None, "change", json!("applied")),
        ("PermissionRequest", json!({ "tool_name": "Bash" }), None, "permission", json!("asked")),
        ("PermissionDenied", json!({ "tool_name": "Bash" }), None, "denial", json!("stands")),
        ("StopFailure", json!({ "error": "rate_limit" }), None, "effect", json!("none")),
        ("InstructionsLoaded", json!({ "load_reason": "include" }), None, "effect", json!("none")),
        ("MessageDisplay", json!({ "delta": "x" }), None, "screen", json!("x")),
        ("PostModelSwitch", json!({ "to_model": "m" }), None, "", Value::Null),
        ("DirectoryAdded", json!({ "source": "slash_command" }), None, "", Value::Null),
    ];
    for (name, fields, decision, key, expected) in cases {
        let got = at(name, &fails(2, "no"), fields).await;
        assert_eq!(got.decision, decision, "{name}: {got:?}");
        assert_eq!(got.reason.as_deref(), decision.map(|_| "no"), "{name}");
        if !key.is_empty() {
            assert_eq!(effect(&got, key), expected, "{name}: {got:?}");
        }
    }
}

#[tokio::test]
async fn an_objection_that_only_tells_is_told_to_the_person() {
    for (name, fields) in [
        ("Setup", json!({ "trigger": "init" })),
        ("SubagentStart", json!({ "agent_type": "x" })),
        ("CwdChanged", json!({})),
        ("FileChanged", json!({ "file_path": "/a/.env" })),
        ("PostCompact", json!({ "trigger": "auto" })),
        ("SessionEnd", json!({ "reason": "clear" })),
    ] {
        let got = at(name, &fails(2, "told"), fields).await;
        assert_eq!((got.decision, got.user_sees.as_deref()), (None, Some("told")), "{name}: {got:?}");
        assert!(got.goes_on && got.model_context.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn whose_objection_the_model_reads_and_whose_the_person() {
    for (name, to_model) in
        [("PostToolUse", true), ("TaskCreated", true), ("PreCompact", false), ("PostToolBatch", false)]
    {
        let got = at(name, &fails(2, "why"), json!({})).await;
        assert_eq!(got.model_sees.is_some(), to_model, "{name}");
        assert_eq!(got.user_sees.is_some(), !to_model, "{name}");
    }
}

#[tokio::test]
async fn a_decision_at_the_top_counts_at_the_events_that_know_it() {
    let block = prints("{\"decision\":\"block\",\"reason\":\"R\"}");
    for (name, counts) in [
        ("UserPromptSubmit", true),
        ("UserPromptExpansion", true),
        ("PostToolUseFailure", true),
        ("PostToolBatch", true),
        ("SubagentStop", true),
        ("ConfigChange", true),
        ("PreCompact", true),
        ("TaskCreated", true),
        ("PreModelSwitch", true),
        ("TaskCompleted", false),
        ("TeammateIdle", false),
        ("SessionStart", false),
        ("PermissionRequest", false),
        ("Elicitation", false),
    ] {
        let got = at(name, &block, json!({})).await;
        assert_eq!(got.decision.is_some(), counts, "{name}: {got:?}");
    }
}

#[tokio::test]
async fn the_old_words_for_a_decision_before_a_tool_are_understood() {
    let got = at("PreToolUse", &prints("{\"decision\":\"approve\"}"), bash("PreToolUse", "ls")).await;
    assert_eq!(got.decision, Some(Decision::Allow));
    let got = at("PreToolUse", &prints("{\"decision\":\"block\",\"reason\":\"R\"}"), bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, got.reason.as_deref()), (Some(Decision::Deny), Some("R")));
    let both = "{\"decision\":\"approve\",\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"}}";
    let got = at("PreToolUse", &prints(both), bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, got.reason.as_deref()), (Some(Decision::Deny), Some("Blocked by hook")));
}

#[tokio::test]
async fn plain_text_is_context_at_four_events_and_only_after_success() {
    for (name, is_context) in [
        ("UserPromptSubmit", true),
        ("UserPromptExpansion", true),
        ("SessionStart", true),
        ("PostModelSwitch", true),
        ("Setup", false),
        ("PreToolUse", false),
        ("PostToolUse", false),
        ("Stop", false),
        ("SubagentStart", false),
    ] {
        let got = at(name, &prints("hello"), json!({})).await;
        assert_eq!(got.model_context == ["hello"], is_context, "{name}: {got:?}");
        let got = at(name, "echo hello; exit 3", json!({})).await;
        assert!(got.model_context.is_empty() && got.warnings.len() == 1, "{name}: {got:?}");
    }
}

#[tokio::test]
async fn a_failure_that_does_not_block_says_so_in_the_contracts_words() {
    for (command, expected) in [
        ("echo first >&2; echo second >&2; exit 1", "Failed with non-blocking status code: first"),
        ("exit 1", "Failed with non-blocking status code: No stderr output"),
        ("/nowhere/at/all", "Failed with non-blocking status code: "),
        ("kill -9 $$", "non-blocking error: it was ended by signal 9"),
    ] {
        let got = at("PreToolUse", command, bash("PreToolUse", "ls")).await;
        assert_eq!(got.decision, None, "{command}");
        assert!(got.warnings.iter().any(|warning| warning.contains(expected)), "{command}: {:?}", got.warnings);
    }
}

#[tokio::test]
async fn a_python_script_that_is_not_there_blocks_by_its_interpreter_own_code() {
    let got = at("PreToolUse", "python3 /nowhere/missing.py", bash("PreToolUse", "ls")).await;
    assert_eq!(got.decision, Some(Decision::Deny));
    assert!(got.reason.is_some_and(|reason| reason.contains("missing.py")));
}

#[tokio::test]
async fn an_answer_on_any_code_decides_alone() {
    let deny = specific("PreToolUse", "\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"R\"");
    let got = at("PreToolUse", &format!("{deny}; exit 7"), bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, got.reason.as_deref()), (Some(Decision::Ask), Some("R")));
    assert!(got.warnings.is_empty());
}

#[tokio::test]
async fn on_failure_block_blocks_what_fails_and_lets_pass_what_does_not() {
    let handler =
        |command: &str| json!([{ "type": "command", "command": command, "onFailure": "block", "timeout": 1 }]);
    for (command, denied) in [
        ("exit 3", true),
        ("sleep 20", true),
        ("/nowhere/at/all", true),
        ("kill -9 $$", true),
        ("exit 0", false),
        ("printf '{}'; exit 1", false),
    ] {
        let got = World::with("PreToolUse", None, &handler(command)).fire(&bash("PreToolUse", "ls")).await;
        assert_eq!(got.decision == Some(Decision::Deny), denied, "{command}: {got:?}");
        if denied {
            let reason = got.reason.expect("a reason");
            assert!(reason.contains("blocking because onFailure is \"block\""), "{reason}");
        }
    }
    for name in ["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"] {
        let got = World::with(name, None, &handler("exit 3")).fire(&event(name)).await;
        assert_eq!(got.decision, None, "{name}");
    }
    let exec = json!([{ "type": "command", "command": "/nowhere/at/all", "args": [], "onFailure": "block" }]);
    let got = World::with("PreToolUse", None, &exec).fire(&bash("PreToolUse", "ls")).await;
    assert_eq!(got.decision, Some(Decision::Deny), "what cannot be started");
    let http = json!([{ "type": "http", "url": serve(500, "").0, "onFailure": "block" }]);
    let got = World::with("PreToolUse", None, &http).fire(&bash("PreToolUse", "ls")).await;
    assert_eq!(got.decision, Some(Decision::Deny), "a server that fails");
    let beside = json!([{ "type": "command", "command": "exit 3", "async": true, "onFailure": "block" }]);
    let got = World::with("PreToolUse", None, &beside).fire(&bash("PreToolUse", "ls")).await;
    assert_eq!(got.decision, None, "what runs beside");
}

#[tokio::test]
async fn of_several_permissions_the_strongest_counts() {
    let says = |word: &str| {
        let command = specific(
            "PreToolUse",
            &format!("\"permissionDecision\":\"{word}\",\"permissionDecisionReason\":\"{word}\""),
        );
        json!({ "type": "command", "command": command })
    };
    for (words, expected) in [
        (["allow", "ask"], Some(Decision::Ask)),
        (["ask", "deny"], Some(Decision::Deny)),
        (["defer", "deny"], Some(Decision::Deny)),
        (["allow", "defer"], Some(Decision::Allow)),
    ] {
        let handlers = Value::from(words.map(says).to_vec());
        let got = World::with("PreToolUse", None, &handlers).fire(&bash("PreToolUse", "ls")).await;
        assert_eq!(got.decision, expected, "{words:?}");
        assert_eq!(got.ran.len(), 2);
    }
}

#[tokio::test]
async fn a_call_can_be_put_off_where_nobody_is_there() {
    let mut world = World::command("PreToolUse", &specific("PreToolUse", "\"permissionDecision\":\"defer\""));
    world.session.is_attended = false;
    let got = world.fire(&bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, got.goes_on), (None, false));
    assert_eq!(effect(&got, "stop_reason"), "tool_deferred");
    assert!(got.warnings.is_empty());
}

#[tokio::test]
async fn the_last_to_end_says_what_the_input_is_and_all_contexts_are_kept() {
    let says = |command: &str, wait: &str| {
        let more = format!("\"updatedInput\":{{\"command\":\"{command}\"}},\"additionalContext\":\"{command}\"");
        json!({ "type": "command", "command": format!("sleep {wait}; {}", specific("PreToolUse", &more)) })
    };
    let world = World::with("PreToolUse", None, &json!([says("slow", "1"), says("quick", "0")]));
    let got = world.fire(&bash("PreToolUse", "ls")).await;
    assert_eq!(got.tool_input, Some(json!({ "command": "slow" })));
    assert_eq!(got.model_context, ["slow", "quick"]);
}

#[tokio::test]
async fn rules_judge_what_a_hook_made_of_the_call() {
    let rewrite = specific("PreToolUse", "\"permissionDecision\":\"allow\",\"updatedInput\":{\"command\":\"rm x\"}");
    let world = World::command("PreToolUse", &rewrite);
    world.settings("user", &json!({ "permissions": { "deny": ["Bash(rm *)"], "allow": ["Bash(ls)"] } }));
    let got = world.fire(&bash("PreToolUse", "ls")).await;
    assert_eq!(got.decision, Some(Decision::Deny));
    assert!(got.decided_by.is_some_and(|by| by.contains("permission rule `Bash(rm *)`")));
}

#[tokio::test]
async fn questions_and_plans_need_an_answer_and_not_only_a_yes() {
    let yes = specific("PreToolUse", "\"permissionDecision\":\"allow\"");
    let asked =
        json!({ "hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": { "questions": [] } });
    let got = World::command("PreToolUse", &yes).fire(&asked).await;
    assert_eq!(got.decision, None);
    let answered = specific("PreToolUse", "\"permissionDecision\":\"allow\",\"updatedInput\":{\"answers\":{}}");
    let got = World::command("PreToolUse", &answered).fire(&asked).await;
    assert_eq!(got.decision, Some(Decision::Allow));
}

#[tokio::test]
async fn permission_rules_hold_as_they_are_written() {
    let cases = [
        ("deny", "Bash(npm *)", "Bash", json!({ "command": "cd x && npm i" }), true),
        ("deny", "Bash(npm *)", "Bash", json!({ "command": "FOO=1 npm i" }), true),
        ("deny", "Bash(npm*)", "Bash", json!({ "command": "npmx" }), true),
        ("deny", "Bash(npm:*)", "Bash", json!({ "command": "npm" }), true),
        ("allow", "Bash(npm test *)", "Bash", json!({ "command": "npm test x && rm y" }), false),
        ("allow", "Bash(npm test *)", "Bash", json!({ "command": "PATH=. npm test x" }), false),
        ("allow", "Bash(grep *)", "Bash", json!({ "command": "xargs grep x" }), true),
        ("allow", "Bash(grep *)", "Bash", json!({ "command": "xargs -I{} grep x" }), false),
        ("allow", "Bash(npm test *)", "Bash", json!({ "command": "nohup npm test x" }), true),
        ("allow", "Bash(npm test *)", "Bash", json!({ "command": "builtin npm test x" }), true),
        ("deny", "Read(src/**)", "Read", json!({ "file_path": "deep/src/a" }), true),
        ("allow", "Edit(src/**)", "Edit", json!({ "file_path": "deep/src/a" }), false),
        ("allow", "Edit(src/**)", "Write", json!({ "file_path": "src/a" }), true),
        ("deny", "Edit(/docs/**)", "Edit", json!({ "file_path": "docs/a" }), true),
        ("deny", "Read(//etc/**)", "Read", json!({ "file_path": "/etc/passwd" }), true),
        ("deny", "Read(~/.ssh/**)", "Read", json!({ "file_path": "~/.ssh/id" }), true),
        ("deny", "mcp__git", "mcp__git__log", json!({}), true),
        ("deny", "mcp__*", "mcp__git__log", json!({}), true),
        ("deny", "mcp__git", "mcp__github__log", json!({}), false),
        ("deny", "Agent(Explore)", "Agent", json!({ "subagent_type": "Explore" }), true),
        ("deny", "Agent(Explore)", "Agent", json!({ "subagent_type": "Plan" }), false),
        ("ask", "Agent(model:opus)", "Agent", json!({ "model": "opus" }), true),
        ("deny", "WebFetch(domain:example.com)", "WebFetch", json!({ "url": "https://example.com/a" }), true),
        ("deny", "WebFetch(domain:*.example.com)", "WebFetch", json!({ "url": "https://a.example.com" }), true),
    ];
    for (effect, rule, tool, input, holds) in cases {
        let world = World::new();
        world.settings("project", &json!({ "permissions": { effect: [rule] } }));
        let mut input = input;
        if let Some(path) =
            input["file_path"].as_str().map(|path| path.replace('~', &world.path("home").to_string_lossy()))
        {
            input["file_path"] = path.into();
        }
        let got = world.fire(&json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input })).await;
        assert_eq!(got.decision.is_some(), holds, "{effect} {rule}: {input}: {got:?}");
    }
}

#[tokio::test]
async fn a_matcher_that_cannot_be_told_blocks_calls_and_nothing_else() {
    let handler = json!([{ "type": "command", "command": "exit 0" }]);
    let got = World::with("PreToolUse", Some("Bash("), &handler).fire(&bash("PreToolUse", "ls")).await;
    assert_eq!(got.decision, Some(Decision::Deny), "{got:?}");
    let got = World::with("PermissionRequest", Some("Bash("), &handler).fire(&bash("PermissionRequest", "ls")).await;
    assert_eq!(got.decision, Some(Decision::Deny));
    let world = World::with("PostToolUse", Some("Bash("), &handler);
    let got = world.fire(&bash("PostToolUse", "ls")).await;
    assert_eq!((got.decision, got.ran.len()), (None, 0));
    assert!(world.read().warnings[0].contains("it never runs"), "{:?}", world.read().warnings);
}

#[tokio::test]
async fn every_event_is_matched_by_its_own_field() {
    for (name, field, value) in [
        ("SessionStart", "source", "resume"),
        ("Setup", "trigger", "init"),
        ("UserPromptExpansion", "command_name", "deploy"),
        ("PermissionDenied", "tool_name", "Bash"),
        ("Notification", "notification_type", "idle_prompt"),
        ("SubagentStop", "agent_type", "Explore"),
        ("StopFailure", "error", "rate_limit"),
        ("InstructionsLoaded", "load_reason", "include"),
        ("ConfigChange", "source", "user_settings"),
        ("DirectoryAdded", "source", "slash_command"),
        ("PreCompact", "trigger", "manual"),
        ("PostCompact", "trigger", "manual"),
        ("PreModelSwitch", "to_model", "opus"),
        ("PostModelSwitch", "to_model", "opus"),
        ("Elicitation", "mcp_server_name", "s"),
        ("SessionEnd", "reason", "clear"),
    ] {
        let world = World::with(name, Some(value), &json!([{ "type": "command", "command": "true" }]));
        for (given, expected) in [(value, 1), ("another", 0)] {
            let got = world.fire(&json!({ "hook_event_name": name, field: given })).await;
            assert_eq!(got.ran.len(), expected, "{name} {given}");
        }
    }
    for name in ["UserPromptSubmit", "Stop", "PostToolBatch", "TaskCreated", "CwdChanged", "WorktreeCreate"] {
        let world = World::with(name, Some("never"), &json!([{ "type": "command", "command": "echo /tmp" }]));
        assert_eq!(world.fire(&event(name)).await.ran.len(), 1, "{name} has no matcher");
    }
}

#[tokio::test]
async fn a_condition_is_for_events_about_tools() {
    let handler = json!([{ "type": "command", "command": "true", "if": "Bash(git *)" }]);
    let got = World::with("UserPromptSubmit", None, &handler).fire(&event("UserPromptSubmit")).await;
    assert_eq!(got.ran.len(), 0);
    let world = World::with("PostToolUse", None, &handler);
    assert_eq!(world.fire(&bash("PostToolUse", "git log")).await.ran.len(), 1);
    assert_eq!(world.fire(&bash("PostToolUse", "ls")).await.ran.len(), 0);
}

#[tokio::test]
async fn a_switch_of_models_is_blocked_by_silence() {
    let slow = json!([{ "type": "command", "command": "sleep 20", "timeout": 1 }]);
    let got = World::with("PreModelSwitch", None, &slow)
        .fire(&json!({ "hook_event_name": "PreModelSwitch", "to_model": "m" }))
        .await;
    assert_eq!(got.decision, Some(Decision::Block));
    let ask = specific("PreModelSwitch", "\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"dear\"");
    assert_eq!(at("PreModelSwitch", &ask, json!({})).await.decision, Some(Decision::Ask));
    let deny = specific("PreModelSwitch", "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"dear\"");
    let got = at("PreModelSwitch", &deny, json!({})).await;
    assert_eq!((got.decision, got.user_sees.as_deref()), (Some(Decision::Deny), Some("dear")));
    assert_eq!(got.effects["model_switch"], "blocked");
}

#[tokio::test]
async fn a_worktree_is_where_the_last_line_says() {
    let got = at("WorktreeCreate", "echo making; echo; echo /tmp/w1; echo", json!({ "name": "w1" })).await;
    assert_eq!(effect(&got, "worktree"), "/tmp/w1");
    let got = at("WorktreeCreate", "true", json!({ "name": "w1" })).await;
    assert_eq!((effect(&got, "worktree"), got.decision), (json!("creation fails"), Some(Decision::Block)));
    let (url, _) = serve(200, r#"{"hookSpecificOutput":{"hookEventName":"WorktreeCreate","worktreePath":"/tmp/w2"}}"#);
    let world = World::with("WorktreeCreate", None, &json!([{ "type": "http", "url": url }]));
    assert_eq!(effect(&world.fire(&event("WorktreeCreate")).await, "worktree"), "/tmp/w2");
    let folder = tempfile::tempdir().expect("a folder");
    let remove = json!({ "worktree_path": folder.path() });
    assert_eq!(effect(&at("WorktreeRemove", "exit 1", remove.clone()).await, "worktree"), "removal fails");
    assert_eq!(effect(&at("WorktreeRemove", "exit 0", remove).await, "worktree"), "removed");
}

#[tokio::test]
async fn what_else_hooks_answer_is_told_on() {
    let start = "\"initialUserMessage\":\"go\",\"sessionTitle\":\"T\",\"watchPaths\":[\"a\"],\"reloadSkills\":true";
    let got = at("SessionStart", &specific("SessionStart", start), json!({})).await;
    assert_eq!(effect(&got, "initialUserMessage"), "go");
    assert_eq!(effect(&got, "watchPaths"), json!(["a"]));
    let got =
        at("Elicitation", &specific("Elicitation", "\"action\":\"accept\",\"content\":{\"a\":1}"), json!({})).await;
    assert_eq!((effect(&got, "action"), effect(&got, "content")), (json!("accept"), json!({ "a": 1 })));
    let got = at("UserPromptSubmit", &prints("{\"systemMessage\":\"S\",\"suppressOutput\":true}"), json!({})).await;
    assert_eq!(got.user_sees.as_deref(), Some("S"));
    let got = at("DirectoryAdded", &prints("{\"systemMessage\":\"S\"}"), json!({ "source": "slash_command" })).await;
    assert_eq!(got.model_context, ["S"]);
    for (sequence, told) in [
        (r"\u0007", json!(["\u{7}"])),
        (r"\u001b]0;title\u0007", json!(["\u{1b}]0;title\u{7}"])),
        (r"\u001b]52;c;c2VjcmV0\u0007", Value::Null),
        (r"\u001b[2J", Value::Null),
        ("text", Value::Null),
    ] {
        let got = at("Stop", &prints(&format!("{{\"terminalSequence\":\"{sequence}\"}}")), json!({})).await;
        assert_eq!(effect(&got, "terminal_sequences"), told, "{sequence}");
    }
}

#[tokio::test]
async fn a_stop_is_told_from_its_reasons() {
    let both = "{\"decision\":\"block\",\"reason\":\"R\",\"hookSpecificOutput\":{\"hookEventName\":\"Stop\",\"additionalContext\":\"C\"}}";
    let got = at("Stop", &prints(both), json!({})).await;
    assert_eq!(effect(&got, "model_next"), "R\nC");
    assert!(got.model_sees.is_some_and(|read| read.contains("Stop hook feedback")));
    let got = at("Stop", &prints("{\"decision\":\"block\"}"), json!({})).await;
    assert_eq!(effect(&got, "model_next"), "Blocked by hook");
    let got = at("Stop", &fails(2, ""), json!({})).await;
    assert_eq!(effect(&got, "model_next"), "No stderr output");
}

#[tokio::test]
async fn what_replaces_a_result_has_the_tools_own_form() {
    let response = json!({ "stdout": "secret", "stderr": "", "interrupted": false, "isImage": false });
    let fields = json!({ "tool_name": "Bash", "tool_input": {}, "tool_response": response });
    let whole = "\"updatedToolOutput\":{\"stdout\":\"[x]\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false}";
    let got = at("PostToolUse", &specific("PostToolUse", whole), fields.clone()).await;
    assert_eq!(effect(&got, "tool_result")["stdout"], "[x]");
    for wrong in ["\"updatedToolOutput\":{\"stdout\":1}", "\"updatedMCPToolOutput\":\"x\"", "\"updatedToolOutput\":[]"]
    {
        let got = at("PostToolUse", &specific("PostToolUse", wrong), fields.clone()).await;
        assert_eq!(effect(&got, "tool_result"), "original kept", "{wrong}");
        assert_eq!(got.warnings.len(), 1);
    }
}

#[tokio::test]
async fn long_texts_are_cut_and_kept_in_a_file() {
    let got = at("PreToolUse", "head -c 20000 /dev/zero | tr '\\0' x >&2; exit 2", bash("PreToolUse", "ls")).await;
    let reason = got.reason.expect("a reason");
    assert!(reason.contains("20000 characters in all") && reason.chars().count() < 3000, "{}", reason.len());
    for text in [reason, got.model_sees.expect("a text")] {
        let path = text.rsplit(" in ").next().expect("a path").trim_end_matches(')').to_owned();
        assert_eq!(std::fs::read_to_string(&path).expect("the file").len(), 20_000);
        std::fs::remove_file(path).expect("it goes");
    }
}

#[tokio::test]
async fn a_denial_of_one_is_not_the_end_of_others_and_stopping_beats_all() {
    let handlers = json!([
        { "type": "command", "command": prints("{\"continue\":false,\"stopReason\":\"halt\"}") },
        { "type": "command", "command": fails(2, "no") },
    ]);
    let got = World::with("PreToolUse", None, &handlers).fire(&bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, got.goes_on, got.user_sees.as_deref()), (Some(Decision::Deny), false, Some("halt")));
}

#[tokio::test]
async fn who_answers_a_question_for_a_person() {
    let decide = |more: &str| specific("PermissionRequest", &format!("\"decision\":{{{more}}}"));
    let asked = bash("PermissionRequest", "npm i");
    let got = at("PermissionRequest", &decide("\"behavior\":\"allow\""), asked.clone()).await;
    assert_eq!((got.decision, effect(&got, "permission")), (Some(Decision::Allow), json!("granted")));
    let both = json!([
        { "type": "command", "command": decide("\"behavior\":\"allow\"") },
        { "type": "command", "command": decide("\"behavior\":\"deny\"") },
    ]);
    let got = World::with("PermissionRequest", None, &both).fire(&asked).await;
    assert_eq!((got.decision, got.reason.as_deref()), (Some(Decision::Deny), Some("Blocked by hook")));
    let other = decide("\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"npm ci\"}");
    let got = at("PermissionRequest", &other, asked).await;
    assert_eq!(got.tool_input, Some(json!({ "command": "npm ci" })));
}

#[tokio::test]
async fn an_event_that_claude_code_does_not_have_is_a_warning() {
    let got = World::new().fire(&event("BeforeToolUse")).await;
    assert!(got.warnings[0].contains("`hook_event_name` is unknown: `BeforeToolUse`") && got.ran.is_empty());
}

#[tokio::test]
async fn a_session_begins_in_the_mode_that_settings_say() {
    let world = World::command("Stop", "cat > \"$CLAUDE_PROJECT_DIR/stdin\"");
    world.settings("user", &json!({ "permissions": { "defaultMode": "plan" } }));
    world.fire(&event("Stop")).await;
    let stdin: Value = serde_json::from_str(&world.text("project/stdin")).expect("JSON");
    assert_eq!((stdin["permission_mode"].as_str(), stdin["stop_hook_active"].as_bool()), (Some("plan"), Some(false)));
}

#[tokio::test]
async fn whoever_writes_more_than_anybody_reads_has_not_said_yes() {
    for command in ["head -c 2000000 /dev/zero", "head -c 2000000 /dev/zero >&2; exit 2"] {
        let got = at("PreToolUse", command, bash("PreToolUse", "echo hello")).await;
        assert_eq!(got.decision, Some(Decision::Deny), "{command}: {got:?}");
    }
}

#[tokio::test]
async fn an_answer_that_javascript_reads_counts() {
    let denies = |reason: &str| {
        format!(
            "{{\"hookSpecificOutput\":{{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"{reason}\"}}}}"
        )
    };
    for (text, reason) in [
        (denies("a\\ud83dz"), "a\u{fffd}z"),
        (denies("\\udc00 \\\\ \\ud83d\\ude00"), "\u{fffd} \\ \u{1f600}"),
        (format!("\u{feff}{}", denies("no")), "no"),
    ] {
        let world = World::command("PreToolUse", "cat > /dev/null; cat \"$CLAUDE_PROJECT_DIR/answer\"");
        world.write("project/answer", &text);
        let event = bash("PreToolUse", "echo hello");
        let got = world.fire(&event).await;
        assert_eq!((got.decision, got.reason.as_deref()), (Some(Decision::Deny), Some(reason)), "{text}");
    }
    let got = at(
        "PreToolUse",
        &prints("{\"decision\":\"block\",\"reason\":\"r\",\"x\":1e999}"),
        bash("PreToolUse", "echo hello"),
    )
    .await;
    assert!(got.warnings.iter().any(|warning| warning.contains("number out of range")), "{got:?}");
}

#[tokio::test]
async fn the_old_name_of_agents_is_still_understood() {
    for (matcher, expected) in [("Task", true), ("Agent", true), ("^Task$", true), ("Bash", false)] {
        let world = World::new();
        let group = json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": "exit 2" }] });
        world.settings("project", &json!({ "hooks": { "PreToolUse": [group] } }));
        let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_input": { "prompt": "x" } });
        assert_eq!(world.fire(&event).await.decision.is_some(), expected, "{matcher}");
    }
}
