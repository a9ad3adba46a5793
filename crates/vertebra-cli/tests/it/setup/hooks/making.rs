//! `vertebra hooks new` and `vertebra hooks import`.

use std::process::{Command, Stdio};

use super::{Machine, machine};

#[test]
fn the_test_case_of_a_new_hook_passes() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", "# mine\n[limits]\nsteps = 9\n");
    let mut languages = vec!["sh", "python"];
    let types = Command::new("node").args(["--experimental-strip-types", "-e", "0"]).stderr(Stdio::null()).status();
    if types.is_ok_and(|status| status.success()) {
        languages.push("typescript");
    }
    for (lang, point) in
        languages.iter().flat_map(|lang| ["BeforeToolUse", "PromptSubmit", "AfterToolUse"].map(|point| (*lang, point)))
    {
        let name = format!("my-{lang}-{point}");
        let told = machine.runs(&["hooks", "new", &name, "--lang", lang, "--point", point]);
        assert_eq!(told.code, 0, "{}", told.err);
    }
    let told = machine.runs(&["hooks", "test", "--config", "vertebra.toml"]);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    assert_eq!(told.out.matches('✓').count(), languages.len() * 3, "{}", told.out);
    assert!(machine.read("project/vertebra.toml").starts_with("# mine\n[limits]\nsteps = 9\n"), "what is there stays");
}

#[test]
fn a_new_hook_overwrites_nothing() {
    let machine = machine();
    let told = machine.runs(&["hooks", "new", "no-force-push", "--lang", "sh"]);
    assert!(told.code == 1 && told.err.contains("already has a hook `no-force-push`"), "{}", told.err);
    let told = machine.runs(&["hooks", "new", "gap", "--lang", "sh"]);
    assert_eq!(told.code, 1, "{}", told.out);
    machine.write("project/.vertebra/hooks/other.sh", "mine");
    let told = machine.runs(&["hooks", "new", "other", "--lang", "sh"]);
    assert!(told.code == 1 && told.err.contains("already exists"), "{}", told.err);
    assert_eq!(machine.read("project/.vertebra/hooks/other.sh"), "mine");
    assert_eq!(machine.read("project/vertebra.toml"), super::POLICY, "nothing is half done");
    if cfg!(not(feature = "wasm")) {
        let told = machine.runs(&["hooks", "new", "module", "--lang", "rust-wasm"]);
        assert!(told.code == 1 && told.err.contains("--features wasm"), "{}", told.err);
        assert_eq!(machine.read("project/vertebra.toml"), super::POLICY, "no policy that cannot be read is made");
    }
    let told = machine.runs(&["hooks", "new", "../x", "--lang", "sh"]);
    assert!(told.code == 1 && told.err.contains("becomes a file name"), "{}", told.err);
}

const CLAUDE: &str = r#"{
  "permissions": { "deny": ["Read(**/.env)"], "defaultMode": "bypassPermissions" },
  "model": "opus",
  "hooks": {
    "PreToolUse": [{ "matcher": "Bash", "hooks": [
      { "type": "command", "command": "./check.sh", "timeout": 5 },
      { "type": "command", "command": "echo tagged >&2; exit 2", "if": "Bash(git tag *)" },
      { "type": "prompt", "prompt": "fine?" }
    ]}],
    "WorktreeCreate": [{ "hooks": [{ "type": "command", "command": "true" }] }]
  }
}"#;

