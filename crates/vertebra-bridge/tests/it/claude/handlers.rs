//! Cases of our own, from the contract: which handlers run, with what, and how.

use std::sync::Arc;

use serde_json::{Value, json};
use vertebra_bridge::wire::Decision;

use super::{
    ours::{at, effect, event, fails, specific},
    world::{Says, World, bash, mcp, serve},
};

#[tokio::test]
async fn handlers_run_at_the_same_time() {
    // Each waits for all others: one after another, none of them would end.
    let waits = "until test -e is-0 -a -e is-1 -a -e is-2 -a -e is-3; do sleep 0.02; done";
    let handler = |at: u8| json!({ "type": "command", "command": format!("touch is-{at}; {waits}"), "timeout": 20 });
    let handlers: Vec<Value> = (0..4).map(handler).collect();
    let got = World::with("Stop", None, &handlers.into()).fire(&event("Stop")).await;
    let codes: Vec<Option<i32>> = got.ran.iter().map(|ran| ran.exit_code).collect();
    assert_eq!(codes, [Some(0); 4]);
}

#[tokio::test]
async fn one_handler_runs_once_however_often_it_is_declared_and_a_plugins_copy_runs_too() {
    let mut world = World::new();
    let group = |matcher: &str| json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": "true" }] });
    let settings = json!({ "hooks": { "PreToolUse": [group("Bash"), group("*")] } });
    for level in ["user", "project", "local", "managed"] {
        world.settings(level, &settings);
    }
    let root = world.path("plugins/mine");
    world.write("plugins/mine/hooks/hooks.json", &settings.to_string());
    assert_eq!(world.fire(&bash("PreToolUse", "ls")).await.ran.len(), 1);
    world.plugin(root);
    assert_eq!(world.fire(&bash("PreToolUse", "ls")).await.ran.len(), 2);
}

#[tokio::test]
async fn of_two_declarations_of_one_handler_the_stricter_counts() {
    let world = World::command("PreToolUse", "exit 3");
    let strict = json!([{ "type": "command", "command": "exit 3", "onFailure": "block" }]);
    world.settings("user", &json!({ "hooks": { "PreToolUse": [{ "hooks": strict }] } }));
    let got = world.fire(&bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, got.ran.len()), (Some(Decision::Deny), 1));
}

#[tokio::test]
async fn no_declaration_of_another_level_takes_a_managed_gate_away() {
    let guard = json!({ "type": "command", "command": fails(2, "managed") });
    for more in [json!({ "async": true }), json!({ "async": true, "onFailure": "block" })] {
        let mut copy = guard.clone();
        copy.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let world = World::new();
        world.settings("managed", &json!({ "hooks": { "PreToolUse": [{ "hooks": [guard] }] } }));
        world.settings("local", &json!({ "hooks": { "PreToolUse": [{ "hooks": [copy] }] } }));
        assert_eq!(world.fire(&bash("PreToolUse", "ls")).await.decision, Some(Decision::Deny), "{more}");
        world.settings("managed", &json!({}));
        world.settings("user", &json!({ "hooks": { "PreToolUse": [{ "hooks": [guard] }] } }));
        assert_eq!(
            world.fire(&bash("PreToolUse", "ls")).await.decision,
            Some(Decision::Deny),
            "{more}, and a user's neither"
        );
    }
    // A server is asked with the headers that the managed settings have for it.
    let (url, heard) = serve(200, "{}");
    let world = World::new();
    let managed = json!({ "type": "http", "url": url, "headers": { "X-From": "managed" } });
    let copy = json!({ "type": "http", "url": url, "headers": { "X-From": "local" }, "onFailure": "block" });
    world.settings("managed", &json!({ "hooks": { "PreToolUse": [{ "hooks": [managed] }] } }));
    world.settings("local", &json!({ "hooks": { "PreToolUse": [{ "hooks": [copy] }] } }));
    world.fire(&bash("PreToolUse", "ls")).await;
    let heard = heard.lock().expect("heard").join("\n");
    assert!(heard.contains("managed") && !heard.contains("local"), "{heard}");
}

