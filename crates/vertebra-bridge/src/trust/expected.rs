//! Remembers in the user's configuration folder which folders have a trusted policy.
//!
//! The record of trust is in the state folder. If it is deleted, or if a project is moved away from its path, nothing there
//! says that a policy is lost. This second record does.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{TrustError, record::Record};

/// The name of the file.
const FILE: &str = "expected.json";

/// Where it is remembered which policies are expected.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    path: PathBuf,
}

/// What is remembered of a folder.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    device: u64,
    inode: u64,
    /// The settings files that were trusted, below the folder.
    pub(super) settings: Vec<String>,
}

/// All folders with a policy.
pub(super) type Places = BTreeMap<String, Place>;

impl Expected {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self) -> Result<Record<Place>, TrustError> {
        Record::read(&self.path)
    }

    /// Changes the record. One that somebody damaged is replaced.
    pub(super) fn change(&self, change: impl FnOnce(&mut Record<Place>)) -> Result<(), TrustError> {
        let mut record = Record::read_or_new(&self.path)?;
        change(&mut record);
        record.keep(&self.path)
    }

    /// Remembers a folder with these settings, or forgets it if there are none.
    pub(super) fn note(&self, root: &Path, settings: Vec<String>) -> Result<(), TrustError> {
        let Some(name) = root.to_str() else { return Ok(()) };
        let is_settled = settings.is_empty() && self.read().is_ok_and(|record| !record.folders.contains_key(name));
        if is_settled {
            return Ok(());
        }
        let about = fs::metadata(root);
        self.change(|record| {
            drop(record.folders.remove(name));
            if let Some(about) = about.ok().filter(|_| !settings.is_empty()) {
                let place = Place { device: about.dev(), inode: about.ino(), settings };
                record.folders.insert(name.to_owned(), place);
            }
        })
    }
}

/// Returns the recorded folder whose policy should apply to this folder, but which is no longer where it was: it was moved,
/// or its path leads elsewhere now. Returns how as well.
pub(super) fn lost(places: &Places, folder: &Path) -> Option<(PathBuf, String)> {
    for (root, place) in places {
        let root = Path::new(root);
        let real = root.canonicalize();
        // `mv project elsewhere; ln -s other project`
        if let Ok(real) = &real
            && real != root
            && folder.starts_with(real)
        {
            return Some((root.to_owned(), format!("{} leads to another folder now", root.display())));
        }
        // `mv project elsewhere; cd elsewhere`
        let is_it = |above: &&Path| {
            fs::metadata(above).is_ok_and(|about| about.dev() == place.device && about.ino() == place.inode)
        };
        let is_in_place = real.is_ok_and(|real| is_it(&real.as_path()));
        if let Some(moved) = folder.ancestors().find(is_it).filter(|above| *above != root && !is_in_place) {
            return Some((root.to_owned(), format!("{} was moved to {}", root.display(), moved.display())));
        }
    }
    None
}
