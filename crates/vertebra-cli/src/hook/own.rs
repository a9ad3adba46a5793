//! Denies calls by which an agent would answer for a person, and asks a person about calls that change its own policy.

use std::path::{Path, PathBuf};

use vertebra::{BeforeToolUse, PermissionRequest, shell::CommandLine};
use vertebra_bridge::{
    host::HostEvent,
    policy::only_reads,
    trust::ask_person,
    wire::{Decision, Judgement},
};
use vertebra_kit::{
    bash::policy::{Decision as OnCommand, Ground},
    is_policy, plain,
};

use crate::{
    assembly::World,
    own::{self, words_of},
};

/// Turns a judgement into a denial if the call would answer for a person. Turns it into a question if the call would change
/// what is trusted or our settings, or if a trusted policy is missing and the call may change something. A host that cannot
/// ask a person denies the call instead.
pub(super) fn ask(missing: Option<&str>, event: &HostEvent, folder: &Path, world: &World, judgement: &mut Judgement) {
    let happened = &event.happened;
    if !matches!(happened.point.name, "BeforeToolUse" | "PermissionRequest") {
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
                (!reads && touches_ours(event, folder, world))
                    .then_some("only a person may change your policy and its records")
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

/// Returns whether a call names the user's settings or our state folder, or changes the policy of an agent: by the policy of
/// its own agent, it could take this program out of it.
fn touches_ours(event: &HostEvent, folder: &Path, world: &World) -> bool {
    /// How many words of a command are looked up as paths.
    const MAX_WORDS: usize = 64;
    let ours: Vec<PathBuf> = [&world.config, &world.state].into_iter().flatten().map(|ours| real(ours)).collect();
    // These match however the home folder is written.
    let ends = [".config/vertebra", ".local/state/vertebra", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "/etc/vertebra"];
    let names = |text: &str| ends.iter().any(|end| text.contains(end));
    let leads_there = |path: &Path| ours.iter().any(|ours| path.starts_with(ours));
    let Ok(call) = event.happened.typed(BeforeToolUse) else { return false };
    for command in call.command_lines() {
        let words = words_of(command).into_iter().filter(|word| !word.starts_with('-')).take(MAX_WORDS);
        if names(command.text()) || words.into_iter().any(|word| leads_there(&real(&folder.join(word)))) {
            return true;
        }
    }
    if !call.command_lines().is_empty() {
        return false;
    }
    let home = world.variables.get("HOME").map(|home| real(Path::new(home)));
    let above: Vec<PathBuf> = [Some(real(folder)), home].into_iter().flatten().collect();
    call.paths().any(|path| {
        let real = real(&folder.join(&*path));
        let within = above.iter().find_map(|above| real.strip_prefix(above).ok()).unwrap_or(&real);
        names(&path) || leads_there(&real) || is_policy(within) || is_policy(Path::new(&*path))
    })
}

/// Returns a path with the links in it followed, as far as it exists. What a link leads to need not exist.
fn real(path: &Path) -> PathBuf {
    /// How many links are followed, as the kernel does it.
    const LINKS: usize = 40;
    let mut path = plain(path);
    for _ in 0..LINKS {
        let Ok(to) = path.read_link() else { break };
        path = plain(&path.parent().unwrap_or(&path).join(to));
    }
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    found.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?))).unwrap_or(path)
}

/// Returns the command of a call, also one that is given as a list of words.
fn commands(event: &HostEvent) -> Option<String> {
    let happened = &event.happened;
    let call = match happened.point.name {
        "BeforeToolUse" => happened.typed(BeforeToolUse).ok()?.call,
        _ => happened.typed(PermissionRequest).ok()?.asked.call,
    };
    let lines: Vec<&str> = call.command_lines().iter().map(CommandLine::text).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn ground(folder: &Path, world: &World) -> Ground {
    let home = world.variables.get("HOME").map_or("/", String::as_str);
    Ground::new(folder.to_string_lossy(), home)
}
