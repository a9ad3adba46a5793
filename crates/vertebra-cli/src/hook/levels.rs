//! The policy in force for an event: of whoever keeps the machine, of its user, and of a project that is trusted.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use vertebra_bridge::{
    host::HostEvent,
    settings::{self, Level, Settings},
    shown,
    trust::{Project, Seals, Standing, Store, TrustError},
};

use crate::assembly::World;

/// What is in force.
#[derive(Default)]
pub(super) struct InForce {
    /// All levels together.
    pub(super) settings: Settings,
    /// The folder that the policy is for.
    pub(super) folder: PathBuf,
    /// The project's scripts as they were trusted.
    pub(super) seals: Seals,
    /// What does not count, and why.
    pub(super) notices: Vec<String>,
}

impl InForce {
    /// Reads the levels for an event, or one file that counts alone.
    pub(super) fn read(config: Option<&Path>, event: &HostEvent, world: &World) -> anyhow::Result<Self> {
        let folder = match &event.project {
            Some(folder) => folder.clone(),
            None => std::env::current_dir()?,
        };
        if let Some(config) = config {
            let managed = settings::read(&world.managed, Level::Managed)?.settings;
            let named = config.metadata().and_then(|_| config.canonicalize());
            let named = named.with_context(|| format!("--config {}", config.display()))?;
            let sheet = settings::read(&named, Level::CommandLine)?;
            let (settings, notices) = settings::merge(managed, [sheet.settings]);
            return Ok(Self { settings, folder, seals: Seals::default(), notices });
        }
        let (managed, user) = world.own_settings()?;
        let Brought { settings: project, seals, left_out } = project(&folder, event, world)?;
        let (settings, mut notices) = settings::merge(managed, std::iter::once(user).chain(project));
        notices.extend(left_out);
        Ok(Self { settings, folder, seals, notices })
    }
}

/// What the project says, if it is trusted.
#[derive(Default)]
struct Brought {
    settings: Vec<Settings>,
    seals: Seals,
    left_out: Option<String>,
}

/// Looks at the project's policy. One that nobody trusted says nothing. One that was trusted is meant to hold: if it is no
/// longer what it was, gone or not to be read, nothing passes a gate. The agent itself may have written to it.
fn project(folder: &Path, event: &HostEvent, world: &World) -> anyhow::Result<Brought> {
    // A session in a folder that is gone has no project.
    if !folder.is_dir() {
        return Ok(Brought::default());
    }
    let project = Project::look_at_policy(folder)?;
    let without = |why: String| Ok(Brought { left_out: Some(why), ..Brought::default() });
    let known = world.state.as_deref().map(Store::in_folder).map(|store| {
        let trusted = store.trusted_policy(&project)?;
        Ok::<_, TrustError>((trusted, store.standing(&project)?))
    });
    let (trusted, standing) = match known {
        Some(Ok(known)) => known,
        Some(Err(error)) => return without(error.to_string()),
        None if project.files.is_empty() => return Ok(Brought::default()),
        None => return without(project.left_out(&Standing::Unknown)),
    };
    if let Some(lost) = trusted.iter().find(|name| project.lacks(name)) {
        let lost = shown(lost);
        bail!("{lost} was trusted and is gone, or says nothing any more. If that is meant: vertebra trust --revoke");
    }
    match standing {
        Standing::Empty => Ok(Brought::default()),
        Standing::Trusted => Ok(Brought {
            settings: project.settings()?.into_iter().map(|sheet| sheet.settings).collect(),
            seals: Seals::new(&project),
            left_out: None,
        }),
        Standing::Changed(_) if event.moment.is_gate() && !trusted.is_empty() => {
            bail!("{}", project.left_out(&standing))
        }
        Standing::Unknown | Standing::Changed(_) => without(project.left_out(&standing)),
    }
}
