//! Vertebra itself: an agent never answers for a person, and does not change its own policy.

use super::super::{
    Class, Decision,
    fields::Field,
    invoke::Call,
    judge::Judge,
    value::{UNKNOWN, is_known},
};

const ANSWERS: &str = "answers a question that only a person may answer";
const CHANGES: &str = "only a person may change what is trusted, or install or uninstall the policy";
const RESUMES: &str = "only a person may continue a session, which may wait for their answer";
const HIDDEN: &str =
    "starts vertebra with words that are only known at run time, and only a person may answer questions";

/// Words of commands that approve something.
const APPROVE: [&str; 5] = ["answer", "approve", "allow", "grant", "confirm"];

pub(super) fn vertebra(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words: Vec<&str> = call.args().iter().map(|Field { text, .. }| text.as_str()).collect();
    match judged(&words) {
        Some((Decision::Deny, why)) => judge.deny(Class::OwnPolicy, why),
        Some((Decision::Ask | Decision::Allow, why)) => judge.ask(Class::OwnPolicy, why),
        None => judge.unknown("starts vertebra, so a person must approve it"),
    }
    UNKNOWN.to_string()
}

/// Returns what the words after the program's name decide on in place of a person.
fn judged(words: &[&str]) -> Option<(Decision, &'static str)> {
    let mut operands = words.iter().filter(|word| !word.starts_with('-'));
    let (first, second) = (operands.next().copied().unwrap_or_default(), operands.next().copied().unwrap_or_default());
    let has = |word: &str| words.contains(&word);
    // A pattern stands for the name of a file, which may be any word.
    let is_known = |word: &str| is_known(word) && !word.contains(['*', '?', '[']);
    // `xargs` may add words, so no words at all are not known either.
    if !is_known(first) || words.iter().all(|word| word.is_empty()) || (first == "sessions" && !is_known(second)) {
        return Some((Decision::Deny, HIDDEN));
    }
    let trusts_once = has("--trust") || words.iter().any(|word| word.starts_with("--trust="));
    match first {
        "sessions" if APPROVE.contains(&second) => Some((Decision::Deny, ANSWERS)),
        "sessions" | "chat" if resumes(words) => Some(resumed(words)),
        "sessions" if matches!(second, "delete" | "prune") => {
            Some((Decision::Ask, "only a person may delete the records of sessions"))
        }
        _ if APPROVE.contains(&first) || APPROVE.contains(&second) && first != "explain-command" => {
            Some((Decision::Deny, ANSWERS))
        }
        "trust" => {
            // The command only shows something if `--show` or a similar option comes first.
            let shows = matches!(words.get(1), Some(&("--show" | "--list" | "--help" | "-h")));
            let decides = has("--yes") || has("-y") || has("--revoke") || !words.iter().all(|word| is_known(word));
            (!shows || decides).then_some((Decision::Ask, CHANGES))
        }
        "install" | "uninstall" if !(has("--help") || has("-h")) => Some((Decision::Ask, CHANGES)),
        "init" if has("--force") => Some((Decision::Ask, "only a person may overwrite settings")),
        _ if trusts_once => Some((Decision::Ask, CHANGES)),
        _ => None,
    }
}

/// Returns whether words continue a session.
fn resumes(words: &[&str]) -> bool {
    words.iter().any(|word| matches!(word.split('=').next(), Some("resume" | "--resume" | "--continue")))
}

/// Returns what is decided by continuing a session. With more rights, its open question is not asked any more.
fn resumed(words: &[&str]) -> (Decision, &'static str) {
    let grants = |word: &&str| ["--mode", "--allow", "--trust"].iter().any(|option| word.starts_with(option));
    if words.iter().any(|word| grants(word) || !is_known(word)) {
        (Decision::Deny, ANSWERS)
    } else {
        (Decision::Ask, RESUMES)
    }
}

/// Returns what a text in another language, or a script, decides on in place of a person, by its words alone.
pub(in super::super) fn in_text(text: &str) -> Option<(Decision, &'static str)> {
    /// How many words may stand between two that belong together.
    const NEAR: usize = 8;
    if !text.contains("vertebra") {
        return None;
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut worst: Option<(Decision, &'static str)> = None;
    for (at, _) in text.match_indices("vertebra").take(64) {
        let (before, after) = (text[..at].chars().next_back(), &text[at + "vertebra".len()..]);
        if before.is_some_and(is_part) || after.starts_with(|c| is_part(c) || c == '.') || after.starts_with("::") {
            continue;
        }
        let near = after.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).take(NEAR);
        let near: Vec<&str> = near.skip_while(|word| word.starts_with('-')).collect();
        let found = match near.first() {
            Some(_) if near.iter().skip_while(|word| **word != "sessions").any(|word| *word == "answer") => {
                Some((Decision::Deny, ANSWERS))
            }
            Some(first) if APPROVE.contains(first) => Some((Decision::Deny, ANSWERS)),
            Some(&("sessions" | "chat")) if resumes(&near) => Some(resumed(&near)),
            Some(&("trust" | "install" | "uninstall")) => Some((Decision::Ask, CHANGES)),
            Some(_) | None => None,
        };
        worst = worst.max(found);
    }
    // The name may be in a variable.
    let words: Vec<&str> = text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let apart = words.windows(2).any(|pair| pair == ["sessions", "answer"]);
    if apart && words.contains(&"vertebra") { Some((Decision::Deny, ANSWERS)) } else { worst }
}
