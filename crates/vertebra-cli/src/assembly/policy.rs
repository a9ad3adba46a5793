//! The hooks from settings files in the built-in agent.

use std::path::Path;

use vertebra::{Agent, Matcher};
use vertebra_bridge::{
    handler::Services,
    policy::{Files, Policy},
};
use vertebra_kit::mcp::Mcp;

use super::{Brought, World};

/// Returns the services that hook handlers can use.
pub(super) fn services<'m>(
    folder: &Path,
    brought: &Brought,
    servers: impl Iterator<Item = &'m Mcp>,
    world: &World,
) -> Services {
    Services {
        folder: folder.to_owned(),
        variables: world.variables.clone(),
        servers: servers.map(Mcp::servers).collect(),
        seals: brought.seals.clone(),
    }
}

/// Returns the settings files.
pub(super) fn files(folder: &Path, world: &World) -> Files {
    Files {
        managed: world.managed.clone(),
        user: world.user_settings(),
        folder: folder.to_owned(),
        store: world.store(),
    }
}

/// Reports hooks that match a tool the agent does not have, most likely because of a typo.
pub(super) fn unknown_tools(policy: &Policy, agent: &Agent) -> Vec<String> {
    let names: Vec<&str> = agent
        .tools()
        .flat_map(|spec| std::iter::once(&*spec.name).chain(spec.aliases.iter().map(|alias| &**alias)))
        .collect();
    let patterns = policy.in_force().flat_map(|hook| {
        let patterns = hook.settings.stand.matcher.iter().flat_map(|matcher| matcher.patterns_for("tool"));
        patterns.map(move |pattern| (hook, pattern))
    });
    let unknown = patterns.filter(|(_, pattern)| Matcher::name_pattern_holds(pattern, &names) == Some(false));
    unknown
        .map(|(hook, pattern)| {
            let origin = hook.origin.spot();
            format!(
                "hook `{}` ({origin}) never runs: it matches tool `{pattern}`, but no tool has that name",
                hook.name
            )
        })
        .collect()
}
