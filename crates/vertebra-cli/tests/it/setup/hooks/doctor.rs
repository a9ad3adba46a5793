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
         [[hook]]\nname = \"behind\"\npoint = \"BeforeToolUse\"\npriority = 9\nrole = \"hook\"\nmatch = { tool = \"bsh\" }\nask = \"sure?\"\n",
    );
    machine.write("project/hooks/plain.sh", "#!/bin/sh\n");
    machine.write("project/hooks/windows.sh", "#!/bin/sh\r\nexit 0\r\n");
    machine.script("project/hooks/odd.sh", "true");
    machine.write("project/hooks/odd.sh", "#!/usr/bin/env no-such-program\n");
    let told = machine.runs(&["hooks", "doctor"]);
    assert_eq!(told.code, 1);
    assert!(told.out.contains("SKIPPED 7 hooks") && told.out.contains("vertebra trust"), "{}", told.out);
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    let told = machine.runs(&["hooks", "doctor"]);
    assert_eq!(told.code, 1, "{}", told.out);
    for words in [
        "hooks/missing.sh is not there",
        "hooks/plain.sh is not executable",
        "chmod +x",
        "line ends of Windows (CRLF)",
        "odd.sh is for no-such-program, which is not there",
        "no-such-interpreter is not on the PATH",
        "never reached, because `wall`",
        "no tool is called `bsh`; did you mean `bash`?",
    ] {
        assert!(told.out.contains(words), "{words}: {}", told.out);
    }
    let json = machine.runs(&["hooks", "doctor", "--json"]).json();
    assert!(json.as_array().expect("findings").iter().any(|finding| finding["health"] == "broken"));
}

#[test]
fn a_shell_that_talks_as_it_starts_is_found_and_a_slow_hook_is_when_asked_for() {
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
    assert!(told.code == 1 && told.out.contains("./check.sh is not there"), "{}", told.out);
    machine.script("project/check.sh", "true");
    let told = machine.runs(&["hooks", "doctor"]);
    assert_eq!(told.code, 0, "{}", told.out);
}
