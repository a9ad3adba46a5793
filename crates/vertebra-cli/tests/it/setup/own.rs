//! An agent, ours or another, never answers for a person and does not change its own policy unasked.

use std::fs;

use serde_json::json;

use super::{
    Machine,
    hook::{asked, call},
    say,
};

#[test]
fn a_command_that_would_change_trust_needs_approval() {
    let machine = Machine::new();
    let asks = |command: &str| asked(&machine, &[], &call(&machine, command)).out.contains("\"ask\"");
    for command in [
        "vertebra trust --yes",
        "echo > vertebra.toml && /usr/bin/vertebra trust -C . --yes",
        "env A=1 vertebra uninstall --host claude-code",
        "sh -c 'vertebra trust --yes'",
        "vertebra trust --yes > --show",
        "vertebra trust --yes 2>--list",
        "vertebra trust $(: --show) --yes",
        "vertebra trust --revoke >--show",
        "v\"\"ertebra trust --yes",
        "echo trust --yes | xargs vertebra",
    ] {
        assert!(asks(command), "{command}");
    }
    for command in
        ["vertebra trust --show", "vertebra hooks list", "grep -r trust docs", "cargo test -p vertebra trust_"]
    {
        assert!(!asks(command), "{command}");
    }
}

#[test]
fn another_agent_never_answers_for_a_person() {
    let machine = Machine::new();
    fs::write(machine.path("project/yes.sh"), "vertebra sessions answer 1 --yes\n").expect("written");
    fs::write(machine.path("project/yes.py"), "run(['vertebra', 'sessions', 'answer', '1'])\n").expect("written");
    for command in [
        "vertebra sessions answer 1 --yes",
        "env -i /usr/bin/vertebra sessions answer 1",
        "bash -c 'vertebra sessions answer 1'",
        "a=verte; b=bra; $a$b sessions answer 1",
        "echo 1 | xargs vertebra sessions answer",
        "sh yes.sh",
        "cat yes.sh | bash",
        "python3 ./yes.py",
    ] {
        let told = asked(&machine, &[], &call(&machine, command));
        assert_eq!(told.code, 2, "{command}: {}{}", told.out, told.err);
        assert!(told.err.contains("person"), "{command}: {}", told.err);
    }
    assert_eq!(asked(&machine, &[], &call(&machine, "cat yes.sh")).code, 0);
    // Windsurf has no way to ask, so what is asked about elsewhere is denied there.
    for command in ["vertebra trust --yes", "vertebra install --host claude-code", "vertebra uninstall"] {
        assert!(asked(&machine, &[], &call(&machine, command)).out.contains("\"ask\""), "{command}");
        let event = json!({ "agent_action_name": "pre_run_command", "tool_info": { "command_line": command } });
        assert_eq!(asked(&machine, &["--host", "windsurf"], &event).code, 2, "{command}");
    }
}

#[test]
fn the_built_in_agent_never_answers_for_a_person_whatever_is_allowed() {
    let machine = Machine::new();
    machine.write("project/yes.sh", "touch ran\nvertebra sessions answer 1 --yes\n");
    machine.write("project/trust.sh", "touch ran\nvertebra trust --yes\n");
    for command in [
        "touch ran; vertebra sessions answer 1 --yes",
        "touch ran; v=vertebra; env $v sessions answer 1",
        "touch ran; vertebra trust --yes",
        "touch ran; vertebra install --host claude-code",
        "sh yes.sh",
        "bash ./trust.sh",
    ] {
        for options in [&["--allow", "Bash(*)"][..], &["--mode", "bypass"]] {
            let call = json!({ "call": { "tool": "bash", "args": { "command": command } } });
            let told = machine.plays_once(&[call, say("done")], options);
            assert!(!machine.path("project/ran").exists(), "{command} with {options:?}: {}{}", told.out, told.err);
        }
    }
}
