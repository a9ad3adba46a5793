//! A trusted policy that changed, disappeared or cannot be read lets nothing more through, in our own agent and in others.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    Machine, bash,
    hook::{FORBIDDEN, asked, call, fed},
    say,
};

const POLICY: &str = "[permissions]\ndeny = [\"Bash(touch refused*)\"]\nallow = [\"Bash(touch *)\"]\n";

/// A project whose policy a person trusts.
pub(super) fn trusted() -> Machine {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", POLICY);
    let told = machine.runs(&["trust", "--yes"]);
    assert_eq!(told.code, 0, "{}", told.err);
    machine
}

/// How a policy is lost, whether its text can still be read then, and what loses it.
pub(super) type Way = (&'static str, bool, fn(&Machine));

/// The ways in which a policy is lost.
pub(super) fn ways() -> Vec<Way> {
    vec![
        ("changed", true, |machine| machine.write("project/vertebra.toml", &format!("{POLICY}# changed\n"))),
        ("weakened", true, |machine| machine.write("project/vertebra.toml", "[permissions]\nallow = [\"Bash(*)\"]\n")),
        ("broken", true, |machine| machine.write("project/vertebra.toml", &format!("{POLICY}[permissions\n"))),
        ("emptied", true, |machine| machine.write("project/vertebra.toml", "")),
        ("removed", true, |machine| fs::remove_file(machine.path("project/vertebra.toml")).expect("removed")),
        ("the folder is replaced", true, |machine| {
            fs::rename(machine.path("project"), machine.path("moved")).expect("moved");
            machine.write("project/.git/HEAD", "ref: refs/heads/main\n");
        }),
        ("the folder is moved and linked back", true, |machine| {
            fs::rename(machine.path("project"), machine.path("moved")).expect("moved");
            symlink("moved", machine.path("project")).expect("a link");
        }),
        ("the folder becomes a link to another", false, |machine| {
            fs::rename(machine.path("project"), machine.path("moved")).expect("moved");
            machine.write("other/.git/HEAD", "ref: refs/heads/main\n");
            symlink("other", machine.path("project")).expect("a link");
        }),
        ("the record of trust is removed", true, |machine| {
            fs::remove_file(machine.path("home/.local/state/vertebra/trust.json")).expect("removed");
        }),
        ("the state folder is removed", true, |machine| {
            fs::remove_dir_all(machine.path("home/.local/state/vertebra")).expect("removed");
        }),
        ("both records are cut to nothing", true, |machine| both_records(machine, "")),
        ("both records are replaced by empty ones", true, |machine| {
            both_records(machine, "{\"version\": 1, \"folders\": {}}\n");
        }),
        ("the folder is taken out of both records", true, |machine| {
            for name in RECORDS {
                let mut record: Value = serde_json::from_str(&machine.read(name)).expect("a record");
                record["record"]["folders"] = json!({});
                machine.write(name, &record.to_string());
            }
        }),
        ("one record is removed and the other one emptied", true, |machine| {
            fs::remove_file(machine.path(RECORDS[0])).expect("removed");
            machine.write(RECORDS[1], "{\"version\": 1, \"folders\": {}}\n");
        }),
    ]
}

/// The records of what is trusted.
const RECORDS: [&str; 2] = ["home/.local/state/vertebra/trust.json", "home/.config/vertebra/expected.json"];

fn both_records(machine: &Machine, text: &str) {
    for name in RECORDS {
        machine.write(name, text);
    }
}

/// What `vertebra hook` answers in an agent that can ask.
fn verdict(machine: &Machine, command: &str) -> String {
    let event = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": machine.path("project"), "tool_name": "Bash",
        "tool_input": { "command": command },
    });
    let mut hook: Command = machine.command(&["hook", "--host", "claude-code"]);
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a hook");
    child.stdin.take().expect("a pipe").write_all(event.to_string().as_bytes()).expect("written");
    let told = child.wait_with_output().expect("it ends");
    if told.status.code() == Some(2) {
        return "deny".to_owned();
    }
    let answer: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
    answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("allow").to_owned()
}

