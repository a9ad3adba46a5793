//! Settings of a person that cannot be read as a whole: what they refuse holds, all errors are shown, and changes need approval.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, symlink},
        process::CommandExt as _,
    },
};

use serde_json::{Value, json};

use super::{
    Machine, bash, given_to,
    hook::{asked, call},
    say,
};

/// How settings are broken, whether the rules in them can still be read, what the error says, and what breaks them.
type Way = (&'static str, bool, &'static str, fn(&Machine));

const SETTINGS: &str = "home/.config/vertebra/vertebra.toml";

const DENY: &str = "[permissions]\ndeny = [\"Read(**/secret.txt)\"]\nallow = [\"Bash(touch *)\"]\n";

fn ways() -> Vec<Way> {
    vec![
        ("an unknown key", true, "line 4", |machine| machine.user_settings(&format!("{DENY}dney = []\n"))),
        ("a mistyped rule", true, "did you mean `Read`?", |machine| {
            machine.user_settings("[permissions]\ndeny = [\"Raed(**/.env)\", \"Read(**/secret.txt)\"]\n");
        }),
        ("a wrong mode", true, "line 4", |machine| machine.user_settings(&format!("{DENY}mode = \"bypass\"\n"))),
        ("a wrong value elsewhere", true, "line 5", |machine| {
            machine.user_settings(&format!("{DENY}[limits]\nsteps = \"many\"\n"));
        }),
        ("no TOML after the rules", true, "line 4", |machine| machine.user_settings(&format!("{DENY}[permissions\n"))),
        ("no comma between two rules", true, "line 2", |machine| {
            machine.user_settings("[permissions]\ndeny = [\"Bash(rm *)\" \"Read(**/secret.txt)\"]\n");
        }),
        ("a list that does not end", true, "invalid TOML", |machine| {
            machine.user_settings("[permissions]\ndeny = [\"Read(**/secret.txt)\"\nallow = [\"Bash(touch *)\"]\n");
        }),
        ("the same list twice", true, "line 3", |machine| {
            machine.user_settings("[permissions]\ndeny = [\"Bash(rm *)\"]\ndeny = [\"Read(**/secret.txt)\"]\n");
        }),
        ("a zero byte", true, "line 4", |machine| machine.user_settings(&format!("{DENY}\0\n"))),
        ("a byte that is not UTF-8", true, "line 4 is not valid UTF-8", |machine| {
            machine.user_settings("");
            fs::write(machine.path(SETTINGS), [DENY.as_bytes(), b"# \xff\n"].concat()).expect("written");
        }),
        ("too many rules", true, "at most 4096 values", |machine| {
            let rules: Vec<String> = (0..4200).map(|number| format!("\"Bash(x{number} *)\", ")).collect();
            let rules = rules.concat();
            machine.user_settings(&format!("[permissions]\ndeny = [{rules}\"Read(**/secret.txt)\"]\n"));
        }),
        ("too many bytes", true, "at most 262144 bytes", |machine| {
            machine.user_settings(&format!("# {}\n{DENY}", "x".repeat(300_000)));
        }),
        ("far too many bytes", true, "at most 262144 bytes", |machine| {
            let rules = format!("\"Bash({} *)\", ", "x".repeat(1000)).repeat(2000);
            machine.user_settings(&format!("[permissions]\ndeny = [\"Read(**/secret.txt)\", {rules}]\n"));
        }),
        ("a hook that cannot stand", true, "no such hook", |machine| {
            let hook = "[[hook]]\npoint = \"BeforeToolUse\"\nallow = true\nbefore = \"nothing\"\n";
            machine.user_settings(&format!("{DENY}{hook}"));
        }),
        ("thousands of mistakes on one line", true, "did you mean `Read`?", |machine| {
            let rules = "\"Raed(x)\", ".repeat(4000);
            machine.user_settings(&format!("[permissions]\ndeny = [{rules}\"Read(**/secret.txt)\"]\n"));
        }),
        ("a folder", false, "it is not a file", |machine| {
            fs::create_dir_all(machine.path(SETTINGS)).expect("a folder");
        }),
        ("a pipe", false, "it is not a file", |machine| {
            machine.user_settings("");
            fs::remove_file(machine.path(SETTINGS)).expect("removed");
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let path = machine.path(SETTINGS);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
        }),
        ("a link to nothing", false, "a link to a file that does not exist", |machine| {
            fs::create_dir_all(machine.path("home/.config/vertebra")).expect("a folder");
            symlink("dotfiles", machine.path(SETTINGS)).expect("a link");
        }),
    ]
}

fn reads(path: &str) -> Value {
    json!({ "call": { "tool": "read_file", "args": { "path": path } } })
}

