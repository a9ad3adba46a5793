//! `vertebra run` and `vertebra chat` at a real terminal.

mod pty;

use serde_json::json;

use self::pty::{Place, bash, say};

#[test]
fn scratch() {
    let place = Place::new();
    let mut person = place.sits("run", &[json!({"stream": ["Hello ", "world.\n\n", "- one\n- two\n"], "pause_ms": 100, "usage": {"input_tokens": 1200, "output_tokens": 30}}), bash("echo hi > there.txt"), say("Done.")], &["greet"]);
    person.waits_for("two");
    println!("{}\n=====", person.sees());
    let code = person.waits_for_the_end();
    println!("{}\n===== {code} {}", person.sees(), person.has_a_sane_terminal());
    let mut person = place.sits("run", &[bash("touch there.txt"), say("Done.")], &["greet"]);
    person.waits_for("y yes");
    println!("{}\n=====", person.sees());
    person.types("y");
    let code = person.waits_for_the_end();
    println!("{}\n===== {code} {}", person.sees(), person.has_a_sane_terminal());
    println!("{:?}", person.bytes());
}
