//! `vertebra chat`: history, several lines, commands.

use serde_json::json;

use super::pty::{Person, Place, bash, say};

const READY: &str = "/help";

fn ask(person: &mut Person, typed: &str, answer: &str) {
    person.waits_for(READY);
    person.types(typed);
    person.types("\r");
    person.waits_for(answer);
    person.waits_for(READY);
}

fn leave(mut person: Person) {
    person.waits_for(READY);
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
    person.has_a_sane_terminal();
}

#[test]
fn a_conversation_goes_on_and_ends_with_what_it_took() {
    let place = Place::new();
    let usage = json!({"input_tokens": 1500, "output_tokens": 20, "cost_micros": 12_000});
    let turns =
        [json!({"say": "Hello!", "usage": usage}), json!({"expect": "Hello!", "say": "Still here.", "usage": usage})];
    let mut person = place.sits("chat", &turns, &[]);
    ask(&mut person, "hi", "Hello!");
    ask(&mut person, "are you there?", "Still here.");
    ask(&mut person, "/cost", "$0.0240");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
    insta::assert_snapshot!("conversation", place.anywhere(&person.sees()));
}

#[test]
fn what_was_typed_is_found_again_also_in_the_next_session() {
    let place = Place::new();
    let mut person = place.sits("chat", &[say("One."), say("Two.")], &[]);
    ask(&mut person, "the first", "One.");
    ask(&mut person, "the second", "Two.");
    person.types("dra\x1b[A");
    person.waits_until("the second", |shown| shown.trim_end().contains("❯ the second\n  /help"));
    person.types("\x1b[A");
    person.waits_until("the first", |shown| shown.contains("❯ the first\n  /help"));
    person.types("\x1b[B\x1b[B");
    person.waits_for("❯ dra");
    person.types("\x15");
    leave(person);
    let mut person = place.sits("chat", &[say("Three.")], &[]);
    person.waits_for(READY);
    person.types("\x1b[A");
    person.waits_for("❯ the second");
    person.types("\x15");
    leave(person);
}

#[test]
fn a_prompt_may_have_several_lines_typed_or_pasted() {
    let place = Place::new();
    let turns = [
        json!({"expect": "one\ntwo\nthree", "say": "Three lines."}),
        json!({"expect": "a = 1\n\tb = 2\n", "say": "Pasted lines."}),
    ];
    let mut person = place.sits("chat", &turns, &[]);
    person.waits_for(READY);
    person.types("one\x1b\rtwo\\\rthree");
    person.waits_for("❯ one\n  two\n  three");
    insta::assert_snapshot!("several_lines", place.anywhere(&person.sees()));
    ask(&mut person, "", "Three lines.");
    ask(&mut person, "\x1b[200~a = 1\r\n\tb = 2\nc\x1b[201~", "Pasted lines.");
    leave(person);
}

#[test]
fn another_model_is_truly_asked() {
    let place = Place::new();
    let turns = [
        json!({"expect_model": "script", "say": "I am the first."}),
        json!({"expect_model": "larger-2", "say": "I am the second."}),
    ];
    let mut person = place.sits("chat", &turns, &[]);
    ask(&mut person, "who are you?", "I am the first.");
    ask(&mut person, "/model larger-2", "script:larger-2");
    ask(&mut person, "and you?", "I am the second.");
    // One of a provider that there is no key for is told, and nothing changes.
    ask(&mut person, "/model anthropic:claude-x", "ANTHROPIC_API_KEY");
    ask(&mut person, "/model", "script:larger-2");
    // A provider that there is not, or one alone, is not taken for the name of a model.
    ask(&mut person, "/model nope:x", "unknown provider `nope`");
    ask(&mut person, "/model openai", "OPENAI_API_KEY");
    ask(&mut person, "/model", "script:larger-2");
    leave(person);
}

#[test]
fn hooks_are_listed_in_their_order() {
    let place = Place::new();
    let mut person = place.sits("chat", &[say("unused")], &[]);
    person.resizes(100, 120);
    ask(&mut person, "/hooks", "guard   permissions/rules");
    let seen = person.sees();
    let place_of = |name: &str| seen.find(name).unwrap_or_else(|| panic!("no {name}:\n{seen}"));
    assert!(place_of("BeforeToolUse") < place_of("hook    permissions/allow"), "{seen}");
    assert!(place_of("hook    permissions/allow") < place_of("guard   permissions/rules"), "{seen}");
    leave(person);
}