/// A text as it was before it was wrapped.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn broken(breaks: fn(&Machine)) -> Machine {
    let machine = Machine::new();
    machine.write("project/secret.txt", "swordfish");
    machine.write("project/open.txt", "can be read");
    breaks(&machine);
    machine
}

#[test]
fn an_unattended_run_with_broken_settings_changes_nothing_and_reads_what_no_rule_denies() {
    for (way, has_rules, error, breaks) in ways() {
        let machine = broken(breaks);
        let turns = [bash("touch made"), reads("secret.txt"), reads("open.txt"), say("done")];
        for mode in ["--mode=bypass", "--allow=Bash(touch *)"] {
            let told = machine.plays_once(&turns, &[mode]);
            assert!(matches!(told.code, 0 | 4), "{way} {mode}: it starts: {}{}", told.out, told.err);
            assert!(!machine.path("project/made").exists(), "{way} {mode}: {}", told.err);
            assert!(machine.heard().contains("can be read"), "{way} {mode}: reading goes on: {}", told.err);
            assert_eq!(machine.heard().contains("swordfish"), !has_rules, "{way} {mode}: {}", machine.heard());
            let shown = on_one_line(&told.err);
            assert!(shown.contains(error) && shown.contains("need your approval"), "{way}: {shown}");
        }
    }
}

#[test]
fn every_output_form_shows_what_is_wrong_with_the_settings() {
    let machine = broken(|machine| machine.user_settings("[permissions]\nmode = \"plam\"\ndeny = [\"Raed(a)\"]\n"));
    for output in ["text", "json", "stream-json"] {
        for quiet in [&[][..], &["--quiet"]] {
            let options = [&["--output", output], quiet].concat();
            let told = machine.plays_once(&[say("done")], &options);
            assert_eq!(told.code, 0, "{options:?}: {}", told.err);
            let shown = if output == "text" { on_one_line(&told.err) } else { told.out };
            for wrong in ["need your approval", "line 2", "line 3", "did you mean `Read`?"] {
                assert!(shown.contains(wrong), "{options:?} {wrong}: {shown}");
            }
        }
    }
}

#[test]
fn in_other_agents_broken_settings_mean_the_same() {
    for (way, has_rules, error, breaks) in ways() {
        let machine = broken(breaks);
        let told = asked(&machine, &["--host", "claude-code"], &call(&machine, "touch made"));
        let answer: Value =
            serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{way}: {}{}", told.out, told.err));
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "ask", "{way}: {answer}");
        assert!(told.out.contains(error), "{way}: {answer}");
        let reading = |name: &str| {
            let mut event = call(&machine, "");
            event["tool_name"] = "Read".into();
            event["tool_input"] = json!({ "file_path": machine.path(&format!("project/{name}")) });
            asked(&machine, &["--host", "claude-code"], &event)
        };
        assert_eq!(reading("secret.txt").code, if has_rules { 2 } else { 0 }, "{way}");
        let told = reading("open.txt");
        assert!(told.code == 0 && !told.out.contains("permissionDecision"), "{way}: {}", told.out);
    }
}

#[test]
fn a_policy_that_is_tried_out_says_the_same_about_broken_settings() {
    let machine = broken(|machine| machine.user_settings(&format!("{DENY}dney = []\n")));
    let event = json!({ "point": "BeforeToolUse", "tool": "bash", "args": { "command": "touch made" } });
    machine.write("event.json", &event.to_string());
    let told = machine.runs(&["hooks", "fire", &machine.path("event.json").display().to_string(), "--json"]);
    let judged: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{}{}", told.out, told.err));
    assert_eq!(judged["decision"], "ask", "{judged}");
    let told = machine.runs(&["hooks", "doctor"]);
    assert!(told.code == 1 && told.out.contains("dney"), "{}{}", told.out, told.err);
}

#[test]
fn no_hook_answers_for_the_person_who_has_to_approve() {
    let yes = "[[hook]]\npoint = \"PermissionRequest\"\nallow = true\n";
    let runs =
        "[[hook]]\npoint = \"PermissionRequest\"\nrun = { command = \"echo '{\\\"verdict\\\": \\\"allow\\\"}'\" }\n";
    let claude = json!({ "hooks": { "PermissionRequest": [{ "hooks": [{ "type": "command", "command":
        "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PermissionRequest\", \"decision\": {\"behavior\": \"allow\"}}}'" }] }] } });
    for (answers, claude) in [(yes, None), (runs, None), ("", Some(&claude))] {
        for is_broken in [false, true] {
            let machine = Machine::new();
            let mistake = if is_broken { "[nonsense]\n" } else { "" };
            machine.user_settings(&format!("{answers}{mistake}"));
            if let Some(settings) = claude {
                machine.write("home/.claude/settings.json", &settings.to_string());
            }
            let told = machine.plays_once(&[bash("touch made"), say("done")], &["--mode=ask"]);
            assert_eq!(machine.path("project/made").exists(), !is_broken, "{answers} {claude:?}: {}", told.err);
        }
    }
}

