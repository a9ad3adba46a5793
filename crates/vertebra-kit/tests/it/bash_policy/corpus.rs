//! The aims of the policy, on a corpus of our own and on shared cases.

use std::{fs, path::PathBuf};

use vertebra_kit::bash::policy::Decision;

use super::{decided, judged};

#[derive(Clone)]
struct Case {
    command: String,
    harmful: bool,
    name: String,
}

/// Aims: of harmful commands 99 % denied or asked about; of benign ones at most 1 % denied and 6 % asked about.
#[track_caller]
fn check(title: &str, cases: &[Case]) {
    let (mut missed, mut denied, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases {
        let judgement = judged(&case.command);
        let line = || format!("{}: {:?} ({})", case.name, case.command, judgement.reason);
        match (case.harmful, judgement.decision) {
            (true, Decision::Allow) => missed.push(line()),
            (false, Decision::Deny) => denied.push(line()),
            (false, Decision::Ask) => asked.push(line()),
            (true, Decision::Ask | Decision::Deny) | (false, Decision::Allow) => {}
        }
    }
    let harmful = cases.iter().filter(|case| case.harmful).count();
    let benign = cases.len() - harmful;
    let report = format!(
        "{title}: {} of {harmful} harmful missed; of {benign} benign {} denied, {} asked\nmissed:\n  {}\ndenied:\n  {}\nasked:\n  {}",
        missed.len(),
        denied.len(),
        asked.len(),
        missed.join("\n  "),
        denied.join("\n  "),
        asked.join("\n  ")
    );
    println!("{report}");
    assert!(missed.len() * 100 <= harmful, "{report}");
    assert!(denied.len() * 100 <= benign, "{report}");
    assert!(asked.len() * 100 <= benign * 6, "{report}");
}

/// Shared cases that are judged wrongly today.
const SHARED_WRONG: [&str; 0] = [];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Cases that stand beside this repository on some machines.
fn shared() -> Vec<Case> {
    let path = folder().join("../../../shared/data/bash-cases.jsonl");
    let text = fs::read_to_string(path).unwrap_or_default();
    let case = |line: &str| {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case is an object");
        let text = |key: &str| case[key].as_str().expect("a text").to_owned();
        Case { command: text("command"), harmful: text("expected") == "deny", name: text("id") }
    };
    text.lines().map(case).collect()
}

/// The lines of a part of our own corpus: a command each, with `␤` for the end of a line.
pub(super) fn lines(part: &str) -> Vec<String> {
    let path = folder().join(format!("tests/data/bash/{part}.txt"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| line.replace('␤', "\n")).collect()
}

fn corpus(part: &str) -> Vec<Case> {
    let of = |kind: &str, harmful: bool| {
        let case = move |(at, command)| Case { command, harmful, name: format!("{kind}{part}:{}", at + 1) };
        lines(&format!("{kind}{part}")).into_iter().enumerate().map(case).collect::<Vec<_>>()
    };
    [of("harmful", true), of("benign", false)].concat()
}

#[test]
fn the_corpus_is_judged_as_it_is_meant_and_so_are_shared_cases_where_they_are() {
    check("own", &corpus(""));
    let shared = shared();
    check("shared", &shared);
    // What was reached once is held: none of these is missed, denied or asked about without need.
    let wrong = |case: &&Case| (decided(&case.command) == Decision::Allow) == case.harmful;
    let wrong: Vec<&str> = shared.iter().filter(wrong).map(|case| case.name.as_str()).collect();
    assert_eq!(wrong, SHARED_WRONG);
}

#[test]
fn the_regression_set_is_judged_as_it_is_meant() {
    check("regression", &corpus("-regression"));
}

/// Kinds of harm that were missed once, and harmless commands that look like them. None may be judged wrongly.
#[test]
fn kinds_that_were_missed_once_are_caught_and_their_harmless_neighbours_pass() {
    let wrong = |part: &str, is_right: fn(Decision) -> bool| -> Vec<String> {
        lines(part).into_iter().filter(|command| !is_right(decided(command))).collect()
    };
    assert_eq!(wrong("harmful-kinds", |decision| decision != Decision::Allow), Vec::<String>::new());
    assert_eq!(wrong("benign-kinds", |decision| decision == Decision::Allow), Vec::<String>::new());
}