#[tokio::test]
async fn hooks_can_be_switched_off_by_whoever_may() {
    let hook = |word: &str| json!({ "Stop": [{ "hooks": [{ "type": "command", "command": format!(": {word}") }] }] });
    let cases = [
        (json!({}), json!({}), json!({}), 3),
        (json!({ "disableAllHooks": true }), json!({}), json!({}), 1),
        (json!({ "disableAllHooks": true }), json!({ "disableAllHooks": false }), json!({}), 3),
        (json!({}), json!({ "disableAllHooks": true }), json!({}), 1),
        (json!({}), json!({}), json!({ "disableAllHooks": true }), 0),
        (json!({}), json!({}), json!({ "allowManagedHooksOnly": true }), 1),
        (json!({ "allowManagedHooksOnly": true }), json!({}), json!({}), 3),
        (json!({}), json!({}), json!({ "strictPluginOnlyCustomization": ["hooks"] }), 1),
        (json!({}), json!({}), json!({ "strictPluginOnlyCustomization": ["skills"] }), 3),
    ];
    for (user, project, managed, expected) in cases {
        let world = World::new();
        for (level, said) in [("user", &user), ("project", &project), ("managed", &managed)] {
            let mut settings = said.clone();
            settings["hooks"] = hook(level);
            world.settings(level, &settings);
        }
        let got = world.fire(&event("Stop")).await;
        assert_eq!(got.ran.len(), expected, "{user} {project} {managed}");
    }
}

#[tokio::test]
async fn invalid_entries_are_ignored_with_a_warning_and_the_rest_is_used() {
    let world = World::new();
    let text = json!({
        "$schema": "x", "theme": 1,
        "hooks": {
            "Stop": [
                { "hooks": "none" }, 7, { "matcher": 1, "hooks": [] },
                { "id": "a", "description": "d", "hooks": [
                    { "type": "command", "command": "true", "name": "n", "statusMessage": "s" },
                    { "type": "command" }, { "type": "wasm" }, { "command": "true" },
                    { "type": "command", "command": "true", "timeout": "soon" },
                ] },
            ],
            "Finish": [{ "hooks": [] }],
            "PreToolUse": {},
        },
    });
    world.write("project/.claude/settings.json", &format!("\u{feff}{text}"));
    world.write("home/.claude/settings.json", "{ not json");
    assert_eq!(world.fire(&event("Stop")).await.ran.len(), 1);
    let warnings = world.read().warnings.join("\n");
    for expected in [
        "not JSON",
        "unknown event `Finish`; it is ignored",
        "hooks.PreToolUse must be a list",
        "no list of `hooks`",
        "`matcher` must be a string",
        "it has no `command`",
        "unknown handler type `wasm`",
        "it has no `type`",
        "`timeout` is a number of seconds; the handler is ignored",
    ] {
        assert!(warnings.contains(expected), "{expected} in {warnings}");
    }
}

#[tokio::test]
async fn handlers_of_kinds_that_an_event_has_not_never_run() {
    for (name, kind) in [
        ("SessionStart", "http"),
        ("SessionStart", "prompt"),
        ("Setup", "http"),
        ("Notification", "prompt"),
        ("PermissionRequest", "agent"),
        ("PreCompact", "agent"),
        ("SessionEnd", "prompt"),
    ] {
        let handler = json!([{ "type": kind, "url": "http://127.0.0.1:9/", "prompt": "p" }]);
        let world = World::with(name, None, &handler);
        assert_eq!(world.fire(&event(name)).await.ran.len(), 0, "{name} {kind}");
        assert!(world.read().warnings[0].contains("is not supported for"), "{name} {kind}");
    }
}

