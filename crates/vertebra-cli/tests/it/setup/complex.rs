//! A command that is too complex to judge is denied in bounded time, wherever it is judged.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    Machine, bash,
    hook::{asked, call},
    say,
};

/// A judgement takes at most half a second. The rest is for the program to start, on a busy machine and without optimisation.
const PATIENCE: Duration = Duration::from_mins(1);

/// Commands that once took minutes, or hide what they run.
fn lines() -> Vec<(&'static str, String)> {
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}touch made{}", open.repeat(depth), close.repeat(depth));
    vec![
        ("nested braces", format!("echo {}b{}; touch made", "{a,".repeat(2250), "}".repeat(2250))),
        ("repeated braces", format!("echo {}; touch made", "{a,b}".repeat(1800))),
        (
            "many commands",
            (0..1200).map(|number| format!("echo {{a,b}} {number}; ")).collect::<Vec<_>>().concat() + "touch made",
        ),
        ("substitutions", nested("$(", ")", 3000)),
        ("loops", nested("for a in 1 2 3 4 5 6 7 8; do ", "; done", 300)),
        ("scripts in scripts", nested("eval '", "'", 1500)),
        ("a long line", format!("echo {}; touch made", "x ".repeat(40_000))),
    ]
}

/// Whether a call was denied because of what it would cost to judge it.
fn is_too_much(reason: &str) -> bool {
    reason.contains("too complex to judge") || reason.contains("names more than 2000 paths, too many to check")
}

fn machine() -> Machine {
    let machine = Machine::new();
    machine.user_settings("[permissions]\nallow = [\"Bash(echo *)\"]\ndeny = [\"Bash(frobnicate *)\"]\n");
    machine
}

#[test]
fn vertebra_hook_denies_it() {
    let machine = machine();
    for (name, line) in lines() {
        let began = Instant::now();
        let told = asked(&machine, &["--host", "claude-code"], &call(&machine, &line));
        assert!(began.elapsed() < PATIENCE, "{name}: {:?}", began.elapsed());
        assert_eq!(told.code, 2, "{name}: {}{}", told.out, told.err);
        assert!(is_too_much(&told.err), "{name}: {}", told.err);
    }
}

#[test]
fn hooks_fire_denies_it() {
    let machine = machine();
    for (name, line) in lines() {
        let event = json!({ "point": "BeforeToolUse", "tool": "bash", "args": { "command": line } });
        machine.write("event.json", &event.to_string());
        let began = Instant::now();
        let told = machine.runs(&["hooks", "fire", &machine.path("event.json").display().to_string(), "--json"]);
        assert!(began.elapsed() < PATIENCE, "{name}: {:?}", began.elapsed());
        let judged: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{name}: {}", told.err));
        assert_eq!(judged["decision"], "deny", "{name}: {judged}");
        assert!(judged["reason"].as_str().is_some_and(is_too_much), "{name}: {judged}");
    }
}

#[test]
fn a_run_denies_it_in_every_mode() {
    let machine = machine();
    let (names, lines): (Vec<_>, Vec<_>) = lines().into_iter().unzip();
    let turns: Vec<Value> = lines.iter().map(|line| bash(line)).chain([say("done")]).collect();
    let began = Instant::now();
    let told = machine.plays_once(&turns, &["--mode=bypass"]);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(!machine.path("project/made").exists(), "{}", told.err);
    let heard = machine.heard();
    let refused = heard.matches("too complex to judge").count() + heard.matches("too many to check").count();
    assert!(refused >= names.len(), "{}", told.err);
}
