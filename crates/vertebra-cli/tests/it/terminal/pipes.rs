//! Without a terminal that moves its cursor: a dumb one, or a pipe.

use std::{
    io::Write as _,
    process::{Command, Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::pty::{Person, Place, bash, say};

fn piped(mut command: Command, input: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the command reads");
    child.wait_with_output().expect("the command ends")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn a_pipe_gets_the_answer_alone_and_gives_context() {
    let place = Place::new();
    let turns = [json!({"expect": "explain this\n\n<stdin>\nline one\n</stdin>", "say": "It is **one** line."})];
    let output = piped(place.command("run", &turns, &["explain", "this"]), "line one\n");
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(out(&output), "It is **one** line.\n");
    assert!(!err(&output).contains('\x1b'), "{}", err(&output));
    let output = piped(place.command("run", &[json!({"expect": "all of it", "say": "Done."})], &[]), "all of it\n");
    assert_eq!(out(&output), "Done.\n");
}

#[test]
fn a_dash_reads_the_task_from_standard_input() {
    let place = Place::new();
    let turns = [json!({"expect": "all of it", "say": "Done."})];
    let output = piped(place.command("run", &turns, &["-"]), "all of it\n");
    assert_eq!(out(&output), "Done.\n", "{}", err(&output));
    let output = piped(place.command("run", &turns, &["-"]), "");
    assert!(output.status.code() == Some(2) && err(&output).contains("standard input, which is empty"));
}

#[test]
fn the_program_alone_starts_a_chat_on_a_terminal_and_prints_help_in_a_pipe() {
    let place = Place::new();
    let script = place.command("run", &[say("Hello!")], &[]);
    let alone = || {
        let mut command = Command::new(script.get_program());
        command.env_clear().envs(script.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(place.path("."));
        command
    };
    let output = piped(alone(), "");
    assert!(output.status.code() == Some(2) && err(&output).contains("Usage: vertebra"), "{}", err(&output));
    let file = script.get_args().next().expect("a command").to_owned();
    assert_eq!(file, "run");
    let model = script.get_args().find_map(|word| word.to_str()?.strip_prefix("--model=")).expect("a model").to_owned();
    place.settings(&format!("[model]\nname = \"{model}\"\n"));
    let mut person = Person::sit(&alone());
    person.waits_for("/help");
    person.types("hi\r");
    person.waits_for("Hello!");
    person.waits_for("/help");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
}

#[test]
fn files_and_pictures_go_with_the_task() {
    let place = Place::new();
    place.write("notes.txt", "buy milk\n");
    let turns = [json!({"expect": "<file path=\"notes.txt\">\nbuy milk\n</file>", "say": "Milk."})];
    let output = piped(place.command("run", &turns, &["--file=notes.txt", "what?"]), "");
    assert_eq!(out(&output), "Milk.\n", "{}", err(&output));
    for (options, complaint) in [
        (["--file=none.txt", "what?"], "--file none.txt: "),
        (["--image=notes.txt", "what?"], "--image notes.txt: not an image"),
    ] {
        let output = piped(place.command("run", &[say("no")], &options), "");
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains(complaint), "{}", err(&output));
    }
}

#[test]
fn exit_codes_tell_what_happened() {
    let place = Place::new();
    let code = |turns: &[Value], options: &[&str]| {
        let output = piped(place.command("run", turns, options), "");
        (output.status.code().expect("a code"), err(&output))
    };
    assert_eq!(code(&[say("fine")], &["go"]).0, 0);
    let (failed, words) = code(&[json!({"expect": "never said", "say": "fine"})], &["go"]);
    assert_eq!(failed, 1);
    assert!(words.contains("does not contain `never said`"), "{words}");
    let (wrong, words) = code(&[say("fine")], &[]);
    assert!(wrong == 2 && words.contains("no task given"), "{words}");
    assert_eq!(code(&[bash("true"), say("fine")], &["--mode=bypass", "--max-steps=1", "go"]).0, 3);
    let turns = [bash("touch made.txt"), json!({"expect": "there is no terminal to ask on", "say": "I may not."})];
    let (denied, words) = code(&turns, &["go"]);
    assert!(denied == 4 && !place.path("made.txt").exists(), "{words}");
    assert!(words.contains("denied: this call needs approval and there is no terminal to ask on"), "{words}");
    assert!(words.contains("⊘ denied: 1 call needed approval") && !words.contains("✓ done"), "{words}");
    let (denied, words) = code(&turns, &["--quiet", "go"]);
    assert!(denied == 4 && words.starts_with("⊘ denied: 1 call needed approval"), "{words}");
    let (stopped, words) = code(&turns, &["--max-steps=1", "go"]);
    assert!(stopped == 4 && words.contains("; 1 call needed approval"), "{words}");
    let output = piped(place.command("run", &[say("fine")], &["--frobnicate", "go"]), "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_program_gets_one_object() {
    let place = Place::new();
    let output = piped(place.command("run", &[say("fine")], &["--output=json", "go"]), "");
    let object: Value = serde_json::from_str(&out(&output)).expect("one object");
    assert_eq!((&object["status"], &object["text"]), (&json!("completed"), &json!("fine")));
}

#[test]
fn an_interrupted_pipe_ends_its_tool_and_says_so() {
    let place = Place::new();
    let fifo = place.fifo("lives");
    let mut command = place.command("run", &[bash("sleep 300 > lives")], &["--mode=bypass", "wait"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut lives = std::fs::File::open(fifo).expect("the command runs");
    kill_process(Pid::from_child(&child), Signal::INT).expect("a process");
    std::io::Read::read_to_end(&mut lives, &mut Vec::new()).expect("it ends");
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
}

#[test]
fn a_dumb_terminal_gets_lines_and_asks_by_lines() {
    let place = Place::new();
    let mut command = place.command("chat", &[bash("echo made > made.txt"), say("It is made.")], &[]);
    let mut person = Person::sit(command.env("TERM", "dumb"));
    person.waits_for("> ");
    person.types("make it\n");
    person.waits_for("e: edit the arguments");
    person.types("y\n");
    person.waits_for("It is made.");
    person.waits_until("a prompt", |shown| shown.trim_end().ends_with('>'));
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
    assert_eq!(place.read("made.txt"), "made\n");
    assert!(!person.bytes().contains('\x1b'), "{:?}", person.bytes());
    insta::assert_snapshot!("dumb", place.anywhere(&person.sees()));
}

#[test]
fn a_dumb_terminal_offers_the_network_once_and_for_the_session() {
    let place = Place::new();
    let look = |file: &str| bash(&format!("echo ${{HTTPS_PROXY-none}} > {file}"));
    let turns = [look("without"), look("once"), look("again"), look("session"), look("later"), say("All done.")];
    let mut command = place.command("run", &turns, &["look"]);
    command.env("TERM", "dumb");
    let mut person = Person::sit(&command);
    for (file, key) in [("without", "y"), ("once", "+"), ("again", "y"), ("session", "*")] {
        person.waits_for(&format!("> {file}"));
        person.waits_for("runs without network");
        person.waits_for(": yes, with network in this session: all public hosts");
        person.types(&format!("{key}\r"));
        if key == "+" {
            person.waits_for("  yes, with network\n");
        }
    }
    person.waits_for("  yes, in this session: network access to all public hosts");
    person.waits_for("> later");
    person.waits_for("> ");
    person.types("y\r");
    person.waits_for("All done.");
    assert_eq!(person.waits_for_the_end(), 0);
    for (file, has) in [("without", false), ("once", true), ("again", false), ("session", true), ("later", true)] {
        assert_eq!(place.read(file).starts_with("http://127.0.0.1:"), has, "{file}: {}", place.read(file));
    }
}

#[test]
fn a_command_that_needs_more_is_denied_in_a_pipe_with_the_options_that_grant_it() {
    let place = Place::new();
    let needs = json!({"network": true, "reason": "to fetch"});
    let call = json!({"call": {"tool": "bash", "args": {"command": "touch ran", "needs": needs}}});
    let output = piped(place.command("run", &[call, say("Done.")], &["--mode=bypass", "fetch"]), "");
    assert!(err(&output).contains("grant it with `--network` or `--add-dir`"), "{}", err(&output));
    assert!(!place.path("ran").exists());
}
