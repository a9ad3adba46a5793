//! A run is recorded, and what was recorded can be seen, taken along and proven.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{Machine, bash, say};
use crate::terminal::pty::Person;

const BYPASS: &[&str] = &["--mode", "bypass"];

#[test]
fn a_run_is_listed_and_shown_with_its_calls_and_who_decided() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\ndeny = [\"Bash(mkdir *)\"]\n");
    let turns = [bash("echo made | tee made.txt"), bash("mkdir never"), say("All done.")];
    assert_eq!(machine.plays(&turns, BYPASS).code, 0);
    let listed = machine.sessions();
    assert_eq!(listed.len(), 1);
    let session = &listed[0];
    assert_eq!((&session["status"], &session["prompt"]), (&json!("ended"), &json!("go")));
    assert_eq!((&session["steps"], &session["tool_calls"], &session["runs"]), (&json!(3), &json!(2), &json!(1)));
    assert_eq!(session["working_directory"], json!("[here]/project"));

    let shown = machine.json(&["sessions", "show", "last"]);
    let steps = &shown["runs"][0]["steps"];
    assert_eq!((&shown["runs"][0]["prompt"], &shown["runs"][0]["status"]), (&json!("go"), &json!("completed")));
    let (made, refused) = (&steps[0]["calls"][0], &steps[1]["calls"][0]);
    assert_eq!((&made["state"], &made["args"]["command"]), (&json!("ended"), &json!("echo made | tee made.txt")));
    assert!(made["result"]["output"].as_str().expect("text").contains("made"), "{made}");
    assert_eq!(refused["state"], "blocked");
    let denied = |hook: &Value| hook["verdict"] == "deny" && hook["reason"].to_string().contains("mkdir");
    assert!(refused["hooks"].as_array().expect("hooks").iter().any(denied), "{refused}");
    assert_eq!(steps[2]["said"], "All done.");
}

#[test]
fn what_output_denied_or_changed_is_shown_nowhere() {
    let hooks = [
        ("deny = \"it stays here\"", "", 3, json!("stopped")),
        ("set = { text = \"something else\" }", "something else\n", 0, json!("completed")),
    ];
    for (does, out, code, status) in hooks {
        let machine = Machine::new();
        machine.user_settings(&format!("[[hook]]\nname = \"stays\"\npoint = \"Output\"\n{does}\n"));
        let told = machine.plays(&[bash("ls"), say("The code is SECRET.")], BYPASS);
        assert_eq!((told.code, &*told.out), (code, out), "{}", told.err);
        assert!(!told.err.contains("SECRET"), "{}", told.err);
        let shown = machine.json(&["sessions", "show", "last"]);
        assert_eq!(shown["runs"][0]["status"], status);
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        assert!(shown.to_string().contains("stays"), "who decided is there: {shown}");
        assert_eq!(shown["runs"][0]["steps"][1]["said"], out.trim());
        let exported = machine.runs(&["sessions", "export", "last"]);
        assert!(exported.out.contains("SECRET"), "the journal itself keeps what a replay needs");
    }
}

#[test]
fn a_session_that_a_hook_denies_does_not_begin_and_the_reason_is_shown() {
    let machine = Machine::new();
    machine
        .user_settings("[[hook]]\nname = \"office-hours\"\npoint = \"SessionStart\"\ndeny = \"come back on Monday\"\n");
    let told = machine.plays(&[say("hi")], &[]);
    assert_eq!((told.code, &*told.out), (4, ""), "{}", told.err);
    assert!(told.err.contains("the session was denied by policy/office-hours: come back on Monday"), "{}", told.err);
    let sessions = machine.sessions();
    assert_eq!((sessions.len(), &sessions[0]["status"]), (1, &json!("ended")), "{sessions:?}");
}

#[test]
fn a_session_is_known_by_any_part_of_its_name_that_no_other_has() {
    let machine = Machine::new();
    for prompt in ["one", "two"] {
        assert_eq!(machine.on(&[say("fine")], &["run", prompt]).code, 0);
    }
    let id = machine.sessions()[1]["session_id"].as_str().expect("a name").to_owned();
    for words in [&*id, &id[..id.len() - 1], &id[8..30], &id[id.len() - 12..]] {
        let shown = machine.json(&["sessions", "show", words]);
        assert_eq!(shown["session"]["prompt"], "one", "{words}");
    }
    let told = machine.runs(&["sessions", "show", "session-"]);
    assert!(told.code == 1 && told.err.contains("could be session-"), "{}", told.err);
    let told = machine.runs(&["sessions", "show", "nothing"]);
    assert!(told.code == 1 && told.err.contains("no such session: `nothing`"), "{}", told.err);
}

