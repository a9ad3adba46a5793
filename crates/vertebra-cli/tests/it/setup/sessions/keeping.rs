//! Whether there is a journal, where it is, what is kept of it, and what happens if it cannot be kept.

use std::fs;

use serde_json::json;

use super::{Machine, say};

const JOURNAL: &str = "home/.local/state/vertebra/journal.db";

#[test]
fn who_wants_no_record_has_none() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("fine")], &["run", "--no-journal", "go"]).code, 0);
    machine.user_settings("[journal]\nenabled = false\n");
    assert_eq!(machine.on(&[say("fine")], &["run", "go"]).code, 0);
    assert!(!machine.path(JOURNAL).exists());
    assert_eq!(machine.sessions(), Vec::<serde_json::Value>::new());
    let told = machine.runs(&["sessions", "show", "last"]);
    assert!(told.code == 1 && told.err.contains("the journal is empty"), "{}", told.err);
}

#[test]
fn a_project_does_not_decide_what_is_recorded() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", "[journal]\nenabled = false\n");
    let told = machine.on(&[say("fine")], &["run", "--trust", "go"]);
    assert!(told.err.contains("a project") && told.err.contains("cannot change what is recorded"), "{}", told.err);
    assert_eq!(machine.sessions().len(), 1, "it is recorded");
}

#[test]
fn a_journal_is_where_the_settings_say_and_only_its_owner_reads_it() {
    let machine = Machine::new();
    machine.user_settings("[journal]\npath = \"~/kept/here.db\"\nsync = \"process\"\nchain = false\n");
    assert_eq!(machine.on(&[say("fine")], &["run", "go"]).code, 0);
    let file = machine.path("home/kept/here.db");
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().expect("a journal").permissions());
    assert_eq!((mode & 0o777, machine.path(JOURNAL).exists()), (0o600, false));
    let told = machine.runs(&["sessions", "verify", "last"]);
    assert!(told.code == 1 && told.out.contains("no_chain"), "{}", told.out);
}

#[test]
fn what_cannot_be_recorded_does_not_run_unless_somebody_says_so() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("fine")], &["run", "go"]).code, 0);
    let whole = fs::read(machine.path(JOURNAL)).expect("a journal");
    let mut newer = whole.clone();
    // SQLite keeps the number of the schema here.
    newer[60..64].copy_from_slice(&999_u32.to_be_bytes());
    for (bytes, words) in [(b"this is not a journal, it never was one".to_vec(), "journal.db"), (newer, "newer")] {
        fs::write(machine.path(JOURNAL), &bytes).expect("damage");
        let told = machine.on(&[say("fine")], &["run", "go"]);
        assert_eq!(told.code, 2, "{}", told.err);
        assert!(told.err.contains(words) && told.err.contains(".local/state/vertebra/journal.db"), "{}", told.err);
        assert!(told.err.contains("--no-journal") && told.out.is_empty(), "{}", told.err);
        assert_ne!(machine.runs(&["sessions", "list"]).code, 0);
        assert_eq!(machine.plays(&[say("fine")], &["--no-journal"]).code, 0);
        assert_eq!(fs::read(machine.path(JOURNAL)).expect("the file"), bytes, "nothing was overwritten");
    }
    fs::write(machine.path(JOURNAL), &whole).expect("as it was");
    assert_eq!(machine.sessions().len(), 1);

    let elsewhere = Machine::new();
    elsewhere.write("home/.local/state/vertebra", "a file where a folder should be");
    let told = elsewhere.on(&[say("fine")], &["run", "go"]);
    assert!(told.code == 2 && told.err.contains("--no-journal"), "{}", told.err);
}

#[test]
fn a_damaged_session_shows_what_is_left_of_it() {
    let machine = Machine::new();
    assert_eq!(machine.on(&[say("the last words")], &["run", "go"]).code, 0);
    let mut bytes = fs::read(machine.path(JOURNAL)).expect("a journal");
    let words = b"the last words";
    let places: Vec<usize> =
        bytes.windows(words.len()).enumerate().filter(|(_, w)| w == words).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "it is recorded as it was said");
    for at in places {
        bytes[at] = b'T';
    }
    fs::write(machine.path(JOURNAL), bytes).expect("damage");
    let told = machine.runs(&["sessions", "verify", "last"]);
    assert!(told.code == 1 && told.out.contains("\"broken\"") && told.out.contains("The last words"), "{}", told.out);
    let told = machine.runs(&["sessions", "export", "last", "--sign"]);
    assert!(told.code == 1 && told.err.contains("is not signed"), "{}", told.err);
}

#[test]
fn sessions_are_deleted_when_somebody_says_so_and_pruned_as_the_settings_say() {
    let machine = Machine::new();
    for prompt in ["one", "two", "three", "four"] {
        assert_eq!(machine.on(&[say("fine")], &["run", prompt]).code, 0);
    }
    let prompts = || machine.sessions().iter().map(|row| row["prompt"].clone()).collect::<Vec<_>>();
    let told = machine.runs(&["sessions", "delete", "last"]);
    assert!(told.code == 1 && told.err.contains("--yes"), "{}", told.err);
    let deleted = machine.json(&["sessions", "delete", "last", "--yes"]);
    assert_eq!(deleted["sessions"][0]["prompt"], "four");
    assert_eq!(prompts(), [json!("three"), json!("two"), json!("one")]);
    let told = machine.runs(&["sessions", "prune", "--yes"]);
    assert!(told.code == 1 && told.err.contains("no limit given"), "{}", told.err);
    machine.json(&["sessions", "prune", "--max-sessions=2", "--yes"]);
    assert_eq!(prompts(), [json!("three"), json!("two")]);
    machine.json(&["sessions", "prune", "--keep=1h", "--yes"]);
    assert_eq!(prompts().len(), 2);
    machine.user_settings("[journal]\nmax_sessions = 1\n");
    assert_eq!(machine.on(&[say("fine")], &["run", "five"]).code, 0);
    assert_eq!(prompts(), [json!("five"), json!("three")], "what is old goes when a run begins");
}
