//! `vertebra hook` as other agents call it.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Machine, Told};

/// The folder of the cases that are put to every host.
fn cases() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vertebra-bridge/src/host/cases")
}

fn fed(command: &mut Command, input: &[u8]) -> Told {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("stdin");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the command ends");
    writer.join().expect("written");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Told { code: status.code().expect("an end of its own"), out: text(stdout), err: text(stderr) }
}

/// A text without the word who decided, which names a file and a line.
fn plain(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find(" (vertebra: ") {
        out.push_str(&rest[..at]);
        rest = rest[at..].find("))").map_or("", |end| &rest[at + end + 2..]);
    }
    out + rest
}

/// Every case of a host, by the real program with a real policy.
fn answers(host: &str) {
    let machine = Machine::new();
    let policy = cases().join("policy.toml").display().to_string();
    let file: Value =
        serde_json::from_str(&fs::read_to_string(cases().join(format!("{host}.json"))).expect("cases")).expect("JSON");
    for case in file["cases"].as_array().expect("cases") {
        let mut event = file["common"].clone();
        event.as_object_mut().expect("an object").extend(case["event"].as_object().expect("an object").clone());
        let mut arguments = vec!["hook", "--config", &policy];
        arguments.extend(case["host"].as_str().into_iter().flat_map(|host| ["--host", host]));
        arguments.extend(case["moment"].as_str().into_iter().flat_map(|moment| ["--event", moment]));
        let mut command = machine.command(&arguments);
        for (name, value) in file["environment"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().expect("text"));
        }
        let told = fed(&mut command, event.to_string().as_bytes());
        let (expected, at) =
            (&case["answer"], format!("{host}: {}: {} {} {}", case["it"], told.code, told.out, told.err));
        assert_eq!(Value::from(told.code), expected["exit"], "{at}");
        let stdout = plain(told.out.trim_end());
        if let Some(part) = expected["stdout_has"].as_str() {
            assert!(stdout.contains(part), "{at}");
        } else {
            let stdout = serde_json::from_str(&stdout).unwrap_or_else(|_| Value::from(stdout.clone()));
            let nothing = json!("");
            let wanted = expected.get("stdout").unwrap_or(&nothing);
            assert_eq!(&stdout, wanted, "{at}");
        }
        assert!(expected["stderr"].as_str().is_none_or(|part| told.err.contains(part)), "{at}");
    }
}

macro_rules! hosts {
    ($($name:ident: $host:literal;)*) => {$(
        #[test]
        fn $name() {
            answers($host);
        }
    )*};
}

hosts! {
    claude_code_is_answered_as_it_reads: "claude-code";
    codex_is_answered_as_it_reads: "codex";
    gemini_cli_is_answered_as_it_reads: "gemini";
    cursor_is_answered_as_it_reads: "cursor";
    copilot_is_answered_as_it_reads: "copilot";
    vs_code_is_answered_as_it_reads: "vscode";
    windsurf_is_answered_as_it_reads: "windsurf";
    cline_is_answered_as_it_reads: "cline";
    kiro_is_answered_as_it_reads: "kiro";
    qwen_code_is_answered_as_it_reads: "qwen";
    factory_droid_is_answered_as_it_reads: "factory";
    the_shim_of_opencode_is_answered_as_it_reads: "opencode";
    the_shim_of_amp_is_answered_as_it_reads: "amp";
}

const FORBIDDEN: &str =
    "[[hook]]\nname = \"no\"\npoint = \"BeforeToolUse\"\nmatch = { command = \"forbidden\" }\ndeny = \"not here\"\n";

pub(super) fn call(machine: &Machine, command: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": machine.path("project"), "permission_mode": "default",
        "tool_name": "Bash", "tool_input": { "command": command },
    })
}

pub(super) fn asked(machine: &Machine, arguments: &[&str], event: &Value) -> Told {
    fed(&mut machine.command(&[&["hook"], arguments].concat()), event.to_string().as_bytes())
}

