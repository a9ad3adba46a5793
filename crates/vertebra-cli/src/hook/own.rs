//! Asks a person about calls by which an agent would change its own policy.

use vertebra::{BeforeToolUse, Event as _, PermissionRequest};
use vertebra_bridge::{
    host::HostEvent,
    policy::only_reads,
    trust::{needs_person, words},
    wire::{Decision, Judgement},
};

use crate::assembly::World;

/// Turns a judgement into a question if the call would change what is trusted or change our settings, or if a trusted policy
/// is missing and the call may change something.
pub(super) fn ask(missing: Option<&str>, event: &HostEvent, world: &World, judgement: &mut Judgement) {
    let happened = &event.happened;
    if !matches!(happened.point, "BeforeToolUse" | "PermissionRequest") {
        return;
    }
    let reads = happened.event["tool"].as_str().is_some_and(only_reads);
    let missing = needs_person(missing, happened.event["tool"].as_str().unwrap_or_default());
    let why = missing
        .as_deref()
        .or_else(|| {
            decides_on_trust(event).then_some("only a person may change what is trusted or uninstall the policy")
        })
        .or_else(|| {
            (!reads && touches_ours(event, world)).then_some("only a person may change your policy and its records")
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
    if !happens_to_us(event) {
        return false;
    }
    let Ok(call) = event.happened.typed::<BeforeToolUse>() else { return false };
    call.command().is_some_and(names) || (call.command().is_none() && call.paths().any(|path| names(&path)))
}

/// Returns whether a call may concern us at all. Most calls do not and need no further checks. Single words count too, because
/// a name may be put together from parts.
fn happens_to_us(event: &HostEvent) -> bool {
    let args = event.happened.event["args"].to_string();
    args.contains("vertebra") || ["trust", "uninstall"].iter().any(|word| args.contains(word))
}

/// Returns whether a command would trust something or uninstall the policy. A command that hides this in a script or builds
/// the words at run time is not detected.
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
    let all = whole.iter().flat_map(|line| words(line)).collect::<Vec<_>>();
    whole.iter().chain(&parts).any(|command| decides(command, &all))
}

/// Returns whether one command decides on trust. `all` are the words of the whole line, because `xargs` may pass some of them
/// on.
fn decides(command: &str, all: &[String]) -> bool {
    let words = words(command);
    let Some(at) = words.iter().position(|word| word.rsplit('/').next() == Some("vertebra")) else { return false };
    let ours = &words[at + 1..];
    let has = |words: &[String], word: &str| words.iter().any(|other| other == word);
    if ours.is_empty() {
        return has(all, "trust") || has(all, "uninstall");
    }
    // The command only shows something if `--show` or a similar option comes first and nothing is redirected or expanded.
    let after = ours.iter().position(|word| word == "trust").map(|at| &ours[at + 1..]);
    let only_shows = |after: &[String]| {
        let shows = after.first().is_some_and(|word| matches!(word.as_str(), "--show" | "--list" | "--help" | "-h"));
        let decides = has(after, "--yes") || has(after, "--revoke");
        shows && !decides && !command.contains(['<', '>', '$', '`'])
    };
    has(ours, "uninstall") || after.is_some_and(|after| !only_shows(after))
}
