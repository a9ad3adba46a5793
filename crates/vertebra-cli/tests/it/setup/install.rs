//! Installing the policy into other agents, and removing it.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::Machine;

/// The settings file of each agent, per user and per project, and existing content of the user with unusual white space, order
/// and comments.
const FILES: &[(&str, &str, &str, &str)] = &[
    (
        "claude-code",
        ".claude/settings.json",
        ".claude/settings.json",
        "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"PreToolUse\": [ { \"matcher\": \"Bash\", \"hooks\": [ {\"type\":\"command\",\"command\":\"mine.sh\"} ] } ]\n    },\n    \"env\": {}\n}\n",
    ),
    (
        "codex",
        ".codex/hooks.json",
        ".codex/hooks.json",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}]}}",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        ".gemini/settings.json",
        "// mine\n{\n\t\"theme\": \"dark\", // dark is kind\n\t/* hooks come later */\n\t\"tools\": [\"a\", \"b\",],\n}\n",
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        ".cursor/hooks.json",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [\n      { \"command\": \"./mine.sh\" }\n    ]\n  }\n}\n",
    ),
    ("copilot", ".copilot/hooks/vertebra.json", ".github/hooks/vertebra.json", "{\"version\":1,\"hooks\":{}}\n"),
    ("vscode", ".copilot/hooks/vertebra-vscode.json", ".github/hooks/vertebra-vscode.json", "{ }\n"),
    (
        "windsurf",
        ".codeium/windsurf/hooks.json",
        ".windsurf/hooks.json",
        "{\n\t\"hooks\": {\n\t\t\"pre_run_command\": [\n\t\t\t{\"command\": \"mine.sh\", \"show_output\": true}\n\t\t]\n\t}\n}",
    ),
    ("kiro", ".kiro/agents/own.json", ".kiro/agents/own.json", "{\n  \"name\": \"own\",\n  \"tools\": [\"*\"]\n}\n"),
    ("qwen", ".qwen/settings.json", ".qwen/settings.json", "{}"),
    ("factory", ".factory/settings.json", ".factory/settings.json", "{\"hooks\": {}}"),
];

fn told(machine: &Machine, verb: &str, host: &str, scope: &str) -> super::Told {
    machine.runs(&[verb, "--host", host, scope])
}

