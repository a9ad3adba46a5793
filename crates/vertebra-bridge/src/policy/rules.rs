//! The rules of `[permissions]`, as the kit knows them.

use std::path::Path;

use vertebra_kit::permissions::{Effect, Mode, Permissions, PermissionsError, RuleTexts};

use crate::settings::{self, Level, PermissionSettings, Said, Settings};

/// The rules of all levels. With a file, what a person allows for good goes there.
pub fn permissions(settings: &Settings, file: Option<&Path>) -> Result<Permissions, PermissionsError> {
    let PermissionSettings { mode, allow, ask, deny, folders } = &settings.permissions;
    let is_managed = mode.as_ref().is_some_and(|said| said.origin.level == Level::Managed);
    let mode = mode.as_ref().map_or(Mode::Ask, |said| match said.value {
        settings::Mode::Plan => Mode::Plan,
        settings::Mode::Ask => Mode::Ask,
        settings::Mode::AcceptEdits => Mode::AcceptEdits,
        settings::Mode::Sandboxed => Mode::Sandboxed,
        settings::Mode::Bypass => Mode::Bypass,
    });
    let mut permissions =
        if mode == Mode::Bypass { Permissions::bypassing_questions() } else { Permissions::default() };
    if let Some(file) = file {
        permissions = permissions.saved_to(file)?;
    }
    // Files were checked when they were read.
    let declared: Vec<String> = settings.tools.known.iter().map(|said| said.value.clone()).collect();
    let of_this_run = |said: &&Said<String>| said.origin.level == Level::CommandLine;
    for rule in allow.iter().chain(ask).chain(deny).filter(of_this_run) {
        settings::check_rule_tool(&rule.value, &declared)
            .map_err(|message| PermissionsError::Tool { source_name: rule.origin.to_string().into(), message })?;
    }
    let one = |effect, rule: &Said<String>| {
        let (mut texts, rule) = (RuleTexts::default(), rule.value.clone());
        match effect {
            Effect::Allow => texts.allow.push(rule),
            Effect::Ask => texts.ask.push(rule),
            Effect::Deny => texts.deny.push(rule),
        }
        texts
    };
    for (effect, rules) in [(Effect::Allow, allow), (Effect::Ask, ask), (Effect::Deny, deny)] {
        for rule in rules {
            permissions = permissions.texts(&rule.origin.to_string(), &one(effect, rule))?;
        }
    }
    for (folder, allow) in folders {
        for rule in allow {
            permissions = permissions.allow_in(folder, &rule.origin.to_string(), &rule.value)?;
        }
    }
    // What commands may not read, no other tool reads for them.
    for denied in &settings.sandbox.deny_read {
        let path = denied.value.trim_end_matches('/');
        let deny = vec![format!("Read({path})"), format!("Read({path}/**)")];
        permissions = permissions.texts(&denied.origin.to_string(), &RuleTexts { deny, ..RuleTexts::default() })?;
    }
    let permissions = if is_managed { permissions.hold_mode() } else { permissions };
    Ok(permissions.mode(mode)?)
}
