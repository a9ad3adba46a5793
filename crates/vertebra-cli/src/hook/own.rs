//! What an agent does to the policy that holds it is at least a question to a person.

use vertebra::{BeforeToolUse, Event as _, PermissionRequest};
use vertebra_bridge::{
    host::HostEvent,
    policy::only_reads,
    trust::words,
    wire::{Decision, Judgement},
};

use crate::assembly::World;

/// Asks where an agent would decide what is trusted, and about whatever may change something where a policy is missing that
/// somebody trusted.
pub(super) fn ask(missing: Option<&str>, event: &HostEvent, world: &World, judgement: &mut Judgement) {
    let happened = &event.happened;
    if !matches!(happened.point, "BeforeToolUse" | "PermissionRequest") {
        return;
    }
    let reads = happened.event["tool"].as_str().is_some_and(only_reads);
    let missing = missing.filter(|_| !reads);
    let why = missing
        .or_else(|| decides_on_trust(event).then_some("what is trusted, and who is held, is for a person to say"))
        .or_else(|| {
            (!reads && touches_ours(event, world)).then_some("your policy and what it knows are for a person to change")
        });
    if let Some(why) = why
        && judgement.decision.is_none_or(|decision| decision < Decision::Ask)
    {
        judgement.decision = Some(Decision::Ask);
        judgement.reason = Some(why.to_owned());
        judgement.user_sees = Some(why.to_owned());
        judgement.decided_by = Some("trust".to_owned());
    }
}

/// Whether a call names the user's settings, or what we remember.
fn touches_ours(event: &HostEvent, world: &World) -> bool {
    let ours: Vec<String> = [&world.config, &world.state]
        .into_iter()
        .flatten()
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect();
    // However the home is written.
    let ends = [".config/vertebra", ".local/state/vertebra"];
    let names = |text: &str| {
        ours.iter().any(|folder| text.contains(folder.as_str())) || ends.iter().any(|end| text.contains(end))
    };
    if !happens_to_us(event) {
        return false;
    }
    let Ok(call) = event.happened.typed::<BeforeToolUse>() else { return false };
    call.command().is_some_and(names) || (call.command().is_none() && call.paths().any(|path| names(&path)))
}

/// Most calls have nothing to do with us, and are not looked into.
fn happens_to_us(event: &HostEvent) -> bool {
    event.happened.event["args"].to_string().contains("vertebra")
}

/// Whether a command would trust something, or take us away. One that hides it, in a script or in letters made up as it
/// runs, is not found here.
fn decides_on_trust(event: &HostEvent) -> bool {
    let happened = &event.happened;
    if !happens_to_us(event) {
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
