//! What files said before we came.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Edit, InstallError};
use crate::kept::keep;

/// What is kept, one file for each file.
pub(super) struct Ledger {
    folder: Option<PathBuf>,
}

/// What is kept of one file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    path: PathBuf,
    /// What it said before we came; none if it was not there.
    pub(super) before: Option<String>,
    /// The fingerprint of what we left.
    left: String,
    /// Folders that were not there.
    made: Vec<PathBuf>,
}

impl Known {
    /// Whether this is what we left.
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

    /// Keeps what a file says before it is changed.
    pub(super) fn keep(&self, edit: &Edit) -> Result<(), InstallError> {
        let (Some(after), Some(file)) = (&edit.after, self.file(&edit.path)) else { return Ok(()) };
        let known = self.known(&edit.path);
        let folders = edit.path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned);
        let known = match known {
            // What we left is still there: what was before it is what there was.
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

    /// Forgets a file, and takes away the folders that were made for one that is gone.
    pub(super) fn forget(&self, edit: &Edit) {
        let Some(known) = self.known(&edit.path) else { return };
        if edit.after.is_none() {
            // Only empty ones go.
            known.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
        }
        self.file(&edit.path).iter().for_each(|file| drop(fs::remove_file(file)));
    }
}

fn fingerprint(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
