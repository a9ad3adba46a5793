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
    /// The folder that the policy is for.
    pub(super) folder: PathBuf,
    /// The project's scripts as they were trusted.
    pub(super) seals: Seals,
    /// What does not count, and why.
    pub(super) notices: Vec<String>,
    /// Whether hooks that did hold do so no longer.
    pub(super) changed: bool,
}

impl InForce {
    /// Reads the levels for an event, or one file that counts alone.
    pub(super) fn read(config: Option<&Path>, event: &HostEvent, world: &World) -> anyhow::Result<Self> {
        let folder = match &event.project {
            Some(folder) => folder.clone(),
            None => std::env::current_dir()?,
        };
        let managed = settings::read(&world.managed, Level::Managed)?.settings;
        if let Some(config) = config {
            let named = config.metadata().and_then(|_| config.canonicalize());
            let named = named.with_context(|| format!("--config {}", config.display()))?;
            let sheet = settings::read(&named, Level::CommandLine)?;
            let (settings, notices) = settings::merge(managed, [sheet.settings]);
            return Ok(Self { settings, folder, notices, ..Self::default() });
        }
        let user = world.user_settings().map(|path| settings::read(&path, Level::User)).transpose()?;
        let user = user.unwrap_or_default().settings;
        let Brought { settings: project, seals, left_out, changed } = project(&folder, world)?;
        let (settings, mut notices) = settings::merge(managed, std::iter::once(user).chain(project));
        notices.extend(left_out);
        Ok(Self { settings, folder, seals, notices, changed })
    }
}

/// What the project says, if it is trusted.
#[derive(Default)]
struct Brought {
    settings: Vec<Settings>,
    seals: Seals,
    left_out: Option<String>,
    changed: bool,
}

/// Looks at the project. One that cannot be looked at brings nothing.
fn project(folder: &Path, world: &World) -> anyhow::Result<Brought> {
    // Most projects bring no policy, and then nothing of them is read.
    let Ok(folder) = folder.canonicalize() else { return Ok(Brought::default()) };
    if [settings::FILE_NAME, settings::LOCAL_NAME].iter().all(|name| settings::project_file(&folder, name).is_none()) {
        return Ok(Brought::default());
    }
    let Ok(project) = Project::look(&folder) else { return Ok(Brought::default()) };
    let standing = match world.state.as_deref().map(Store::in_folder) {
        Some(store) => store.standing(&project),
        None => Ok(Standing::Unknown),
    };
    let without = |why: String| Brought { left_out: Some(why), ..Brought::default() };
    Ok(match standing {
        Ok(Standing::Empty) => Brought::default(),
        // What a person trusts is meant to hold: if it cannot be read, nothing can be judged.
        Ok(Standing::Trusted) => Brought {
            settings: project.settings()?.into_iter().map(|sheet| sheet.settings).collect(),
            seals: Seals::new(&project),
            ..Brought::default()
        },
        Ok(standing @ Standing::Unknown) => without(project.left_out(&standing)),
        Ok(standing @ Standing::Changed(_)) => Brought { changed: true, ..without(project.left_out(&standing)) },
        Err(error) => without(error.to_string()),
    })
}
