//! Sessions go on after their process died, and nothing is done twice.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Gate, Machine, ended, kill, say};

const BYPASS: &str = "--mode=bypass";

#[test]
fn a_killed_run_is_left_and_goes_on_without_doing_again_what_had_begun() {
    let machine = Machine::new();
    let gate = machine.gate();
    kill(machine.starts(&gate, &[Gate::command(), say("never")], &["run", BYPASS, "go"]));
    let listed = machine.sessions();
    assert_eq!((&listed[0]["status"], &listed[0]["tool_calls"]), (&json!("unfinished"), &json!(1)));
    let shown = machine.json(&["sessions", "show", "last"]);
    assert_eq!(shown["runs"][0]["steps"][0]["calls"][0]["state"], "begun");

    let turns = [json!({ "expect": "unknown: the process ended while `bash` was at work", "say": "I will look." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", BYPASS]);
    assert_eq!((told.code, &*told.out), (0, "I will look.\n"), "{}", told.err);
    assert!(told.err.contains("may have run") && told.err.contains("unknown: the process ended"), "{}", told.err);
    assert_eq!(machine.read("project/effects"), "once\n");
    let shown = machine.json(&["sessions", "show", "last"]);
    assert_eq!(shown["runs"][0]["steps"][0]["calls"][0]["state"], "unknown");
    assert_eq!((&shown["session"]["status"], &shown["runs"][0]["status"]), (&json!("ended"), &json!("completed")));
    assert_eq!(machine.json(&["replay", "last", BYPASS])["identical"], true);
}

#[test]
fn a_session_that_has_ended_goes_on_with_a_prompt_and_knows_what_was_said() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("The word is swordfish.")], &["run", "tell me"]).code, 0);
    let told = machine.on(&[say("unused")], &["sessions", "resume", "last"]);
    assert!(told.code == 1 && told.err.contains("pass a prompt to continue it"), "{}", told.err);
    let turns = [json!({ "expect": "swordfish", "say": "Again: swordfish." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", "which", "word?"]);
    assert_eq!((told.code, &*told.out), (0, "Again: swordfish.\n"), "{}", told.err);
    let turns = [json!({ "expect": "which word?", "say": "Still swordfish." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", "--output=json", "once more"]);
    let object: serde_json::Value = serde_json::from_str(&told.out).expect("one object");
    assert_eq!(
        (&object["text"], &object["session_id"]),
        (&json!("Still swordfish."), &machine.sessions()[0]["session_id"])
    );
    assert_eq!((machine.sessions().len(), &machine.sessions()[0]["runs"]), (1, &json!(3)));
}

#[test]
fn a_run_that_is_told_to_end_is_left_unfinished_and_goes_on() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let machine = Machine::new();
        let gate = machine.gate();
        let child = machine.starts(&gate, &[Gate::command(), say("never")], &["run", BYPASS, "work"]);
        kill_process(Pid::from_child(&child), signal).expect("a process");
        let told = ended(child);
        assert_eq!(told.code, code, "{}", told.err);
        assert!(told.err.contains("continue with: vertebra sessions resume"), "{}", told.err);
        assert_eq!(machine.sessions()[0]["status"], "suspended");
        let turns = [json!({ "expect": "cancelled", "say": "I was told to end, and go on." })];
        let told = machine.on(&turns, &["sessions", "resume", "last", BYPASS]);
        assert_eq!((told.code, &*told.out), (0, "I was told to end, and go on.\n"), "{}", told.err);
        assert!(told.err.contains("“work” is not finished"), "{}", told.err);
        assert_eq!(machine.read("project/effects"), "once\n");
        assert_eq!(machine.json(&["replay", "last", BYPASS])["identical"], true);
    }
}

#[test]
fn a_task_that_failed_is_continued_and_named() {
    let machine = Machine::new();
    let wrong = [super::bash("echo once >> effects"), json!({ "expect": "never said", "say": "unused" })];
    let told = machine.on(&wrong, &["run", BYPASS, "make", "it"]);
    assert!(told.code == 1 && told.err.contains("continue with: vertebra sessions resume"), "{}", told.err);
    let turns =
        [json!({ "expect": "Continue with the task. The run before this one ended early", "say": "Done now." })];
    let told = machine.on(&turns, &["sessions", "resume", "last", BYPASS]);
    assert_eq!((told.code, &*told.out), (0, "Done now.\n"), "{}", told.err);
    assert!(told.err.contains("“make it” failed"), "{}", told.err);
    assert_eq!(machine.read("project/effects"), "once\n");
    let told = machine.on(&[say("unused")], &["sessions", "resume", "last"]);
    assert!(told.code == 1 && told.err.contains("has no unfinished run"), "{}", told.err);
}

#[test]
fn steps_are_shown_once_and_by_the_number_that_a_fork_takes() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("One.")], &["run", "first"]).code, 0);
    assert_eq!(machine.on(&[say("Two.")], &["sessions", "resume", "last", "second"]).code, 0);
    let shown = machine.json(&["sessions", "show", "last"]);
    let steps = |run: usize| {
        let steps = shown["runs"][run]["steps"].as_array().expect("steps").iter();
        steps.map(|step| step["step"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!((steps(0), steps(1)), (vec![1], vec![2]));
}

#[test]
fn two_processes_do_not_run_one_session() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("first")], &["run", "go"]).code, 0);
    let gate = machine.gate();
    let turns = [Gate::command(), say("The second is done.")];
    let one = machine.starts(&gate, &turns, &["sessions", "resume", "last", BYPASS, "work"]);
    let process = format!("process {}", one.id());
    let listed = machine.sessions();
    assert_eq!((&listed[0]["status"], &listed[0]["held_by"]), (&json!("running"), &json!(process)));
    for arguments in [&["sessions", "resume", "last", "me too"][..], &["sessions", "delete", "last", "--yes"]] {
        let model = format!("--model=script:{}", machine.path("script.jsonl").display());
        let more: &[&str] = if arguments.contains(&"resume") { &[&model] } else { &[] };
        let told = machine.runs(&[arguments, more].concat());
        assert!(told.code != 0 && told.err.contains(&process), "{arguments:?}: {}", told.err);
    }
    gate.open();
    let told = ended(one);
    assert_eq!((told.code, &*told.out), (0, "The second is done.\n"), "{}", told.err);
    assert_eq!(machine.read("project/effects"), "once\n");
}