#[test]
fn files_come_back_as_they_were() {
    let place = Place::new();
    let turns = [
        json!({"call": {"tool": "write_file", "args": {"path": "new.txt", "content": "hello\n"}}}),
        say("It is written."),
    ];
    let mut person = place.sits("chat", &turns, &["--mode=accept-edits"]);
    ask(&mut person, "write a file", "It is written.");
    assert_eq!(place.read("new.txt"), "hello\n");
    ask(&mut person, "/undo", "deleted `new.txt`, which was new");
    assert!(!place.path("new.txt").exists());
    ask(&mut person, "/undo", "nothing to undo");
    insta::assert_snapshot!("undone", place.anywhere(&person.sees()));
    leave(person);
}

fn writes(path: &str, content: &str) -> serde_json::Value {
    json!({"call": {"tool": "write_file", "args": {"path": path, "content": content}}})
}

#[test]
fn an_undo_can_be_taken_back_and_the_model_is_told() {
    let place = Place::new();
    let turns = [
        writes("new.txt", "hello\n"),
        say("It is written."),
        json!({"expect": "The user undid the file changes of the prompt “write a file”", "say": "I see."}),
    ];
    let mut person = place.sits("chat", &turns, &["--mode=accept-edits"]);
    ask(&mut person, "write a file", "It is written.");
    ask(&mut person, "/undo", "undid the changes of “write a file”");
    assert!(!place.path("new.txt").exists());
    ask(&mut person, "/redo", "redid the changes of “write a file”");
    assert_eq!(place.read("new.txt"), "hello\n");
    ask(&mut person, "/redo", "nothing to redo");
    ask(&mut person, "/undo", "deleted `new.txt`, which was new");
    ask(&mut person, "what now?", "I see.");
    leave(person);
}

#[test]
fn an_undo_that_reaches_further_back_asks_first() {
    let place = Place::new();
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=me", "-c", "user.email=me@example.org"]).args(words);
        let done = git.env("HOME", place.path("")).current_dir(place.path("")).status().expect("git");
        assert!(done.success(), "{words:?}");
    };
    git(&["init", "-q"]);
    let turns = [writes("a.txt", "a\n"), say("Written."), say("Nothing to do.")];
    let mut person = place.sits("chat", &turns, &["--mode=accept-edits"]);
    ask(&mut person, "write a", "Written.");
    git(&["add", "a.txt"]);
    git(&["commit", "-qm", "a"]);
    person.types("/undo\r");
    person.waits_for("undo what “write a” (committed since) changed in");
    person.waits_for("any other key: no");
    person.types("n");
    person.waits_for("nothing was undone");
    assert_eq!(place.read("a.txt"), "a\n");
    ask(&mut person, "and?", "Nothing to do.");
    person.types("/undo\r");
    person.waits_for("(1 prompt ago, committed since)?");
    person.waits_for("any other key: no");
    person.types("y");
    person.waits_for("deleted `a.txt`, which was new");
    assert!(!place.path("a.txt").exists());
    leave(person);
}

#[test]
fn a_tab_does_not_get_into_the_prompt() {
    let place = Place::new();
    let mut person = place.sits("chat", &[json!({"expect": "one two", "say": "No tab."})], &[]);
    person.waits_for(READY);
    person.types("one\t two");
    person.waits_for("❯ one two");
    ask(&mut person, "", "No tab.");
    leave(person);
}

#[test]
fn a_continued_chat_shows_what_was_said_and_how_to_continue_again() {
    let place = Place::new();
    let mut person = place.sits("chat", &[say("The word is **swordfish**."), say("Two.")], &[]);
    ask(&mut person, "tell me a word", "swordfish");
    ask(&mut person, "count", "Two.");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
    let seen = person.sees();
    let (_, id) = seen.split_once("continue with: vertebra chat --resume ").expect("a command");
    let id = id.split_whitespace().next().expect("a name").to_owned();
    for options in [&["--continue"][..], &["--resume", &id]] {
        let person = place.sits("chat", &[say("unused")], options);
        person.waits_for(READY);
        let seen = person.sees();
        for words in ["❯ tell me a word", "swordfish", "❯ count", "Two.", "“count” is finished", &id] {
            assert!(seen.contains(words), "{words}: {seen}");
        }
        leave(person);
    }
}

