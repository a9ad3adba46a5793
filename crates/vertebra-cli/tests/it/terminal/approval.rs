//! Questions are answered by one key, and only by a key that was meant for them.

use std::{path::Path, process::Command, thread, time::Duration};

use serde_json::json;

use super::pty::{Person, Place, bash, say};

#[test]
fn one_key_says_yes() {
    let place = Place::new();
    let mut person = place.sits("run", &[bash("echo made > made.txt"), say("All done.")], &["make it"]);
    person.is_asked();
    assert!(!place.path("made.txt").exists());
    insta::assert_snapshot!("asked", place.anywhere(&person.sees()));
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0);
    assert_eq!(place.read("made.txt"), "made\n");
    insta::assert_snapshot!("answered", place.anywhere(&person.sees()));
}

#[test]
fn an_approved_command_runs_before_the_next_question_of_the_same_answer() {
    let place = Place::new();
    let call = |command: &str| json!({ "tool": "bash", "args": { "command": command } });
    let turns = [json!({ "calls": [call("date +%s%N > one"), call("date +%s%N > two")] }), say("All done.")];
    let mut person = place.sits("run", &turns, &["make both"]);
    person.is_asked();
    assert!(!place.path("one").exists());
    person.types("y");
    person.waits_for("> two");
    person.is_asked();
    // Nobody has answered the second question, and the first command is done.
    assert!(!place.read("one").is_empty() && !place.path("two").exists(), "{}", person.sees());
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0);
    assert!(place.read("one") < place.read("two"));
}

#[test]
fn a_no_may_have_a_reason_that_the_model_reads() {
    let place = Place::new();
    let turns = [bash("touch made.txt"), json!({"expect": "rather not today", "say": "I left it."})];
    let mut person = place.sits("run", &turns, &["make it"]);
    person.is_asked();
    person.types("n");
    person.waits_for("reason: ");
    person.types("rather not todax\x7fy\r");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    // The question shows the answer, and nothing says it again.
    let screen = person.sees();
    assert!(screen.contains("no: rather not today") && screen.matches("rather not today").count() == 1, "{screen}");
    assert!(!place.path("made.txt").exists());
}

#[test]
fn always_answers_the_same_question_for_the_rest_of_the_session() {
    let place = Place::new();
    let turns = [bash("touch one.txt"), bash("touch one.txt"), bash("mkdir two"), say("All done.")];
    let mut person = place.sits("run", &turns, &["make them"]);
    person.is_asked();
    person.types("a");
    person.waits_for("mkdir two");
    person.is_asked();
    let asked = person.sees().matches("┌ $ ").count();
    assert_eq!(asked, 2, "{}", person.sees());
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0);
}

#[test]
fn a_command_is_edited_as_it_is_written_and_not_as_json() {
    let place = Place::new();
    let mut person = place.sits("run", &[bash("touch a.txt"), say("All done.")], &["make it"]);
    person.is_asked();
    person.types("e");
    person.waits_for("command: ");
    person.types("\x7f\x7f\x7f\x7f\x7fb.txt");
    person.waits_for("touch b.txt");
    person.types("\r");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(place.path("b.txt").exists() && !place.path("a.txt").exists(), "{}", person.sees());
    // What ran is not what the question showed.
    assert!(person.sees().contains("✓ $ touch b.txt"), "{}", person.sees());
}

#[test]
fn what_is_typed_before_a_question_is_seen_is_no_answer_to_it() {
    let place = Place::new();
    let slow = json!({"wait_ms": 700, "call": {"tool": "bash", "args": {"command": "touch made.txt"}}});
    let mut person = place.sits("run", &[slow, say("I left it.")], &["make it"]);
    person.waits_for("❯");
    // Somebody types, and goes on typing when the question comes up.
    while !person.sees().contains("┌ $ touch made.txt") {
        person.types("y");
        thread::park_timeout(Duration::from_millis(20));
    }
    person.types("yyy");
    person.is_asked();
    assert!(person.sees().contains("❯ yyy"), "{}", person.sees());
    assert!(!place.path("made.txt").exists());
    // Nor is what was pasted.
    person.types("\x1b[200~y\x1b[201~n");
    person.waits_for("reason: ");
    person.types("\r");
    person.waits_for("I left it.");
    assert!(!place.path("made.txt").exists());
}

