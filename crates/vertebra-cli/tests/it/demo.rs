//! `vertebra demo`, run as a process.

use std::process::{Command, Output, Stdio};

fn demo(options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vertebra"));
    command.arg("demo").args(options).env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    child.wait_with_output().expect("the command ends")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn the_demo_shows_which_hooks_fire_what_they_change_and_which_one_denies() {
    let shown = text(&demo(&[]));
    assert!(!shown.contains('\u{1b}'), "no colours in a pipe");
    let expected = [
        "model    First I look around.",
        "BeforeToolUse bash ls build/* notes.txt",
        "✎ hook every-command-has-a-timeout  timeout_ms 5000",
        "✗ guard no-rm denies: only a person may delete files",
        "✗ denied  $ cd build && bash -c 'rm -rf ../build'",
        "blocked by no-rm: only a person may delete files",
        "✓ done   $ mkdir attic && mv build attic/",
        "✗ guard bash/policy denies: runs code downloaded from the network",
        "✓ done   write_file report.md",
        "hooks: 4 calls changed, 2 denied, 6 recorded",
        // The file that was to be deleted still exists, and the audit was written before the end.
        "files: attic/build/old.o  audit.jsonl  notes.txt  report.md",
    ];
    let mut rest = shown.as_str();
    for line in expected {
        let Some(at) = rest.find(line) else { panic!("no `{line}` at its place in:\n{shown}") };
        rest = &rest[at..];
    }
}

#[test]
fn with_json_the_demo_prints_one_object_per_event() {
    let shown = text(&demo(&["--json"]));
    let events: Vec<serde_json::Value> =
        shown.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect();
    let last = events.last().expect("there are events");
    assert_eq!((&last["event"], &last["report"]["status"]), (&"ended".into(), &"completed".into()));
    let denied = events.iter().filter(|event| event["record"]["verdict"] == "deny").count();
    assert_eq!(denied, 2, "{shown}");
    // Commands ran in a sandbox, or their results say that they did not.
    let results = events.iter().map(|event| &event["result"]).filter(|result| result["data"]["cwd"].is_string());
    let held = |result: &&serde_json::Value| {
        let state = result["data"]["sandbox"].as_str().unwrap_or_default();
        state.starts_with("landlock") || result["output"].as_str().is_some_and(|text| text.contains("[no sandbox: "))
    };
    assert_eq!(results.filter(held).count(), 2, "{shown}");
    assert!(!shown.contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn a_misspelt_option_is_answered_with_the_option_that_was_meant() {
    let output = demo(&["--jsn"]);
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("--json"), "{words}");
}