#[test]
fn in_other_agents_what_a_lost_policy_refused_is_refused_and_other_changes_are_asked_about() {
    for (way, is_readable, lose) in ways() {
        let machine = trusted();
        assert_eq!(verdict(&machine, "touch made"), "allow", "{way}");
        lose(&machine);
        assert_eq!(verdict(&machine, "touch made"), "ask", "{way}");
        let expected = if is_readable { "deny" } else { "ask" };
        assert_eq!(verdict(&machine, "touch refused"), expected, "{way}");
    }
}

#[test]
fn an_unattended_run_denies_every_change_after_its_policy_was_lost() {
    for (way, _, lose) in ways() {
        let machine = trusted();
        lose(&machine);
        let read = json!({ "call": { "tool": "read_file", "args": { "path": "there.txt" } } });
        machine.write("project/there.txt", "can be read");
        for mode in [&["--mode=bypass"][..], &["--allow=Bash(touch *)"]] {
            let told =
                machine.plays_once(&[bash("touch made"), bash("touch refused"), read.clone(), say("done")], mode);
            assert!(!machine.path("project/made").exists(), "{way} {mode:?}: {}", told.err);
            assert!(!machine.path("project/refused").exists(), "{way} {mode:?}: {}", told.err);
            assert!(machine.heard().contains("can be read"), "{way} {mode:?}: reading goes on: {}", told.err);
            assert!(told.err.contains("vertebra trust"), "{way} {mode:?}: {}", told.err);
        }
    }
}

#[test]
fn a_person_settles_a_lost_policy_by_trusting_or_revoking() {
    for (way, _, lose) in ways() {
        for settle in [&["trust", "--yes"][..], &["trust", "--revoke"]] {
            let machine = trusted();
            lose(&machine);
            let root =
                if settle[1] == "--revoke" { vec![machine.path("project").display().to_string()] } else { vec![] };
            let settle: Vec<&str> = settle.iter().copied().chain(root.iter().map(String::as_str)).collect();
            let told = machine.runs(&settle);
            assert_eq!(told.code, 0, "{way} {settle:?}: {}{}", told.out, told.err);
            let verdict = verdict(&machine, "touch made");
            // A policy that cannot be read is not whole, even if a person trusts it.
            let expected = if way == "broken" && settle.len() == 2 && settle[1] == "--yes" { "ask" } else { "allow" };
            assert_eq!(verdict, expected, "{way} {settle:?}: {}{}", told.out, told.err);
        }
    }
}

#[test]
fn settings_of_the_user_that_are_deleted_or_emptied_still_refuse_until_a_person_has_seen_it() {
    const OWN: &str = "home/.config/vertebra/vertebra.toml";
    type Lose<'l> = &'l dyn Fn(&Machine);
    let ways: [(&str, Lose<'_>); 4] = [
        ("deleted", &|machine| fs::remove_file(machine.path(OWN)).expect("removed")),
        ("emptied", &|machine| machine.write(OWN, "# nothing\n")),
        ("replaced by empty lists", &|machine| machine.write(OWN, "[permissions]\ndeny = []\nallow = []\n")),
        ("the folder is moved", &|machine| {
            fs::rename(machine.path("home/.config"), machine.path("home/moved")).expect("moved");
        }),
    ];
    for (way, lose) in ways {
        let machine = Machine::new();
        machine.write(OWN, POLICY);
        assert_eq!(verdict(&machine, "touch made"), "allow", "{way}");
        lose(&machine);
        assert_eq!(verdict(&machine, "touch made"), "ask", "{way}");
        assert_eq!(verdict(&machine, "touch refused"), "deny", "{way}");
        let told = machine.plays_once(&[bash("touch made"), say("done")], &["--mode=bypass"]);
        assert!(!machine.path("project/made").exists(), "{way}: {}", told.err);
        assert!(told.err.contains("vertebra trust"), "{way}: {}", told.err);
        let told = machine.runs(&["trust"]);
        assert_eq!(told.code, 0, "{way}: {}", told.err);
        assert!(told.err.contains("set nothing any more"), "{way}: {}", told.err);
        assert_eq!(verdict(&machine, "touch refused"), "allow", "{way}: a person has seen it");
    }
}

#[test]
fn a_user_who_edits_their_own_settings_is_not_asked_about_it() {
    let machine = Machine::new();
    for text in [POLICY, "[permissions]\nallow = [\"Bash(touch *)\"]\n", "[limits]\nsteps = 3\n"] {
        machine.write("home/.config/vertebra/vertebra.toml", text);
        assert_eq!(verdict(&machine, "touch made"), "allow", "{text}");
    }
}

#[test]
fn a_folder_that_was_moved_keeps_its_policy_as_a_changed_one() {
    let machine = trusted();
    fs::rename(machine.path("project"), machine.path("moved")).expect("moved");
    let mut event = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash",
        "tool_input": { "command": "touch made" },
    });
    for (command, expected) in [("touch made", "ask"), ("touch refused", "")] {
        event["cwd"] = machine.path("moved").to_string_lossy().into();
        event["tool_input"]["command"] = command.into();
        let mut hook = machine.command(&["hook", "--host", "claude-code"]);
        hook.current_dir(machine.path("moved"));
        let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a hook");
        child.stdin.take().expect("a pipe").write_all(event.to_string().as_bytes()).expect("written");
        let told = child.wait_with_output().expect("it ends");
        let answer: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
        let decision = answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or_default();
        assert_eq!(decision, expected, "{command}");
        assert_eq!(told.status.code(), Some(if expected.is_empty() { 2 } else { 0 }), "{command}");
    }
}

