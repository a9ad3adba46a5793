//! What an agent does to the policy that holds it is at least a question to a person.

use vertebra::{BeforeToolUse, Event as _, PermissionRequest};
use vertebra_bridge::{
    host::HostEvent,
    policy::only_reads,
    trust::words,
    wire::{Decision, Judgement},
};

/// Asks where an agent would decide what is trusted, and about whatever may change something where a policy is missing that
/// somebody trusted.
pub(super) fn ask(missing: Option<&str>, event: &HostEvent, judgement: &mut Judgement) {
    let happened = &event.happened;
    if !matches!(happened.point, "BeforeToolUse" | "PermissionRequest") {
        return;
    }
    let reads = happened.event["tool"].as_str().is_some_and(only_reads);
    let missing = missing.filter(|_| !reads);
    let why = missing
        .or_else(|| decides_on_trust(event).then_some("what is trusted, and who is held, is for a person to say"));
    if let Some(why) = why
        && judgement.decision.is_none_or(|decision| decision < Decision::Ask)
    {
        judgement.decision = Some(Decision::Ask);
        judgement.reason = Some(why.to_owned());
        judgement.user_sees = Some(why.to_owned());
        judgement.decided_by = Some("trust".to_owned());
    }
}

/// Whether a command would trust something, or take us away. One that hides it, in a script or in letters made up as it
/// runs, is not found here.
fn decides_on_trust(event: &HostEvent) -> bool {
    let happened = &event.happened;
    // Most commands have nothing to do with us, and are not looked into.
    if !happened.event["args"].to_string().contains("vertebra") {
        return false;
    }
    let commands = match happened.point {
        "BeforeToolUse" => {
            happened.typed::<BeforeToolUse>().map(|call| (call.command().map(str::to_owned), call.commands()))
        }
        _ => happened.typed::<PermissionRequest>().map(|call| (call.command().map(str::to_owned), call.commands())),
    };
    let Ok((whole, parts)) = commands else { return false };
    whole.into_iter().chain(parts).any(|command| {
        let words = words(&command);
        let ours = words.iter().position(|word| word.rsplit('/').next() == Some("vertebra"));
        let ours = ours.map_or(&[][..], |at| &words[at + 1..]);
        let has = |word: &str| ours.iter().any(|other| other == word);
        has("uninstall") || (has("trust") && !has("--show") && !has("--list"))
    })
}