#[test]
fn a_word_or_a_terminals_own_reply_at_a_question_is_no_answer_to_it() {
    let place = Place::new();
    let mut person = place.sits("run", &[bash("touch made.txt"), say("I left it.")], &["make it"]);
    person.is_asked();
    // Its second letter would be "always".
    person.types("wait, why?");
    person.waits_for("❯ wait, why?");
    person.is_asked();
    // What a terminal says to a program that asked for its colours.
    person.types("\x1b]11;rgb:fafa/fafa/fafa\x1b\\");
    person.waits_for("❯ wait, why?11;rgb:fafa/fafa/fafa");
    person.is_asked();
    // It can be taken back, also when keys count as answers again.
    person.types(&"\x7f".repeat("?11;rgb:fafa/fafa/fafa".len()));
    person.waits_until("the rest of the line", |screen| screen.lines().any(|line| line.trim_end() == "❯ wait, why"));
    person.is_asked();
    assert!(!place.path("made.txt").exists(), "{}", person.sees());
    person.types("n");
    person.waits_for("reason: ");
    person.types("\r");
    person.waits_for("I left it.");
    assert!(!place.path("made.txt").exists());
}

#[test]
fn ctrl_c_at_a_question_says_no_and_stops() {
    let place = Place::new();
    let mut person = place.sits("run", &[bash("touch made.txt"), say("not said")], &["make it"]);
    person.is_asked();
    person.types("\x03");
    person.waits_for("session still open; type");
    assert!(!person.sees().contains("not said"), "{}", person.sees());
    assert!(!place.path("made.txt").exists());
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 130);
    person.has_a_sane_terminal();
}

#[test]
fn an_edit_is_shown_as_a_difference() {
    let place = Place::new();
    place.write("poem.txt", "roses are red\nviolets are red\n");
    let args = json!({"path": "poem.txt", "old_string": "violets are red", "new_string": "violets are blue"});
    let turns = [
        json!({"call": {"tool": "read_file", "args": {"path": "poem.txt"}}}),
        json!({"call": {"tool": "edit_file", "args": args}}),
        say("Corrected."),
    ];
    let mut person = place.sits("run", &turns, &["correct the poem"]);
    person.is_asked();
    insta::assert_snapshot!("difference", place.anywhere(&person.sees()));
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0);
    assert_eq!(place.read("poem.txt"), "roses are red\nviolets are blue\n");
}

#[test]
fn a_command_cannot_look_like_an_answer_to_itself() {
    let place = Place::new();
    let forged = format!("touch made.txt #{}└ yes", " x".repeat(70));
    let mut person = place.sits("run", &[bash(&forged), say("I left it.")], &["make it"]);
    person.is_asked();
    insta::assert_snapshot!("forged", place.anywhere(&person.sees()));
    person.types("n");
    person.waits_for("reason: ");
    person.types("\r");
    assert_eq!(person.waits_for_the_end(), 0);
}

#[test]
fn with_a_pipe_for_context_the_keyboard_still_answers() {
    let place = Place::new();
    let turns = [bash("echo made > made.txt"), say("All done.")];
    let words = place.command("run", &turns, &["--mode=ask", "make it"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo context | \"$@\"", "sh"]).arg(words.get_program()).args(words.get_args());
    shell.env_clear().envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut person = Person::sit(shell.current_dir(place.path(".")));
    person.is_asked();
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert_eq!(place.read("made.txt"), "made\n");
    person.has_a_sane_terminal();
}

