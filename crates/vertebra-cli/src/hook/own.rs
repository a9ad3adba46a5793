//! Denies calls by which an agent would answer for a person, and asks a person about calls that change its own policy.

use std::path::Path;

use vertebra::{BeforeToolUse, Event as _, PermissionRequest};
use vertebra_bridge::{
    host::HostEvent,
    policy::only_reads,
    trust::ask_person,
    wire::{Decision, Judgement},
};
use vertebra_kit::bash::policy::{Decision as OnCommand, Ground};

use crate::{assembly::World, own};

/// Turns a judgement into a denial if the call would answer for a person. Turns it into a question if the call would change
/// what is trusted or our settings, or if a trusted policy is missing and the call may change something. A host that cannot
/// ask a person denies the call instead.
pub(super) fn ask(missing: Option<&str>, event: &HostEvent, folder: &Path, world: &World, judgement: &mut Judgement) {
    let happened = &event.happened;
    if !matches!(happened.point, "BeforeToolUse" | "PermissionRequest") {
        return;
    }
    ask_person(missing, happened, judgement);
    let reads = happened.event["tool"].as_str().is_some_and(only_reads);
    let own = commands(event).and_then(|command| own::judged(&command, &ground(folder, world)));
    let (decision, why) = match own {
        Some((OnCommand::Deny, why)) => (Decision::Deny, Some(why)),
        own => {
            let own = own.map(|(_, why)| why);
            let ours = || {
                (!reads && touches_ours(event, world)).then_some("only a person may change your policy and its records")
            };
            (Decision::Ask, own.or_else(ours))
        }
    };
    if let Some(why) = why
        && judgement.decision.is_none_or(|other| other < decision)
    {
        judgement.decision = Some(decision);
        judgement.reason = Some(why.to_owned());
        judgement.user_sees = Some(why.to_owned());
        judgement.decided_by = Some("trust".to_owned());
    }
}

/// Returns whether a call names the user's settings or our state folder.
fn touches_ours(event: &HostEvent, world: &World) -> bool {
    let ours: Vec<String> = [&world.config, &world.state]
        .into_iter()
        .flatten()
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect();
    // These match however the home folder is written.
    let ends = [".config/vertebra", ".local/state/vertebra", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "/etc/vertebra"];
    let names = |text: &str| {
        ours.iter().any(|folder| text.contains(folder.as_str())) || ends.iter().any(|end| text.contains(end))
    };
    if !event.happened.event["args"].to_string().contains("vertebra") {
        return false;
    }
    let Ok(call) = event.happened.typed::<BeforeToolUse>() else { return false };
    call.command().is_some_and(names) || (call.command().is_none() && call.paths().any(|path| names(&path)))
}

/// Returns the command of a call, also one that is given as a list of words.
fn commands(event: &HostEvent) -> Option<String> {
    let happened = &event.happened;
    let (whole, parts) = match happened.point {
        "BeforeToolUse" => {
            happened.typed::<BeforeToolUse>().map(|call| (call.command().map(str::to_owned), call.commands())).ok()?
        }
        _ => happened
            .typed::<PermissionRequest>()
            .map(|call| (call.command().map(str::to_owned), call.commands()))
            .ok()?,
    };
    whole.or_else(|| (!parts.is_empty()).then(|| parts.join("\n")))
}

fn ground(folder: &Path, world: &World) -> Ground {
    let home = world.variables.get("HOME").map_or("/", String::as_str);
    Ground::new(folder.to_string_lossy(), home)
}
