//! A run waits for an answer without its process; the answer comes from another one, for exactly what was shown.

use serde_json::{Value, json};

use super::{Machine, bash, say};
use crate::terminal::pty::Person;

fn waits(machine: &Machine, option: &str) -> Value {
    let told = machine.on(&[bash("touch made.txt")], &["run", option, "make it"]);
    assert_eq!(told.code, 5, "{}", told.err);
    assert!(told.err.contains("vertebra sessions answer"), "{}", told.err);
    assert_eq!(machine.sessions()[0]["status"], "suspended");
    let questions = machine.json(&["sessions", "questions"]);
    assert_eq!(questions.as_array().map(Vec::len), Some(1), "{questions}");
    questions[0].clone()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn an_answer_from_another_process_lets_exactly_the_approved_call_happen() {
    let machine = Machine::new();
    let question = waits(&machine, "--wait");
    let approval = &question["approval"];
    assert_eq!(approval["args"], json!({ "command": "touch made.txt" }));
    assert_eq!((&question["expired"], machine.path("project/made.txt").exists()), (&json!(false), false));
    let (call, digest) = (text(approval, "call_id"), text(approval, "digest"));

    // Nothing is decided while nobody has answered.
    let told = machine.on(&[say("never")], &["sessions", "resume", "last", "--wait"]);
    assert_eq!(told.code, 5, "{}", told.err);
    let answer = |more: &[&str]| machine.runs(&[&["sessions", "answer", "last"], more].concat());
    for (wrong, words) in [
        (&[call, "--approve", "--digest", "0123456789abcdef"][..], "have changed since you saw them"),
        (&["other-call", "--approve"], "has no open question about `other-call`"),
        (&[call, "--edit", "touch made.txt"], "--edit"),
    ] {
        let told = answer(wrong);
        assert!(told.code == 1 && told.err.contains(words), "{wrong:?}: {}", told.err);
    }
    assert_eq!(answer(&[call]).code, 2, "an answer says something");
    let told = answer(&[call, "--approve", "--digest", &digest[..16]]);
    assert_eq!(told.code, 0, "{}", told.err);
    let told = answer(&[call, "--deny", "no"]);
    assert!(told.code == 1 && told.err.contains("has no open question"), "{}", told.err);
    assert!(!machine.path("project/made.txt").exists(), "nobody has resumed it yet");

    let told = machine.on(&[say("It is made.")], &["sessions", "resume", "last"]);
    assert_eq!((told.code, &*told.out), (0, "It is made.\n"), "{}", told.err);
    assert!(machine.path("project/made.txt").exists());
    assert_eq!(machine.json(&["sessions", "questions"]), json!([]));
    let shown = machine.json(&["sessions", "show", "last"]);
    let call = &shown["runs"][0]["steps"][0]["calls"][0];
    assert_eq!((&call["state"], &call["answered"]["decision"]), (&json!("ended"), &json!("approve")));
    assert_eq!(machine.json(&["replay", "last"])["identical"], true);
}

#[test]
fn all_questions_of_one_answer_wait_together() {
    let machine = Machine::new();
    let call = |name: &str| json!({ "tool": "bash", "args": { "command": format!("touch {name}.txt") } });
    let calls = json!({ "calls": [call("one"), json!({ "tool": "bash", "args": { "command": "ls" } }), call("two")] });
    let told = machine.on(&[calls], &["run", "--wait", "make them"]);
    assert_eq!(told.code, 5, "{}", told.err);
    let questions = machine.json(&["sessions", "questions"]);
    let asked: Vec<&Value> = questions.as_array().expect("a list").iter().map(|one| &one["approval"]).collect();
    let commands: Vec<&str> = asked.iter().map(|one| text(&one["args"], "command")).collect();
    assert_eq!(commands, ["touch one.txt", "touch two.txt"], "{questions:#}");
    for approval in asked {
        let told = machine.runs(&["sessions", "answer", "last", text(approval, "call_id"), "--approve"]);
        assert_eq!(told.code, 0, "{}", told.err);
    }
    assert!(!machine.path("project/one.txt").exists() && !machine.path("project/two.txt").exists());
    let told = machine.on(&[say("Both are made.")], &["sessions", "resume", "last", "--wait"]);
    assert_eq!((told.code, &*told.out), (0, "Both are made.\n"), "{}", told.err);
    assert!(machine.path("project/one.txt").exists() && machine.path("project/two.txt").exists());
    assert_eq!(machine.json(&["replay", "last"])["identical"], true);
}

#[test]
fn a_no_is_read_by_the_model_and_a_change_is_what_happens() {
    let machine = Machine::new();
    waits(&machine, "--wait");
    let turns = [json!({ "expect": "not on a Monday", "say": "I left it." })];
    let told = machine.on(&turns, &["sessions", "answer", "last", "--deny", "not on a Monday", "--resume"]);
    assert_eq!((told.code, &*told.out), (0, "I left it.\n"), "{}", told.err);
    waits(&machine, "--wait");
    let edit = r#"{"command": "touch other.txt"}"#;
    let told = machine.on(&[say("Made.")], &["sessions", "answer", "last", "--edit", edit, "--resume"]);
    assert_eq!((told.code, &*told.out), (0, "Made.\n"), "{}", told.err);
    assert!(machine.path("project/other.txt").exists() && !machine.path("project/made.txt").exists());
}

#[test]
fn no_answer_in_time_is_a_no() {
    let machine = Machine::new();
    waits(&machine, "--wait=2s");
    while machine.json(&["sessions", "questions"])[0]["expired"] == false {}
    let told = machine.runs(&["sessions", "answer", "last", "--approve"]);
    assert!(told.code == 1 && told.err.contains("no answer is a no"), "{}", told.err);
    let turns = [json!({ "expect": "no one answered in time", "say": "Too late." })];
    let told = machine.on(&turns, &["sessions", "resume", "last"]);
    assert_eq!((told.code, &*told.out), (0, "Too late.\n"), "{}", told.err);
    assert!(!machine.path("project/made.txt").exists());
}

#[test]
fn without_a_journal_nothing_can_wait() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("no")], &["run", "--wait", "--no-journal", "go"]).code, 2);
    machine.user_settings("[journal]\nenabled = false\n");
    let told = machine.on(&[say("no")], &["run", "--wait", "go"]);
    assert!(told.code == 2 && told.err.contains("--wait needs a journal"), "{}", told.err);
}

