//! The files that a policy is read from, and whether one of them changed.

use std::{fs, os::unix::fs::MetadataExt as _, path::PathBuf};

use crate::{
    settings::{FILE_NAME, LOCAL_NAME, Level, Settings, SettingsError, project_file, read},
    trust::{Project, Standing, Store},
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

/// What tells one state of a file from another without reading it; none if there is no file.
pub(super) type Stamp = (PathBuf, Option<(u64, u64, u64, i64, i64, i64, i64)>);

impl Files {
    /// What all files look like from outside.
    pub(super) fn stamps(&self) -> Vec<Stamp> {
        let project = [FILE_NAME, LOCAL_NAME].iter().filter_map(|name| project_file(&self.folder, name));
        let store = self.store.as_ref().map(|store| store.path().to_owned());
        let paths = std::iter::once(self.managed.clone()).chain(self.user.clone()).chain(store).chain(project);
        paths.map(|path| (path.clone(), stamp(&path))).collect()
    }

    /// The managed level and the user's.
    pub(super) fn own(&self) -> Result<(Settings, Settings), SettingsError> {
        let user = self.user.as_ref().map(|path| read(path, Level::User)).transpose()?;
        Ok((read(&self.managed, Level::Managed)?.settings, user.unwrap_or_default().settings))
    }

    /// What the project brings, and whether a person has seen all of it.
    pub(super) fn project(&self) -> Result<(Project, bool), String> {
        let project = Project::look(&self.folder).map_err(|error| error.to_string())?;
        let standing = self.store.as_ref().map(|store| store.standing(&project)).transpose();
        // What cannot be looked up was not trusted.
        let trusted = matches!(standing, Ok(Some(Standing::Trusted)));
        Ok((project, trusted))
    }
}

fn stamp(path: &std::path::Path) -> Option<(u64, u64, u64, i64, i64, i64, i64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()))
}