#[test]
fn a_conversation_can_be_made_shorter_or_begun_anew() {
    let place = Place::new();
    let turns = [
        say(&format!("So much. {}", "Much was said about it. ".repeat(600))),
        say("Then little."),
        json!({"expect": "the names", "say": "The summary: much was said."}),
        json!({"expect": "The summary: much was said.", "say": "I remember."}),
        say("I know nothing."),
    ];
    let mut person = place.sits("chat", &turns, &[]);
    ask(&mut person, "say much", "about it.");
    ask(&mut person, "say little", "Then little.");
    ask(&mut person, "/compact the names", "compacted from about");
    ask(&mut person, "what do you know?", "I remember.");
    ask(&mut person, "/clear", "new session:");
    ask(&mut person, "/compact", "nothing to compact");
    ask(&mut person, "what do you know?", "I know nothing.");
    leave(person);
}

#[test]
fn an_unknown_command_suggests_the_nearest() {
    let place = Place::new();
    let mut person = place.sits("chat", &[say("unused")], &[]);
    ask(&mut person, "/hoks", "unknown command /hoks; did you mean /hooks?");
    person.types("/help\r");
    person.waits_for("start a new session");
    person.types("/quit\r");
    assert_eq!(person.waits_for_the_end(), 0);
    insta::assert_snapshot!("help", place.anywhere(&person.sees()));
}

#[test]
fn the_sandbox_is_shown_and_changed_for_the_session() {
    let place = Place::new();
    let look = json!({"call": {"tool": "bash", "args": {"command": "echo ${HTTPS_PROXY-none}"}}});
    let mut person = place.sits("chat", &[look, say("Looked.")], &["--allow", "Bash"]);
    ask(&mut person, "/sandbox", "off, but for a loopback interface of the session");
    ask(&mut person, "/sandbox network crates.io", "crates.io (HTTP and HTTPS)");
    ask(&mut person, "/sandbox network https://crates.io", "is not a domain");
    ask(&mut person, "/sandbox write vertebra.toml", "vertebra.toml stays closed");
    ask(&mut person, "look", "http://127.0.0.1:");
    ask(&mut person, "/sandbox network off", "off, but for a loopback interface of the session");
    leave(person);
}

#[test]
fn plan_mode_reads_freely_and_ends_by_a_command_or_a_key() {
    let place = Place::new();
    place.write("a.txt", "seen\n");
    let turns = [
        bash("ls | sort && cat a.txt"),
        bash("touch made.txt"),
        say("That is the plan."),
        json!({"call": {"tool": "write_file", "args": {"path": "b.txt", "content": "x\n"}}}),
        say("Written."),
        bash("touch made.txt"),
        say("Still planning."),
    ];
    let mut person = place.sits("chat", &turns, &["--mode", "plan"]);
    person.waits_for("plan (shift-tab)");
    ask(&mut person, "plan it", "That is the plan.");
    assert!(person.sees().contains("seen") && person.sees().contains("plan mode is on"), "{}", person.sees());
    assert!(!place.path("made.txt").exists());
    person.types("/mode accept-edits\r");
    person.waits_for("mode: accept-edits");
    person.waits_for("accept-edits (shift-tab)");
    ask(&mut person, "write it", "Written.");
    assert!(place.path("b.txt").exists(), "{}", person.sees());
    person.types("\x1b[Z");
    person.waits_for("sandboxed (shift-tab)");
    person.types("\x1b[Z");
    person.waits_for("plan (shift-tab)");
    ask(&mut person, "do it", "Still planning.");
    assert!(!place.path("made.txt").exists());
    person.types("\x1b[Z");
    person.waits_for("ask (shift-tab)");
    person.types("/mode nonsense\r");
    person.waits_for("unknown mode `nonsense`");
    leave(person);
}
