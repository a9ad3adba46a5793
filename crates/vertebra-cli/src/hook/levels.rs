//! The policy in force for an event: of whoever keeps the machine, of its user, and of a project that is trusted.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use vertebra_bridge::{
    host::HostEvent,
    settings::{self, Level, Settings},
    trust::{Project, Standing, Store},
};

use crate::assembly::World;

/// What is in force.
#[derive(Default)]
pub(super) struct InForce {
    /// All levels together.
    pub(super) settings: Settings,
    /// The folder that the policy is for.
    pub(super) folder: PathBuf,
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
        let managed = settings::read(&world.managed, Level::Managed)?.settings;
        if let Some(config) = config {
            let named = config.metadata().and_then(|_| config.canonicalize());
            let named = named.with_context(|| format!("--config {}", config.display()))?;
            let sheet = settings::read(&named, Level::CommandLine)?;
            let (settings, notices) = settings::merge(managed, [sheet.settings]);
            return Ok(Self { settings, folder, notices });
        }
        let user = world.user_settings().map(|path| settings::read(&path, Level::User)).transpose()?;
        let user = user.unwrap_or_default().settings;
        let (project, left_out) = project(&folder, world);
        let (settings, mut notices) = settings::merge(managed, [user, project]);
        notices.extend(left_out);
        Ok(Self { settings, folder, notices })
    }
}

/// What the project says, if it is trusted. One that cannot be looked at brings nothing.
fn project(folder: &Path, world: &World) -> (Settings, Option<String>) {
    // Most projects bring no policy, and then nothing of them is read.
    let Ok(folder) = folder.canonicalize() else { return Default::default() };
    if settings::project_file(&folder, settings::FILE_NAME).is_none() {
        return Default::default();
    }
    let Ok(project) = Project::look(&folder) else { return Default::default() };
    let standing = match world.state.as_deref().map(Store::in_folder) {
        Some(store) => store.standing(&project),
        None => Ok(Standing::Unknown),
    };
    let root = vertebra_bridge::shown(&project.root.to_string_lossy());
    match standing {
        Ok(Standing::Empty) => Default::default(),
        Ok(Standing::Trusted) => match project.settings() {
            Ok(sheet) => (sheet.settings, None),
            Err(error) => (Settings::default(), Some(format!("the policy of {root} does not count: {error}"))),
        },
        Ok(Standing::Unknown) => {
            let notice =
                format!("the policy of {root} does not count: it is not trusted. See and trust: vertebra trust {root}");
            (Settings::default(), Some(notice))
        }
        Ok(Standing::Changed(_)) => {
            let notice = format!(
                "the policy of {root} does not count: it changed since it was trusted. See and trust: vertebra trust {root}"
            );
            (Settings::default(), Some(notice))
        }
        Err(error) => (Settings::default(), Some(error.to_string())),
    }
}
