//! Keeps the content that files had before the installation.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Edit, InstallError};
use crate::kept::keep;

/// The kept contents, one record for each changed file.
pub(super) struct Ledger {
    folder: Option<PathBuf>,
}

/// The record of one changed file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    path: PathBuf,
    /// Its content before the installation; `None` if it did not exist.
    pub(super) before: Option<String>,
    /// The hash of the content that we wrote.
    left: String,
    /// The folders that we created.
    made: Vec<PathBuf>,
}

impl Known {
    /// Returns whether this is the content that we wrote.
    pub(super) fn left(&self, now: &str) -> bool {
        self.left == fingerprint(now)
    }
}

impl Ledger {
    pub(super) fn new(state: Option<&Path>) -> Self {
        Self { folder: state.map(|state| state.join("installed")) }
    }

    fn file(&self, path: &Path) -> Option<PathBuf> {
        let name = fingerprint(&path.to_string_lossy());
        Some(self.folder.as_ref()?.join(format!("{}.json", name.get(..16)?)))
    }

    pub(super) fn known(&self, path: &Path) -> Option<Known> {
        let text = fs::read_to_string(self.file(path)?).ok()?;
        serde_json::from_str(&text).ok().filter(|known: &Known| known.path == path)
    }

    /// Keeps the content of a file before it is changed.
    pub(super) fn keep(&self, edit: &Edit) -> Result<(), InstallError> {
        let (Some(after), Some(file)) = (&edit.after, self.file(&edit.path)) else { return Ok(()) };
        let known = self.known(&edit.path);
        let folders = edit.path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned);
        let known = match known {
            // The file still has the content that we wrote, so the older record stays valid.
            Some(known) if edit.before.as_ref().is_some_and(|now| known.left(now)) => {
                Known { left: fingerprint(after), ..known }
            }
            _ => Known {
                path: edit.path.clone(),
                before: edit.own.clone(),
                left: fingerprint(after),
                made: folders.collect(),
            },
        };
        keep(&file, &known).map_err(|source| InstallError::Io { path: file, source })
    }

    /// Forgets a file, and removes the folders that were created for a file that is deleted now.
    pub(super) fn forget(&self, edit: &Edit) {
        let Some(known) = self.known(&edit.path) else { return };
        if edit.after.is_none() {
            // This removes only empty folders.
            known.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
        }
        self.file(&edit.path).iter().for_each(|file| drop(fs::remove_file(file)));
    }
}

fn fingerprint(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
