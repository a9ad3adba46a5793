//! What is found of hooks that cannot work.

use super::{Machine, machine};

#[test]
fn hooks_that_cannot_work_are_found_with_what_to_do_about_it() {
    let machine = Machine::new();
    machine.write(
        "project/vertebra.toml",
        "[[hook]]\nname = \"missing\"\npoint = \"BeforeToolUse\"\nrun = { command = \"./hooks/missing.sh\" }\n\
         [[hook]]\nname = \"plain\"\npoint = \"BeforeToolUse\"\nrun = { command = \"./hooks/plain.sh\" }\n\
         [[hook]]\nname = \"windows\"\npoint = \"BeforeToolUse\"\nrun = { command = \"sh hooks/windows.sh\" }\n\
         [[hook]]\nname = \"odd\"\npoint = \"BeforeToolUse\"\nrun = { command = \"./hooks/odd.sh\" }\n\
         [[hook]]\nname = \"nobody\"\npoint = \"BeforeToolUse\"\nrun = { command = \"no-such-interpreter x.py\" }\n\
         [[hook]]\nname = \"wall\"\npoint = \"BeforeToolUse\"\nrole = \"hook\"\npriority = 1\ndeny = \"all of it\"\n\
         [[hook]]\nname = \"behind\"\npoint = \"BeforeToolUse\"\npriority = 9\nrole = \"hook\"\nmatch = { tool = \"Shell\" }\nask = \"sure?\"\n",
    );
    machine.write("project/hooks/plain.sh", "#!/bin/sh\n");
    machine.write("project/hooks/windows.sh", "#!/bin/sh\r\nexit 0\r\n");
    machine.script("project/hooks/odd.sh", "true");
    machine.write("project/hooks/odd.sh", "#!/usr/bin/env no-such-program\n");
    let told = machine.runs(&["hooks", "doctor"]);
    assert_eq!(told.code, 1);
    assert!(told.out.contains("SKIPPED 7 hooks") && told.out.contains("vertebra trust"), "{}", told.out);
    assert_eq!(machine.runs(&["trust", "--yes", "--accept-open"]).code, 0);
    let told = machine.runs(&["hooks", "doctor"]);
    assert_eq!(told.code, 1, "{}", told.out);
    for words in [
        "hooks/missing.sh does not exist",
        "hooks/plain.sh is not executable",
        "chmod +x",
        "Windows line endings (CRLF)",
        "odd.sh needs no-such-program, which does not exist",
        "no-such-interpreter is not on the PATH",
        "never reached, because `wall`",
    ] {
        assert!(told.out.contains(words), "{words}: {}", told.out);
    }
    let json = machine.runs(&["hooks", "doctor", "--json"]).json();
    assert!(json.as_array().expect("findings").iter().any(|finding| finding["health"] == "broken"));
}

#[test]
fn doctor_reports_a_mistyped_tool_in_a_rule_with_its_line() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\ndeny = [\"Read(secret)\", \"Raed(**/.env)\"]\n");
    for command in [&["hooks", "doctor"][..], &["doctor"]] {
        let told = machine.runs(command);
        assert_eq!(told.code, 1, "{}", told.out);
        let expected = "vertebra.toml, line 2: unknown tool `Raed` in the rule `Raed(**/.env)`; did you mean `Read`?";
        assert!(told.out.contains(expected) || told.err.contains(expected), "{command:?}: {} {}", told.out, told.err);
    }
}

#[test]
fn doctor_reports_shells_that_print_at_startup_and_measures_hooks_with_run() {
    let machine = machine();
    machine.write("home/talk.sh", "echo welcome back\n");
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    let told = machine.told(machine.command(&["hooks", "doctor"]).env("BASH_ENV", machine.path("home/talk.sh")));
    assert!(told.out.contains("bash -c") && told.out.contains("welcome back"), "{}", told.out);
    assert!(!machine.path("project/ran").exists(), "nothing is started unasked");
    let told = machine.runs(&["hooks", "doctor", "--run"]);
    assert!(told.out.contains("with a sample event") && machine.path("project/ran").exists(), "{}", told.out);
    assert_eq!(told.code, 0, "{}", told.out);
}

