//! What holds for any command.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use vertebra_kit::bash::policy::Decision;

use super::{corpus::lines, decided, judged};

/// Far above what any of these takes, and far below what a quadratic reader would.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn size_and_depth_cost_an_answer_never_the_policy() {
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}rm -rf ~/x{}", open.repeat(depth), close.repeat(depth));
    let commands = [
        format!("{} rm -rf ~/x", "a".repeat(1 << 20)),
        format!("{}; rm -rf ~/x", "true;".repeat(10_000)),
        format!(":{}; rm -rf ~/x", " ".repeat(5000)),
        format!("{} rm -rf ~/x", "true &&".repeat(5000)),
        format!("{} rm -rf ~/x", "true |".repeat(5000)),
        nested("$(", ")", 1000),
        nested("(", ")", 5000),
        nested("{ ", ";}", 3000),
        nested("if :; then ", "; fi", 2000),
        nested("\"$(", ")\"", 500),
        nested("eval '", "'", 100),
        nested("sh -c \"", "\"", 100),
        nested("${x:-", "}", 3000),
        nested("$((", "))", 2000),
        nested("{a,", "}", 500),
        format!("{}; rm -rf ~/x", "f() { f; f; f; }; ".repeat(200)),
        format!(
            "for a in 1 2 3 4 5 6 7 8; do {} rm -rf ~/x{}; done",
            "for b in 1 2 3 4 5 6 7 8; do ".repeat(8),
            "; done".repeat(8)
        ),
        format!("{} $a300 -rf ~/x", (0..400).map(|n| format!("a{n}=rm")).collect::<Vec<_>>().join(";") + ";"),
        format!("x=a; {} rm -rf ~/$x", "x=$x$x$x$x;".repeat(50)),
        format!("rm -rf ~/{}", "{a,b}".repeat(60)),
        "`".repeat(5000) + "rm -rf ~/x",
        "<<A ".repeat(500) + "; rm -rf ~/x",
        "rm -rf ~/x \0 \u{10ffff}\u{feff}".to_owned(),
    ];
    for command in commands {
        let began = Instant::now();
        assert_ne!(decided(&command), Decision::Allow, "{}", &command[..command.floor_char_boundary(60)]);
        assert!(began.elapsed() < LONG, "{:?} for {}", began.elapsed(), &command[..command.floor_char_boundary(60)]);
    }
}

/// Ways to run a command that change nothing about what it does.
fn wrapped(way: usize, command: &str) -> String {
    let quoted = format!("'{}'", command.replace('\'', r"'\''"));
    match way {
        0 => format!("sh -c {quoted}"),
        1 => format!("bash -c {quoted}"),
        2 => format!("eval {quoted}"),
        3 => format!("true; {command}"),
        4 => format!("true\n{command}"),
        5 => format!("env FOO=1 bash -c {quoted}"),
        6 => format!("nohup sh -c {quoted}"),
        7 => format!("timeout 5 bash -c {quoted}"),
        8 => format!("echo $(bash -c {quoted})"),
        9 => format!("bash <<< {quoted}"),
        10 => format!("echo {quoted} | sh"),
        11 => format!("if true; then {command}\nfi"),
        12 => format!("nice -n 5 time -p sh -c {quoted}"),
        13 => format!("script={quoted}; eval \"$script\""),
        14 => format!("( {command}\n)"),
        _ => format!("{command}\ntrue"),
    }
}

const WAYS: usize = 16;

fn harmful() -> Vec<String> {
    lines("harmful").into_iter().filter(|command| decided(command) == Decision::Deny).collect()
}

#[test]
fn no_wrapper_makes_a_denied_command_allowed() {
    let mut wrong = Vec::new();
    for command in harmful() {
        wrong.extend((0..WAYS).map(|way| wrapped(way, &command)).filter(|wrapped| decided(wrapped) == Decision::Allow));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrappers_in_wrappers_do_not_help_either(at in any::<prop::sample::Index>(), ways in prop::collection::vec(0..WAYS, 2..4)) {
        let harmful = harmful();
        let command = ways.iter().fold(harmful[at.index(harmful.len())].clone(), |command, way| wrapped(*way, &command));
        prop_assert_ne!(decided(&command), Decision::Allow, "{}", command);
    }

    #[test]
    fn company_does_not_make_a_denied_command_harmless(
        harm in any::<prop::sample::Index>(),
        good in any::<prop::sample::Index>(),
        joint in prop::sample::select(vec!["; ", "\n", " && ", " || ", " & "]),
    ) {
        let (harmful, benign) = (harmful(), lines("benign"));
        let (harm, good) = (&harmful[harm.index(harmful.len())], &benign[good.index(benign.len())]);
        // A here-document ends at the end of its line, so nothing can be joined behind one.
        prop_assume!(!good.contains("<<") && !harm.contains("<<") && !good.ends_with('&') && !harm.ends_with('&'));
        prop_assert_ne!(decided(&format!("{good}{joint}{harm}")), Decision::Allow);
        prop_assert_ne!(decided(&format!("{harm}{joint}{good}")), Decision::Allow);
    }

    #[test]
    fn mutations_are_judged_without_a_panic(
        at in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![
            "'", "\"", "`", "$(", ")", "${", "}", "((", "<<E\n", "\\", "|", "&", ";", "\n", "{a,", "[", "]]", "~", "*", "\u{0}", "é", "<(", "#", "=", "\u{10ffff}",
        ])), 1..6),
    ) {
        let all = [lines("harmful"), lines("benign")].concat();
        let mut command = all[at.index(all.len())].clone();
        for (place, text) in edits {
            let place = command.floor_char_boundary(place.index(command.len() + 1));
            command.insert_str(place, text);
        }
        let judgement = judged(&command);
        if let Some(span) = judgement.span {
            prop_assert!(command.get(span).is_some());
        }
    }

    #[test]
    fn any_text_is_judged_without_a_panic(text in "\\PC{0,200}") {
        judged(&text);
    }
}