#[test]
fn changing_a_trusted_policy_keeps_what_it_refuses_and_makes_every_other_change_need_approval() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", FORBIDDEN);
    let changing = call(&machine, "touch made");
    machine.write("project/AGENTS.md", "one");
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    let forbidden = call(&machine, "run forbidden");
    machine.write("project/AGENTS.md", "two");
    assert_eq!(asked(&machine, &[], &forbidden).code, 2, "instructions judge nothing");

    let file = machine.path("project/vertebra.toml");
    let trusted = machine.path("home/.local/state/vertebra/trust.json");
    let known = fs::read_to_string(&trusted).expect("what was trusted");
    let ways: [(&str, &dyn Fn()); 5] = [
        ("it says something else", &|| {
            machine.write("project/vertebra.toml", &FORBIDDEN.replace("forbidden", "another"));
        }),
        ("it cannot be parsed", &|| machine.write("project/vertebra.toml", "[[")),
        ("it is gone", &|| fs::remove_file(&file).expect("it is there")),
        ("it says nothing", &|| machine.write("project/vertebra.toml", "")),
        ("the trust file is invalid", &|| fs::write(&trusted, "{").expect("written")),
    ];
    for (way, change) in ways {
        change();
        if way != "the trust file is invalid" {
            assert_eq!(asked(&machine, &[], &forbidden).code, 2, "{way}: what was trusted still refuses");
        }
        let told = asked(&machine, &[], &changing);
        let answer: Value =
            serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{way}: {} {}", told.out, told.err));
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "ask", "{way}");
        let mut codex = changing.clone();
        codex["turn_id"] = "t".into();
        codex["model"] = "m".into();
        let told = asked(&machine, &["--host", "codex"], &codex);
        assert_eq!(told.code, 2, "{way}: it cannot ask");
        if way != "the trust file is invalid" {
            assert!(told.err.contains("vertebra trust"), "{way}: {}", told.err);
        }
        let mut reading = forbidden.clone();
        reading["tool_name"] = "Read".into();
        reading["tool_input"] = json!({ "file_path": "/tmp/a" });
        let told = asked(&machine, &[], &reading);
        assert!(told.code == 0 && !told.out.contains("permissionDecision"), "{way}: reading passes, {}", told.out);
        machine.write("project/vertebra.toml", FORBIDDEN);
        fs::write(&trusted, &known).expect("written");
    }
    assert_eq!(asked(&machine, &[], &forbidden).code, 2, "it is as it was trusted");
    let folder = (machine.path("project"), machine.path("moved"));
    fs::rename(&folder.0, &folder.1).expect("moved");
    let mut command = machine.command(&["hook"]);
    let told = fed(command.current_dir(machine.path("moved")), changing.to_string().as_bytes());
    assert!(told.out.contains("\"ask\""), "the folder is gone: {} {}", told.out, told.err);
    let mut command = machine.command(&["hook"]);
    let told = fed(command.current_dir(machine.path("moved")), forbidden.to_string().as_bytes());
    assert_eq!(told.code, 2, "what was trusted still refuses: {}", told.out);
}
