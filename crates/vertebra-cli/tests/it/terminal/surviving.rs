//! A command that outlived its agent: the person who resumes the session is told, and can end it.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use super::pty::{Person, Place, bash, say};
use crate::processes::{Gone, a_long_time, children, running, signal, waits_for};

#[test]
fn a_command_that_outlived_its_agent_is_named_and_ended_after_a_yes() {
    let place = Place::new();
    let seconds = a_long_time();
    let sleeper = format!("sleep {seconds}");
    let turns = [bash(&format!("{sleeper}; true")), say("never")];
    let mut command = place.command("run", &turns, &["--mode=bypass", "wait"]);
    let mut agent =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let pid = waits_for(&sleeper, true)[0];
    let _gone = Gone(pid);
    // The agent must not notice. A shell dies with its supervisor; what it has started does not.
    signal(i32::try_from(agent.id()).expect("a number"), Signal::STOP);
    for child in children(agent.id()) {
        signal(child, Signal::KILL);
    }
    agent.kill().and_then(|()| agent.wait()).expect("an end");
    assert_eq!(running(&sleeper), [pid], "the sleeper lives on");

    let turns = [json!({ "expect": "unknown", "say": "I will look." })];
    let mut person = Person::sit(&place.command("chat", &turns, &["--mode=bypass", "--continue"]));
    person.waits_for(&format!("(pid {pid})"));
    person.waits_for("End it? [y/N]");
    assert!(person.sees().contains("still running from the process that was killed"), "{}", person.sees());
    person.types("y\r");
    waits_for(&sleeper, false);
    person.waits_for("I will look.");
}
