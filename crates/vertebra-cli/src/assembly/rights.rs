//! Permissions, sandbox and redaction, from settings and the environment.

use std::{
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use vertebra_bridge::{
    policy,
    settings::{self, ModelSettings, SandboxSettings, Settings},
};
use vertebra_kit::{
    bash::{
        Outputs, Sandbox,
        sandbox::{self, Fixed, NetworkAccess},
    },
    permissions::{Permissions, PermissionsError, RuleTexts},
    redaction::{Redaction, RedactionError},
};
use vertebra_models::PROVIDERS;

use super::{Brought, World};

/// Returns the permission rules of all levels. Rules that the user adds permanently go to `file`, the user's settings.
pub(super) fn permissions(settings: &Settings, file: Option<&Path>) -> Result<Permissions, PermissionsError> {
    // These are safe to allow: a skill is text, and the calls of a subagent are judged by the same rules.
    let free = ["load_skill", "spawn_subagent"].map(str::to_owned).to_vec();
    policy::permissions(settings, file)?.texts("built in", &RuleTexts { allow: free, ..RuleTexts::default() })
}

/// Returns the sandbox for commands.
pub(super) fn sandbox(settings: &SandboxSettings, fixed: Fixed, closed: Vec<PathBuf>) -> Sandbox {
    let SandboxSettings { need, network, write, deny_read } = settings;
    let mut sandbox = Sandbox { fixed, closed, ..Sandbox::default() };
    if let Some(need) = need {
        sandbox.need = match need.value {
            settings::Need::Required => sandbox::Need::Required,
            settings::Need::IfAvailable => sandbox::Need::IfAvailable,
            settings::Need::Off => sandbox::Need::Off,
        };
    }
    if let Some(network) = network {
        let NetworkAccess { network, ports } = network.value.clone();
        (sandbox.network, sandbox.ports) = (network, ports);
    }
    sandbox.write.extend(write.iter().map(|said| said.value.clone().into()));
    sandbox.deny_read.extend(deny_read.iter().map(|said| said.value.clone().into()));
    sandbox
}

/// Returns where the whole output of commands is kept. It stays with the session, if that is recorded.
pub(super) fn outputs(world: &World, keep: bool, warnings: &mut Vec<String>) -> Option<Outputs> {
    let folder = outputs_folder(world)?;
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder) {
        Ok(()) => Some(Outputs { keep, ..Outputs::in_folder(folder) }),
        Err(error) => {
            let why = format!("{}: {error}", folder.display());
            warnings.push(format!("long outputs of commands are not kept whole: cannot create {why}"));
            None
        }
    }
}

/// Returns the folder in which the output of commands is kept, in a folder for each session.
pub(crate) fn outputs_folder(world: &World) -> Option<PathBuf> {
    Some(world.state.as_ref()?.join("outputs"))
}

/// Returns the folders of this program that lie in the working folder, relative to it. An agent must not write its own
/// rules.
pub(super) fn own_folders(folder: &Path, world: &World) -> anyhow::Result<Vec<PathBuf>> {
    // A path that does not exist yet is resolved from its nearest existing ancestor.
    let real = |path: &PathBuf| {
        let mut above =
            path.ancestors().filter_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
        above.next().map_or_else(|| path.clone(), |(above, rest)| above.join(rest))
    };
    let own: Vec<PathBuf> = [&world.config, &world.state].into_iter().flatten().map(real).collect();
    if own.iter().any(|own| folder.starts_with(own)) {
        bail!("{}: an agent cannot work in the folder that holds its own rules", folder.display());
    }
    let inside: Vec<PathBuf> = own.iter().filter_map(|own| own.strip_prefix(folder).ok().map(Path::to_owned)).collect();
    for own in &inside {
        // The sandbox only protects existing folders, so they are created before any command runs.
        let own = folder.join(own);
        std::fs::create_dir_all(&own).with_context(|| format!("cannot protect {}", own.display()))?;
    }
    Ok(inside)
}

/// Returns the folders of trusted scripts in the working folder, relative to it. An agent must not change what runs outside
/// its sandbox.
pub(super) fn hook_folders(folder: &Path, brought: &Brought) -> Vec<PathBuf> {
    let all = brought.seals.folders();
    all.iter().filter_map(|hooks| Some(hooks.strip_prefix(folder).ok()?.to_owned())).collect()
}

/// Returns what the file tools neither read nor write, even if a person says yes: the settings and the trust store of this
/// program, its journal, and trusted scripts outside of the folder.
pub(super) fn closed(folder: &Path, settings: &Settings, brought: &Brought, world: &World) -> Vec<PathBuf> {
    let own = [&world.config, &world.state].into_iter().flatten().cloned();
    let journal = super::journal_path(&settings.journal, world).into_iter().flat_map(|path| {
        // The database has two more files beside it.
        ["", "-wal", "-shm"].map(|ending| PathBuf::from(format!("{}{ending}", path.display())))
    });
    let all = own.chain([world.managed.clone()]).chain(journal).chain(brought.seals.folders());
    all.filter(|path| !path.starts_with(folder) && !folder.starts_with(path)).collect()
}

/// Returns a glob that matches only this path.
pub(super) fn glob(path: &Path) -> String {
    let plain = |letter: char| if "*?[]{}".contains(letter) { format!("[{letter}]") } else { letter.to_string() };
    path.to_string_lossy().chars().map(plain).collect()
}

/// Returns the redaction of secrets, including the API keys in the environment.
pub(super) fn redaction(settings: &ModelSettings, world: &World) -> Result<Redaction, RedactionError> {
    let usual = PROVIDERS.iter().flat_map(|provider| provider.keys).copied();
    let named = settings.providers.values().filter_map(|said| said.value.key.as_ref()).map(|key| &*key.value);
    let keys = usual.chain(named).filter_map(|name| Some((name, world.variables.get(name)?.trim())));
    // A shorter value would match ordinary words and is not a key.
    keys.filter(|(_, key)| key.chars().count() >= 8)
        .try_fold(Redaction::default(), |redaction, (name, key)| redaction.value(name, key))
}