#[tokio::test]
async fn a_program_with_arguments_is_started_without_a_shell() {
    let world = World::new();
    let script = world.script("project/my hooks/say.sh", "#!/bin/sh\nprintf '%s|' \"$@\"\n");
    let args = json!(["$HOME; ls", "${CLAUDE_PROJECT_DIR}/x"]);
    let handler = json!([{ "type": "command", "command": script, "args": args }]);
    world.settings("project", &json!({ "hooks": { "SessionStart": [{ "hooks": handler }] } }));
    let got = world.fire(&event("SessionStart")).await;
    assert_eq!(got.model_context, [format!("$HOME; ls|{}/x|", world.project().display())]);
}

#[tokio::test]
async fn a_shell_can_be_chosen() {
    let handler =
        |shell: Value| json!([{ "type": "command", "command": "echo ${BASH_VERSION:+bash}", "shell": shell }]);
    let got = World::with("SessionStart", None, &handler("bash".into())).fire(&event("SessionStart")).await;
    assert_eq!(got.model_context, ["bash"]);
}

#[tokio::test]
async fn a_plugin_knows_its_places_and_its_options() {
    let mut world = World::new();
    let command = "\"${CLAUDE_PLUGIN_ROOT}/bin/hello\" '${CLAUDE_PLUGIN_DATA}'; echo $CLAUDE_PLUGIN_OPTION_API_URL";
    let hooks = json!({ "description": "d", "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    world.write("plugins/mine/hooks/hooks.json", &hooks.to_string());
    world.script("plugins/mine/bin/hello", "#!/bin/sh\necho \"hello $CLAUDE_PLUGIN_ROOT $1\"\n");
    world.settings("user", &json!({ "pluginConfigs": { "mine@market": { "options": { "api-url": "http://x" } } } }));
    let root = world.path("plugins/mine");
    world.plugin(root.clone());
    let got = world.fire(&event("SessionStart")).await;
    let data = world.path("plugin-data");
    assert_eq!(got.model_context, [format!("hello {} {}\nhttp://x", root.display(), data.display())]);
}

#[tokio::test]
async fn the_env_file_is_there_at_its_events_only() {
    for (name, there) in [
        ("SessionStart", true),
        ("CwdChanged", true),
        ("FileChanged", true),
        ("Setup", true),
        ("UserPromptSubmit", false),
        ("PreToolUse", false),
    ] {
        let got = at(name, "[ -n \"$CLAUDE_ENV_FILE\" ] || exit 3", json!({ "file_path": "a" })).await;
        assert_eq!(got.ran[0].exit_code == Some(0), there, "{name}");
    }
}

#[tokio::test]
async fn credentials_are_kept_back_where_that_is_asked_for() {
    let mut world = World::command("SessionStart", "echo \"$MY_TOKEN|$CLAUDE_EFFORT\"");
    world.session.variables.push(("MY_TOKEN".into(), "t".into()));
    let start = json!({ "hook_event_name": "SessionStart", "effort": { "level": "high" } });
    assert_eq!(world.fire(&start).await.model_context, ["t|high"]);
    world.session.variables.push(("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB".into(), "1".into()));
    assert_eq!(world.fire(&start).await.model_context, ["|high"]);
}

#[tokio::test]
async fn a_folder_that_is_gone_is_replaced_by_the_next_best() {
    let world = World::command("SessionStart", "pwd");
    let got = world.fire(&json!({ "hook_event_name": "SessionStart", "cwd": "/nowhere/at/all" })).await;
    assert_eq!(got.model_context, [world.project().to_string_lossy()]);
}

#[tokio::test]
async fn a_path_is_absolute_before_hooks_read_it() {
    let world = World::command("PreToolUse", "cat > \"$CLAUDE_PROJECT_DIR/stdin\"");
    let write =
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": { "file_path": "a/../b" } });
    world.fire(&write).await;
    let stdin: Value = serde_json::from_str(&world.text("project/stdin")).expect("JSON");
    assert_eq!(stdin["tool_input"]["file_path"], format!("{}/b", world.project().display()));
    assert!(world.text("project/stdin").ends_with('\n'), "`read` needs the end of a line");
}

#[tokio::test]
async fn the_end_of_a_session_waits_as_long_as_a_settings_file_says() {
    let handler = |timeout: Value| json!([{ "type": "command", "command": "sleep 2; exit 0", "timeout": timeout }]);
    let got = World::with("SessionEnd", None, &handler(Value::Null)).fire(&event("SessionEnd")).await;
    assert_eq!(got.ran[0].exit_code, None, "1.5 s unless told");
    let got = World::with("SessionEnd", None, &handler(5.into())).fire(&event("SessionEnd")).await;
    assert_eq!(got.ran[0].exit_code, Some(0));
    let mut world = World::new();
    let hooks = json!({ "hooks": { "SessionEnd": [{ "hooks": handler(5.into()) }] } });
    world.write("plugins/p/hooks/hooks.json", &hooks.to_string());
    world.plugin(world.path("plugins/p"));
    assert_eq!(world.fire(&event("SessionEnd")).await.ran[0].exit_code, None, "a plugin does not raise it");
}

#[tokio::test]
async fn a_server_is_sent_the_event_and_the_headers_it_may_have() {
    let answer = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}"#;
    let (url, seen) = serve(200, answer);
    let headers = json!({ "X-Token": "Bearer $MY_TOKEN", "X-Other": "a${OTHER}b", "X-Plain": "p" });
    let handler = json!([{ "type": "http", "url": url, "headers": headers, "allowedEnvVars": ["MY_TOKEN"] }]);
    let mut world = World::with("PreToolUse", None, &handler);
    world.session.variables.push(("MY_TOKEN".into(), "t".into()));
    world.session.variables.push(("OTHER".into(), "o".into()));
    assert_eq!(world.fire(&bash("PreToolUse", "ls")).await.decision, Some(Decision::Ask));
    let request = seen.lock().expect("a list")[0].to_ascii_lowercase();
    for expected in
        ["post /hook", "x-token: bearer t", "x-other: ab", "content-type: application/json", "\"tool_name\":\"bash\""]
    {
        assert!(request.contains(expected), "{expected} in {request}");
    }
    world.settings("managed", &json!({ "httpHookAllowedEnvVars": ["NONE"] }));
    world.fire(&bash("PreToolUse", "ls")).await;
    assert!(seen.lock().expect("a list")[1].to_ascii_lowercase().contains("x-token: bearer \r\n"));
    world.settings("managed", &json!({ "allowedHttpHookUrls": ["https://example.org/*"] }));
    let got = world.fire(&bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, seen.lock().expect("a list").len()), (None, 2));
    assert!(got.warnings[0].contains("allowedHttpHookUrls"), "{:?}", got.warnings);
}

