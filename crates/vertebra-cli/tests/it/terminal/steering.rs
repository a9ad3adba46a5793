//! What a person types while the agent works.

use std::fs;

use serde_json::json;

use super::pty::{Place, bash};

#[test]
fn what_is_typed_while_a_tool_runs_is_in_the_next_request() {
    let place = Place::new();
    let go = place.fifo("go");
    let turns = [bash("cat go"), json!({"expect": "rather in French", "say": "Bonjour."})];
    let mut person = place.sits("run", &turns, &["--mode=bypass", "greet me"]);
    person.waits_for("$ cat go");
    person.types("rather in Frensh\x7f\x7fch");
    person.waits_for("❯ rather in French");
    person.types("\r");
    person.waits_for("sent at the next step");
    person.waits_for("working");
    insta::assert_snapshot!("queued", place.anywhere(&person.sees()));
    fs::write(go, "gone\n").expect("the tool reads");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let seen = person.sees();
    assert!(seen.contains("❯ rather in French") && seen.contains("Bonjour."), "{seen}");
    assert!(!seen.contains("sent at the next step"), "{seen}");
}

#[test]
fn what_comes_too_late_is_the_next_prompt_of_the_same_session() {
    let place = Place::new();
    let turns = [
        json!({"stream": ["I ", "am ", "nearly ", "done"], "pause_ms": 400}),
        json!({"expect": "nearly done", "say": "Said again."}),
    ];
    let mut person = place.sits("run", &turns, &["say something"]);
    person.waits_for("I am");
    person.types("say it again\r");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let seen = person.sees();
    assert!(seen.contains("❯ say it again") && seen.contains("Said again."), "{seen}");
}

#[test]
fn what_is_half_typed_at_the_end_is_not_lost() {
    let place = Place::new();
    let turns = [json!({"wait_ms": 300, "say": "Finished."}), json!({"expect": "one more thing", "say": "That too."})];
    let mut person = place.sits("run", &turns, &["do something"]);
    person.types("one more");
    person.waits_for("Finished.");
    person.types(" thing\r");
    person.waits_for("That too.");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
}
