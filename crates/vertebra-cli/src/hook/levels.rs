//! The policy in force for an event: the administrator's, the user's, and that of a trusted project.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use vertebra_bridge::{
    host::HostEvent,
    settings::{self, Level, Settings},
    trust::{Own, Project, Remains, Seals, Standing, only_refusing, unreadable},
};

use crate::assembly::World;

const LOST: &str = "the records of what you trust were deleted or replaced; check your settings, then run `vertebra install` again and \
                    `vertebra trust` in each project";

/// The policy in force.
#[derive(Default)]
pub(super) struct InForce {
    /// The merged settings of all levels.
    pub(super) settings: Settings,
    /// The folder of the event.
    pub(super) folder: PathBuf,
    /// The folder in which the programs of the policy start.
    pub(super) base: PathBuf,
    /// The project's scripts as they were when it was trusted.
    pub(super) seals: Seals,
    /// What is ignored, and why.
    pub(super) notices: Vec<String>,
    /// Why a trusted policy may be missing here.
    pub(super) missing: Option<String>,
    /// Whether settings could not be read as a whole.
    pub(super) is_broken: bool,
}

impl InForce {
    /// Reads the levels for an event, or the one file given by `--config`, to which only the managed level is added.
    pub(super) fn read(config: Option<&Path>, event: &HostEvent, world: &World) -> anyhow::Result<Self> {
        let folder = match &event.project {
            Some(folder) => folder.clone(),
            None => std::env::current_dir()?,
        };
        if let Some(config) = config {
            let own = Own::read(&world.managed, None, None);
            let (missing, is_broken) = (own.missing(), own.is_broken());
            let named = config.metadata().and_then(|_| config.canonicalize());
            let named = named.with_context(|| format!("--config {}", config.display()))?;
            let sheet = settings::read(&named, Level::CommandLine)?;
            let (settings, overruled) = own.merge([sheet.settings]);
            let notices = overruled.into_iter().chain(missing.clone()).collect();
            // The same folder as in `vertebra hooks`.
            let base = named.parent().unwrap_or(&folder).to_owned();
            return Ok(Self { settings, folder, base, notices, missing, is_broken, ..Self::default() });
        }
        let own = world.own_settings();
        let (broken, is_broken) = (own.missing(), own.is_broken());
        let Brought { remains, base, left_out } = project(&folder, world);
        let missing = broken.or(remains.missing);
        let (settings, mut notices) = own.merge(remains.settings);
        notices.extend(left_out.or_else(|| missing.clone()));
        let base = base.unwrap_or_else(|| folder.clone());
        Ok(Self { settings, base, folder, seals: remains.seals, notices, missing, is_broken })
    }

    /// Returns the same for a hook that was installed together with records of what is trusted. If they are gone, so is
    /// every policy that they named, and nothing else tells which.
    pub(super) fn recorded(mut self, world: &World) -> Self {
        if world.store().is_none_or(|store| !store.is_installed()) {
            self.missing = self.missing.or_else(|| Some(LOST.to_owned()));
            self.notices.push(LOST.to_owned());
        }
        self
    }

    /// Returns the same without anything that could widen what is allowed, because the policy cannot be used as a whole.
    pub(super) fn only_refusing(self, error: &str) -> Self {
        let missing = unreadable(error);
        let settings = only_refusing(&self.settings);
        let notices = [self.notices, vec![missing.clone()]].concat();
        Self { settings, notices, missing: Some(missing), is_broken: true, ..self }
    }
}

/// The policy of the project, as far as it is in force.
#[derive(Default)]
struct Brought {
    remains: Remains,
    /// The folder of the policy, if it is in force.
    base: Option<PathBuf>,
    left_out: Option<String>,
}

/// Reads the policy of the project. Changing a trusted policy does not disable it: see [`Remains`].
fn project(folder: &Path, world: &World) -> Brought {
    let store = world.store();
    let looked = match &store {
        Some(store) => store.policy(folder),
        None => Ok((Project::look_at_policy(folder), Standing::Unknown)),
    };
    let (project, standing) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let missing = Some(format!("cannot read which folders are trusted: {error}"));
            return Brought { remains: Remains { missing, ..Remains::default() }, ..Brought::default() };
        }
    };
    let remains = Remains::of(&project, &standing, store.as_ref());
    match standing {
        Standing::Unknown if !project.files.is_empty() => {
            Brought { left_out: Some(project.left_out(&standing)), ..Brought::default() }
        }
        Standing::Empty | Standing::Unknown => Brought::default(),
        Standing::Trusted | Standing::Changed(_) => Brought { remains, base: Some(project.folder), left_out: None },
    }
}
