//! What a person allows besides one call: for the session, for a folder, for good. A replay sees it where it was allowed.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::pty::{Person, Place, bash, say};

fn turns(commands: &[&str]) -> Vec<Value> {
    commands.iter().map(|command| bash(command)).chain([say("All done.")]).collect()
}

/// What the program prints.
fn prints(place: &Place, words: &[&str]) -> (i32, String) {
    let model = place.command("run", &[], &[]);
    let mut command = Command::new(model.get_program());
    command.args(words).env_clear().envs(model.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(model.get_current_dir().expect("a folder"));
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().and_then(Child::wait_with_output).expect("it ends");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(super) fn is_identical(place: &Place, options: &[&str]) {
    let (code, told) = prints(place, &[&["replay", "last", "--json"], options].concat());
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("\"identical\": true"), "{told}");
}

#[test]
fn one_key_allows_a_command_in_this_folder_from_now_on_and_in_no_other() {
    let place = Place::new();
    place.settings("# mine\n[permissions]\nmode = \"ask\"\n");
    let commands = turns(&["touch one.txt", "touch one.txt"]);
    let mut person = place.sits("run", &commands, &["make it"]);
    person.is_asked();
    assert!(person.sees().contains(". always in this folder, saved in your settings"), "{}", person.sees());
    person.types(".");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(person.sees().contains("yes, from now on in this folder: Bash(touch one.txt)"), "{}", person.sees());
    assert_eq!(person.sees().matches("┌ $ ").count(), 1, "{}", person.sees());
    is_identical(&place, &[]);

    let settings = place.own_settings();
    assert!(settings.starts_with("# mine\n[permissions]\nmode = \"ask\"\n"), "{settings}");
    assert!(settings.contains("allow = [\"Bash(touch one.txt)\"]"), "exactly the rule that was shown: {settings}");
    assert!(!place.path("vertebra.toml").exists() && !place.path("vertebra.local.toml").exists());

    // The next session in this folder does not ask.
    let mut person = place.sits("run", &commands, &["make it again"]);
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(!person.bytes().contains('┌'), "{}", person.sees());

    // One in another folder does, even in one inside of this one.
    for other in [tempfile::tempdir().expect("a folder").keep(), place.path("inner")] {
        std::fs::create_dir_all(&other).expect("a folder");
        let mut command = place.command("run", &commands, &["make it there"]);
        let mut person = Person::sit(command.current_dir(&other));
        person.is_asked();
        person.types("\x03");
        person.waits_for("session still open; type");
        person.types("\x04");
        person.waits_for_the_end();
        assert!(!other.join("one.txt").exists());
        std::fs::remove_dir_all(&other).expect("gone");
    }
}

#[test]
fn a_rule_for_this_folder_can_be_edited_first() {
    let place = Place::new();
    let mut person = place.sits("run", &turns(&["touch one.txt", "touch two.txt"]), &["make them"]);
    person.is_asked();
    person.types("r");
    person.waits_for("tab: in this folder");
    person.types("\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f*)");
    person.waits_for("Bash(touch *)");
    person.types("\t");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(place.own_settings().contains("allow = [\"Bash(touch *)\"]"), "{}", place.own_settings());
    assert!(place.path("two.txt").exists());
    is_identical(&place, &[]);
}

#[test]
fn a_dumb_terminal_offers_this_folder_too() {
    let place = Place::new();
    let commands = turns(&["touch one.txt", "touch one.txt"]);
    let sits = |task: &str| {
        let mut command = place.command("run", &commands, &[task]);
        Person::sit(command.env("TERM", "dumb"))
    };
    let mut person = sits("make it");
    person.waits_for(". [rule]: yes, and always in this folder, saved in your settings");
    person.types(".\n");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert_eq!(person.bytes().matches("e: edit the arguments").count(), 1, "{}", person.sees());
    let mut person = sits("make it again");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(!person.bytes().contains("e: edit the arguments"), "{}", person.sees());
}

#[test]
fn what_a_project_says_about_its_folder_allows_nothing() {
    let place = Place::new();
    let folder = place.path("").canonicalize().expect("a folder");
    let rule = format!("[permissions.folder.\"{}\"]\nallow = [\"Bash(touch *)\"]\n", folder.display());
    for name in ["vertebra.toml", "vertebra.local.toml"] {
        place.write(name, &rule);
        let mut person = place.sits("run", &turns(&["touch one.txt"]), &["--trust", "make it"]);
        person.is_asked();
        assert!(!place.path("one.txt").exists(), "{}", person.sees());
        let words = person.sees().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("a project cannot allow anything by folder"), "{words}");
        person.types("\x03");
        person.waits_for("session still open; type");
        person.types("\x04");
        person.waits_for_the_end();
        std::fs::remove_file(place.path(name)).expect("gone");
    }
}

#[test]
fn a_session_in_which_a_person_said_always_is_replayed_without_a_difference() {
    let write = |name: &str| json!({"call": {"tool": "write_file", "args": {"path": name, "content": "x\n"}}});
    for key in ["a", "f", "."] {
        let place = Place::new();
        let mut person = place.sits("run", &turns(&["touch one.txt", "touch one.txt"]), &["make it"]);
        person.is_asked();
        person.types(key);
        assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
        is_identical(&place, &[]);
        let (_, shown) = prints(&place, &["sessions", "show", "last"]);
        assert!(shown.contains("Bash(touch one.txt)"), "{shown}");
    }
    let place = Place::new();
    let mut person = place.sits("run", &[write("one.txt"), write("two.txt"), say("Done.")], &["make them"]);
    person.is_asked();
    person.types("s");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    is_identical(&place, &[]);
}

#[test]
fn a_session_in_which_the_mode_changed_is_replayed_without_a_difference() {
    let write = |name: &str| json!({"call": {"tool": "write_file", "args": {"path": name, "content": "x\n"}}});
    let place = Place::new();
    let turns = [
        [write("a.txt"), say("One.")],
        [write("b.txt"), say("Two.")],
        [bash("touch c.txt"), say("Three.")],
        [write("d.txt"), say("Four.")],
    ];
    let mut person = place.sits("chat", &turns.concat(), &[]);
    person.waits_for("ctrl-d to quit");
    person.types("one\r");
    person.is_asked();
    person.types("y");
    person.waits_for("One.");
    person.waits_for("ctrl-d to quit");
    for (change, mode, prompt, answer) in [
        ("/mode accept-edits\r", "mode: accept-edits", "two\r", "Two."),
        ("\x1b[Z", "sandboxed (shift-tab)", "three\r", "Three."),
        ("/mode plan\r", "mode: plan", "four\r", "Four."),
    ] {
        person.types(change);
        person.waits_for(mode);
        person.types(prompt);
        person.waits_for(answer);
        person.waits_for("ctrl-d to quit");
    }
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let made = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| place.path(name).exists());
    assert_eq!(made, [true, true, true, false], "{}", person.sees());
    is_identical(&place, &[]);
}
