//! Calls of one answer in order, and what becomes of commands when the agent is killed.

use std::{fmt::Write as _, fs};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Machine, bash, kill, say};
use crate::processes::{Gone, a_long_time, children, running, signal, waits_for};

const BYPASS: &str = "--mode=bypass";

/// Several calls of `bash` in one answer.
fn together(commands: &[&str]) -> Value {
    let calls: Vec<Value> =
        commands.iter().map(|command| json!({ "tool": "bash", "args": { "command": command } })).collect();
    json!({ "calls": calls })
}

#[test]
fn calls_of_one_answer_that_change_something_run_in_order() {
    let machine = Machine::new();
    let commands = ["mkdir docs; sleep 0.3; cd docs", "echo one > file; sleep 0.2; echo two >> file", "cat file; pwd"];
    let turns = [together(&commands), json!({ "expect": "one\ntwo\n", "say": "Seen." })];
    let told = machine.plays(&turns, &[BYPASS]);
    assert_eq!((told.code, &*told.out), (0, "Seen.\n"), "{}", told.err);
    assert_eq!(machine.read("project/docs/file"), "one\ntwo\n");
}

#[test]
fn a_killed_agent_takes_its_commands_with_it_with_and_without_a_sandbox() {
    for sandbox in ["if_available", "off"] {
        let machine = Machine::new();
        fs::create_dir_all(machine.path("home/.config/vertebra")).expect("a folder");
        let settings = format!("[sandbox]\nneed = \"{sandbox}\"\n");
        machine.write("home/.config/vertebra/vertebra.toml", &settings);
        let gate = machine.gate();
        let seconds = a_long_time();
        // In the background, out of the group, and deaf to being asked.
        let command = format!(
            "sleep {seconds} & setsid sleep {seconds} & (trap '' TERM HUP; sleep {seconds}) & echo > begun; sleep {seconds}"
        );
        let child = machine.starts(&gate, &[bash(&command), say("never")], &["run", BYPASS, "go"]);
        kill(child);
        waits_for(&format!("sleep {seconds}"), false);
    }
}

