//! What is taken over works as it did, and what would not is told.

use serde_json::{Value, json};

use super::{Machine, Told};

/// Imports these settings.
fn imported(machine: &Machine, settings: &Value) -> Told {
    machine.write("project/.claude/settings.json", &settings.to_string());
    machine.runs(&["hooks", "import"])
}

/// Settings with these handlers at an event.
fn at(event: &str, matcher: &str, handlers: &Value) -> Value {
    json!({ "hooks": { event: [{ "matcher": matcher, "hooks": handlers }] } })
}

/// What the policy makes of a call of Claude Code.
fn judged(machine: &Machine, tool: &str) -> Value {
    let event = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": machine.path("project"), "tool_name": tool,
        "tool_input": { "command": "ls", "file_path": "a" },
    });
    machine.write("event.json", &event.to_string());
    machine.runs(&["hooks", "fire", &machine.event(), "--config", "vertebra.toml"]).json()
}

#[test]
fn an_invalid_rule_is_reported_and_the_others_are_imported() {
    let machine = Machine::new();
    let rules = json!({ "deny": ["Bash(wget *| bash*)", "Read(**/.env)", 7], "allow": ["Edit:*", "Bash(ls *)"] });
    let told = imported(&machine, &json!({ "permissions": rules }));
    assert_eq!(told.code, 0, "{}", told.err);
    for words in [
        "! permissions.deny: `Bash(wget *| bash*)` is not imported",
        "! permissions.allow: `Edit:*` is not imported",
        "! permissions.deny: invalid rule 7",
        "✓ permissions.deny: Read(**/.env)",
        "✓ permissions.allow: Bash(ls *)",
    ] {
        assert!(told.err.contains(words), "{words}: {}", told.err);
    }
    let written = machine.read("project/vertebra.toml");
    assert!(!written.contains("wget") && written.contains("Read(**/.env)"), "{written}");
    let told = machine.runs(&["hooks", "list"]);
    assert_eq!(told.code, 0, "what was written can be loaded: {}", told.err);
}

#[test]
fn an_invalid_result_is_not_written() {
    let machine = Machine::new();
    let before = "[permissions]\ndeny = [\"Edit:*\"]\n";
    machine.write("project/vertebra.toml", before);
    let told = imported(&machine, &at("PreToolUse", "Bash", &json!([{ "type": "command", "command": "true" }])));
    assert!(told.code == 1 && told.err.contains("nothing was changed"), "{}", told.err);
    assert_eq!(machine.read("project/vertebra.toml"), before);
}

#[test]
fn a_gate_that_is_imported_stays_shut_however_its_command_is_written() {
    let says_no = "echo no >&2; exit 2";
    for handler in [
        json!({ "shell": "bash", "command": format!("[[ a == a ]] && {{ {says_no}; }}") }),
        json!({ "command": "${CLAUDE_PROJECT_DIR}/check.sh", "args": [] }),
        json!({ "command": "sh", "args": ["${CLAUDE_PROJECT_DIR}/check.sh"] }),
        json!({ "command": "\"$CLAUDE_PROJECT_DIR\"/check.sh" }),
        json!({ "command": "'${CLAUDE_PROJECT_DIR}/check.sh'" }),
    ] {
        let machine = Machine::new();
        machine.script("project/check.sh", says_no);
        let mut whole = handler.clone();
        whole["type"] = "command".into();
        let told = imported(&machine, &at("PreToolUse", "", &json!([whole])));
        let judged = judged(&machine, "Bash");
        assert_eq!(judged["reason"], "no", "{handler}: {judged} {}", told.err);
    }
}

#[test]
fn variables_that_only_claude_code_knows_are_not_imported() {
    let machine = Machine::new();
    let handlers: Vec<Value> = [
        json!({ "command": "${CLAUDE_PLUGIN_ROOT}/check.sh" }),
        json!({ "command": "cat $CLAUDE_PLUGIN_DATA/list" }),
        json!({ "command": "check", "args": ["${CLAUDE_PLUGIN_OPTION_MODE}"] }),
        json!({ "command": "check", "args": ["../${CLAUDE_PROJECT_DIR}.old"] }),
        json!({ "command": "check", "shell": "fish" }),
        json!({ "command": "check", "args": [1] }),
    ]
    .into_iter()
    .map(|mut handler| {
        handler["type"] = "command".into();
        handler
    })
    .collect();
    let told = imported(&machine, &at("PreToolUse", "Bash", &json!(handlers)));
    for (number, words) in [
        "import the plugin's hooks/hooks.json",
        "`CLAUDE_PLUGIN_DATA` has a value only in Claude Code",
        "`CLAUDE_PLUGIN_OPTION_` has a value only in Claude Code",
        "write the path by hand",
        "`shell` must be `bash` or `powershell`, not `fish`",
        "`args` must be a list of strings",
    ]
    .iter()
    .enumerate()
    {
        let line = told.err.lines().find(|line| line.contains(&format!(".hooks[{number}]: ")));
        assert!(line.is_some_and(|line| line.contains(words)), "{words}: {}", told.err);
    }
    assert!(!machine.path("project/vertebra.toml").exists());
}

