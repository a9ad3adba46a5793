//! What was trusted, on disk: for nobody else to read, replaced in one stroke.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Project, Standing};
use crate::{
    kept::{keep, open},
    settings::{FILE_NAME, LOCAL_NAME},
};

/// What the file is called.
const FILE: &str = "trust.json";

/// How large it may be.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Why trust cannot be looked up or kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not what this program writes.
    #[error("{}: {message}; without this file nothing is trusted, and you are asked again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The folder has a name that is not text.
    #[error("{}: its name is not text, so it cannot be written down", .0.display())]
    Name(PathBuf),
}

/// Whether a file of this name has settings of ours.
fn is_settings(path: &Path) -> bool {
    [FILE_NAME, LOCAL_NAME].into_iter().any(|name| path.file_name().is_some_and(|of| of == name))
}

/// Of files of the same name that are above each other, the one farthest down.
fn nearest<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let deepest = |file: &str| {
        let of_name = names.iter().filter(|name| Path::new(name).file_name().is_some_and(|of| of == file));
        of_name.max_by_key(|name| name.len()).copied()
    };
    [FILE_NAME, LOCAL_NAME].into_iter().filter_map(deepest).collect()
}

/// Which folders are trusted, and for which files.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    /// Files and their fingerprints, by folder.
    folders: BTreeMap<String, BTreeMap<String, String>>,
}

impl Default for Content {
    fn default() -> Self {
        Self { version: 1, folders: BTreeMap::new() }
    }
}

impl Content {
    /// What is known of a folder.
    fn of(&self, root: &Path) -> Option<&BTreeMap<String, String>> {
        self.folders.get(root.to_str()?)
    }

    fn standing(&self, project: &Project) -> Standing {
        let Some(known) = self.of(&project.root) else {
            return if project.files.is_empty() { Standing::Empty } else { Standing::Unknown };
        };
        let gone = known.keys().filter(|name| project.misses(name)).cloned();
        let files = project.files.iter();
        let other =
            files.filter(|file| known.get(&file.name).is_none_or(|print| Some(print) != file.fingerprint.as_ref()));
        let other: Vec<String> = other.map(|file| file.name.clone()).chain(gone).collect();
        match (project.files.is_empty(), other.is_empty()) {
            (true, true) => Standing::Empty,
            (false, true) => Standing::Trusted,
            (_, false) => Standing::Changed(other),
        }
    }
}

impl Store {
    /// What is remembered in this folder. Nothing is read or made yet.
    pub fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How a project stands. One that brings nothing, and from which nothing was taken that judged, needs no trust.
    pub fn standing(&self, project: &Project) -> Result<Standing, TrustError> {
        Ok(self.content()?.standing(project))
    }

    /// The project whose policy holds in a folder, and how it stands.
    ///
    /// What a person trusted holds until they trust something nearer: neither a file nor a repository that appears inside or
    /// around of it takes it away, because an agent may have made it.
    pub fn policy(&self, folder: &Path) -> Result<(Project, Standing), TrustError> {
        let content = self.content()?;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        for root in folder.ancestors() {
            let Some(known) = content.of(root) else { continue };
            let is_above = |name: &&String| {
                let path = root.join(name);
                is_settings(&path) && path.parent().is_some_and(|above| folder.starts_with(above))
            };
            let named: Vec<&str> = known.keys().filter(is_above).map(String::as_str).collect();
            let named = nearest(&named);
            // Its programs start where it stands.
            if let Some(place) = named.first().and_then(|name| Some(root.join(name).parent()?.to_owned())) {
                let project = Project::look_at(root, &place, &named);
                let unlike = project.unlike(known, &named);
                let standing = if unlike.is_empty() { Standing::Trusted } else { Standing::Changed(unlike) };
                return Ok((project, standing));
            }
        }
        let project = Project::look_at_policy(&folder);
        let standing = content.standing(&project);
        Ok((project, standing))
    }

    /// Trusts a project as it was looked at: whatever it says by now, this is what a person has seen. What is gone is
    /// forgotten.
    pub fn trust(&self, project: &Project) -> Result<(), TrustError> {
        let root = project.root.to_str().ok_or_else(|| TrustError::Name(project.root.clone()))?;
        let mut content = self.content()?;
        let known = content.folders.entry(root.to_owned()).or_default();
        known.retain(|name, _| !project.misses(name));
        known.extend(project.files.iter().filter_map(|file| Some((file.name.clone(), file.fingerprint.clone()?))));
        self.replace(&content)
    }

    /// Trusts a project no longer; says whether it did.
    pub fn forget(&self, root: &Path) -> Result<bool, TrustError> {
        let mut content = self.content()?;
        let known = root.to_str().and_then(|root| content.folders.remove(root)).is_some();
        if known {
            self.replace(&content)?;
        }
        Ok(known)
    }

    /// The folders that are trusted, and how many files of each are known.
    pub fn folders(&self) -> Result<Vec<(PathBuf, usize)>, TrustError> {
        let content = self.content()?;
        Ok(content.folders.into_iter().map(|(root, files)| (PathBuf::from(root), files.len())).collect())
    }

    fn content(&self) -> Result<Content, TrustError> {
        let Some(file) = open(&self.path).map_err(|error| self.io(error))? else { return Ok(Content::default()) };
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| self.io(error))?;
        let wrong = |message: String| TrustError::Content { path: self.path.clone(), message };
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(format!("it is larger than {MAX_BYTES} bytes")));
        }
        let content: Content = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if content.version != 1 {
            return Err(wrong(format!("version {} is not known", content.version)));
        }
        Ok(content)
    }

    fn replace(&self, content: &Content) -> Result<(), TrustError> {
        keep(&self.path, content).map_err(|error| self.io(error))
    }

    fn io(&self, source: io::Error) -> TrustError {
        TrustError::Io { path: self.path.clone(), source }
    }
}
