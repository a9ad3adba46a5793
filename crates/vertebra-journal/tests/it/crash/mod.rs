//! An agent whose process is killed, at every kind of line of its journal and at any moment, and resumed until its work is
//! done: every effect happened once, or is told as unknown, and no line that was acknowledged is missing.
//!
//! The agent is a process of its own, which this program starts as one of its tests; what it did is counted from outside,
//! in files that it only appends to.

mod agent;
mod killer;
mod outside;
mod subject;

use std::time::{Duration, Instant};

use self::killer::{Chance, Death, Life, Side, Trial};

/// How many lives of the agent the short test takes at random, behind those for each kind of line.
const AT_RANDOM: u64 = 12;

#[test]
fn an_agent_that_is_killed_before_and_after_each_kind_of_line_does_everything_once() {
    let undisturbed = Trial::undisturbed();
    let mut kinds: Vec<&str> = Vec::new();
    for kind in &undisturbed.kinds {
        if !kinds.contains(&&**kind) {
            kinds.push(kind);
        }
    }
    // All but an answer in place of a tool.
    assert_eq!(kinds.len(), 16, "the agent does everything that a journal has a line for: {kinds:?}");
    for kind in kinds {
        for side in [Side::Before, Side::After] {
            let death = Death::AtKind { side, kind: kind.to_owned() };
            undisturbed.survives(&format!("{death:?}"), [death]);
        }
    }
}

#[test]
fn an_agent_that_is_killed_at_any_moment_does_everything_once() {
    let undisturbed = Trial::undisturbed();
    for seed in 0..AT_RANDOM {
        let deaths = undisturbed.deaths(&mut Chance::of(seed));
        undisturbed.survives(&format!("seed {seed}"), deaths);
    }
}

/// `cargo xtask crash` asks for this one.
#[test]
#[ignore = "a thousand kills take minutes"]
fn a_thousand_kills() {
    let asked = |name: &str, usual: u64| {
        let said = std::env::var(name).ok();
        said.map_or(usual, |said| said.parse().expect("a number"))
    };
    let (kills, seed) = (asked("VERTEBRA_CRASH_KILLS", 1000), asked("VERTEBRA_CRASH_SEED", 1));
    let began = Instant::now();
    let undisturbed = Trial::undisturbed();
    println!("{} lines undisturbed, in {:?}; seed {seed}", undisturbed.kinds.len(), undisturbed.took);
    // First each line, from both sides; then whatever comes.
    let lines = 1..=undisturbed.kinds.len();
    let mut points = lines.flat_map(|line| [Side::Before, Side::After].map(|side| Death::AtLine { side, line }));
    let (mut total, mut trials, mut told) = (Life::default(), 0, Duration::ZERO);
    while total.kills < kills {
        let mut chance = Chance::of(seed.wrapping_mul(1_000_003).wrapping_add(trials));
        let mut deaths = undisturbed.deaths(&mut chance);
        if let Some(point) = points.next() {
            deaths.insert(0, point);
        }
        total += undisturbed.survives(&format!("trial {trials} of seed {seed}"), deaths);
        trials += 1;
        if began.elapsed() > told + Duration::from_secs(5) || total.kills >= kills {
            told = began.elapsed();
            println!("{:4} s: {trials} agents, {total}", told.as_secs());
        }
    }
}