#[test]
fn broken_settings_of_claude_code_mean_the_same() {
    for (way, text) in [
        ("no JSON", "{ \"permissions\": { \"deny\": [\"Read(./secret.txt)\"]"),
        ("a list", "[]"),
        ("a zero byte", "{\0}"),
    ] {
        let machine = broken(|_| {});
        machine.write("home/.claude/settings.json", text);
        let told =
            machine.plays_once(&[bash("touch made"), reads("open.txt"), say("done")], &["--mode=bypass", "--quiet"]);
        assert!(!machine.path("project/made").exists(), "{way}: {}", told.err);
        assert!(machine.heard().contains("can be read"), "{way}: reading goes on: {}", told.err);
        let shown = on_one_line(&told.err);
        assert!(shown.contains("settings.json") && shown.contains("need your approval"), "{way}: {shown}");
    }
}

#[test]
fn what_a_broken_file_chooses_counts_as_far_as_it_can_be_read() {
    let machine = broken(|machine| machine.user_settings("[limits]\nsteps = 1\ncost = \"much\"\n[nonsense]\n"));
    let told = machine.plays_once(&[reads("open.txt"), reads("open.txt"), say("done")], &[]);
    assert_eq!(told.code, 3, "one step: {}", told.err);
}

#[test]
fn no_model_is_asked_if_its_address_cannot_be_read() {
    let listener = super::Listener::new();
    let machine = Machine::new();
    for settings in [
        "[model.provider.openai]\nbase_url = \"htp://127.0.0.1:1/v1\"\n".to_owned(),
        "[model.provider.openai]\nbase_url = \"http://127.0.0.1:1/v1\n".to_owned(),
        "[model.provider.openai]\nbase_url = \"http://127.0.0.1:1/v1\"\nkye = \"A\"\n".to_owned(),
    ] {
        // The usual address is ours here: what would go there is heard.
        machine.user_settings(&settings);
        let mut command = machine.command(&["run", "--model", "openai:gpt-5", "go"]);
        command.env("OPENAI_API_KEY", "sk-0123456789abcdef").env("OPENAI_BASE_URL", listener.url());
        let told = machine.told(&mut command);
        assert_eq!(told.code, 2, "{settings}: {}{}", told.out, told.err);
        assert!(told.err.contains("base_url") && told.err.contains("vertebra.toml"), "{settings}: {}", told.err);
    }
    assert!(listener.heard().is_empty(), "{:?}", listener.heard());
}

#[test]
fn sessions_are_not_looked_for_or_deleted_with_settings_that_cannot_be_read() {
    let machine = broken(|machine| machine.user_settings("[journal]\npath = 5\nkeep = \"1s\"\n"));
    for command in [&["sessions", "list"][..], &["sessions", "prune", "--yes"]] {
        let told = machine.runs(command);
        assert!(told.code != 0 && told.err.contains("line 2"), "{command:?}: {}{}", told.out, told.err);
    }
}

#[test]
fn settings_that_a_user_may_not_read_are_broken_and_not_missing() {
    let machine = broken(|machine| machine.user_settings(DENY));
    let program = machine.path("vertebra");
    fs::copy(env!("CARGO_BIN_EXE_vertebra"), &program).expect("copied");
    machine.write(
        "script.jsonl",
        &[bash("touch made"), reads("open.txt"), say("done")].map(|turn| turn.to_string()).join("\n"),
    );
    let is_root = fs::metadata("/proc/self").expect("a process").uid() == 0;
    for unreadable in [SETTINGS, "home/.config/vertebra"] {
        let before = fs::metadata(machine.path(unreadable)).expect("it is there").permissions();
        if is_root {
            given_to(&machine.path(""), 65534);
        }
        fs::set_permissions(machine.path(unreadable), fs::Permissions::from_mode(0o000)).expect("ours");
        let model = format!("--model=script:{}", machine.path("script.jsonl").display());
        let mut command = std::process::Command::new(&program);
        command.args(["run", "--no-journal", "--mode=bypass", &model, "go"]).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", machine.path("home")).current_dir(machine.path("project"));
        if is_root {
            command.uid(65534).gid(65534);
        }
        let told = machine.told(&mut command);
        fs::set_permissions(machine.path(unreadable), before).expect("ours");
        assert!(!machine.path("project/made").exists(), "{unreadable}: {}", told.err);
        assert!(matches!(told.code, 0 | 4), "{unreadable}: {}{}", told.out, told.err);
        let shown = on_one_line(&told.err);
        assert!(shown.contains("Permission denied") && shown.contains("need your approval"), "{shown}");
    }
}
