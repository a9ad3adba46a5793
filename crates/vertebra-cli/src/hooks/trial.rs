//! Tries a policy on events: loads the policy, reads an event, and returns the decision.

use std::{
    collections::BTreeSet,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, bail};
use serde_json::Value;
use vertebra::{Name, Points, Record};
use vertebra_bridge::{
    claude,
    handler::Services,
    host::{self, HostError},
    policy::{Policy, PolicyError, Standing},
    settings::{self, Action, Level, Settings},
    shown,
    trust::{self, Project, Seals},
    wire::{Happened, Judgement},
};

use crate::assembly::{self, Settled, Trust, World};

/// The largest size of an event, in bytes.
const MAX_EVENT: u64 = 16 * 1024 * 1024;

/// The options that select a policy.
#[derive(clap::Args, Clone)]
pub(crate) struct Which {
    /// Use only this vertebra.toml, and trust it
    #[arg(long, value_name = "FILE", conflicts_with = "settings")]
    pub(crate) config: Option<PathBuf>,
    /// Use only this Claude Code settings file, and trust it
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Vec<PathBuf>,
    /// Use the policy in force in this folder
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    pub(crate) dir: PathBuf,
}

/// Whether handlers are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handlers {
    /// Handlers are started.
    Run,
    /// Handlers are not started, and their hooks have no opinion.
    Stay,
}

/// A policy, ready to judge events.
pub(crate) struct Bench {
    source: Source,
    /// Notices for the person.
    pub(crate) notices: Vec<String>,
    /// Warnings about hooks that should be in force and are not.
    pub(crate) warnings: Vec<String>,
    /// Why calls that may change something need approval, if the policy is not whole.
    missing: Option<String>,
    /// The hooks whose handlers are not started.
    pub(crate) staying: BTreeSet<Name>,
}

enum Source {
    Ours(Box<Policy>),
    Claude(Box<claude::Trial>),
}

/// The decision of a policy on an event.
pub(crate) struct Tried {
    /// The decision.
    pub(crate) judgement: Judgement,
    /// The record with every hook that matched, if the policy is a vertebra.toml.
    pub(crate) record: Option<Record>,
}

impl Bench {
    /// Opens the policy that the options select: a named file, or the policy in force.
    pub(crate) fn open(which: &Which, handlers: Handlers, world: &World) -> anyhow::Result<Self> {
        let folder = which.dir.canonicalize().with_context(|| which.dir.display().to_string())?;
        if !which.settings.is_empty() {
            return Self::of_claude(&which.settings, &folder, handlers, world);
        }
        if let Some(file) = &which.config {
            return Self::of_file(file, Level::User, Seals::default(), handlers, world);
        }
        let world = World { is_interactive: false, ..world.clone() };
        let settled = Settled::read(&folder, Trust::OnlyRemembered, Settings::default(), &world)?;
        let claude: BTreeSet<PathBuf> = assembly::claude_settings(&settled.brought, &world)
            .listed()
            .into_iter()
            .map(|listed| listed.origin.file)
            .collect();
        let beside = claude.iter().map(|file| {
            let file = shown(&file.to_string_lossy());
            format!("{file} has Claude Code hooks that also run in sessions: try them with --settings {file}")
        });
        let beside: Vec<String> = beside.collect();
        let missing = settled.missing().map(str::to_owned);
        let services = services(&folder, settled.brought.seals, &world);
        let bench =
            Self::ours(settled.settings, handlers, |settings| Policy::as_far_as_possible(settings, &services, None))?;
        let (notices, warnings) = ([settled.notices, bench.notices, beside].concat(), settled.warnings);
        Ok(Self { notices, warnings: [warnings, bench.warnings].concat(), missing: missing.or(bench.missing), ..bench })
    }

    /// Opens the policy of one `vertebra.toml`. Its scripts are relative to the folder it is in.
    fn of_file(file: &Path, level: Level, seals: Seals, handlers: Handlers, world: &World) -> anyhow::Result<Self> {
        if !file.is_file() {
            bail!("{}: no such file", file.display());
        }
        let sheet = settings::read(file, level)?;
        let services = services(&folder_of(file)?, seals, world);
        // A person who names a file wants all of it.
        Self::ours(sheet.settings, handlers, |settings| Ok((Policy::new(settings, &services)?, None)))
    }

    fn ours(
        mut settings: Settings,
        handlers: Handlers,
        made_of: impl FnOnce(&Settings) -> Result<(Policy, Option<PolicyError>), PolicyError>,
    ) -> anyhow::Result<Self> {
        let mut silenced = Vec::new();
        if handlers == Handlers::Stay {
            for hook in &mut settings.hooks {
                if matches!(hook.value.action, Action::Run(_)) {
                    Arc::make_mut(&mut hook.value).action = Action::Say(Arc::default());
                    silenced.push(hook.origin.clone());
                }
            }
        }
        let (policy, error) = made_of(&settings)?;
        let missing = error.map(|error| trust::unreadable(&error.to_string()));
        let staying = policy.in_force().filter(|hook| silenced.contains(&hook.origin));
        let staying = staying.map(|hook| hook.name.clone()).collect();
        let notices = policy.notices().to_vec();
        let warnings = missing.iter().cloned().collect();
        Ok(Self { source: Source::Ours(Box::new(policy)), notices, warnings, missing, staying })
    }

