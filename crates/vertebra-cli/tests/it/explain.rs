//! `vertebra explain-command`, run as a process.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vertebra"));
    command.arg("explain-command").args(arguments).env("HOME", "/home/me").env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

fn explain(arguments: &[&str], input: &str) -> Output {
    let mut child = start(arguments);
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the command reads");
    child.wait_with_output().expect("the command ends")
}

fn objects(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

#[test]
fn a_pipe_gets_an_object_that_names_the_part_that_decided() {
    let output = explain(&["--folder", "/home/me/project", "ls; rm -rf ~/photos"], "");
    assert!(output.status.success());
    let [object] = objects(&output).try_into().expect("one object");
    assert_eq!(object["decision"], "deny");
    assert_eq!(object["classes"], json!(["recursive_delete"]));
    assert_eq!(object["span"], json!({ "start": 4, "end": 19, "text": "rm -rf ~/photos" }));
    assert!(object["reason"].as_str().is_some_and(|reason| reason.contains("/home/me/photos")), "{object}");
}

#[test]
fn the_working_folder_decides_what_may_be_deleted() {
    let decision = |folder: &str| {
        objects(&explain(&["--folder", folder, "--json", "rm -rf /srv/app/target"], ""))[0]["decision"].clone()
    };
    assert_eq!(decision("/srv/app"), "allow");
    assert_eq!(decision("/srv/other"), "deny");
}

#[test]
fn a_command_that_begins_with_a_dash_is_a_command() {
    let output = explain(&["--", "-x"], "");
    assert_eq!(objects(&output)[0]["decision"], "ask");
}

#[test]
fn a_command_can_be_given_as_words() {
    let parsed = |arguments: &[&str]| {
        let output = explain(arguments, "");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let [object] = objects(&output).try_into().expect("one object");
        let lines = object["parse"].as_array().expect("a list").clone();
        lines.iter().map(|line| format!("{} {}", line["what"], line["text"]).replace('"', "")).collect::<Vec<_>>()
    };
    for arguments in [&["ls", "-la"][..], &["--", "ls", "-la"], &["--json", "ls", "-la"], &["ls -la"]] {
        assert_eq!(parsed(arguments), ["command ls -la"], "{arguments:?}");
    }
    assert_eq!(parsed(&["--folder", "/tmp", "ls", "--folder", "x", "--json"]), ["command ls --folder x --json"]);
    assert_eq!(parsed(&["cat a | sort"]), ["pipeline |", "command cat a", "command sort"], "one argument is a line");
    assert_eq!(parsed(&["echo", "a | b", "it's"]), ["command echo a | b it's"], "a quoted word stays one word");
}

#[test]
fn a_filter_answers_every_line_and_says_at_the_end_that_some_were_bad() {
    let output = explain(&["--stdin"], "\"ls\"\nrm\n\n\"sudo id\"\n[1]\n\"echo \\u0000\"");
    let objects = objects(&output);
    let told: Vec<&str> = objects.iter().map(|object| object["decision"].as_str().unwrap_or("error")).collect();
    assert_eq!(told, ["allow", "error", "error", "deny", "error", "ask"]);
    assert!(objects[1]["error"].as_str().is_some_and(|error| error.contains("JSON string")), "{}", objects[1]);
    assert!(!output.status.success());
    assert!(explain(&["--stdin"], "\"ls\"\n").status.success());
}

#[test]
fn a_filter_answers_while_it_is_still_asked() {
    let mut child = start(&["--stdin"]);
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    for (command, decision) in [("ls", "allow"), ("sudo id", "deny"), ("frobnicate", "ask")] {
        writeln!(input, "{}", json!(command)).expect("the command reads");
        let mut line = String::new();
        output.read_line(&mut line).expect("an answer before the next question");
        let object: Value = serde_json::from_str(&line).expect("an object");
        assert_eq!(object["decision"], decision);
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn without_a_command_it_says_what_to_write() {
    let output = explain(&[], "");
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("COMMAND") && words.contains("--help"), "{words}");
}

#[test]
fn it_says_what_would_happen_here_and_now_and_why() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let settings = home.path().join(".config/vertebra");
    std::fs::create_dir_all(&settings).expect("folders");
    let here = |settings_text: &str, line: &str| {
        std::fs::write(settings.join("vertebra.toml"), settings_text).expect("settings");
        let mut command = Command::new(env!("CARGO_BIN_EXE_vertebra"));
        command.args(["explain-command", "--json", "--folder"]).arg(folder.path()).arg(line);
        command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.spawn().and_then(Child::wait_with_output).expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        objects(&output)[0]["here"].clone()
    };
    let asked = here("", "npm test 2>&1 | tail -5");
    assert_eq!((&asked["outcome"], &asked["mode"]), (&json!("asked"), &json!("ask")));
    assert_eq!(asked["reason"], "no rule allows `npm test`");
    assert_eq!(asked["more_than_reads"], json!(["npm test"]));
    assert_eq!(asked["sandbox_forbids"][0], "network");
    let rules = "[permissions]\nallow = [\"Bash(npm test *)\"]\ndeny = [\"Bash(npm publish *)\"]\n";
    let allowed = here(rules, "npm test 2>&1 | tail -5");
    assert_eq!(allowed["outcome"], "allowed");
    let file = settings.join("vertebra.toml").display().to_string();
    assert!(
        allowed["rules"][0].as_str().is_some_and(|rule| rule.contains("Bash(npm test *)") && rule.contains(&file)),
        "{allowed}"
    );
    let denied = here(rules, "npm publish");
    assert_eq!(denied["outcome"], "denied");
    assert!(denied["reason"].as_str().is_some_and(|reason| reason.contains("Bash(npm publish *)")), "{denied}");
    assert_eq!(here(rules, "find . -name a | sort")["reason"], "the command only reads");
    assert_eq!(here("[permissions]\nmode = \"plan\"\n", "npm test")["outcome"], "denied");
    assert_eq!(here("[permissions]\nmode = \"plan\"\n", "ls | sort")["outcome"], "allowed");
    let sandboxed = "[permissions]\nmode = \"sandboxed\"\n";
    assert_eq!(here(sandboxed, "npm test")["outcome"], "allowed");
    assert_eq!(here(sandboxed, "npm install")["reason"], "`npm install` needs the network");
    assert_eq!(here(&format!("{sandboxed}[sandbox]\nneed = \"off\"\n"), "npm test")["outcome"], "asked");
    assert_eq!(here("", "rm -rf ~/photos")["outcome"], "denied");
    let closed = here("", "echo x > vertebra.toml");
    assert_eq!(closed["outcome"], "denied", "{closed}");
    assert!(closed["reason"].as_str().is_some_and(|reason| reason.contains("stays closed")), "{closed}");
    assert_eq!(here("", "echo x > .envrc")["outcome"], "asked");
    assert_eq!(here("[sandbox]\nnetwork = \"on\"\n", "npm test")["sandbox_forbids"].as_array().map(Vec::len), Some(1));
}

#[test]
fn it_says_which_hooks_would_see_the_command_and_starts_none_unless_told_to() {
    let (home, project) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let config = home.path().join(".config/vertebra");
    std::fs::create_dir_all(&config).expect("a folder");
    let started = home.path().join("started");
    let settings = format!(
        "[[hook]]\nname = \"no-push\"\npoint = \"BeforeToolUse\"\nmatch = {{ tool = \"bash\", command = 'git push' }}\n\
         deny = \"people push\"\n\n\
         [[hook]]\nname = \"checked\"\npoint = \"BeforeToolUse\"\nmatch = {{ tool = \"bash\" }}\n\
         run = {{ command = \"touch {}\" }}\n",
        started.display()
    );
    std::fs::write(config.join("vertebra.toml"), settings).expect("settings");
    let here = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vertebra"));
        command.arg("explain-command").arg("--folder").arg(project.path()).args(words);
        command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.spawn().and_then(Child::wait_with_output).expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        objects(&output).remove(0)["here"].clone()
    };
    let told = here(&["git push origin"]);
    assert_eq!(told["outcome"], "denied", "{told:#}");
    assert!(told["reason"].as_str().is_some_and(|reason| reason.contains("people push")), "{told:#}");
    let names: Vec<_> = told["hooks"].as_array().expect("a list").iter().map(|hook| &hook["name"]).collect();
    assert_eq!(names, ["checked", "no-push"], "{told:#}");
    let told = here(&["touch x"]);
    assert_eq!((&told["outcome"], &told["hooks"][0]["verdict"]), (&json!("asked"), &Value::Null), "{told:#}");
    assert_eq!(told["hooks"].as_array().map(Vec::len), Some(1), "{told:#}");
    assert!(!started.exists(), "no program is started");
    here(&["--run-hooks", "touch x"]);
    assert!(started.exists());
}