#[test]
fn one_key_shows_the_rest_of_a_long_question_which_is_not_answered_before() {
    let place = Place::new();
    let lines: Vec<String> = (0..60).map(|number| format!("echo line-{number}-of-it")).collect();
    let command = format!("{}\ntouch made.txt", lines.join("\n"));
    let mut person = place.sits("run", &[bash(&command), say("All done.")], &["make it"]);
    person.waits_for("view the rest (");
    assert!(!person.bytes().contains("touch made.txt"), "{}", person.sees());
    for key in ["y", "a", "e"] {
        person.types(key);
        person.waits_for("view the rest first");
        assert!(!place.path("made.txt").exists());
    }
    person.types("v");
    person.waits_for("y yes");
    let bytes = person.bytes();
    for number in 0..60 {
        assert!(bytes.contains(&format!("line-{number}-of-it")), "{number}");
    }
    assert!(bytes.contains("touch made.txt"));
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(place.path("made.txt").exists());
}

#[test]
fn always_adds_exactly_the_rules_that_were_shown() {
    let place = Place::new();
    let turns =
        [bash("touch one.txt && mkdir two"), bash("mkdir two && touch one.txt"), bash("mkdir three"), say("Done.")];
    let mut person = place.sits("run", &turns, &["make them"]);
    person.is_asked();
    assert!(
        person.sees().contains("a always in this session: Bash(touch one.txt), Bash(mkdir two)"),
        "{}",
        person.sees()
    );
    person.types("a");
    person.waits_for("mkdir three");
    person.is_asked();
    let asked = person.sees().matches("┌ $ ").count();
    assert_eq!(asked, 2, "{}", person.sees());
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0);
}

#[test]
fn with_broken_settings_the_error_is_on_the_screen_and_every_change_is_asked_about() {
    for command in ["run", "chat"] {
        let place = Place::new();
        let turns = [bash("touch made.txt"), say("All done.")];
        place.settings("[permissions]\nallow = [\"Bash(touch *)\"]\ndney = [\"Bash\"]\n");
        let options: &[&str] = if command == "run" { &["make it"] } else { &[] };
        let mut person = place.sits(command, &turns, options);
        if command == "chat" {
            person.waits_for("dney");
            person.types("make it\r");
        }
        person.is_asked();
        let seen = person.sees();
        assert!(seen.contains("unknown key `dney`"), "{seen}");
        // The carets stand under what is wrong.
        let lines: Vec<&str> = seen.lines().collect();
        let at = lines.iter().position(|line| line.contains("3 | dney = ")).expect("the line of the file");
        assert_eq!(lines[at].find("dney"), lines[at + 1].find("^^^^"), "{seen}");
        assert!(!place.path("made.txt").exists());
        person.types("y");
        person.waits_for("All done.");
        assert!(place.path("made.txt").exists());
        if command == "chat" {
            person.waits_for("ctrl-d to quit");
            person.types("\x04");
        }
        assert_eq!(person.waits_for_the_end(), 0);
    }
}

/// A command that shows whether it has a way to the network.
fn look(file: &str) -> serde_json::Value {
    bash(&format!("echo ${{HTTPS_PROXY-none}} > {file}"))
}

#[test]
fn a_question_says_that_a_command_runs_without_network_and_offers_it_once_or_for_the_session() {
    let place = Place::new();
    let turns = [look("without"), look("once"), look("again"), look("session"), look("later"), say("All done.")];
    let mut person = place.sits("run", &turns, &["look"]);
    for (file, key, words) in [
        ("without", "y", "└ yes"),
        ("once", "+", "└ yes, with network"),
        ("again", "y", "└ yes"),
        ("session", "*", "└ yes, in this session: network access to all public hosts"),
    ] {
        person.waits_for(&format!("> {file}"));
        person.is_asked();
        person.waits_for("runs without network");
        person.types(key);
        person.waits_for(words);
    }
    person.waits_for("> later");
    person.is_asked();
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    for (file, has_network) in
        [("without", false), ("once", true), ("again", false), ("session", true), ("later", true)]
    {
        assert_eq!(place.read(file).starts_with("http://127.0.0.1:"), has_network, "{file}: {}", place.read(file));
    }
}