#[tokio::test]
async fn no_status_of_a_server_blocks() {
    for (status, body) in [(500, ""), (403, r#"{"decision":"block"}"#), (302, ""), (200, "[]"), (200, "text")] {
        let (url, seen) = serve(status, body);
        let got = World::with("Stop", None, &json!([{ "type": "http", "url": url }])).fire(&event("Stop")).await;
        assert_eq!((got.decision, got.warnings.len()), (None, 1), "{status} {body}");
        assert_eq!(seen.lock().expect("a list").len(), 1, "no redirection is followed");
    }
    let refused = json!([{ "type": "http", "url": "http://127.0.0.1:1/" }]);
    let got = World::with("Stop", None, &refused).fire(&event("Stop")).await;
    assert_eq!((got.decision, got.warnings.len()), (None, 1));
}

#[tokio::test]
async fn a_tool_of_a_server_that_fails_does_not_block() {
    let handler = json!([{ "type": "mcp_tool", "server": "s", "tool": "t", "input": { "a": { "b": ["${tool_input.command}!", 1] } } }]);
    let mut world = World::with("PreToolUse", None, &handler);
    world.session.servers = mcp(&world, "no", "error").await;
    let got = world.fire(&bash("PreToolUse", "ls")).await;
    assert_eq!((got.decision, got.warnings.len()), (None, 1));
    assert_eq!(world.text("mcp-args.json"), r#"{"a":{"b":["ls!",1]}}"#);
}

#[tokio::test]
async fn a_model_that_objects_is_heard_as_each_event_has_it() {
    let prompt = |said: &str, name: &str, more: Value| {
        let mut handler = json!({ "type": "prompt", "prompt": "Is $ARGUMENTS fine?" });
        for (key, value) in more.as_object().into_iter().flatten() {
            handler[key] = value.clone();
        }
        let mut world = World::with(name, None, &json!([handler]));
        world.session.model = Some(Arc::new(Says(said.to_owned(), std::sync::Mutex::default())));
        world
    };
    let no = r#"{"ok":false,"reason":"R"}"#;
    let cases = [
        ("Stop", no, json!({}), Some(Decision::Block), true),
        ("Stop", r#"{"ok":false,"reason":"R","impossible":true}"#, json!({}), None, true),
        ("SubagentStop", no, json!({}), Some(Decision::Block), true),
        ("PostToolUse", no, json!({}), Some(Decision::Block), false),
        ("PostToolUse", no, json!({ "continueOnBlock": true }), Some(Decision::Block), true),
        ("UserPromptSubmit", no, json!({}), Some(Decision::Block), false),
        ("PostToolBatch", no, json!({}), Some(Decision::Block), false),
        ("PermissionRequest", no, json!({}), None, true),
        ("PermissionDenied", no, json!({}), None, true),
        ("PreToolUse", r#"{"ok":true}"#, json!({}), None, true),
        ("PreToolUse", no, json!({ "type": "agent" }), Some(Decision::Deny), true),
        ("PreToolUse", "I cannot say", json!({}), None, true),
    ];
    for (name, said, more, decision, goes_on) in cases {
        let got = prompt(said, name, more.clone()).fire(&bash(name, "ls")).await;
        assert_eq!((got.decision, got.goes_on), (decision, goes_on), "{name} {said} {more}: {got:?}");
    }
    let got = World::with("PreToolUse", None, &json!([{ "type": "prompt", "prompt": "p" }]))
        .fire(&bash("PreToolUse", "ls"))
        .await;
    assert_eq!((got.decision, got.warnings.len()), (None, 1), "without a model");
}

#[tokio::test]
async fn what_runs_beside_decides_nothing_and_is_heard_later() {
    let later = specific("PostToolUse", "\"additionalContext\":\"later\"");
    let handlers = json!([
        { "type": "command", "command": later, "async": true },
        { "type": "command", "command": "exit 2", "async": true },
        { "type": "command", "command": "echo out; exit 2", "asyncRewake": true },
    ]);
    let got = World::with("PostToolUse", None, &handlers).fire(&bash("PostToolUse", "ls")).await;
    assert_eq!((got.decision, got.ran.len()), (None, 3));
    assert!(got.model_context.is_empty());
    assert_eq!(effect(&got, "next_turn_context"), json!(["later"]));
    assert_eq!(effect(&got, "wakes_model_with"), "out");
}

#[tokio::test]
async fn settings_of_the_command_line_count_like_any_other() {
    let mut world = World::command("Stop", ": project");
    let more = json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": ": more" }] }] } });
    let path = world.write("more.json", &more.to_string());
    world.also(path.clone());
    let got = world.fire(&event("Stop")).await;
    let origins: Vec<&str> = got.ran.iter().filter_map(|ran| ran.origin.as_deref()).collect();
    assert_eq!(origins[0], path.to_string_lossy(), "the stronger first: {origins:?}");
    assert_eq!(origins.len(), 2);
}
