//! Settings of Claude Code: tried by name, and in force in the built-in agent as far as they are trusted.

use serde_json::{Value, json};

use super::{Machine, bash, say};

fn denying(word: &str) -> String {
    let command = format!("cat > \"$CLAUDE_PROJECT_DIR/../seen-{word}\"; echo 'no, says {word}' >&2; exit 2");
    let group = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": command }] });
    json!({ "hooks": { "PreToolUse": [group] } }).to_string()
}

#[test]
fn hooks_of_a_person_are_in_force_and_those_of_a_project_once_it_is_trusted() {
    let machine = Machine::new();
    machine.write("home/.claude/settings.json", &denying("user"));
    let turns = [bash("echo hello"), say("done")];
    let told = machine.plays(&turns, &["--mode", "bypass"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(machine.heard().contains("no, says user"), "{}", machine.heard());
    let seen: Value = serde_json::from_str(&machine.read("seen-user")).expect("JSON");
    assert_eq!(
        (seen["tool_name"].as_str(), seen["permission_mode"].as_str()),
        (Some("Bash"), Some("bypassPermissions"))
    );

    let machine = Machine::new();
    machine.write("project/.claude/settings.json", &denying("project"));
    let told = machine.plays(&turns, &["--mode", "bypass"]);
    assert!(!machine.path("seen-project").exists() && told.err.contains("--trust"), "{}", told.err);
    let told = machine.plays(&turns, &["--mode", "bypass", "--trust"]);
    assert!(machine.heard().contains("no, says project"), "{} {}", told.err, machine.heard());
}

#[test]
fn what_is_not_understood_of_settings_is_told_at_the_start() {
    let machine = Machine::new();
    machine.write("home/.claude/settings.json", r#"{"hooks": {"Finish": []}}"#);
    let told = machine.plays(&[say("done")], &[]);
    assert!(told.err.contains("unknown event `Finish`"), "{}", told.err);
}

#[test]
fn several_settings_are_tried_together_each_at_its_level() {
    let machine = Machine::new();
    machine.write("home/.claude/settings.json", r#"{"disableAllHooks": true}"#);
    machine.write("project/.claude/settings.json", &denying("project"));
    machine.write(
        "event.json",
        &json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} }).to_string(),
    );
    let (event, user) = (machine.path("event.json"), machine.path("home/.claude/settings.json"));
    let (event, user) = (event.to_string_lossy(), user.to_string_lossy());
    let both = ["hooks", "fire", &event, "--settings", &user, "--settings", ".claude/settings.json", "--json"];
    let fired = |machine: &Machine| serde_json::from_str::<Value>(&machine.runs(&both).out).expect("JSON");
    let judged = fired(&machine);
    assert_eq!((judged["decision"].as_str(), judged["ran"].as_array().map(Vec::len)), (None, Some(0)), "{judged:#}");
    let mut settings: Value = serde_json::from_str(&denying("project")).expect("JSON");
    settings["disableAllHooks"] = false.into();
    machine.write("project/.claude/settings.json", &settings.to_string());
    let judged = fired(&machine);
    assert_eq!((judged["decision"].as_str(), judged["reason"].as_str()), (Some("deny"), Some("no, says project")));
    assert_eq!(judged["ran"][0]["exit_code"], 2);
    assert!(machine.path("seen-project").exists(), "the project is where its settings are");
}

#[test]
fn hooks_of_claude_code_are_listed_and_whoever_fires_others_is_told_of_them() {
    let machine = Machine::new();
    machine.write("project/.claude/settings.json", &denying("project"));
    let listed =
        |machine: &Machine| serde_json::from_str::<Value>(&machine.runs(&["hooks", "list"]).out).expect("JSON");
    assert_eq!(listed(&machine), json!([]), "nobody trusts it");
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    let rows = listed(&machine);
    assert_eq!((&rows[0]["point"], &rows[0]["in_force"]), (&json!("PreToolUse"), &json!(true)), "{rows:#}");
    assert!(rows[0]["origin"].as_str().is_some_and(|origin| origin.ends_with(".claude/settings.json")), "{rows:#}");
    machine.write(
        "event.json",
        &json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} }).to_string(),
    );
    let told = machine.runs(&["hooks", "fire", &machine.path("event.json").to_string_lossy()]);
    assert!(told.err.contains("--settings") || told.out.contains("--settings"), "{} {}", told.out, told.err);
}

#[test]
fn a_script_of_a_hook_that_is_gone_or_cannot_be_started_any_more_shuts_the_gate() {
    for change in ["mv hooks/check.sh other.sh", "chmod -x hooks/check.sh"] {
        let machine = Machine::new();
        machine.write("project/hooks/check.sh", "#!/bin/sh\nexit 0\n");
        let path = machine.path("project/hooks/check.sh");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
        let group = json!({ "hooks": [{ "type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/hooks/check.sh" }] });
        machine.write("project/.claude/settings.json", &json!({ "hooks": { "PreToolUse": [group] } }).to_string());
        // The agent cannot change it, but a hook of the person can.
        let person = json!({ "hooks": [{ "type": "command", "command": change }] });
        machine.write("home/.claude/settings.json", &json!({ "hooks": { "PostToolUse": [person] } }).to_string());
        let turns = [bash("echo first > first"), bash("echo still > made"), say("done")];
        let told = machine.plays_once(&turns, &["--mode", "bypass", "--trust"]);
        assert_eq!(told.code, 0, "{}", told.err);
        assert!(machine.path("project/first").exists(), "{change}: {}", told.err);
        assert!(!machine.path("project/made").exists(), "{change}");
        assert!(told.err.contains("since it was trusted"), "{change}: {}", told.err);
    }
}

#[test]
fn a_hook_at_the_end_of_a_session_has_the_time_it_was_given() {
    let machine = Machine::new();
    let hook =
        json!({ "type": "command", "command": "sleep 2.5; echo done > \"$CLAUDE_PROJECT_DIR/ended\"", "timeout": 20 });
    machine
        .write("home/.claude/settings.json", &json!({ "hooks": { "SessionEnd": [{ "hooks": [hook] }] } }).to_string());
    let told = machine.plays_once(&[say("done")], &[]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert_eq!(machine.read("project/ended").trim(), "done");
}

#[test]
fn hooks_of_a_skill_are_listed_and_hold_once_the_model_has_loaded_it_if_it_is_trusted() {
    let machine = Machine::new();
    let skill = "---\nname: tidy\ndescription: Tidies\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - \
                 type: command\n          command: echo 'not while tidying' >&2; exit 2\n---\nTidy.\n";
    machine.write("project/.claude/skills/tidy/SKILL.md", skill);
    let load = json!({ "call": { "tool": "load_skill", "args": { "skill_name": "tidy" } } });
    let turns = [bash("echo one >> ran"), load, bash("echo two >> ran"), say("done")];
    let told = machine.plays_once(&turns, &["--mode", "bypass", "--trust"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert_eq!(machine.read("project/ran"), "one\n");
    assert!(machine.heard().contains("not while tidying"), "{}", machine.heard());
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    let rows: Value = serde_json::from_str(&machine.runs(&["hooks", "list"]).out).expect("JSON");
    assert_eq!(rows[0]["when"], "matcher Bash, while skill tidy runs", "{rows:#}");
}