#[test]
fn an_event_that_cannot_be_read_is_denied_before_a_tool_call() {
    let machine = Machine::new();
    let at_gate = ["hook", "--host", "claude-code", "--event", "PreToolUse"];
    let cases: [(&[u8], &str); 6] = [
        (b"", "stdin is empty"),
        (b"  \n", "stdin is empty"),
        (b"hello", "is not JSON"),
        (b"{\"a\": ", "is not JSON"),
        (b"{\"a\": \"\xff\xfe\"}", "is not UTF-8"),
        (b"[1, 2]", "is not a JSON object"),
    ];
    for (input, why) in cases {
        let told = fed(&mut machine.command(&at_gate), input);
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{input:?}");
        assert!(told.err.contains(why), "{why}: {}", told.err);
        let told = fed(&mut machine.command(&["hook"]), input);
        assert_eq!(told.code, 2, "the event is unknown: {}", told.err);
        let told = fed(&mut machine.command(&["hook", "--host", "claude-code", "--event", "Stop"]), input);
        assert_eq!((told.code, told.out.as_str()), (0, ""), "a stop event is not denied: {}", told.err);
        assert!(told.err.contains(why), "{}", told.err);
        let told = fed(&mut machine.command(&[&at_gate[..], &["--fail-open"]].concat()), input);
        assert_eq!((told.code, told.out.as_str()), (0, ""), "{}", told.err);
        assert!(told.err.contains(why), "{}", told.err);
        let told = fed(&mut machine.command(&["hook", "--host", "cline", "--event", "PreToolUse"]), input);
        assert_eq!(told.code, 0);
        assert_eq!(serde_json::from_str::<Value>(&told.out).expect("JSON")["cancel"], true, "{}", told.out);
    }
    let told = fed(&mut machine.command(&["hook", "--host", "clod"]), b"{}");
    assert_eq!(told.code, 2);
    assert!(told.err.contains("unknown agent `clod`") && told.err.contains("claude-code"), "{}", told.err);
}

#[test]
fn a_policy_that_cannot_be_read_denies_and_names_its_file() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\ndeny = [\"Bash(rm *)\"]\nmodes = 1\n");
    let told = asked(&machine, &[], &call(&machine, "ls"));
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.contains("vertebra.toml") && told.err.contains("modes"), "{}", told.err);
    assert_eq!(asked(&machine, &["--fail-open"], &call(&machine, "ls")).code, 0);
    let told = asked(&machine, &["--config", "nowhere.toml"], &call(&machine, "ls"));
    assert_eq!(told.code, 2);
    assert!(told.err.contains("nowhere.toml"), "{}", told.err);
}

#[test]
fn an_invalid_pattern_is_reported_even_if_no_event_reaches_it() {
    let machine = Machine::new();
    for pattern in ["a(", "x)", "+", "[b", "c{2", r"\q"] {
        machine.user_settings(&format!(
            "{FORBIDDEN}[[hook]]\npoint = \"AfterToolUse\"\nmatch = {{ command = '{pattern}' }}\nstop = \"no\"\n"
        ));
        let told = asked(&machine, &[], &call(&machine, "ls"));
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{pattern}");
        assert!(told.err.contains(&format!("invalid regex `{pattern}` in `command`")), "{}", told.err);
    }
}

#[test]
fn programs_of_a_policy_given_by_config_start_in_its_folder() {
    let machine = Machine::new();
    machine.write(
        "policies/check.toml",
        "[[hook]]\nname = \"here\"\npoint = \"BeforeToolUse\"\nrun = { command = \"pwd -P > where\" }\n",
    );
    let policies = machine.path("policies").canonicalize().expect("a folder");
    let (file, place) = (policies.join("check.toml").display().to_string(), policies.join("where"));
    let event = call(&machine, "ls");
    let started = || {
        let found = fs::read_to_string(&place).expect("the program has run");
        fs::remove_file(&place).expect("a file");
        found.trim().to_owned()
    };
    let told = asked(&machine, &["--config", &file], &event);
    assert_eq!(told.code, 0, "{}", told.err);
    assert_eq!(started(), policies.display().to_string());
    let told = fed(&mut machine.command(&["hooks", "fire", "-", "--config", &file]), event.to_string().as_bytes());
    assert_eq!(told.code, 0, "{}", told.err);
    assert_eq!(started(), policies.display().to_string());
}