    fn of_claude(files: &[PathBuf], folder: &Path, handlers: Handlers, world: &World) -> anyhow::Result<Self> {
        if let Some(file) = files.iter().find(|file| !file.is_file()) {
            bail!("{}: no such file", file.display());
        }
        if handlers == Handlers::Stay {
            bail!("--dry-run cannot be used with --settings: hooks of Claude Code consist of handlers only");
        }
        let home = world.variables.get("HOME").map(PathBuf::from);
        let trial = claude::Trial::new(files, folder, home.as_deref(), std::env::vars_os().collect());
        let warnings = trial.warnings().to_vec();
        let source = Source::Claude(Box::new(trial));
        Ok(Self { source, notices: Vec::new(), warnings, missing: None, staying: BTreeSet::new() })
    }

    /// Opens the policy that a test file names. The person did not name it on the command line, so a policy that starts
    /// programs must be trusted.
    pub(crate) fn of_cases(policy: &Path, is_claude: bool, world: &World) -> anyhow::Result<Self> {
        let folder = folder_of(policy)?;
        let named = policy.canonicalize().with_context(|| policy.display().to_string())?;
        let project = Project::look(&folder)?;
        let known = |file: &trust::ProjectFile| project.root.join(&file.name) == named;
        let standing = world.store().map(|store| store.standing(&project)).transpose()?;
        let trusted = standing == Some(trust::Standing::Trusted) && project.files.iter().any(known);
        let runs = is_claude || {
            let sheet = settings::read(policy, Level::User)?;
            sheet.settings.hooks.iter().any(|hook| matches!(hook.value.action, Action::Run(_)))
        };
        if runs && !trusted {
            let option = if is_claude { "--settings" } else { "--config" };
            bail!(
                "{file} starts programs and is not trusted: review it with `vertebra trust`, or name it: `vertebra hooks \
                 test {option} {file}`",
                file = policy.display(),
            );
        }
        if is_claude {
            return Self::of_claude(&[policy.to_owned()], &folder, Handlers::Run, world);
        }
        Self::of_file(policy, Level::Project, Seals::new(&project, world.store().as_ref()), Handlers::Run, world)
    }

    /// Returns the policy, if it is a vertebra.toml.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        match &self.source {
            Source::Ours(policy) => Some(policy),
            Source::Claude(_) => None,
        }
    }

    /// Judges an event in our format or in another agent's.
    pub(crate) async fn try_event(&self, event: &Value) -> anyhow::Result<Tried> {
        match &self.source {
            Source::Ours(policy) => {
                let happened = happened(event, policy.points())?;
                let mut trial = policy.fire(&happened).await;
                trust::ask_person(self.missing.as_deref(), &happened, &mut trial.judgement);
                Ok(Tried { judgement: trial.judgement, record: Some(trial.record) })
            }
            Source::Claude(trial) => {
                if event.get("hook_event_name").is_none() {
                    bail!("--settings needs an event of Claude Code: write `\"hook_event_name\": \"PreToolUse\"`");
                }
                Ok(Tried { judgement: trial.fire(event).await, record: None })
            }
        }
    }

    /// Returns the hooks in force at the point of the record that did not match.
    pub(crate) fn others(&self, record: &Record) -> Vec<String> {
        let Some(policy) = self.policy() else { return Vec::new() };
        let at_point = policy.hooks().into_iter().filter(|hook| *hook.settings.stand.point.name == *record.point);
        let in_force = at_point.filter(|hook| hook.standing == Standing::InForce);
        let others = in_force.filter(|hook| {
            !record.hooks.iter().any(|trace| policy.hook(&trace.hook).is_some_and(|other| other.name == hook.name))
        });
        others.map(|hook| hook.name.to_string()).collect()
    }
}

/// Reads an event in our format, at one of these points, or in another agent's.
pub(crate) fn happened(event: &Value, points: &Points) -> anyhow::Result<Happened> {
    if event.get("point").is_some() {
        return Ok(Happened::among(points, event)?);
    }
    match host::read(event, None, None, &|name| std::env::var(name).ok()) {
        Ok(read) => Ok(read.happened),
        // These commands have no `--host` option, which the text of this error suggests.
        Err(HostError::NoHost) => bail!(
            "unknown event format: write `\"point\": \"BeforeToolUse\"`, or pass an event of an agent listed by \
             `vertebra hosts`"
        ),
        Err(error) => Err(error).context("the event cannot be read"),
    }
}

/// Reads an event from a file; `-` reads standard input.
pub(crate) fn event_file(path: &Path) -> anyhow::Result<Value> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(MAX_EVENT + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_EVENT + 1).read_to_string(&mut text))
    };
    read.with_context(|| path.display().to_string())?;
    if text.len() as u64 > MAX_EVENT {
        bail!("{}: an event can have at most {MAX_EVENT} bytes", path.display());
    }
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// Returns the services that handlers use outside an agent.
pub(super) fn services(folder: &Path, seals: Seals, world: &World) -> Services {
    Services { folder: folder.to_owned(), variables: world.variables.clone(), seals, ..Services::default() }
}

/// Returns the folder that contains a file.
fn folder_of(file: &Path) -> anyhow::Result<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    folder.canonicalize().with_context(|| file.display().to_string())
}