#[test]
fn a_command_that_asks_for_more_shows_what_and_why() {
    let place = Place::new();
    let needs = json!({"domains": ["crates.io"], "reason": "to fetch itoa"});
    let call = json!({"call": {"tool": "bash", "args": {"command": "echo $HTTPS_PROXY > proxy", "needs": needs}}});
    // Bypass mode never asks, except about this.
    let mut person = place.sits("run", &[call, say("All done.")], &["--mode", "bypass", "fetch it"]);
    person.waits_for("the command asks for network access to crates.io: to fetch itoa");
    person.is_asked();
    assert!(!person.sees().contains("\"domains\""), "it is said once, in words: {}", person.sees());
    assert!(!person.sees().contains("(bash)"), "{}", person.sees());
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(place.read("proxy").starts_with("http://127.0.0.1:"), "{}", person.sees());
}

#[test]
fn options_open_the_network_and_further_folders_for_one_run() {
    let place = Place::new();
    let other = tempfile::tempdir().expect("a folder");
    let made = other.path().join("made");
    let turns = [bash(&format!("echo $HTTPS_PROXY > {}", made.display())), say("All done.")];
    let folder = other.path().display().to_string();
    let options = ["--network", "crates.io,example.org", "--add-dir", &folder, "--allow", "Bash", "look"];
    let mut person = place.sits("run", &turns, &options);
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let made = std::fs::read_to_string(made).expect("a file");
    assert!(made.starts_with("http://127.0.0.1:"), "{made}");
}

#[test]
fn a_question_is_short_and_nothing_is_printed_twice() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\nthree\n");
    let edit = json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
    let turns = [
        json!({"call": {"tool": "read_file", "args": {"path": "a.txt"}}}),
        json!({"call": {"tool": "edit_file", "args": edit}}),
        bash("echo printed by it && touch made.txt"),
        say("All done."),
    ];
    let mut person = place.sits("run", &turns, &["make it"]);
    person.waits_for("2 + 2");
    person.is_asked();
    // There is nothing more to view.
    person.types("v");
    person.waits_for("❯ v");
    person.types("\x7f");
    person.is_asked();
    person.types("y");
    person.waits_for("┌ $ echo printed");
    person.is_asked();
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let seen = person.sees();
    assert_eq!(seen.matches("&& touch made.txt").count(), 1, "{seen}");
    assert_eq!(seen.matches("2 + 2").count(), 1, "{seen}");
    assert_eq!(seen.matches("no rule allows").count(), 2, "{seen}");
    assert!(!seen.contains("permissions/rules") && !seen.contains("asked:"), "{seen}");
    assert!(seen.contains("✓ bash") && seen.contains("printed by it\n"), "{seen}");
}

#[test]
fn the_rule_that_always_adds_can_be_edited_at_the_question() {
    let place = Place::new();
    let turns = [bash("touch one.txt | tail -3"), bash("touch two.txt"), bash("mkdir three"), say("Done.")];
    let mut person = place.sits("run", &turns, &["make them"]);
    person.is_asked();
    assert!(person.sees().contains("a always in this session: Bash(touch one.txt)\n"), "{}", person.sees());
    person.types("r");
    person.waits_for("rule: ");
    person.types("\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f*)");
    person.waits_for("Bash(touch *)");
    person.types("\r");
    person.waits_for("yes, always in this session: Bash(touch *)");
    person.waits_for("┌ $ mkdir three");
    assert!(place.path("two.txt").exists(), "{}", person.sees());
    person.is_asked();
    // A rule that would not help is refused, and the question stays.
    person.types("r");
    person.waits_for("rule: ");
    person.types("\x15Bash(rm *)\r");
    person.waits_for("would not allow this call");
    person.types("\x1b");
    person.waits_for("y yes");
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
}

#[test]
fn one_key_accepts_all_edits_of_the_session() {
    let place = Place::new();
    let write = |name: &str| json!({"call": {"tool": "write_file", "args": {"path": name, "content": "x\n"}}});
    let slow = json!({"wait_ms": 1500, "call": {"tool": "bash", "args": {"command": "touch three.txt"}}});
    let turns = [write("one.txt"), write("two.txt"), slow, say("Done.")];
    let mut person = place.sits("run", &turns, &["make them"]);
    person.is_asked();
    person.types("s");
    person.waits_for("accept-edits · esc to stop");
    person.waits_for("┌ $ touch three.txt");
    assert!(place.path("one.txt").exists() && place.path("two.txt").exists(), "{}", person.sees());
    person.is_asked();
    assert!(!person.sees().contains("s all edits"), "{}", person.sees());
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
}

