//! The policy in force for an event: of whoever keeps the machine, of its user, and of a project that is trusted.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use vertebra_bridge::{
    host::HostEvent,
    settings::{self, Level, Settings},
    trust::{Project, Seals, Standing, Store},
};

use crate::assembly::World;

/// What is in force.
#[derive(Default)]
pub(super) struct InForce {
    /// All levels together.
    pub(super) settings: Settings,
    /// The folder that the event is of.
    pub(super) folder: PathBuf,
    /// The folder that programs of the policy start in.
    pub(super) base: PathBuf,
    /// The project's scripts as they were trusted.
    pub(super) seals: Seals,
    /// What does not count, and why.
    pub(super) notices: Vec<String>,
    /// Why a policy that somebody trusted may be missing here.
    pub(super) missing: Option<String>,
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
            // As `vertebra hooks` does it.
            let base = named.parent().unwrap_or(&folder).to_owned();
            return Ok(Self { settings, folder, base, notices, ..Self::default() });
        }
        let (managed, user) = world.own_settings()?;
        let Brought { settings: project, seals, base, left_out, missing } = project(&folder, world)?;
        let (settings, mut notices) = settings::merge(managed, std::iter::once(user).chain(project));
        notices.extend(left_out.or_else(|| missing.clone()));
        Ok(Self { settings, base: base.unwrap_or_else(|| folder.clone()), folder, seals, notices, missing })
    }
}

/// What the project says, if it is trusted.
#[derive(Default)]
struct Brought {
    settings: Vec<Settings>,
    seals: Seals,
    /// The folder of it that the policy was looked for in, if it holds.
    base: Option<PathBuf>,
    left_out: Option<String>,
    missing: Option<String>,
}

/// Looks at the project. Whoever changes what was trusted does not get rid of it: see [`InForce::missing`].
fn project(folder: &Path, world: &World) -> anyhow::Result<Brought> {
    let looked = match world.state.as_deref().map(Store::in_folder) {
        Some(store) => store.policy(folder),
        None => Ok((Project::look_at_policy(folder), Standing::Unknown)),
    };
    let (project, standing) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let missing = Some(format!("it is not known what was trusted: {error}"));
            return Ok(Brought { missing, ..Brought::default() });
        }
    };
    Ok(match standing {
        // What a person trusts is meant to hold: if it cannot be read, nothing can be judged.
        Standing::Trusted => Brought {
            settings: project.settings()?.into_iter().map(|sheet| sheet.settings).collect(),
            seals: Seals::new(&project),
            base: Some(project.folder),
            ..Brought::default()
        },
        Standing::Unknown if !project.files.is_empty() => {
            Brought { left_out: Some(project.left_out(&standing)), ..Brought::default() }
        }
        Standing::Empty | Standing::Unknown => Brought::default(),
        Standing::Changed(_) => Brought { missing: Some(project.left_out(&standing)), ..Brought::default() },
    })
}
