//! Cloud clients: commands that only list or describe are allowed, and a person must approve all others.

use super::super::{Class, fields::texts, invoke::Call, judge::Judge, value::UNKNOWN};

pub(super) fn cloud(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    let named: Vec<&str> = words.iter().copied().take_while(|word| !word.starts_with('-')).take(4).collect();
    let elsewhere = words.iter().any(|word| word.starts_with("--endpoint") || word.starts_with("--config"));
    let secret = named
        .iter()
        .any(|word| ["secret", "token", "key", "credential", "password"].iter().any(|part| word.contains(part)));
    if !named.last().is_some_and(|word| looks(word)) && !named.get(1).is_some_and(|word| looks(word))
        || elsewhere
        || secret
    {
        judge.ask(
            Class::NetworkExfiltration,
            format!("`{}` can change cloud resources or read their secrets, so a person must approve it", call.name),
        );
    }
    UNKNOWN.to_string()
}

/// Verbs that change nothing.
fn looks(word: &str) -> bool {
    matches!(word, "ls" | "list" | "describe" | "show" | "get-caller-identity" | "version" | "help")
        || word.starts_with("describe-")
        || word.starts_with("list-")
}
