//! A step can be stopped; the session goes on, or the program ends, and the terminal is what it was.

use std::{fs::File, io::Read as _};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::pty::{Person, Place, bash, say};

/// Somebody whose agent runs a command that lasts until somebody ends it; reading the file ends when it has ended.
fn at_work(place: &Place, command: &str, more: &[serde_json::Value]) -> (Person, File) {
    let fifo = place.fifo("lives");
    let turns = [&[bash("sleep 300 > lives")], more].concat();
    let person = place.sits(command, &turns, &["--mode=bypass", "wait for it"]);
    // This waits until the command has opened its end.
    let lives = File::open(fifo).expect("the command runs");
    (person, lives)
}

fn waits_for_death(mut lives: File) {
    let read = lives.read_to_end(&mut Vec::new()).expect("a pipe");
    assert_eq!(read, 0);
}

#[test]
fn ctrl_c_ends_the_tool_and_keeps_the_session() {
    let place = Place::new();
    let turn = json!({"expect": "rather say hello", "say": "Hello instead."});
    let (mut person, lives) = at_work(&place, "chat", &[turn]);
    person.types("\x03");
    waits_for_death(lives);
    person.waits_for("stopped, the session is kept");
    insta::assert_snapshot!("stopped", place.anywhere(&person.sees()));
    person.types("rather say hello\r");
    person.waits_for("Hello instead.");
    person.waits_for("/help");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
    person.has_a_sane_terminal();
}

#[test]
fn escape_stops_a_run_whose_person_can_say_what_to_do_instead() {
    let place = Place::new();
    let (mut person, lives) = at_work(&place, "run", &[json!({"expect": "just stop", "say": "Stopped then."})]);
    person.types("\x1b");
    waits_for_death(lives);
    person.waits_for("type the next prompt");
    person.types("just stop\r");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(person.sees().contains("Stopped then."), "{}", person.sees());
}

#[test]
fn what_a_command_printed_before_escape_stays_and_the_model_reads_it() {
    let place = Place::new();
    let fifo = place.fifo("lives");
    let turns = [
        bash("echo found 3 of 9; sleep 300 > lives"),
        json!({"expect": "found 3 of 9", "say": "Three of nine, then."}),
    ];
    let mut person = place.sits("chat", &turns, &["--mode=bypass", "search"]);
    let lives = File::open(fifo).expect("the command runs");
    person.waits_for("found 3 of 9");
    person.types("\x1b");
    waits_for_death(lives);
    person.waits_for("stopped, the session is kept");
    assert!(person.sees().contains("found 3 of 9"), "{}", person.sees());
    person.types("what did you find?\r");
    person.waits_for("Three of nine, then.");
}

#[test]
fn ctrl_c_twice_leaves_and_gives_the_terminal_back() {
    let place = Place::new();
    let (mut person, lives) = at_work(&place, "run", &[]);
    assert!(person.has_a_raw_terminal());
    person.types("\x03\x03");
    assert_eq!(person.waits_for_the_end(), 130);
    waits_for_death(lives);
    person.has_a_sane_terminal();
}

#[test]
fn ctrl_c_twice_leaves_from_an_empty_prompt() {
    let place = Place::new();
    let mut person = place.sits("chat", &[say("hi")], &[]);
    person.waits_for("/help");
    person.types("something\x03");
    person.waits_until("an empty prompt", |shown| !shown.contains("something") && shown.contains("again to quit"));
    person.types("\x03");
    assert_eq!(person.waits_for_the_end(), 130);
    person.has_a_sane_terminal();
}

#[test]
fn a_signal_gives_the_terminal_back_too() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let place = Place::new();
        let (mut person, lives) = at_work(&place, "chat", &[]);
        kill_process(person.id(), signal).expect("a process");
        assert_eq!(person.waits_for_the_end(), code);
        waits_for_death(lives);
        person.has_a_sane_terminal();
    }
}

#[test]
fn a_signal_is_obeyed_at_a_question_too() {
    let place = Place::new();
    let mut person = place.sits("run", &[bash("touch made.txt")], &["make it"]);
    person.is_asked();
    kill_process(person.id(), Signal::TERM).expect("a process");
    assert_eq!(person.waits_for_the_end(), 143);
    person.has_a_sane_terminal();
    assert!(!place.path("made.txt").exists());
}
