//! Settings that are looked at again whenever a step begins.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::{
    claude::settings::{Places, Settings},
    policy::Stamp,
    settings::project_file,
    trust::{CLAUDE, Kind, Project, Seals, Standing, Store},
};

/// Where Claude Code's settings are looked for again while sessions run.
///
/// A file that cannot be used changes nothing, and that is told. What a project's file says anew counts once it is trusted;
/// until then it counts as it was, also if it is gone: whoever can write to a project's folder, such as an agent at work in
/// it, takes no rule away. Skills and agents are not looked at again.
pub struct Follow {
    places: Places,
    folder: PathBuf,
    store: Option<Store>,
    now: Mutex<Now>,
}

struct Now {
    /// What the files looked like, the last time.
    stamps: Vec<Stamp>,
    /// What the project's files say, as far as they are in force.
    project: Vec<(PathBuf, String)>,
}

/// What a look found.
#[derive(Default)]
pub(super) struct Change {
    /// What is in force from now on, if it is something else; and the scripts of the project, if it is trusted.
    pub(super) settings: Option<(Settings, Option<Seals>)>,
    /// The files that changed, and in Claude Code's words what each of them is.
    pub(super) files: Vec<(PathBuf, &'static str)>,
    /// What a person should know.
    pub(super) told: Vec<String>,
}

impl Follow {
    /// Follows the managed settings and the person's in these places, and those of the folder's project as far as it is
    /// trusted; `project` is what of them is in force.
    pub fn new(places: Places, folder: PathBuf, store: Option<Store>, project: Vec<(PathBuf, String)>) -> Self {
        let places = Places { project: None, ..places };
        let follow = Self { places, folder, store, now: Mutex::new(Now { stamps: Vec::new(), project }) };
        follow.lock().stamps = follow.stamps();
        follow
    }

    /// Looks at the files now. Waits for the disk.
    pub(super) fn look(&self, old: &Settings) -> Change {
        let mut now = self.lock();
        let stamps = self.stamps();
        if stamps == now.stamps || stamps.iter().any(Stamp::is_being_written) {
            return Change::default();
        }
        let changed = stamps.iter().filter(|stamp| !now.stamps.contains(stamp));
        let gone = now.stamps.iter().filter(|old| stamps.iter().all(|stamp| stamp.path() != old.path()));
        let files: Vec<_> = changed.chain(gone).filter_map(|stamp| self.named(stamp.path())).collect();
        let (project, seals, mut told) = self.project(&now.project);
        let mut settings = Settings::read(&self.places);
        for (path, text) in &project {
            settings.add_project_text(text, path);
        }
        settings.keep_brought(old);
        // Whoever was still writing is waited for until the next look.
        if self.stamps() != stamps {
            return Change::default();
        }
        now.stamps = stamps;
        if let Some(broken) = settings.broken() {
            told.push(format!("the hooks of Claude Code stay as they were: {broken}"));
            return Change { settings: None, files: Vec::new(), told };
        }
        let is_new = |warning: &&String| !old.warnings.contains(warning);
        told.extend(settings.warnings.iter().filter(is_new).cloned());
        now.project = project;
        Change { settings: Some((settings, seals)), files, told }
    }

    /// What the project says that counts.
    fn project(&self, now: &[(PathBuf, String)]) -> (Vec<(PathBuf, String)>, Option<Seals>, Vec<String>) {
        let as_it_was = |told: Vec<String>| (now.to_vec(), None, told);
        let project = match Project::look(&self.folder) {
            Ok(project) => project,
            Err(error) => return as_it_was(vec![error.to_string()]),
        };
        let files = project.of(Kind::Claude).map(|file| (project.root.join(&file.name), file.text.clone()));
        let files: Vec<(PathBuf, String)> = files.collect();
        let standing = self.store.as_ref().map(|store| store.standing(&project));
        let is_lost = now.iter().any(|(path, _)| files.iter().all(|(found, _)| found != path));
        // What cannot be looked up was not trusted, and nobody has trusted that there is nothing.
        if matches!(standing, Some(Ok(Standing::Trusted))) && !is_lost {
            let seals = Seals::new(&project, self.store.as_ref());
            return (files, Some(seals), Vec::new());
        }
        as_it_was(if files == now { Vec::new() } else { vec![UNTRUSTED.to_owned()] })
    }

    fn stamps(&self) -> Vec<Stamp> {
        let home = self.places.home.iter().map(|home| home.join(".claude/settings.json"));
        let project = CLAUDE.iter().filter_map(|name| project_file(&self.folder, name));
        let store = self.store.as_ref().map(|store| store.path().to_owned());
        self.places.managed_files().into_iter().chain(home).chain(project).chain(store).map(Stamp::of).collect()
    }

    /// A settings file, and what Claude Code calls it.
    fn named(&self, path: &Path) -> Option<(PathBuf, &'static str)> {
        let source = match path {
            path if self.store.as_ref().is_some_and(|store| store.path() == path) => return None,
            path if path.starts_with(&self.places.managed) => POLICY,
            path if self.places.home.as_ref().is_some_and(|home| path == home.join(".claude/settings.json")) => {
                "user_settings"
            }
            path if path.ends_with("settings.local.json") => "local_settings",
            _ => "project_settings",
        };
        Some((path.to_owned(), source))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What managed settings are called. Nobody objects to them.
pub(super) const POLICY: &str = "policy_settings";

/// What is said of a change that nobody has seen.
const UNTRUSTED: &str = "the project's settings of Claude Code changed, and nobody has trusted what they say now: what they \
                         said holds. See and trust: vertebra trust";