#[test]
fn a_hook_of_claude_code_is_looked_at_by_its_command_and_not_by_its_other_words() {
    let machine = Machine::new();
    let handler = r#"{ "type": "command", "if": "Bash(git push *)", "command": "./check.sh" }"#;
    let settings = format!(r#"{{ "hooks": {{ "PreToolUse": [{{ "matcher": "Bash", "hooks": [{handler}] }}] }} }}"#);
    machine.write("project/.claude/settings.json", &settings);
    let told = machine.runs(&["hooks", "doctor"]);
    assert!(told.code == 1 && told.out.contains("./check.sh does not exist"), "{}", told.out);
    machine.script("project/check.sh", "true");
    let told = machine.runs(&["hooks", "doctor"]);
    assert_eq!(told.code, 0, "{}", told.out);
}

/// Settings of Claude Code with these commands before a tool is used.
fn settings(matcher: &str, commands: &[&str]) -> String {
    let handlers: Vec<_> =
        commands.iter().map(|command| serde_json::json!({ "type": "command", "command": command })).collect();
    serde_json::json!({ "hooks": { "PreToolUse": [{ "matcher": matcher, "hooks": handlers }] } }).to_string()
}

#[test]
fn a_command_that_works_is_never_called_broken() {
    let machine = Machine::new();
    machine.script("home/.claude/hooks/ok.sh", "true");
    let commands = [
        "~/.claude/hooks/ok.sh",
        "$HOME/.claude/hooks/ok.sh",
        "\"${HOME}\"/.claude/hooks/ok.sh",
        "# why\nsh -c true",
        "sh -c json.tool",
        "until true; do :; done",
        "f() { true; }; f",
        "[[ -x ./missing.sh ]] && ./missing.sh",
        "((1 + 1))",
    ];
    machine.write("project/.claude/settings.json", &settings("Bash", &commands));
    let told = machine.runs(&["hooks", "doctor"]);
    assert!(told.code == 0 && !told.out.contains('✗'), "{}", told.out);
    machine.write("project/.claude/settings.json", &settings("Bash", &["~/.claude/hooks/missing.sh"]));
    let told = machine.runs(&["hooks", "doctor"]);
    assert!(told.code == 1 && told.out.contains(".claude/hooks/missing.sh does not exist"), "{}", told.out);
}

#[test]
fn a_script_that_may_be_missing_is_lacking_and_not_broken() {
    let machine = Machine::new();
    machine.write("project/.claude/settings.json", &settings("Bash", &["./missing.sh 2>/dev/null || true"]));
    let told = machine.runs(&["hooks", "doctor"]);
    let line = told.out.lines().find(|line| line.contains("./missing.sh does not exist")).expect("it is told");
    assert!(told.code == 0 && line.starts_with('!'), "{}", told.out);
}

#[test]
fn what_of_claude_codes_settings_does_not_count_is_found_before_trust_and_after() {
    let machine = Machine::new();
    let text = r#"{ "permissions": { "allow": ["Edit:*"] },
        "hooks": { "PreTolUse": [], "PreToolUse": [
            { "matcher": "bash", "hooks": [{ "type": "command", "command": "touch ran" }] },
            { "matcher": "Bash(git *)", "hooks": [{ "type": "command", "command": "touch ran" }] }] } }"#;
    machine.write("project/.claude/settings.json", text);
    let mut untrusted = true;
    for _ in 0..2 {
        let told = machine.runs(&["hooks", "doctor"]);
        assert_eq!(told.code, 0, "{}", told.out);
        for words in [
            "unknown event `PreTolUse`",
            "permissions.allow: `Edit:*`",
            "unknown tool `bash`",
            "write `Bash`",
            "`Bash(git *)` matches no tool",
        ] {
            let line = told.out.lines().find(|line| line.contains(words));
            assert!(line.is_some_and(|line| line.starts_with('!') || line.contains('→')), "{words}: {}", told.out);
        }
        assert_eq!(told.out.contains("SKIPPED"), untrusted, "{}", told.out);
        assert!(!machine.path("project/ran").exists());
        untrusted = false;
        machine.runs(&["trust", "--yes"]);
    }
}

#[test]
fn a_policy_that_cannot_be_used_is_found_before_anybody_trusts_it() {
    let hook = "[[hook]]\nname = \"a\"\npoint = \"BeforeToolUse\"\ndeny = \"no\"\n";
    for (text, words) in [
        ("[[hook]]\npoint = \"BeforeTolUse\"\ndeny = \"no\"\n", "BeforeTolUse"),
        ("[permissions]\nallow = [\"Edit:*\"]\n", "Edit:*"),
        (&format!("{hook}after = [\"b\"]\n"), "there is no such hook"),
    ] {
        let machine = Machine::new();
        machine.write("project/vertebra.toml", text);
        let told = machine.runs(&["hooks", "doctor"]);
        assert!(told.code == 1 && told.out.contains(words), "{words}: {}", told.out);
    }
    let machine = Machine::new();
    machine.write("project/vertebra.toml", hook);
    assert_eq!(machine.runs(&["hooks", "doctor"]).code, 0);
}

#[test]
fn hooks_are_counted_where_there_are_some() {
    let machine = Machine::new();
    assert!(!machine.runs(&["hooks", "doctor"]).out.contains("0 hooks"));
    machine.write("project/vertebra.toml", "[[hook]]\nname = \"a\"\npoint = \"BeforeToolUse\"\ndeny = \"no\"\n");
    machine.runs(&["trust", "--yes"]);
    let told = machine.runs(&["hooks", "doctor"]);
    assert!(told.out.contains("1 hook from vertebra.toml is in force"), "{}", told.out);
    assert!(told.out.contains("1 hook, trusted"), "{}", told.out);
}
