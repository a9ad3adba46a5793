//! Rules and the sandbox, from settings.

use std::path::Path;

use vertebra_bridge::settings::{self, Level, PermissionSettings, Said, SandboxSettings};
use vertebra_kit::{
    bash::{Sandbox, sandbox},
    permissions::{Mode, Permissions, PermissionsError, RuleTexts},
};

/// The rules of all levels. What a person allows for good goes to the file, from where the user's own rules are read.
pub(super) fn permissions(settings: &PermissionSettings, file: Option<&Path>) -> Result<Permissions, PermissionsError> {
    let mode = settings.mode.as_ref().map_or(Mode::Ask, |said| match said.value {
        settings::Mode::Plan => Mode::Plan,
        settings::Mode::Ask => Mode::Ask,
        settings::Mode::AcceptEdits => Mode::AcceptEdits,
        settings::Mode::Bypass => Mode::Bypass,
    });
    let mut permissions =
        if mode == Mode::Bypass { Permissions::bypassing_questions() } else { Permissions::default() };
    if let Some(file) = file {
        permissions = permissions.file(file)?;
    }
    let PermissionSettings { mode: _, allow, ask, deny } = settings;
    let kinds: [(&[Said<String>], fn(Vec<String>) -> RuleTexts); 3] = [
        (allow, |allow| RuleTexts { allow, ..RuleTexts::default() }),
        (ask, |ask| RuleTexts { ask, ..RuleTexts::default() }),
        (deny, |deny| RuleTexts { deny, ..RuleTexts::default() }),
    ];
    for (rules, texts) in kinds {
        for rule in rules.iter().filter(|rule| file.is_none() || rule.origin.level != Level::User) {
            permissions = permissions.texts(&rule.origin.to_string(), &texts(vec![rule.value.clone()]))?;
        }
    }
    Ok(permissions.mode(mode)?)
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
