//! A command that outlived its agent: the person who resumes the session is told, and can end it.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::pty::{Person, Place, bash, say};

/// The processes that `pgrep` finds.
fn found(words: &[&str]) -> Vec<String> {
    let found = Command::new("pgrep").args(words).output().expect("pgrep runs");
    String::from_utf8_lossy(&found.stdout).lines().map(|line| line.trim().to_owned()).collect()
}

/// Waits for a process of this kind, or until there is none.
fn waits_for(words: &[&str], some: bool) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let pids = found(words);
        if pids.is_empty() != some {
            return pids;
        }
        assert!(Instant::now() < until, "{words:?}: {pids:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Ends what a test that fails would leave behind.
struct Gone(String);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", &self.0]).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_command_that_outlived_its_agent_is_named_and_ended_after_a_yes() {
    let place = Place::new();
    let seconds = format!("8{}.5", std::process::id());
    let sleeper = ["-f", "-x", &*format!("sleep {seconds}")];
    let turns = [bash(&format!("sleep {seconds}; true")), say("never")];
    let mut command = place.command("run", &turns, &["--mode=bypass", "wait"]);
    let mut agent =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let pid = waits_for(&sleeper, true).remove(0);
    // The agent must not notice. A shell dies with its supervisor; what it has started does not.
    let (killed, supervisor) = (agent.id().to_string(), found(&["-P", &agent.id().to_string()]).remove(0));
    for (signal, process) in [("-STOP", &killed), ("-KILL", &supervisor), ("-KILL", &killed)] {
        Command::new("kill").args([signal, process]).status().expect("kill runs");
    }
    agent.wait().expect("an end");
    let _gone = Gone(pid.clone());
    assert_eq!(found(&sleeper), [pid.clone()], "the sleeper lives on");

    let turns = [json!({ "expect": "unknown", "say": "I will look." })];
    let mut person = Person::sit(&place.command("chat", &turns, &["--mode=bypass", "--continue"]));
    person.waits_for(&format!("(pid {pid})"));
    person.waits_for("End it? [y/N]");
    assert!(person.sees().contains("still running from the process that was killed"), "{}", person.sees());
    person.types("y\r");
    waits_for(&sleeper, false);
    person.waits_for("I will look.");
}
