//! What a folder brings: whether it counts, and whether it would work if it did.

use std::{path::Path, sync::Arc};

use vertebra_bridge::{
    handler::Services,
    policy::Policy,
    settings::{Action, RunSettings, merge},
    shown,
    trust::{Project, Standing, Store},
};

use super::{
    counted,
    files::{self, Filled},
};
use crate::{assembly::World, doctor::Finding};

/// What the folder is called among the findings.
const WHAT: &str = "this folder";

/// Whether everything that the folder brings counts.
pub(super) fn is_trusted(project: &Project, world: &World) -> anyhow::Result<bool> {
    Ok(matches!(standing(project, world)?, Standing::Trusted))
}

fn standing(project: &Project, world: &World) -> anyhow::Result<Standing> {
    let standing = world.state.as_deref().map(|state| Store::in_folder(state).standing(project)).transpose()?;
    Ok(standing.unwrap_or(Standing::Unknown))
}

/// What is found of what the folder brings.
pub(super) fn all(project: &Project, folder: &Path, world: &World) -> anyhow::Result<Vec<Finding>> {
    let standing = standing(project, world)?;
    let trusted = standing == Standing::Trusted;
    let mut findings = Vec::new();
    if !trusted {
        findings.extend(unusable(project, folder, world));
    }
    for hook in &project.hooks {
        // Those of a trusted vertebra.toml were looked at with the others.
        if let Some(started) = hook.starts.as_ref().filter(|_| !trusted || hook.line.is_none()) {
            let what = format!("hook {}", shown(&hook.name));
            let filled = if hook.line.is_none() { Filled::AsThere } else { Filled::Never };
            findings.extend(files::of_words(&what, started, filled, folder, world));
        }
    }
    if project.hooks.is_empty() {
        return Ok(findings);
    }
    if trusted {
        findings.push(Finding::good(WHAT, format!("{}, trusted", counted(project.hooks.len()))));
    } else {
        findings.push(Finding::lacking(WHAT, project.left_out(&standing), "vertebra trust"));
    }
    Ok(findings)
}

/// What keeps settings that nobody trusted yet from being used once somebody does. Nothing of them is started.
fn unusable(project: &Project, folder: &Path, world: &World) -> Option<Finding> {
    let broken = |error: String| Some(Finding::broken("settings", error, "mend the line"));
    let sheets = match project.settings() {
        Ok(sheets) => sheets,
        Err(error) => return broken(error.to_string()),
    };
    // They may name hooks of the levels above them. What is wrong with those is told where they are looked at.
    let (managed, user) = world.own_settings().unwrap_or_default();
    let levels = std::iter::once(user).chain(sheets.into_iter().map(|sheet| sheet.settings));
    let (mut settings, _) = merge(managed, levels);
    for hook in &mut settings.hooks {
        // To look at a module is to compile it.
        if matches!(hook.value.action, Action::Run(RunSettings::Wasm { .. })) {
            Arc::make_mut(&mut hook.value).action = Action::Say(Arc::default());
        }
    }
    let services = Services { folder: folder.to_owned(), variables: world.variables.clone(), ..Services::default() };
    Policy::new(&settings, &services).err().and_then(|error| broken(error.to_string()))
}