#[test]
fn imported_hooks_decide_as_before_and_the_rest_is_reported() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", "# mine\n[permissions]\ndeny = [\"Bash(rm *)\"]  # keep\n");
    machine.write("project/.claude/settings.json", CLAUDE);
    machine.script("project/check.sh", "if grep -q force; then echo 'no force' >&2; exit 2; fi");
    let dry = machine.runs(&["hooks", "import", "--dry-run"]);
    assert!(dry.code == 0 && dry.out.contains("contract = \"claude-code\""), "{}{}", dry.out, dry.err);
    assert!(!machine.read("project/vertebra.toml").contains("claude-code"));

    let told = machine.runs(&["hooks", "import"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains("The hooks in .claude/settings.json still run too"), "{}", told.err);
    for left in [
        "model: not part of a policy",
        "permissions.defaultMode",
        "hooks.PreToolUse[0].hooks[2]: handlers of type `prompt`",
        "hooks.WorktreeCreate",
    ] {
        assert!(told.err.contains(left), "{left}: {}", told.err);
    }
    let written = machine.read("project/vertebra.toml");
    assert_eq!(written, dry.out);
    assert!(written.starts_with("# mine\n[permissions]\n") && written.contains("Bash(rm *)"), "{written}");
    assert!(written.contains("Read(**/.env)"), "{written}");
    machine.runs(&["hooks", "import"]);
    assert_eq!(machine.read("project/vertebra.toml"), written, "a second time adds nothing");

    let project = machine.path("project").display().to_string();
    for command in ["git push --force", "ls", "cd app && git tag v1", "git status"] {
        let event = serde_json::json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": project, "permission_mode": "default",
            "transcript_path": "/tmp/t.jsonl", "tool_name": "Bash", "tool_input": { "command": command },
        });
        machine.write("event.json", &event.to_string());
        let fires = |policy: &[&str]| {
            let told = machine.runs(&[&["hooks", "fire", &machine.event()], policy].concat());
            let object = told.json();
            (
                object["decision"].clone(),
                object["ran"][0]["exit_code"].clone(),
                object["reason"].as_str().map(|reason| (reason.contains("no force"), reason.contains("tagged"))),
            )
        };
        let before = fires(&["--settings", ".claude/settings.json"]);
        assert_eq!(fires(&["--config", "vertebra.toml"]), before, "{command}");
    }
}

#[test]
fn whatever_is_imported_can_stand_and_meets_the_same_calls() {
    let machine = Machine::new();
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "PreCompact",
        "PostCompact",
        "Notification",
        "SessionEnd",
    ];
    let mut hooks = serde_json::Map::new();
    for event in events {
        hooks.insert(event.to_owned(), serde_json::json!([{ "hooks": [{ "type": "command", "command": "true" }] }]));
    }
    let refuse = serde_json::json!([{ "type": "command", "command": "echo 'not this' >&2; exit 2" }]);
    hooks["PreToolUse"] = serde_json::json!([
        { "matcher": "mcp__.*__write.*", "hooks": refuse }, { "matcher": "Edit, Write", "hooks": refuse },
    ]);
    machine.write("project/.claude/settings.json", &serde_json::json!({ "hooks": hooks }).to_string());
    assert_eq!(machine.runs(&["hooks", "import"]).code, 0);
    let tools = [("mcp__disk__write_all", true), ("mcp__disk__read", false), ("Write", true), ("Read", false)];
    for (tool, refused) in tools {
        let event = serde_json::json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": machine.path("project"), "tool_name": tool,
            "tool_input": { "file_path": "a" },
        });
        machine.write("event.json", &event.to_string());
        for policy in [["--settings", ".claude/settings.json"], ["--config", "vertebra.toml"]] {
            let told = machine.runs(&[&["hooks", "fire", &machine.event()][..], &policy].concat());
            assert_eq!(told.json()["decision"] == "deny", refused, "{tool} {policy:?}: {}{}", told.out, told.err);
        }
    }
    let failed = serde_json::json!({
        "point": "ToolUseFailed", "tool": "bash", "args": { "command": "ls" }, "error": "no such command",
    });
    machine.write("event.json", &failed.to_string());
    let told = machine.runs(&["hooks", "fire", &machine.event(), "--config", "vertebra.toml"]).json();
    assert_eq!(told["ran"][0]["exit_code"], 0, "{told}");
}

#[test]
fn a_matcher_that_is_imported_holds_for_the_same_tools() {
    let machine = Machine::new();
    let group = |matcher: &str| {
        let command = format!("echo '{matcher}' >&2; exit 2");
        serde_json::json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] })
    };
    let matchers = ["mcp__memory__.*", "Notebook.*", "^Edit$", "Write, WebFetch", "Search$"];
    let settings = serde_json::json!({ "hooks": { "PreToolUse": matchers.map(group) } });
    machine.write("project/.claude/settings.json", &settings.to_string());
    machine.runs(&["hooks", "import"]);
    for (tool, matcher) in [
        ("mcp__memory__store", "mcp__memory__.*"),
        ("NotebookEdit", "Notebook.*"),
        ("Edit", "^Edit$"),
        ("WebFetch", "Write, WebFetch"),
        ("WebSearch", "Search$"),
        ("TodoWrite", ""),
    ] {
        let event = serde_json::json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {} });
        machine.write("event.json", &event.to_string());
        for policy in [["--settings", ".claude/settings.json"], ["--config", "vertebra.toml"]] {
            let judged = machine.runs(&[&["hooks", "fire", &machine.event()], &policy[..]].concat()).json();
            assert_eq!(judged["reason"].as_str().unwrap_or_default(), matcher, "{tool}, {policy:?}: {judged}");
        }
    }
}
