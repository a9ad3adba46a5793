//! What holds for any command.

use std::sync::LazyLock;

use proptest::prelude::*;
use vertebra_kit::bash::policy::Decision;

use super::{corpus::lines, decided, judged};

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

/// The commands of the corpus that are denied.
static HARMFUL: LazyLock<Vec<String>> =
    LazyLock::new(|| lines("harmful").into_iter().filter(|command| decided(command) == Decision::Deny).collect());

#[test]
fn no_wrapper_makes_a_denied_command_allowed() {
    let mut wrong = Vec::new();
    for command in HARMFUL.iter() {
        wrong.extend((0..WAYS).map(|way| wrapped(way, command)).filter(|wrapped| decided(wrapped) == Decision::Allow));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrappers_in_wrappers_do_not_help_either(at in any::<prop::sample::Index>(), ways in prop::collection::vec(0..WAYS, 2..4)) {
        let command = ways.iter().fold(HARMFUL[at.index(HARMFUL.len())].clone(), |command, way| wrapped(*way, &command));
        prop_assert_ne!(decided(&command), Decision::Allow, "{}", command);
    }

    #[test]
    fn company_does_not_make_a_denied_command_harmless(
        harm in any::<prop::sample::Index>(),
        good in any::<prop::sample::Index>(),
        joint in prop::sample::select(vec!["; ", "\n", " && ", " || ", " & "]),
    ) {
        let benign = lines("benign");
        let (harm, good) = (&HARMFUL[harm.index(HARMFUL.len())], &benign[good.index(benign.len())]);
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