#[test]
fn a_fork_begins_where_another_was_and_changes_nothing_of_it() {
    let machine = Machine::new();
    let turns = [super::bash("echo alpha"), super::bash("echo beta"), say("All said.")];
    assert_eq!(machine.on(&turns, &["run", BYPASS, "go"]).code, 0);
    let before = machine.sessions()[0].clone();
    let turns = [json!({ "expect": "alpha", "say": "Forked." })];
    let told = machine.on(&turns, &["sessions", "fork", "last", "--after-step=1", "another", "way"]);
    assert_eq!((told.code, &*told.out), (0, "Forked.\n"), "{}", told.err);
    let listed = machine.sessions();
    assert_eq!((listed.len(), &listed[0]["forked_from"]), (2, &before["session_id"]));
    assert_eq!(listed[1], before);
    // What came after the fork is not known in it.
    let script = machine.runs(&["sessions", "export", "last"]).out;
    assert!(script.contains("alpha") && !script.contains("beta"), "{script}");
    let id = before["session_id"].as_str().expect("a name");
    let told = machine.on(&[say("no")], &["sessions", "fork", id, "--after-step=9", "x"]);
    assert!(told.code == 2 && told.err.contains("never between step 9"), "{}", told.err);
}

#[test]
fn rights_of_the_command_line_are_not_remembered() {
    let machine = Machine::new();
    let gate = machine.gate();
    kill(machine.starts(&gate, &[Gate::command(), say("never")], &["run", BYPASS, "go"]));
    let turns =
        [super::bash("touch made.txt"), json!({ "expect": "there is no terminal to ask on", "say": "I may not." })];
    let told = machine.on(&turns, &["sessions", "resume", "last"]);
    assert_eq!(told.code, 4, "{}", told.err);
    assert!(!machine.path("project/made.txt").exists());
}
