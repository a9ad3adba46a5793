//! Rules, the sandbox and what is hidden, from settings and the environment.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use vertebra_bridge::{
    policy,
    settings::{self, ModelSettings, SandboxSettings, Settings},
};
use vertebra_kit::{
    bash::{Sandbox, sandbox},
    permissions::{Permissions, PermissionsError, RuleTexts},
    redaction::{Redaction, RedactionError},
};
use vertebra_models::PROVIDERS;

use super::World;

/// The rules of all levels. What a person allows for good goes to the file, from where the user's own rules are read.
pub(super) fn permissions(settings: &Settings, file: Option<&Path>) -> Result<Permissions, PermissionsError> {
    // What these do is asked about in its own place: a skill is text, and the calls of a subagent pass the same rules.
    let free = ["load_skill", "spawn_subagent"].map(str::to_owned).to_vec();
    policy::permissions(settings, file)?.texts("built in", &RuleTexts { allow: free, ..RuleTexts::default() })
}

/// What holds commands.
pub(super) fn sandbox(settings: &SandboxSettings) -> Sandbox {
    let SandboxSettings { need, network, write, deny_read } = settings;
    let mut sandbox = Sandbox::default();
    if let Some(need) = need {
        sandbox.need = match need.value {
            settings::Need::Required => sandbox::Need::Required,
            settings::Need::IfAvailable => sandbox::Need::IfAvailable,
            settings::Need::Off => sandbox::Need::Off,
        };
    }
    if let Some(network) = network {
        sandbox.network = match network.value {
            settings::Network::Off => sandbox::Network::Off,
            settings::Network::On => sandbox::Network::On,
        };
    }
    sandbox.write.extend(write.iter().map(|said| said.value.clone().into()));
    sandbox.deny_read.extend(deny_read.iter().map(|said| said.value.clone().into()));
    sandbox
}

/// The folders of this program that are inside the one that is worked in, relative to it. No agent writes its own rules.
pub(super) fn own_folders(folder: &Path, world: &World) -> anyhow::Result<Vec<PathBuf>> {
    // What is not there yet will be below what is.
    let real = |path: &PathBuf| {
        let mut above =
            path.ancestors().filter_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
        above.next().map_or_else(|| path.clone(), |(above, rest)| above.join(rest))
    };
    let own: Vec<PathBuf> = [&world.config, &world.state].into_iter().flatten().map(real).collect();
    if own.iter().any(|own| folder.starts_with(own)) {
        bail!("{}: no agent works where its own rules are kept", folder.display());
    }
    let inside: Vec<PathBuf> = own.iter().filter_map(|own| own.strip_prefix(folder).ok().map(Path::to_owned)).collect();
    for own in &inside {
        // A sandbox protects what is there. Whoever makes a folder may fill it, so it is made before any command runs.
        let own = folder.join(own);
        std::fs::create_dir_all(&own).with_context(|| format!("cannot protect {}", own.display()))?;
    }
    Ok(inside)
}

/// A glob that holds for this path alone.
pub(super) fn glob(path: &Path) -> String {
    let plain = |letter: char| if "*?[]{}".contains(letter) { format!("[{letter}]") } else { letter.to_string() };
    path.to_string_lossy().chars().map(plain).collect()
}

/// Hides secrets, the keys in the environment among them.
pub(super) fn redaction(settings: &ModelSettings, world: &World) -> Result<Redaction, RedactionError> {
    let usual = PROVIDERS.iter().flat_map(|provider| provider.keys).copied();
    let named = settings.providers.values().filter_map(|said| said.value.key.as_ref()).map(|key| &*key.value);
    let keys = usual.chain(named).filter_map(|name| Some((name, world.variables.get(name)?.trim())));
    // Shorter ones would be found in every other word, and are no keys.
    keys.filter(|(_, key)| key.chars().count() >= 8)
        .try_fold(Redaction::default(), |redaction, (name, key)| redaction.value(name, key))
}