#[test]
fn one_key_accepts_all_edits_and_all_commands_in_the_sandbox() {
    let place = Place::new();
    let write = json!({"call": {"tool": "write_file", "args": {"path": "b.txt", "content": "b\n"}}});
    let outside = format!("/var/tmp/vertebra-outside-{}", std::process::id());
    let turns = [
        bash("touch a.txt"),
        write,
        bash("for f in *.txt; do echo \"$f\" > \"$f.log\"; done; bash -c 'echo c > c.txt'"),
        // The sandbox holds what a rule could not: it cannot leave the folder.
        bash(&format!("sh -c 'echo x > {outside}'; ls")),
        bash("git push origin main"),
        say("All done."),
    ];
    let mut person = place.sits("chat", &turns, &[]);
    person.waits_for("ask (shift-tab)");
    person.types("make them\r");
    person.is_asked();
    assert!(
        person.sees().contains("! all edits and all commands in the sandbox, in this session"),
        "{}",
        person.sees()
    );
    person.types("!");
    person.waits_for("git push");
    person.is_asked();
    assert!(person.sees().contains("`git push origin main` may throw away or publish work"), "{}", person.sees());
    assert!(!person.sees().contains("! all edits"), "it is on already: {}", person.sees());
    assert_eq!((&*place.read("b.txt"), &*place.read("a.txt.log"), &*place.read("c.txt")), ("b\n", "a.txt\n", "c\n"));
    assert!(!Path::new(&outside).exists(), "{}", person.sees());
    assert!(person.sees().contains("the sandbox blocked a change of /var/tmp/"), "{}", person.sees());
    person.types("n");
    person.waits_for("reason: ");
    person.types("\r");
    person.waits_for("All done.");
    person.waits_for("sandboxed (shift-tab)");
}

#[test]
fn looking_around_needs_no_question() {
    let place = Place::new();
    place.write("a.py", "print('a()')\n");
    let look = [
        "find . -name '*.py' | sort",
        "grep -rn 'a()' . || rg -n x",
        "for f in *.py; do head -1 \"$f\"; done",
        "sed -n '1,5p' a.py; awk '{print $1}' a.py",
        "wc -l $(ls *.py) && cd . && pwd",
    ];
    let turns: Vec<_> = look.iter().map(|line| bash(line)).chain([say("Seen.")]).collect();
    let mut person = place.sits("run", &turns, &["look around"]);
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(!person.bytes().contains("┌"), "{}", person.sees());
}

#[test]
fn what_a_session_was_granted_is_named_when_it_is_resumed_and_its_replay_is_identical() {
    let place = Place::new();
    let needs = json!({"domains": ["crates.io"], "reason": "to fetch itoa"});
    let fetch = json!({"call": {"tool": "bash", "args": {"command": "echo $HTTPS_PROXY > proxy", "needs": needs}}});
    // The second call is not asked about: the session was granted it.
    let turns = [fetch.clone(), fetch, say("All done.")];
    let mut person = place.sits("run", &turns, &["--mode", "bypass", "fetch it"]);
    person.waits_for("* yes, in this session: network access to crates.io");
    person.is_asked();
    person.types("*");
    person.waits_for("└ yes, in this session: network access to crates.io");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let run = place.command("run", &[], &[]);
    let mut replay = std::process::Command::new(run.get_program());
    replay.args(["replay", "last", "--mode=bypass", "--json"]).current_dir(place.path("."));
    replay.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut person = Person::sit(&replay);
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert!(person.sees().contains("\"identical\": true"), "{}", person.sees());
    let mut person = place.sits("chat", &[say("Hello.")], &["--resume", "last", "--mode", "bypass"]);
    person.waits_for("still granted in this session: network access to crates.io");
    person.waits_for("ctrl-d to quit");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
}