#[test]
fn a_plugins_hooks_find_its_folder_and_its_variable() {
    let machine = Machine::new();
    machine.script("plugin/check.sh", "test -d \"$CLAUDE_PLUGIN_ROOT/hooks\" && echo no >&2 && exit 2");
    for handler in [
        json!({ "type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}\"/check.sh" }),
        json!({ "type": "command", "command": "$CLAUDE_PLUGIN_ROOT/check.sh" }),
        json!({ "type": "command", "command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/check.sh"] }),
    ] {
        let mut settings = at("PreToolUse", "Bash", &json!([handler]));
        settings["description"] = "checks".into();
        machine.write("plugin/hooks/hooks.json", &settings.to_string());
        machine.write("project/vertebra.toml", "");
        let told = machine.runs(&["hooks", "import", "--from", "../plugin/hooks/hooks.json"]);
        assert!(told.code == 0 && !told.err.contains('!'), "{}", told.err);
        assert_eq!(judged(&machine, "Bash")["reason"], "no", "{handler}: {}", told.err);
    }
    machine.write(
        "a plugin/hooks/hooks.json",
        &machine.read("plugin/hooks/hooks.json").replace("sh\",\"args", "x\",\"no"),
    );
    let told = machine.runs(&["hooks", "import", "--from", "../a plugin/hooks/hooks.json"]);
    assert!(told.err.contains("has characters that a shell interprets"), "{}", told.err);
}

#[test]
fn a_tool_that_was_renamed_is_met_by_both_names() {
    for matcher in ["Task", "Agent", "Bash|Task", "^Task$"] {
        let machine = Machine::new();
        let refuse = json!([{ "type": "command", "command": "echo no >&2; exit 2" }]);
        imported(&machine, &at("PreToolUse", matcher, &refuse));
        for tool in ["Task", "Agent"] {
            assert_eq!(judged(&machine, tool)["reason"], "no", "{matcher}: {tool}");
        }
        assert_ne!(judged(&machine, "Read")["reason"], "no", "{matcher}");
    }
}

#[test]
fn a_command_has_as_long_as_it_had_and_a_stop_is_the_end_of_a_turn() {
    let machine = Machine::new();
    let groups = json!([{ "hooks": [{ "type": "command", "command": "true" }] }]);
    let events = ["UserPromptSubmit", "SessionEnd", "Stop", "PreToolUse"];
    let hooks: serde_json::Map<String, Value> =
        events.iter().map(|event| ((*event).to_owned(), groups.clone())).collect();
    imported(&machine, &json!({ "hooks": hooks }));
    let written = machine.read("project/vertebra.toml");
    for (point, timeout) in
        [("PromptSubmit", "30s"), ("SessionEnd", "2s"), ("ShouldContinue", "600s"), ("BeforeToolUse", "600s")]
    {
        let hook = written.split("[[hook]]").find(|hook| hook.contains(&format!("point = \"{point}\"")));
        assert!(hook.is_some_and(|hook| hook.contains(&format!("timeout = \"{timeout}\""))), "{point}: {written}");
        let is_end = hook.is_some_and(|hook| hook.contains("step = \"final_response\""));
        assert_eq!(is_end, point == "ShouldContinue", "{point}: {written}");
    }
}

#[test]
fn whoever_imports_reads_what_changes_for_the_commands() {
    let machine = Machine::new();
    let handler = json!([{ "type": "command", "command": "\nset -e\n./check.sh\n" }]);
    let told = imported(&machine, &at("PreToolUse", "Bash", &handler));
    assert!(told.err.contains("✓ claude-pre-tool-use-1: set -e …\n"), "{}", told.err);
    assert!(told.err.contains("env = [\"NAME\"]"), "{}", told.err);
    assert!(!told.err.contains("CLAUDE_PROJECT_DIR"), "{}", told.err);
    let told = machine.runs(&["hooks", "import", "--to", "../elsewhere/vertebra.toml"]);
    assert!(told.err.contains("CLAUDE_PROJECT_DIR"), "{}", told.err);
}
