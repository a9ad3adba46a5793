//! Checks the hooks of a folder: whether they are trusted, and whether they would work.

use std::{path::Path, sync::Arc};

use vertebra_bridge::{
    handler::Services,
    policy::Policy,
    settings::{Action, RunSettings},
    shown,
    trust::{Project, Standing},
};

use super::{
    counted,
    files::{self, Filled},
};
use crate::{assembly::World, doctor::Finding};

/// The name of the folder in the findings.
const WHAT: &str = "this folder";

/// Whether the folder is trusted.
pub(super) fn is_trusted(project: &Project, world: &World) -> anyhow::Result<bool> {
    Ok(matches!(standing(project, world)?, Standing::Trusted))
}

fn standing(project: &Project, world: &World) -> anyhow::Result<Standing> {
    let standing = world.store().map(|store| store.standing(project)).transpose()?;
    Ok(standing.unwrap_or(Standing::Unknown))
}

/// Checks the hooks of the folder.
pub(super) fn all(project: &Project, folder: &Path, world: &World) -> anyhow::Result<Vec<Finding>> {
    let standing = standing(project, world)?;
    let trusted = standing == Standing::Trusted;
    let mut findings = Vec::new();
    if !trusted {
        findings.extend(unusable(project, folder, world));
    }
    for hook in &project.hooks {
        // The hooks of a trusted vertebra.toml were already checked with the policy.
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

/// Checks settings that are not trusted yet for errors. Nothing is started.
fn unusable(project: &Project, folder: &Path, world: &World) -> Option<Finding> {
    let broken = |error: String| Some(Finding::broken("settings", error, "fix the line shown above"));
    let sheets = match project.settings() {
        Ok(sheets) => sheets,
        Err(error) => return broken(error.to_string()),
    };
    // They may name hooks of other levels, whose own errors are reported elsewhere.
    let (mut settings, _) = world.own_settings().merge(sheets.into_iter().map(|sheet| sheet.settings));
    for hook in &mut settings.hooks {
        // Checking a module would compile it.
        if matches!(hook.value.action, Action::Run(RunSettings::Wasm { .. })) {
            Arc::make_mut(&mut hook.value).action = Action::Say(Arc::default());
        }
    }
    let services = Services { folder: folder.to_owned(), variables: world.variables.clone(), ..Services::default() };
    Policy::new(&settings, &services).err().and_then(|error| broken(error.to_string()))
}
