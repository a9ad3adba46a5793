//! Firing and explaining.

use super::{CLAUDE_PUSH, machine};

#[test]
fn explain_tells_who_matched_what_each_said_and_who_decides() {
    let machine = machine();
    let told = machine.runs(&["hooks", "explain", &machine.event(), "--config", "vertebra.toml"]);
    assert_eq!(told.code, 0, "{}", told.err);
    let object = told.json();
    let names: Vec<&str> =
        object["hooks"].as_array().expect("hooks").iter().filter_map(|hook| hook["hook"].as_str()).collect();
    assert_eq!(names, ["gap", "no-force-push", "maybe"], "{object:#}");
    assert_eq!(object["not_matching"][0], "elsewhere");
    assert_eq!(object["hooks"][1]["decides"], true);
    assert_eq!(object["hooks"][1]["origin"], "vertebra.toml:2");
    assert_eq!(object["hooks"][2]["shadow"], true);
    assert_eq!(object["hooks"][2]["ran"]["verdict"], "ask");
    assert_eq!(object["judgement"]["decision"], "deny");
    assert_eq!(object["judgement"]["model_context"][0], "mind the gap");
    assert!(machine.path("project/ran").exists());
}

#[test]
fn a_dry_run_starts_nothing() {
    let machine = machine();
    let told = machine.runs(&["hooks", "explain", &machine.event(), "--config", "vertebra.toml", "--dry-run"]);
    assert_eq!(told.json()["judgement"]["decision"], "deny", "{}", told.err);
    assert!(!machine.path("project/ran").exists());
}

#[test]
fn fire_takes_events_of_ours_and_of_other_agents() {
    let machine = machine();
    for event in [super::PUSH, CLAUDE_PUSH] {
        machine.write("event.json", event);
        let told = machine.runs(&["hooks", "fire", &machine.event(), "--config", "vertebra.toml"]);
        let object = told.json();
        assert_eq!(object["decision"], "deny", "{}", told.err);
        assert_eq!(object["reason"], "force is for humans");
        assert_eq!(object["decided_by"], "no-force-push (vertebra.toml:2)");
        assert_eq!(object["ran"][0]["exit_code"], 0);
        for field in ["tool_input", "model_context", "model_sees", "user_sees", "continue", "warnings"] {
            assert!(object.get(field).is_some(), "{field}");
        }
    }
}

#[test]
fn fire_runs_settings_of_claude_code_as_they_are() {
    let machine = machine();
    machine.script("project/check.sh", "cat >/dev/null; echo 'no pushing' >&2; exit 2");
    let settings =
        r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}]}}"#;
    machine.write("project/.claude/settings.json", settings);
    let project = machine.path("project").display().to_string();
    machine.write("event.json", &CLAUDE_PUSH.replace("/tmp\",", &format!("{project}\",")));
    let told = machine.runs(&["hooks", "fire", &machine.event(), "--settings", ".claude/settings.json"]);
    let object = told.json();
    assert_eq!(object["decision"], "deny", "{object:#} {}", told.err);
    assert!(object["reason"].as_str().is_some_and(|reason| reason.contains("no pushing")), "{object:#}");
    assert_eq!(object["ran"][0]["exit_code"], 2);
}

#[test]
fn an_event_that_is_none_is_told_what_it_lacks() {
    let machine = machine();
    machine.write("event.json", r#"{"point": "BeforeToolUze"}"#);
    let told = machine.runs(&["hooks", "fire", &machine.event(), "--config", "vertebra.toml"]);
    assert_eq!(told.code, 1);
    assert!(told.err.contains("did you mean `BeforeToolUse`?"), "{}", told.err);
}