#[test]
fn lists_are_narrowed_by_folder_time_and_state() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("fine")], &["run", "here"]).code, 0);
    machine.write("other/.keep", "");
    let other = machine.path("other").display().to_string();
    assert_eq!(machine.on(&[say("fine")], &["run", "there", "--dir", &other]).code, 0);
    let prompts = |arguments: &[&str]| -> Vec<String> {
        let listed = machine.json(&[&["sessions", "list"], arguments].concat());
        let rows = listed.as_array().expect("rows").iter();
        rows.map(|row| row["prompt"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(prompts(&[]), ["here"]);
    assert_eq!(prompts(&["--folder", &other]), ["there"]);
    assert_eq!(prompts(&["--all"]), ["there", "here"]);
    assert_eq!(prompts(&["--all", "--since", "1h", "--status", "ended"]).len(), 2);
    assert_eq!(prompts(&["--all", "--since", "2999-01-01"]).len(), 0);
    assert_eq!(prompts(&["--all", "--status", "suspended"]).len(), 0);
    assert_eq!(prompts(&["--all", "-n", "1"]), ["there"]);
}

#[test]
fn an_export_is_signed_and_a_changed_one_proves_nothing() {
    let machine = Machine::new();
    assert_eq!(machine.plays(&[bash("ls"), say("done")], &[]).code, 0);
    let told = machine.runs(&["sessions", "export", "last", "--sign", "--to", "../session.jsonl"]);
    assert_eq!(told.code, 0, "{}", told.err);
    let key = told.err.rsplit(' ').next().expect("a key").trim().to_owned();
    assert_eq!(key.len(), 64, "{}", told.err);
    let secret = machine.path("home/.local/state/vertebra/journal-signing.key");
    assert_eq!(secret.metadata().expect("a key").permissions().mode() & 0o777, 0o600);

    let verify = ["sessions", "verify", "--export", "../session.jsonl"];
    assert_eq!(machine.json(&verify)["verified"], "signed");
    assert_eq!(machine.json(&[&verify[..], &["--key", &key]].concat())["verified"], "signed");
    let told = machine.runs(&[&verify[..], &["--key", &"0".repeat(63)]].concat());
    assert!(told.code == 2 && told.err.contains("64 hexadecimal digits"), "{}", told.err);
    let other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let told = machine.runs(&[&verify[..], &["--key", other]].concat());
    assert!(told.code == 1 && told.err.contains("another key"), "{}", told.err);

    let text = machine.read("session.jsonl");
    assert_eq!(text.lines().next().map(|line| line.contains("session_began")), Some(true), "{text}");
    machine.write("session.jsonl", &text.replacen("done", "dome", 1));
    let told = machine.runs(&verify);
    assert!(told.code == 1 && told.err.contains("is not what was signed"), "{}", told.err);

    let told = machine.runs(&["sessions", "export", "last"]);
    let kinds = told.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["entry"].clone());
    let kinds: Vec<Value> = kinds.collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&json!("session_began")), Some(&json!("session_ended"))));
    let intact = machine.json(&["sessions", "verify", "last"]);
    assert_eq!((&intact["verified"], &intact["lines"]), (&json!("intact"), &json!(kinds.len())));
}

#[test]
fn what_is_recorded_has_no_secret_in_it() {
    let machine = Machine::new();
    machine.write("project/notes.txt", "correct-horse-battery\n");
    let model = machine.model(&[bash("cat notes.txt"), say("It says correct-horse-battery.")]);
    let mut command = machine.command(&["run", &model, "what does it say about correct-horse-battery?"]);
    let told = machine.told(command.env("ANTHROPIC_API_KEY", "correct-horse-battery"));
    assert_eq!(told.code, 0, "{}", told.err);
    for file in ["journal.db", "journal.db-wal"] {
        let path = machine.path("home/.local/state/vertebra").join(file);
        let bytes = std::fs::read(path).unwrap_or_default();
        let found = bytes.windows(21).any(|window| window == b"correct-horse-battery");
        assert!(!found, "{file}");
    }
    assert!(machine.runs(&["sessions", "export", "last"]).out.contains("notes.txt"));
}

#[test]
fn people_get_pages_and_the_name_of_their_session() {
    let machine = Machine::new();
    let model = machine.model(&[bash("echo hello"), say("All done.")]);
    let at_terminal = |arguments: &[&str]| {
        let mut person = Person::sit(machine.command(arguments).env("TERM", "xterm-256color"));
        assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
        person.sees()
    };
    let seen = at_terminal(&["run", &model, "say hello"]);
    let id = machine.sessions()[0]["session_id"].as_str().expect("a name").to_owned();
    let short = &id["session-".len()..][..12];
    assert!(seen.contains(&format!("continue with: vertebra chat --resume {short}")), "{seen}");
    let seen = at_terminal(&["sessions", "list"]);
    assert!(seen.contains(short) && seen.contains("ended") && seen.contains("2 steps, 1 call"), "{seen}");
    let seen = at_terminal(&["sessions", "show", short]);
    assert!(!seen.contains("planning/"), "what is built in and lets things pass is not named: {seen}");
    assert!(seen.contains("❯ say hello") && seen.contains("✓ $ echo hello") && seen.contains("All done."), "{seen}");
    assert!(at_terminal(&["sessions", "questions"]).contains("no open questions"));
    assert!(at_terminal(&["replay", short]).contains("identical: 1 run"));
}
