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
    assert!(told.err.contains("there is no event `Finish`"), "{}", told.err);
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