#[test]
fn an_event_of_ten_megabytes_is_judged_and_one_of_forty_is_denied() {
    let machine = Machine::new();
    machine.user_settings(FORBIDDEN);
    let long = |bytes: usize| call(&machine, &format!("run forbidden {}", "x".repeat(bytes)));
    let told = asked(&machine, &[], &long(10 * 1024 * 1024));
    assert_eq!(told.code, 2);
    assert!(told.err.contains("not here"), "{}", &told.err[..told.err.len().min(500)]);
    let told = asked(&machine, &["--host", "claude-code", "--event", "PreToolUse"], &long(40 * 1024 * 1024));
    assert_eq!(told.code, 2);
    assert!(told.err.contains("larger than"), "{}", told.err);
}

#[test]
fn an_agent_that_never_closes_stdin_gets_an_answer() {
    let machine = Machine::new();
    machine.user_settings(FORBIDDEN);
    let mut command = machine.command(&["hook"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(call(&machine, "run forbidden").to_string().as_bytes()).expect("written");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(2));
    drop(stdin);
}

#[test]
fn an_interrupt_ends_the_hook_and_the_processes_it_started() {
    let machine = Machine::new();
    let script = "echo $$ > started; while :; do sleep 1; done";
    machine.user_settings(&format!(
        "[[hook]]\nname = \"slow\"\npoint = \"BeforeToolUse\"\nrun = {{ command = \"{script}\", timeout = \"10m\" }}\n"
    ));
    for (words, code) in [(&["hook"][..], 2), (&["hooks", "fire", "-"], 1), (&["hooks", "explain", "-"], 1)] {
        machine.write("project/started", "");
        let mut command = machine.command(words);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let mut stdin = child.stdin.take().expect("stdin");
        stdin.write_all(call(&machine, "ls").to_string().as_bytes()).expect("written");
        drop(stdin);
        let end = Instant::now() + Duration::from_mins(1);
        while machine.read("project/started").trim().is_empty() {
            assert!(Instant::now() < end, "the hook does not start");
            std::thread::yield_now();
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{words:?}: and the call does not pass");
        let script: i32 = machine.read("project/started").trim().parse().expect("a number");
        let script = rustix::process::Pid::from_raw(script).expect("a process");
        while rustix::process::test_kill_process(script).is_ok() {
            assert!(Instant::now() < end, "what it started lives on");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_project_policy_applies_once_it_is_trusted_even_if_the_agent_changes_folders() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", FORBIDDEN);
    machine.write("elsewhere/.keep", "");
    let forbidden = call(&machine, "run forbidden");
    assert_eq!(asked(&machine, &[], &forbidden).code, 0, "it is not trusted");
    let start = json!({ "hook_event_name": "SessionStart", "session_id": "s", "cwd": machine.path("project"), "source": "startup" });
    let told = asked(&machine, &[], &start);
    assert_eq!(told.code, 0);
    let message = serde_json::from_str::<Value>(&told.out).expect("JSON")["systemMessage"].to_string();
    assert!(message.contains("not trusted") && message.contains("vertebra trust"), "{message}");

    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    assert_eq!(asked(&machine, &[], &forbidden).code, 2);
    assert_eq!(asked(&machine, &[], &start).out, "");
    let mut gone = forbidden.clone();
    gone["cwd"] = machine.path("elsewhere").to_string_lossy().into();
    assert_eq!(asked(&machine, &[], &gone).code, 0, "it is another folder");
    let mut command = machine.command(&["hook"]);
    command.env("CLAUDE_PROJECT_DIR", machine.path("project"));
    assert_eq!(fed(&mut command, gone.to_string().as_bytes()).code, 2, "but the session began in this one");

    machine.write("project/vertebra.toml", &FORBIDDEN.replace("forbidden", "another"));
    assert!(asked(&machine, &[], &start).out.contains("changed since"));
}

#[test]
fn creating_a_repository_inside_a_project_does_not_escape_its_policy() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", FORBIDDEN);
    machine
        .write("project/check.sh", "#!/bin/sh\necho '{\"verdict\": \"deny\", \"reason\": \"the script says no\"}'\n");
    let script = "[[hook]]\npoint = \"BeforeToolUse\"\nmatch = { command = \"scripted\" }\nrun = { command = \"sh ./check.sh\" }\n";
    machine.write("project/vertebra.local.toml", script);
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    machine.write("project/inner/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("project/inner/deep/.keep", "");
    let from = |folder: &str, command: &str| {
        let mut call = call(&machine, command);
        call["cwd"] = machine.path(folder).to_string_lossy().into();
        asked(&machine, &[], &call)
    };
    for folder in ["project/inner", "project/inner/deep"] {
        assert_eq!(from(folder, "run forbidden").code, 2, "{folder}");
        assert_eq!(from(folder, "ls").code, 0, "{folder}");
        let told = from(folder, "run scripted");
        assert!(told.code == 2 && told.err.contains("the script says no"), "{folder}: {}", told.err);
    }
    machine.write("project/vertebra.toml", &FORBIDDEN.replace("forbidden", "another"));
    assert!(from("project/inner", "ls").out.contains("\"ask\""), "what was trusted has changed");
    machine.write("project/vertebra.toml", FORBIDDEN);

    machine.write("project/inner/vertebra.toml", &FORBIDDEN.replace("forbidden", "another"));
    assert_eq!(from("project/inner", "run forbidden").code, 2, "its own policy is not trusted");
    let inner = machine.path("project/inner");
    assert_eq!(machine.command(&["trust", "--yes"]).current_dir(&inner).status().expect("it runs").code(), Some(0));
    assert_eq!(from("project/inner/deep", "run another").code, 2, "its own policy is trusted");
    assert_eq!(from("project/inner/deep", "run forbidden").code, 0, "and replaces the other one");
}

#[test]
fn new_files_next_to_a_trusted_policy_do_not_disable_it() {
    const READING: &str = "[[hook]]\npoint = \"BeforeToolUse\"\nmatch = { path = \"**/.env\" }\ndeny = \"no\"\n";
    let policy = format!("{FORBIDDEN}\n{READING}");
    let scene = |at: &str| {
        let machine = Machine::new();
        machine.write("project/.git/HEAD", "ref: refs/heads/main\n");
        machine.write(&format!("{at}/vertebra.toml"), &policy);
        let trust = machine.command(&["trust", "--yes"]).current_dir(machine.path(at)).status();
        assert_eq!(trust.expect("it runs").code(), Some(0));
        machine
    };
    let holds = |machine: &Machine, folder: &str, why: &str| {
        fs::create_dir_all(machine.path(folder)).expect("a folder");
        let mut forbidden = call(machine, "run forbidden");
        forbidden["cwd"] = machine.path(folder).to_string_lossy().into();
        assert_eq!(asked(machine, &[], &forbidden).code, 2, "{why}");
        let mut reading = forbidden.clone();
        reading["tool_name"] = "Read".into();
        reading["tool_input"] = json!({ "file_path": machine.path(folder).join(".env") });
        assert_eq!(asked(machine, &[], &reading).code, 2, "{why}: reading");
    };
    for (text, why) in
        [("", "an empty file"), ("# x", "a comment"), (READING, "another policy"), ("[[", "a broken one")]
    {
        let machine = scene("project");
        machine.write("project/sub/vertebra.toml", text);
        holds(&machine, "project/sub", why);
        machine.write("project/sub/inner/.git/HEAD", "ref: refs/heads/main\n");
        holds(&machine, "project/sub/inner", why);
    }
    let machine = scene("project");
    machine.write("project/vertebra.local.toml", "[limits]\nsteps = 3\n");
    holds(&machine, "project", "a local file");
    machine.write("project/inner/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("project/inner/AGENTS.md", "Be kind.\n");
    let trust = machine.command(&["trust", "--yes"]).current_dir(machine.path("project/inner")).status();
    assert_eq!(trust.expect("it runs").code(), Some(0));
    holds(&machine, "project/inner", "a repository without a policy is trusted");

    let machine = scene("project/a");
    machine.write("project/a/.git/HEAD", "ref: refs/heads/main\n");
    holds(&machine, "project/a", "a repository is made where the policy is");
    let machine = scene("project/a");
    fs::remove_dir_all(machine.path("project/.git")).expect("removed");
    holds(&machine, "project/a", "the repository is none any more");
}

#[test]
fn a_call_that_touches_the_users_policy_needs_approval() {
    let machine = Machine::new();
    let config = machine.path("home/.config/vertebra/vertebra.toml").to_string_lossy().into_owned();
    let state = machine.path("home/.local/state/vertebra/trust.json").to_string_lossy().into_owned();
    let asks = |event: &Value| asked(&machine, &[], event).out.contains("\"ask\"");
    let elsewhere = "rm $XDG_STATE_HOME/vertebra/trust.json".to_owned();
    for command in [format!("mv {state} elsewhere"), "tee ~/.config/vertebra/vertebra.toml".to_owned(), elsewhere] {
        let told = asked(&machine, &[], &call(&machine, &command));
        assert!(told.code == 2 || told.out.contains("\"ask\""), "{command}");
    }
    for path in [&config, &state] {
        for (tool, expected) in [("Write", true), ("Edit", true), ("Read", false)] {
            let mut event = call(&machine, "");
            event["tool_name"] = tool.into();
            event["tool_input"] = json!({ "file_path": path, "content": "", "old_string": "a", "new_string": "b" });
            assert_eq!(asks(&event), expected, "{tool} {path}");
        }
    }
}

#[test]
fn an_invalid_pattern_allows_nothing() {
    let machine = Machine::new();
    machine.user_settings(
        "[[hook]]\npoint = \"BeforeToolUse\"\nmatch = { command = '^git tag [\\w.-]{1,2550}$' }\nallow = true\n",
    );
    let told = asked(&machine, &[], &call(&machine, "echo git tag; echo hello"));
    assert!(told.code == 2 && told.err.contains("line 3"), "{} {}", told.out, told.err);
}

#[test]
fn changing_a_trusted_policy_makes_every_changing_call_need_approval() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", FORBIDDEN);
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
        let told = asked(&machine, &[], &forbidden);
        let answer: Value =
            serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{way}: {} {}", told.out, told.err));
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "ask", "{way}");
        let mut codex = forbidden.clone();
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
    let told = fed(command.current_dir(machine.path("moved")), forbidden.to_string().as_bytes());
    assert!(told.out.contains("\"ask\""), "the folder is gone: {} {}", told.out, told.err);
}

#[test]
fn the_log_records_changes_and_events_that_could_not_be_judged() {
    let machine = Machine::new();
    let lines = || -> Vec<Value> {
        let log = machine.read("home/.local/state/vertebra/hook-log.jsonl");
        log.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    };
    machine.user_settings("[[hook]]\npoint = \"BeforeToolUse\"\npatch = { command = \"echo safe\" }\n");
    assert_eq!(asked(&machine, &[], &call(&machine, "ls")).code, 0);
    let line = lines().pop().expect("a line");
    assert_eq!(line["changed"], json!(["args"]), "{line}");
    assert_eq!(line["rewritten_to"]["command"], "echo safe", "{line}");

    machine.user_settings("[[hook]]\nno such thing");
    assert_eq!(asked(&machine, &[], &call(&machine, "ls")).code, 2);
    let line = lines().pop().expect("a line");
    assert_eq!((&line["decision"], &line["event"]["tool"]), (&json!("deny"), &json!("bash")), "{line}");

    let unknown = json!({ "hook_event_name": "Unheard", "session_id": "s" });
    assert_eq!(asked(&machine, &["--host", "claude-code"], &unknown).code, 0);
    let line = lines().pop().expect("a line");
    assert_eq!((&line["moment"], &line["decision"]), (&json!("Unheard"), &Value::Null), "{line}");
    assert!(line["reason"].as_str().is_some_and(|reason| reason.contains("unknown event")), "{line}");
}

#[test]
fn judgements_are_logged_without_secrets_and_the_log_is_bounded() {
    let machine = Machine::new();
    machine.user_settings(FORBIDDEN);
    let told = asked(&machine, &[], &call(&machine, "run forbidden --password hunter2-hunter2"));
    assert_eq!(told.code, 2);
    let log = || machine.read("home/.local/state/vertebra/hook-log.jsonl");
    let line: Value = serde_json::from_str(log().trim()).expect("a line of JSON");
    assert_eq!((&line["host"], &line["decision"]), (&json!("claude-code"), &json!("deny")));
    let command = line["event"]["args"]["command"].as_str().expect("the command");
    assert!(command.starts_with("run forbidden --password [hidden "), "{command}");
    assert_eq!(line["event"]["tool"], "bash");

    let state = machine.path("home/.local/state/vertebra");
    let mode = |name: &str| {
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(state.join(name)).expect("a file").permissions())
    };
    assert_eq!((mode("hook-log.jsonl") & 0o777, mode("hook-log.key") & 0o777), (0o600, 0o600));
    fs::write(state.join("hook-log.jsonl"), "x".repeat(5 * 1024 * 1024)).expect("a long log");
    asked(&machine, &[], &call(&machine, "ls"));
    assert_eq!(log().lines().count(), 1);
    assert_eq!(fs::metadata(state.join("hook-log.1.jsonl")).expect("the older one").len(), 5 * 1024 * 1024);

    fs::remove_dir_all(&state).expect("removed");
    fs::write(&state, "in the way").expect("a file");
    assert_eq!(
        asked(&machine, &[], &call(&machine, "run forbidden")).code,
        2,
        "a log that cannot be written changes nothing"
    );
    assert_eq!(asked(&machine, &[], &call(&machine, "ls")).code, 0);
}

#[test]
fn explain_shows_the_decision_without_answering() {
    let machine = Machine::new();
    machine.user_settings("[[hook]]\nname = \"careful\"\npoint = \"BeforeToolUse\"\nmatch = { tool = \"bash\" }\nask = \"is this wise?\"\n");
    let mut event = call(&machine, "ls");
    event["turn_id"] = "t".into();
    event["model"] = "m".into();
    let told = asked(&machine, &["--explain"], &event);
    assert_eq!(told.code, 0, "{}", told.err);
    let here = machine.path("").display().to_string();
    insta::assert_snapshot!(told.out.replace(here.trim_end_matches('/'), "[here]"));
}

/// Returns the content of the code blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

#[test]
fn the_commands_in_the_policy_guide_work_as_shown() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md")).expect("the page");
    let machine = Machine::new();
    let [rule, cases, question, permissions] = &*blocks(&page, "toml") else { panic!("four TOML blocks") };
    assert_eq!(rule.lines().count(), 5, "the first rule is short");
    machine.user_settings(&[rule.as_str(), question, permissions].join("\n"));
    machine.write("home/.config/vertebra/vertebra.test.toml", cases);
    let path_of = |name: &str| machine.path(name).display().to_string();
    let program = Path::new(env!("CARGO_BIN_EXE_vertebra")).parent().expect("a folder").display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    let mut shown = 0;
    for block in blocks(&page, "console") {
        let (mut commands, mut expected) = (Vec::new(), String::new());
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => commands.push(command),
                None => expected.extend([line, "\n"]),
            }
        }
        let mut out = String::new();
        for line in commands {
            let mut command = Command::new("sh");
            command.args(["-c", line]).env_clear().env("PATH", &path).env("HOME", machine.path("home"));
            let told = fed(command.current_dir(machine.path("project")), b"");
            assert_eq!(told.code, 0, "{line}: {}", told.err);
            out = told.out.replace(&path_of("home"), "/home/you").replace(&path_of("project"), "/home/you/project");
        }
        if !expected.is_empty() {
            assert_eq!(out, expected);
            shown += 1;
        }
    }
    assert_eq!(shown, 2, "the guide shows the output of `vertebra hook --explain`");
    let cat = call(&machine, "cat /srv/app/.env");
    assert_eq!(asked(&machine, &[], &cat).code, 2, "the permission rule covers commands");
    let edit = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": { "file_path": "package.json" },
    });
    assert_eq!(asked(&machine, &[], &edit).code, 0, "other files can be edited");
    assert!(
        machine.read("home/.claude/settings.json").contains("vertebra")
            && machine.read("home/.codex/hooks.json").contains("vertebra")
    );
}