#[test]
fn a_command_that_outlived_its_agent_is_named_when_the_session_is_resumed() {
    let machine = Machine::new();
    let gate = machine.gate();
    let seconds = a_long_time();
    let command = format!("sleep {seconds} & echo > begun; wait");
    let agent = machine.starts(&gate, &[bash(&command), say("never")], &["run", BYPASS, "go"]);
    let agent_pid = i32::try_from(agent.id()).expect("a number");
    // The agent must not notice. A shell dies with its parent; the sleeper it has started does not.
    signal(agent_pid, Signal::STOP);
    for child in children(agent.id()) {
        signal(child, Signal::KILL);
    }
    kill(agent);
    let pid = running(&format!("sleep {seconds}"))[0];
    let _gone = Gone(pid);
    let turns = [json!({ "expect": "unknown", "say": "I will look." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", BYPASS]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains(&format!("`{command}` (pid {pid})")), "{}", told.err);
    assert!(told.err.contains(&format!("end it with `kill -9 {pid}`")), "{}", told.err);
    signal(pid, Signal::KILL);
    waits_for(&format!("sleep {seconds}"), false);
    let told = machine.on(&[say("Fine.")], &["sessions", "resume", "last", BYPASS, "and now?"]);
    assert!(!told.err.contains("still running"), "{}", told.err);
}

#[test]
fn an_approved_call_that_never_began_is_not_told_as_if_it_may_have_run() {
    let machine = Machine::new();
    let gate = machine.gate();
    // The second call stands behind the first, which the agent is killed in.
    let first = "echo once >> effects; echo > begun; read line < go_on";
    let turns = [together(&[first, "echo second >> effects"]), say("never")];
    kill(machine.starts(&gate, &turns, &["run", BYPASS, "go"]));
    let turns = [json!({ "expect": "unknown: the process ended while", "say": "Both are settled." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", BYPASS]);
    assert_eq!((told.code, &*told.out), (0, "Both are settled.\n"), "{}", told.err);
    assert_eq!(machine.read("project/effects"), "once\nsecond\n");
    assert_eq!(told.err.matches("may have run").count(), 1, "{}", told.err);
}

#[test]
fn the_whole_output_of_a_command_can_be_read_by_the_model_and_goes_with_its_session() {
    let machine = Machine::new();
    let told = machine.plays(&[bash("seq 1 60000; echo password=hunter2hunter2"), say("Done.")], &[BYPASS]);
    assert_eq!(told.code, 0, "{}", told.err);
    let heard = machine.heard();
    let (_, rest) = heard.split_once("bytes in 60001 lines, is in ").expect("where it is");
    let file = rest.split(']').next().expect("a path").to_owned();
    let whole = fs::read_to_string(&file).expect("a text");
    assert!(whole.starts_with("1\n2\n") && whole.contains("\n30000\n") && whole.contains("\n60000\n"));
    let read = |path: &str, offset: u64| {
        let args = json!({ "path": path, "offset": offset, "limit": 3 });
        json!({ "call": { "tool": "read_file", "args": args } })
    };
    let turns = [read(&file, 29_999), json!({ "expect": "30000", "say": "Read." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", BYPASS, "look at the middle"]);
    assert_eq!((told.code, &*told.out), (0, "Read.\n"), "{}", told.err);
    // What is redacted there is redacted here.
    let turns = [read(&file, 59_999), json!({ "expect": "60000", "say": "Read." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", BYPASS, "--output=stream-json", "and the end"]);
    assert!(told.code == 0 && !told.out.contains("hunter2hunter2") && told.out.contains("REDACTED"), "{}", told.out);
    // Another session has no business there.
    let turns = [read(&file, 0), json!({ "expect": "is outside of", "say": "I may not." })];
    assert_eq!(machine.on(&turns, &["run", BYPASS, "read it"]).code, 0);
    let id = machine.sessions()[1]["session_id"].as_str().expect("a name").to_owned();
    assert_eq!(machine.runs(&["sessions", "delete", &id, "--yes"]).code, 0);
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn an_attachment_that_is_too_long_for_the_model_is_announced() {
    let machine = Machine::new();
    let mut long = String::new();
    (0..80_000).for_each(|line| writeln!(long, "line {line:06}").expect("a string takes everything"));
    machine.write("project/big.log", &long);
    let turns = [json!({ "expect": "left out here", "say": "Long." })];
    let told = machine.on(&turns, &["run", "--file=big.log", "what is it?"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains("big.log is too long for the model"), "{}", told.err);
    assert!(told.err.contains("of 959999 bytes"), "{}", told.err);
    for output in ["json", "stream-json"] {
        let told = machine.on(&turns, &["run", "--file=big.log", "--output", output, "what is it?"]);
        let result: Value = serde_json::from_str(told.out.lines().last().expect("a result")).expect("an object");
        let warning = result["warnings"][0].as_str().expect("a warning");
        assert!(warning.contains("big.log is too long for the model"), "{warning}");
    }
    // The whole of it is in a file that the model can read.
    let place = json!({ "expect": "big.log is whole in ", "say": "Long." });
    assert_eq!(machine.on(&[place], &["run", "--file=big.log", "what is it?"]).code, 0);
    let shown = machine.json(&["sessions", "show", "last"]).to_string();
    let (_, rest) = shown.split_once("big.log is whole in ").expect("the place");
    let here = machine.path("").display().to_string();
    let file = &rest.split(';').next().expect("a path").replace("[here]", here.trim_end_matches('/'));
    let kept = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(kept, long.trim_end());
    let read = json!({ "call": { "tool": "read_file", "args": { "path": file, "offset": 40_000 } } });
    let turns = [read, json!({ "expect": "line 040000", "say": "Read." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", "and the middle?"]);
    assert_eq!(told.code, 0, "{}", told.err);
    // A person knows how much a model reads that nobody else knows.
    machine.user_settings("[model]\nwindow = 1_000_000\n");
    let whole = [json!({ "expect": "line 040000", "say": "Whole." })];
    let told = machine.on(&whole, &["run", "--file=big.log", "what is it?"]);
    assert!(told.code == 0 && !told.err.contains("too long"), "{}", told.err);
    machine.user_settings("");
    let turns = [json!({ "expect": "line 000100", "say": "Short." })];
    machine.write("project/short.log", &long[..100_000]);
    let told = machine.on(&turns, &["run", "--file=short.log", "what is it?"]);
    assert!(told.code == 0 && !told.err.contains("too long"), "{}", told.err);
}
