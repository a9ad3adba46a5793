//! The files that a policy is read from, and whether one of them changed.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{
    settings::{FILE_NAME, LOCAL_NAME, project_file},
    trust::{CLAUDE, Own, Project, Standing, Store},
};

/// Where the settings of all levels stand, and where trust is remembered.
#[derive(Debug, Clone)]
pub struct Files {
    /// The managed file.
    pub managed: PathBuf,
    /// The user's.
    pub user: Option<PathBuf>,
    /// The folder whose project counts, as far as it is trusted.
    pub folder: PathBuf,
    /// What was trusted. Without it a change of the project's files never counts.
    pub store: Option<Store>,
}

/// How long a file that has become empty may be one that somebody is about to write.
const EMPTY_FOR: Duration = Duration::from_secs(1);

/// A file, and what tells one state of it from another without reading it; none if it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    path: PathBuf,
    state: Option<State>,
    /// Whether only this program writes it, and replaces it in one stroke.
    is_record: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    file: (u64, u64),
    bytes: u64,
    written: Option<SystemTime>,
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(path: PathBuf) -> Self {
        let state = fs::metadata(&path).ok().map(|file| State {
            file: (file.dev(), file.ino()),
            bytes: file.size(),
            written: file.modified().ok(),
            changed: (file.ctime(), file.ctime_nsec()),
        });
        Self { path, state, is_record: false }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has just become empty: whoever writes a file in place empties it first.
    pub(crate) fn is_being_written(&self) -> bool {
        self.state.as_ref().filter(|_| !self.is_record).is_some_and(|state| {
            let age = state.written.and_then(|written| SystemTime::now().duration_since(written).ok());
            state.bytes == 0 && age.is_none_or(|age| age < EMPTY_FOR)
        })
    }
}

impl Files {
    /// What all files look like from outside.
    pub(super) fn stamps(&self) -> Vec<Stamp> {
        let project = [FILE_NAME, LOCAL_NAME].iter().filter_map(|name| project_file(&self.folder, name));
        let claude = CLAUDE.iter().filter_map(|name| project_file(&self.folder, name));
        let store = self.store.iter().flat_map(Store::files);
        let own = std::iter::once(self.managed.clone()).chain(self.user.clone());
        let records = store.map(|path| Stamp { is_record: true, ..Stamp::of(path) });
        own.chain(project).chain(claude).map(Stamp::of).chain(records).collect()
    }

    /// The managed level and the user's.
    pub(super) fn own(&self) -> Own {
        Own::read(&self.managed, self.user.as_deref(), self.store.as_ref())
    }

    /// The standing of a policy together with Claude Code's settings of the project, which are part of it in our own agent.
    fn with_claude(&self, standing: Standing) -> Standing {
        let whole = Project::look(&self.folder).ok();
        let whole = whole.as_ref().zip(self.store.as_ref()).and_then(|(whole, store)| store.standing(whole).ok());
        match (standing, whole) {
            (standing @ Standing::Changed(_), _) => standing,
            (_, Some(Standing::Changed(files)))
                if files.iter().any(|file| CLAUDE.iter().any(|name| file.ends_with(name))) =>
            {
                Standing::Changed(files)
            }
            (standing, _) => standing,
        }
    }

    /// The policy of the project, and whether it is trusted.
    pub(super) fn policy(&self) -> (Project, Result<Standing, String>) {
        let looked = self.store.as_ref().map(|store| store.policy(&self.folder));
        match looked {
            None => (Project::look_at_policy(&self.folder), Ok(Standing::Unknown)),
            Some(Ok((project, standing))) => {
                let standing = self.with_claude(standing);
                (project, Ok(standing))
            }
            Some(Err(error)) => (Project::look_at_policy(&self.folder), Err(error.to_string())),
        }
    }
}
