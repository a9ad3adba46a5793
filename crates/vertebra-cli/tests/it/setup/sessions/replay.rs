//! A session once more: hooks run, and nothing else does.

use serde_json::json;

use super::{Machine, bash, say};

#[test]
fn a_replay_is_identical_and_does_nothing() {
    let machine = Machine::new();
    let args = json!({ "path": "written.txt", "content": "x" });
    let write = json!({ "call": { "tool": "write_file", "args": args } });
    assert_eq!(machine.plays(&[write, bash("echo made > made.txt"), say("done")], &["--mode=bypass"]).code, 0);
    let made = ["project/written.txt", "project/made.txt"].map(|name| machine.path(name));
    for file in &made {
        std::fs::remove_file(file).expect("it was made");
    }
    std::fs::remove_file(machine.path("script.jsonl")).expect("no model is needed");
    let before = machine.sessions();
    let replay = machine.json(&["replay", "last", "--mode=bypass"]);
    assert_eq!((&replay["identical"], &replay["runs"]), (&json!(true), &json!(1)), "{replay:#}");
    assert!(replay["lines"].as_u64() > Some(5), "{replay}");
    assert!(made.iter().all(|file| !file.exists()), "no tool runs");
    assert_eq!(machine.sessions(), before, "nothing is recorded");
}

#[test]
fn other_hooks_are_told_by_the_first_thing_that_they_do_otherwise() {
    let machine = Machine::new();
    assert_eq!(machine.plays(&[bash("touch made.txt"), say("done")], &["--mode=bypass"]).code, 0);
    let hook =
        "[[hook]]\nname = \"no-touch\"\npoint = \"BeforeToolUse\"\nmatch = { tool = \"bash\", command = 'touch' }\n";
    machine.write("strict.toml", &format!("{hook}deny = \"hands off\"\n"));
    machine.write("lax.toml", &format!("{}deny = \"hands off\"\n", hook.replace("'touch'", "'rm'")));
    let replay = |more: &[&str]| machine.runs(&[&["replay", "last", "--mode=bypass"], more].concat());
    let told = replay(&["--hooks", "../lax.toml"]);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    let told = replay(&["--hooks", "../strict.toml"]);
    let object: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    let found = &object["divergence"];
    assert_eq!((told.code, &object["identical"]), (1, &json!(false)), "{}", told.out);
    assert_eq!((&found["place"], &found["step"]), (&json!("BeforeToolUse"), &json!(1)), "{found:#}");
    assert_eq!(found["replayed"]["verdict"], "deny", "{found:#}");
    // Other settings of one's own are other hooks too.
    machine.user_settings(&format!("{hook}deny = \"hands off\"\n"));
    let told = replay(&[]);
    assert!(told.code == 1 && told.out.contains("hands off"), "{}", told.out);
    let told = replay(&["--hooks", "none.toml"]);
    assert!(told.code == 1 && told.err.contains("no such file"), "{}", told.err);
}

#[test]
fn replay_takes_only_options_that_it_reads() {
    let machine = Machine::new();
    let help = machine.runs(&["replay", "--help"]).out;
    for option in ["--hooks", "--json", "--dir", "--allow", "--deny", "--mode", "--trust"] {
        assert!(help.contains(option), "{option}\n{help}");
    }
    for option in ["--model=x", "--otlp", "--wait", "--no-journal", "--record=x", "--max-cost=1", "--timeout=1s"] {
        let told = machine.runs(&["replay", "last", option]);
        let name = option.split('=').next().expect("a name");
        assert_eq!(told.code, 2, "{option}");
        assert!(told.err.contains(&format!("unexpected argument '{name}'")), "{}", told.err);
        assert!(!help.contains(name), "{name}\n{help}");
    }
}

#[test]
fn a_chat_is_replayed_too() {
    let machine = Machine::new();
    let model = machine.model(&[say("one"), say("two")]);
    let mut command = machine.command(&["chat", &model]);
    let mut child =
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().expect("starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"first\nsecond\n").expect("it reads");
    assert!(child.wait().expect("an end").success());
    let replay = machine.json(&["replay", "last"]);
    assert_eq!((&replay["identical"], &replay["runs"]), (&json!(true), &json!(2)), "{replay:#}");
}