#[test]
fn a_person_may_answer_later_and_the_question_comes_again() {
    let machine = Machine::new();
    let sits = |turns: &[Value], arguments: &[&str]| {
        let model = machine.model(turns);
        Person::sit(machine.command(&[arguments, &[&model]].concat()).env("TERM", "xterm-256color"))
    };
    let mut person = sits(&[bash("touch made.txt")], &["run", "make it"]);
    person.is_asked();
    person.types("l");
    assert_eq!(person.waits_for_the_end(), 5, "{}", person.sees());
    let seen = person.sees();
    assert!(seen.contains("└ later") && seen.contains("vertebra sessions"), "{seen}");

    let mut person = sits(&[say("It is made.")], &["chat", "--continue"]);
    person.is_asked();
    assert!(person.sees().contains("“make it” is not finished"), "{}", person.sees());
    person.types("y");
    person.waits_for("It is made.");
    person.waits_for("/help");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
    assert!(machine.path("project/made.txt").exists());
    assert_eq!(machine.sessions().len(), 1);
}

#[test]
fn a_chat_stays_open_when_its_question_is_put_off_and_keeps_what_was_typed() {
    let machine = Machine::new();
    let turns = [bash("touch made.txt"), say("It is made.")];
    let model = machine.model(&turns);
    let mut person = Person::sit(machine.command(&["chat", &model, "make it"]).env("TERM", "xterm-256color"));
    person.is_asked();
    person.types("half");
    person.waits_for("❯ half");
    person.is_asked();
    person.types("l");
    person.waits_for("the question waits");
    person.waits_for("❯ half");
    assert_eq!(machine.sessions()[0]["status"], "suspended");
    person.types("\x15/continue\r");
    person.is_asked();
    person.types("l");
    person.waits_for("the question waits");
    // Whoever leaves now is told how to go on.
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 5, "{}", person.sees());
    assert!(person.sees().contains("continue with: vertebra chat --resume"), "{}", person.sees());
    assert_eq!(machine.sessions()[0]["status"], "suspended");
    assert_eq!(machine.json(&["sessions", "questions"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn questions_are_shown_without_what_a_terminal_would_obey() {
    let machine = Machine::new();
    let told = machine.on(&[bash("touch 'made\u{1b}[2J.txt'")], &["run", "--wait", "make it"]);
    assert_eq!(told.code, 5, "{}", told.err);
    let mut person = Person::sit(machine.command(&["sessions", "questions"]).env("TERM", "xterm-256color"));
    assert_eq!(person.waits_for_the_end(), 0);
    let seen = person.sees();
    assert!(seen.contains("touch") && seen.contains("--approve --resume"), "{seen}");
    assert!(!person.bytes().contains("\x1b[2J"), "{:?}", person.bytes());
}