/// Without comments and commas at the end of lists.
fn parsed(text: &str) -> Value {
    let text: String = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let text = text.split("/*").map(|part| part.split("*/").last().unwrap_or_default()).collect::<String>();
    serde_json::from_str(&text.replace(",\n}", "\n}").replace(",]", "]"))
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_help_of_install_and_uninstall_explains_the_command_and_shows_examples() {
    let machine = Machine::new();
    for (command, says) in [("install", "runs `vertebra hook` at every event"), ("uninstall", "Removes the entries")] {
        let help = machine.runs(&[command, "--help"]).out;
        assert!(help.contains(says) && help.contains(&format!("  vertebra {command} --host claude-code")), "{help}");
    }
}

#[test]
fn uninstall_restores_every_file_byte_for_byte() {
    let machine = Machine::new();
    for (host, user, project, text) in FILES {
        for (scope, file) in [("--user", format!("home/{user}")), ("--project", format!("project/{project}"))] {
            machine.write(&file, text);
            let first = told(&machine, "install", host, scope);
            assert_eq!(first.code, 0, "{host}: {}", first.err);
            let installed = machine.read(&file);
            assert!(installed.contains(&format!(" hook --host {host} --event ")), "{host}: {installed}");
            assert!(installed.contains(env!("CARGO_BIN_EXE_vertebra")), "the whole path: {installed}");
            for line in text.lines().filter(|line| line.contains("mine") || line.contains("/*") || line.contains("own"))
            {
                let own = line.trim_end_matches(|letter| "}] \t".contains(letter)).trim();
                assert!(installed.contains(own), "{host}: {own}: {installed}");
            }
            let mut without = parsed(&installed);
            let hooks = without["hooks"].as_object_mut().expect("hooks");
            assert!(hooks.len() >= 5, "{host}");
            let again = told(&machine, "install", host, scope);
            assert!(again.out.contains("already"), "{host}: {}", again.out);
            assert_eq!(machine.read(&file), installed, "{host}: once is enough");
            let back = told(&machine, "uninstall", host, scope);
            assert_eq!(back.code, 0, "{host}: {}", back.err);
            assert_eq!(&machine.read(&file), text, "{host}");
            assert!(told(&machine, "uninstall", host, scope).out.contains("is not installed in"), "{host}");
        }
    }
}

#[test]
fn an_empty_settings_file_can_be_installed_into() {
    let machine = Machine::new();
    for (host, user, ..) in FILES {
        let file = format!("home/{user}");
        machine.write(&file, "\n");
        let made = told(&machine, "install", host, "--user");
        assert_eq!(made.code, 0, "{host}: {}", made.err);
        assert!(parsed(&machine.read(&file))["hooks"].is_object(), "{host}");
        assert!(made.out.contains("You have no policy yet: create "), "{host}: {}", made.out);
        assert_eq!(told(&machine, "uninstall", host, "--user").code, 0, "{host}");
        assert_eq!(machine.read(&file), "\n", "{host}");
        assert!(told(&machine, "uninstall", host, "--user").out.contains("is not installed in"), "{host}");
    }
}

#[test]
fn uninstall_deletes_the_files_and_folders_that_install_created() {
    let machine = Machine::new();
    let hosts = FILES.iter().map(|(host, ..)| *host).chain(["cline", "opencode", "amp"]);
    for host in hosts {
        for scope in ["--user", "--project"] {
            let listed = |folder: &str| {
                let mut names: Vec<_> = fs::read_dir(machine.path(folder))
                    .expect("a folder")
                    .flatten()
                    .map(|entry| entry.file_name())
                    .collect();
                names.sort();
                names
            };
            let state = machine.path("home/.local");
            fs::create_dir_all(&state).expect("a folder");
            fs::create_dir_all(machine.path("home/.config")).expect("a folder");
            let before = (listed("home"), listed("project"));
            let made = told(&machine, "install", host, scope);
            assert_eq!(made.code, 0, "{host}: {}", made.err);
            assert!(told(&machine, "install", host, scope).out.contains("already"), "{host}");
            let back = told(&machine, "uninstall", host, scope);
            assert_eq!(back.code, 0, "{host}: {}", back.err);
            assert_eq!((listed("home"), listed("project")), before, "{host} {scope}");
        }
    }
}

#[test]
fn uninstall_keeps_changes_that_were_made_since() {
    let machine = Machine::new();
    for (host, user, _, text) in FILES {
        let file = format!("home/{user}");
        machine.write(&file, text);
        assert_eq!(told(&machine, "install", host, "--user").code, 0);
        // The first brace, wherever it is.
        let changed = machine.read(&file).replacen('{', "{ \"theirs\": [1, {\"a\": 2}],", 1);
        machine.write(&file, &changed);
        let back = told(&machine, "uninstall", host, "--user");
        assert_eq!(back.code, 0, "{host}: {}", back.err);
        let left = machine.read(&file);
        assert!(!left.contains("vertebra"), "{host}: {left}");
        let mut expected = parsed(text);
        expected["theirs"] = json!([1, { "a": 2 }]);
        let mut left = parsed(&left);
        for value in [&mut expected, &mut left] {
            if value["hooks"].as_object().is_some_and(serde_json::Map::is_empty) {
                value.as_object_mut().expect("an object").remove("hooks");
            }
        }
        assert_eq!(left, expected, "{host}");
        assert!(told(&machine, "uninstall", host, "--user").out.contains("is not installed in"), "{host}");
    }
}

#[test]
fn uninstall_keeps_a_hook_that_was_added_to_our_entry() {
    let machine = Machine::new();
    let file = "home/.claude/settings.json";
    assert_eq!(told(&machine, "install", "claude-code", "--user").code, 0);
    let mut settings = parsed(&machine.read(file));
    let theirs = json!({ "type": "command", "command": "theirs" });
    let group = &mut settings["hooks"]["PreToolUse"][0]["hooks"];
    group.as_array_mut().expect("a group").insert(0, theirs.clone());
    machine.write(file, &settings.to_string());
    // Installed again by another copy, and taken away.
    machine.write(file, &machine.read(file).replace(" hook --host", "-older hook --host"));
    assert_eq!(told(&machine, "install", "claude-code", "--user").code, 0);
    assert!(machine.read(file).contains("theirs") && !machine.read(file).contains("-older"), "{}", machine.read(file));
    assert_eq!(told(&machine, "uninstall", "claude-code", "--user").code, 0);
    assert_eq!(parsed(&machine.read(file)), json!({ "hooks": { "PreToolUse": [{ "hooks": [theirs] }] } }));
}

#[test]
fn of_two_lists_with_the_same_name_only_our_entry_is_removed() {
    let machine = Machine::new();
    let file = "home/.claude/settings.json";
    let ours = r#"{"hooks": [{"type": "command", "command": "vertebra hook --host claude-code --event PreToolUse"}]}"#;
    let theirs = r#"{"hooks": [{"type": "command", "command": "theirs"}]}"#;
    machine.write(file, &format!(r#"{{"hooks": {{"PreToolUse": [{theirs}], "PreToolUse": [{ours}]}}}}"#));
    assert_eq!(told(&machine, "uninstall", "claude-code", "--user").code, 0);
    assert_eq!(machine.read(file), format!(r#"{{"hooks": {{"PreToolUse": [{theirs}]}}}}"#));
}

#[test]
fn reinstalling_replaces_an_older_entry_and_uninstall_still_restores_the_original() {
    let machine = Machine::new();
    let (host, user, _, text) = FILES[0];
    let file = format!("home/{user}");
    machine.write(&file, text);
    assert_eq!(told(&machine, "install", host, "--user").code, 0);
    let older = machine.read(&file).replace(env!("CARGO_BIN_EXE_vertebra"), "/opt/old/vertebra");
    machine.write(&file, &older);
    let row = |machine: &Machine| {
        let hosts: Value = serde_json::from_str(&machine.runs(&["hosts"]).out).expect("JSON");
        hosts.as_array().expect("hosts").iter().find(|row| row["host"] == host).expect("the host").clone()
    };
    assert_eq!(row(&machine)["user"], "outdated");
    assert_eq!(told(&machine, "install", host, "--user").code, 0);
    assert!(!machine.read(&file).contains("/opt/old"), "{}", machine.read(&file));
    assert_eq!(row(&machine)["user"], "installed");
    assert_eq!(told(&machine, "uninstall", host, "--user").code, 0);
    assert_eq!(parsed(&machine.read(&file)), parsed(text));
    assert_eq!(row(&machine)["user"], "no");
}

/// What `vertebra hosts` says of an agent's hooks for a person.
fn standing(machine: &Machine, host: &str) -> Value {
    let hosts: Value = serde_json::from_str(&machine.runs(&["hosts", "--json"]).out).expect("JSON");
    hosts.as_array().expect("hosts").iter().find(|one| one["host"] == host).expect("this one")["user"].clone()
}

#[test]
fn a_disarmed_entry_is_detected_and_fixed_by_install() {
    let machine = Machine::new();
    let file = "home/.claude/settings.json";
    assert_eq!(told(&machine, "install", "claude-code", "--user").code, 0);
    assert_eq!(standing(&machine, "claude-code"), "installed");
    let installed = machine.read(file);
    let command = parsed(&installed)["hooks"]["PreToolUse"][0]["hooks"][0]["command"].clone();
    let command = command.as_str().expect("a command").to_owned();
    let disarmed: [fn(&mut Value, &str); 9] = [
        |group, command| group["hooks"][0]["command"] = format!("true || {command}").into(),
        |group, command| group["hooks"][0]["command"] = format!("{command} || true").into(),
        |group, _| group["matcher"] = "NoSuchTool".into(),
        |group, _| group["hooks"][0]["if"] = "Bash(nothing)".into(),
        |group, _| group["disabled"] = true.into(),
        |group, _| group["hooks"][0]["async"] = true.into(),
        |group, _| group["hooks"][0]["timeout"] = 0.001.into(),
        |group, _| group["hooks"][0]["onFailure"] = "allow".into(),
        |group, command| group["hooks"][0] = json!({ "type": "command", "command": "true", "statusMessage": command }),
    ];
    for disarm in disarmed {
        let mut settings = parsed(&installed);
        disarm(&mut settings["hooks"]["PreToolUse"][0], &command);
        machine.write(file, &settings.to_string());
        assert_eq!(standing(&machine, "claude-code"), "outdated", "{settings}");
        assert_eq!(told(&machine, "install", "claude-code", "--user").code, 0);
        assert_eq!(standing(&machine, "claude-code"), "installed", "{}", machine.read(file));
        assert_eq!(parsed(&machine.read(file))["hooks"]["PreToolUse"], parsed(&installed)["hooks"]["PreToolUse"]);
    }
}

#[test]
fn install_warns_if_all_hooks_are_switched_off() {
    let machine = Machine::new();
    for (host, file, off) in [
        ("claude-code", "home/.claude/settings.json", json!({ "disableAllHooks": true })),
        ("gemini", "home/.gemini/settings.json", json!({ "hooksConfig": { "enabled": false } })),
    ] {
        machine.write(file, &off.to_string());
        let made = told(&machine, "install", host, "--user");
        assert!(made.out.contains("are switched off in"), "{host}: {}", made.out);
        assert_eq!(standing(&machine, host), "off");
        machine
            .write(file, &machine.read(file).replace("true", "false").replace("\"enabled\":false", "\"enabled\":true"));
        assert_eq!(standing(&machine, host), "installed", "{}", machine.read(file));
    }
}

#[test]
fn a_file_that_cannot_be_edited_safely_is_not_changed() {
    let machine = Machine::new();
    let file = "home/.claude/settings.json";
    let refused = |text: &str, why: &str| {
        machine.write(file, text);
        let told = told(&machine, "install", "claude-code", "--user");
        assert_eq!(told.code, 1, "{text}");
        assert!(told.err.contains("settings.json") && told.err.contains(why), "{text}: {}", told.err);
        assert_eq!(machine.read(file), text);
    };
    refused("{\n  \"hooks\": {\n  \"a\": 1\n", "line 4");
    refused("[]", "not a JSON object");
    refused("{\"hooks\": []}", "`hooks` is not an object");
    refused("{\"hooks\": {\"PreToolUse\": {}}}", "`hooks.PreToolUse` is not a list");
    fs::write(machine.path(file), b"{\"a\": \"\xff\"}").expect("written");
    assert!(told(&machine, "install", "claude-code", "--user").err.contains("not UTF-8"));

    fs::remove_file(machine.path(file)).expect("removed");
    machine.write("dotfiles/settings.json", "{}");
    std::os::unix::fs::symlink(machine.path("dotfiles/settings.json"), machine.path(file)).expect("a link");
    let told_of = told(&machine, "install", "claude-code", "--user");
    assert_eq!(told_of.code, 1);
    assert!(told_of.err.contains("is a symbolic link to"), "{}", told_of.err);
    assert_eq!(machine.read("dotfiles/settings.json"), "{}");

    machine.write("home/.codex", "in the way");
    let told_of = told(&machine, "install", "codex", "--user");
    assert_eq!(told_of.code, 1);
    assert!(told_of.err.contains(".codex") && told_of.err.contains("the file was not changed"), "{}", told_of.err);

    machine.write("home/Documents/Cline/Hooks/PreToolUse", "#!/bin/sh\n# mine\n");
    let told_of = told(&machine, "install", "cline", "--user");
    assert_eq!(told_of.code, 1);
    assert!(told_of.err.contains("only one") && told_of.err.contains("exec "), "{}", told_of.err);
    assert_eq!(machine.read("home/Documents/Cline/Hooks/PreToolUse"), "#!/bin/sh\n# mine\n");
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let machine = Machine::new();
    let told = machine.runs(&["install", "--host", "cursor", "--dry-run"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.contains("would be created: [here]/home/.cursor/hooks.json"), "{}", told.out);
    assert!(
        told.out.contains("+      \"failClosed\": true") || told.out.contains("\"failClosed\": true"),
        "{}",
        told.out
    );
    assert!(!machine.path("home/.cursor").exists());
}

/// Runs a command as an agent would.
fn called(machine: &Machine, line: &str, event: &Value) -> i32 {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env_clear().env("HOME", machine.path("home")).current_dir(machine.path("project"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell");
    child.stdin.take().expect("stdin").write_all(event.to_string().as_bytes()).expect("written");
    child.wait().expect("it ends").code().expect("a code")
}

#[test]
fn the_installed_command_denies_and_timeouts_use_the_units_of_the_agent() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\ndeny = [\"Bash(forbidden *)\"]\n");
    for host in ["claude-code", "gemini", "cursor"] {
        assert_eq!(told(&machine, "install", host, "--user").code, 0);
    }
    let claude = parsed(&machine.read("home/.claude/settings.json"));
    let handler = &claude["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!((&handler["timeout"], &handler["onFailure"]), (&json!(60), &json!("block")));
    assert!(claude["hooks"]["Stop"][0]["hooks"][0].get("onFailure").is_none());
    let event = |word: &str| {
        json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": machine.path("project"), "permission_mode": "default",
                "tool_name": "Bash", "tool_input": { "command": word } })
    };
    let line = handler["command"].as_str().expect("a command");
    assert_eq!((called(&machine, line, &event("forbidden x")), called(&machine, line, &event("ls"))), (2, 0));

    let gemini = parsed(&machine.read("home/.gemini/settings.json"));
    assert_eq!(gemini["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 60000, "milliseconds");
    let cursor = parsed(&machine.read("home/.cursor/hooks.json"));
    assert_eq!((&cursor["version"], &cursor["hooks"]["preToolUse"][0]["failClosed"]), (&json!(1), &json!(true)));

    assert_eq!(told(&machine, "install", "cline", "--project").code, 0);
    let program = machine.path("project/.clinerules/hooks/PreToolUse");
    assert_eq!(fs::metadata(&program).expect("a program").permissions().mode() & 0o111, 0o111);
    assert_eq!(
        called(&machine, &program.display().to_string(), &json!({ "clineVersion": "3" })),
        0,
        "its answer is JSON"
    );
}

#[test]
fn an_installed_hook_notices_that_the_records_of_trust_are_gone() {
    let machine = Machine::new();
    // An entry of an older version has no such word, and is brought up to date.
    assert_eq!(told(&machine, "install", "codex", "--user").code, 0);
    let file = "home/.codex/hooks.json";
    let installed = machine.read(file);
    machine.write(file, &installed.replace(" --recorded", ""));
    assert_eq!(told(&machine, "install", "codex", "--user").code, 0);
    assert_eq!(machine.read(file), installed);
    let entry = parsed(&installed)["hooks"]["PreToolUse"][0]["hooks"][0]["command"].clone();
    let line = entry.as_str().expect("a command");
    assert!(line.ends_with(" --recorded"), "{line}");
    let event = |tool: &str, input: Value| {
        json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": machine.path("project"), "permission_mode": "default",
                "tool_name": tool, "tool_input": input })
    };
    let change = event("Bash", json!({ "command": "touch x" }));
    assert_eq!(called(&machine, line, &change), 0);
    for folder in ["home/.local/state/vertebra", "home/.config/vertebra"] {
        fs::remove_dir_all(machine.path(folder)).expect("a folder");
    }
    // Codex cannot ask a person.
    assert_eq!(called(&machine, line, &change), 2);
    // A project's entry is used by people who trusted nothing yet.
    assert_eq!(told(&machine, "install", "claude-code", "--project").code, 0);
    assert!(!machine.read("project/.claude/settings.json").contains("--recorded"));
}

#[test]
fn install_follows_the_variable_that_names_the_agents_home() {
    let machine = Machine::new();
    for (host, variable, file) in [
        ("copilot", "COPILOT_HOME", "hooks/vertebra.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/vertebra.js"),
    ] {
        let folder = machine.path(&format!("elsewhere-{host}"));
        let mut install = machine.command(&["install", "--host", host, "--user"]);
        let mut child = install.env(variable, &folder).stdout(Stdio::null()).spawn().expect("it starts");
        assert!(child.wait().expect("it ends").success(), "{host}");
        assert!(folder.join(file).is_file(), "{host}");
    }
}

#[test]
fn install_warns_about_a_file_that_the_agent_may_read_instead() {
    let machine = Machine::new();
    assert!(!told(&machine, "install", "factory", "--project").out.contains("hooks.json"));
    machine.write("project/.factory/hooks.json", "{}");
    let again = told(&machine, "install", "factory", "--project");
    assert!(again.out.contains(".factory/hooks.json exists"), "{}", again.out);
}

#[test]
fn hosts_lists_the_agents_found_and_what_each_can_enforce() {
    let machine = Machine::new();
    machine.write("home/.codex/config.toml", "");
    let hosts: Value = serde_json::from_str(&machine.runs(&["hosts", "--json"]).out).expect("JSON");
    let row = |name: &str| hosts.as_array().expect("hosts").iter().find(|row| row["host"] == name).expect("the host");
    assert_eq!(row("codex")["here"], true);
    assert_eq!(
        (&row("codex")["can"]["tool.ask"], &row("claude-code")["can"]["tool.ask"]),
        (&json!("denies"), &json!("yes"))
    );
    assert_eq!(row("windsurf")["can"]["tool.rewrite"], "denies");
    let here: Value = serde_json::from_str(&machine.runs(&["hosts", "--here", "--json"]).out).expect("JSON");
    assert!(here.as_array().expect("hosts").iter().any(|row| row["host"] == "codex"));
}
