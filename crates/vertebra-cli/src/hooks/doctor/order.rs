//! Finds hooks that are never reached, and matchers that name unknown tools.

use vertebra::{Kind, Matcher, Role, nearest};
use vertebra_bridge::{
    host::HOSTS,
    policy::{Off, Policy, PolicyHook, Standing},
    settings::Action,
    shown,
};

use crate::doctor::Finding;

/// The tools of our own agent.
const OURS: &[&str] = &[
    "bash",
    "background",
    "read_file",
    "write_file",
    "edit_file",
    "list_dir",
    "search_files",
    "grep",
    "load_skill",
    "spawn_subagent",
    "plan_with_subagent",
    "read_offloaded",
];

/// Checks the order and the matchers of all hooks.
pub(super) fn all(policy: &Policy) -> Vec<Finding> {
    let mut findings = Vec::new();
    let hooks = policy.hooks();
    for (at, hook) in hooks.iter().enumerate() {
        let what = format!("hook {}", shown(&hook.settings.stand.name));
        match &hook.standing {
            Standing::InForce => {}
            Standing::Off(Off::Disabled) => continue,
            Standing::Off(off) => {
                findings.push(Finding::lacking(
                    what,
                    format!("{}: {off}", hook.origin),
                    "ignore this if it is intended",
                ));
                continue;
            }
        }
        let earlier = hooks[..at].iter().filter(|other| other.settings.stand.point == hook.settings.stand.point);
        if let Some(wall) = earlier.into_iter().find(|other| is_wall(other) && hook.settings.stand.role == Role::Hook) {
            let found = format!(
                "{}: never reached, because `{}` ({}) denies every call before it",
                hook.origin,
                wall.settings.stand.name,
                wall.origin.spot()
            );
            findings.push(Finding::broken(
                what.clone(),
                found,
                "add a `match` to the other hook, or give this one a lower `priority`",
            ));
        }
        findings.extend(tools(&what, hook));
    }
    findings
}

/// Whether a hook stops every event.
fn is_wall(hook: &PolicyHook) -> bool {
    let ends = match &hook.settings.action {
        Action::Say(reply) => reply.verdict.as_ref().and_then(|verdict| verdict.get("verdict")?.as_str()),
        Action::Run(_) => None,
    };
    let ends = ends.is_some_and(|word| [Kind::Deny, Kind::Skip, Kind::Halt].iter().any(|kind| is_word(*kind, word)));
    let stands =
        hook.standing == Standing::InForce && !hook.settings.stand.shadow && hook.settings.stand.role == Role::Hook;
    ends && stands && hook.settings.stand.matcher.is_none()
}

fn is_word(kind: Kind, word: &str) -> bool {
    serde_json::to_value(kind).is_ok_and(|kind| kind == word)
}

/// Finds tools in a matcher that no agent has.
fn tools(what: &str, hook: &PolicyHook) -> Vec<Finding> {
    let Some(matcher) = &hook.settings.stand.matcher else { return Vec::new() };
    let known: Vec<&str> = OURS.iter().copied().chain(HOSTS.iter().flat_map(names)).collect();
    let patterns = matcher.patterns_for("tool");
    let unknown = patterns.into_iter().flat_map(|pattern| pattern.split('|')).filter(|name| {
        let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        plain && !name.starts_with("mcp__") && Matcher::name_pattern_holds(name, &known) == Some(false)
    });
    let findings = unknown.map(|name| {
        let meant = nearest(name, known.iter().copied()).map(|meant| format!("; did you mean `{meant}`?"));
        let found = format!("{}: unknown tool `{name}`{}", hook.origin, meant.unwrap_or_default());
        Finding::lacking(what.to_owned(), found, "fix the name, unless it is a tool of your own")
    });
    findings.collect()
}

/// Returns the names of the tools of a host, its own and ours.
fn names(host: &'static vertebra_bridge::host::Host) -> impl Iterator<Item = &'static str> {
    host.tools.iter().flat_map(|(theirs, ours)| [*theirs, *ours])
}
