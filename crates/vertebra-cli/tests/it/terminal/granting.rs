//! What a person opens at a question for the rest of the session: networks by their names, and folders outside.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{
    always::is_identical,
    pty::{Place, bash, say},
};

fn look(file: &str) -> Value {
    bash(&format!("echo ${{HTTPS_PROXY-none}} > {file}"))
}

fn write(path: &std::path::Path) -> Value {
    json!({"call": {"tool": "write_file", "args": {"path": path.display().to_string(), "content": "x\n"}}})
}

fn read(path: &std::path::Path) -> Value {
    json!({"call": {"tool": "read_file", "args": {"path": path.display().to_string()}}})
}

#[test]
fn the_same_network_a_second_time_is_opened_for_the_session() {
    let place = Place::new();
    let turns = [look("first"), look("second"), look("third"), say("All done.")];
    let mut person = place.sits("run", &turns, &["look"]);
    for (file, offers) in [
        ("first", "+ yes, with network   * yes, with network in this session: all public hosts"),
        ("second", "+ yes, with network in this session: all public hosts"),
    ] {
        person.waits_for(&format!("> {file}"));
        person.is_asked();
        let seen = person.sees().split_whitespace().collect::<Vec<_>>().join(" ");
        let offers = offers.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(seen.contains(&offers), "{seen}");
        person.types("+");
    }
    person.waits_for("> third");
    person.is_asked();
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert_eq!(person.sees().matches("└ yes, in this session: network access to all public hosts").count(), 1);
    for file in ["first", "second", "third"] {
        assert!(place.read(file).starts_with("http://127.0.0.1:"), "{file}: {}", place.read(file));
    }
    is_identical(&place, &[]);
}

#[test]
fn a_question_names_the_registries_that_it_opens() {
    let place = Place::new();
    for program in ["npm", "cargo"] {
        place.write(program, "#!/bin/sh\necho ${HTTPS_PROXY-none} >> $0.log\n");
        std::fs::set_permissions(place.path(program), PermissionsExt::from_mode(0o755)).expect("a mode");
    }
    let turns = [bash("cd . && ./npm install"), bash("./cargo add itoa"), say("All done.")];
    let mut person = place.sits("run", &turns, &["install it"]);
    for (limit, registry) in [("runs without network", "npmjs.org"), ("reaches only npmjs.org", "crates.io")] {
        person.waits_for(limit);
        person.is_asked();
        let seen = person.sees().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(seen.contains(&format!("yes, with network in this session: {registry}")), "{seen}");
        person.types("*");
        person.waits_for(&format!("└ yes, in this session: network access to {registry}"));
    }
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    for log in ["npm.log", "cargo.log"].map(|log| place.read(log)) {
        assert!(log.starts_with("http://127.0.0.1:"), "{log}");
    }
}

#[test]
fn a_command_that_fetches_nothing_is_offered_no_more_network() {
    let place = Place::new();
    let turns = [bash("touch made"), bash("curl -m 1 https://example.org"), say("All done.")];
    let mut person = place.sits("run", &turns, &["--network", "npmjs.org", "try it"]);
    person.waits_for("$ touch made");
    person.is_asked();
    assert!(!person.sees().contains("public hosts"), "{}", person.sees());
    person.types("y");
    person.waits_for("reaches only npmjs.org");
    person.is_asked();
    let seen = person.sees().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(seen.contains("* yes, with network in this session: all public hosts"), "{seen}");
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
}

#[test]
fn one_key_grants_what_a_command_needs_and_accepts_all_that_the_sandbox_holds() {
    let other = tempfile::tempdir().expect("a folder");
    let other = other.path().canonicalize().expect("a path");
    let needs = json!({"write": [other.display().to_string()], "reason": "a worktree"});
    let there = format!("echo b > {}/b", other.display());
    let needing = json!({"call": {"tool": "bash", "args": {"command": there, "needs": needs}}});
    let first = [
        (bash("cd . && ./npm install"), "network access to npmjs.org".to_owned()),
        (needing, format!("changes of {}", other.display())),
    ];
    for (first, granted) in first {
        let place = Place::new();
        place.write("npm", "#!/bin/sh\necho ${HTTPS_PROXY-none} >> npm.log\n");
        std::fs::set_permissions(place.path("npm"), PermissionsExt::from_mode(0o755)).expect("a mode");
        let turns = [first.clone(), first, write(&place.path("a.txt")), bash("touch c.txt"), say("All done.")];
        let mut person = place.sits("run", &turns, &["do it"]);
        person.is_asked();
        let offer = format!("all edits and all commands in the sandbox, in this session, with {granted}");
        let seen = |seen: &str| seen.split_whitespace().collect::<String>().replace('│', "");
        assert!(seen(&person.sees()).contains(&seen(&format!("! {offer}"))), "{}", person.sees());
        person.types("!");
        assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
        assert!(seen(&person.sees()).contains(&seen(&format!("└ yes, and {offer}"))), "{}", person.sees());
        assert!(place.path("a.txt").exists() && place.path("c.txt").exists(), "{}", person.sees());
        is_identical(&place, &[]);
    }
}

#[test]
fn a_folder_outside_is_asked_about_once_if_a_person_grants_it_for_the_session() {
    let place = Place::new();
    let (other, docs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (other, docs) = (other.path().canonicalize().expect("a path"), docs.path().canonicalize().expect("a path"));
    for name in ["x", "y"] {
        std::fs::write(docs.join(name), "text\n").expect("a file");
    }
    let outside = other.join("c");
    let turns = [
        write(&other.join("a")),
        write(&other.join("b")),
        bash(&format!("echo c > {}", outside.display())),
        read(&docs.join("x")),
        read(&docs.join("y")),
        say("All done."),
    ];
    let bypass = ["--mode", "bypass"];
    let mut person = place.sits("run", &turns, &[&bypass[..], &["work there"]].concat());
    for grant in [format!("changes of {}", other.display()), format!("reading {}", docs.display())] {
        person.waits_for("* yes, in this session");
        person.is_asked();
        person.types("*");
        person.waits_until("the grant", |seen| {
            seen.replace('\n', "").contains(&format!("└ yes, in this session: {grant}"))
        });
    }
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert_eq!(person.sees().matches("└ yes, in this session").count(), 2, "{}", person.sees());
    assert!(["a", "b", "c"].iter().all(|name| other.join(name).exists()), "{}", person.sees());
    is_identical(&place, &bypass);

    // A resumed session still has them, and says so.
    let turns = [write(&other.join("d")), say("Once more done.")];
    let mut person = place.sits("chat", &turns, &["--resume", "last", "--mode", "bypass"]);
    person.waits_for("changes of");
    person.waits_for("ctrl-d to quit");
    person.types("once more\r");
    person.waits_for("Once more done.");
    assert!(other.join("d").exists(), "{}", person.sees());
    person.waits_for("ctrl-d to quit");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
}

#[test]
fn edits_in_a_granted_folder_are_accepted_like_those_in_the_working_folder() {
    let place = Place::new();
    let other = tempfile::tempdir().expect("a folder");
    let other = other.path().canonicalize().expect("a path");
    let turns = [write(&other.join("a")), write(&other.join("b")), say("All done.")];
    let mut person = place.sits("run", &turns, &["--mode", "accept-edits", "work there"]);
    person.waits_for("* yes, in this session");
    person.is_asked();
    person.types("*");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(other.join("b").exists());
    is_identical(&place, &["--mode", "accept-edits"]);
}
