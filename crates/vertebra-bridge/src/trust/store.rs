//! Stores which folders are trusted, in a file that only its owner can read and that is replaced atomically.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{
    CLAUDE, Kind, Project, Seals, Standing,
    expected::{self, Expected},
    folder,
    project::fingerprint,
    record::Record,
};
use crate::{
    kept::{keep, open},
    settings::{FILE_NAME, LOCAL_NAME, Level, Settings, salvage},
};

/// The name of the file.
const FILE: &str = "trust.json";

/// How large a trusted text may be.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The reason why trust cannot be read or recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file has unexpected content.
    #[error("{}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The path of the folder is not valid UTF-8.
    #[error("{}: the path is not valid UTF-8, so it cannot be recorded", .0.display())]
    Name(PathBuf),
}

/// Returns whether a file with this name contains our settings.
fn is_settings(path: &Path) -> bool {
    [FILE_NAME, LOCAL_NAME].into_iter().any(|name| path.file_name().is_some_and(|of| of == name))
}

/// Returns the deepest file of each name.
fn nearest<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let deepest = |file: &str| {
        let of_name = names.iter().filter(|name| Path::new(name).file_name().is_some_and(|of| of == file));
        of_name.max_by_key(|name| name.len()).copied()
    };
    [FILE_NAME, LOCAL_NAME].into_iter().filter_map(deepest).collect()
}

/// Returns the names without those of folders in which another name lies: the file says more.
fn without_folders(names: &[String]) -> Vec<String> {
    let has_inner = |folder: &str| names.iter().any(|name| name != folder && name.starts_with(folder));
    names.iter().filter(|name| !name.ends_with('/') || !has_inner(name)).cloned().collect()
}

/// Which folders are trusted, and for which files.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
    expected: Option<Expected>,
    /// Records of the same person in other places. They are only read.
    elsewhere: Vec<Expected>,
}

/// The files of each folder, and their fingerprints.
type Content = Record<BTreeMap<String, String>>;

impl Content {
    /// Returns the recorded files of a folder.
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
        let other = without_folders(&other);
        match (project.files.is_empty(), other.is_empty()) {
            (true, true) => Standing::Empty,
            (false, true) => Standing::Trusted,
            (_, false) => Standing::Changed(other),
        }
    }
}

/// Returns the standing of every folder while a record is damaged: what it said is not known any more.
fn damaged(error: TrustError) -> Result<Standing, TrustError> {
    match error {
        TrustError::Content { .. } => Ok(Standing::Changed(vec![error.to_string()])),
        TrustError::Io { .. } | TrustError::Name(_) => Err(error),
    }
}

impl Store {
    /// Creates a store in this state folder. Nothing is read or written yet.
    pub fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE), expected: None, elsewhere: Vec::new() }
    }

    /// Also remembers in this folder which policies are expected, so that losing the record of trust is noticed.
    #[must_use]
    pub fn expecting(mut self, folder: &Path) -> Self {
        self.expected = Some(Expected::in_folder(folder));
        self
    }

    /// Also reads the record of expected policies in these folders, where the person's settings usually are. A variable that
    /// leads to other records must not make a policy disappear.
    #[must_use]
    pub fn unless_expected_in(mut self, folders: &[PathBuf]) -> Self {
        self.elsewhere = folders.iter().map(|folder| Expected::in_folder(folder)).collect();
        self
    }

    /// Notes in the records that the policy is installed into another agent. From then on,
    /// [`is_installed`](Self::is_installed) tells whether somebody deleted or replaced them.
    pub fn install(&self) -> Result<(), TrustError> {
        let mut content = Content::read_or_new(&self.path)?;
        content.installed = true;
        content.keep(&self.path)?;
        match &self.expected {
            Some(expected) => expected.change(|record| record.installed = true),
            None => Ok(()),
        }
    }

    /// Returns whether the records say that the policy is installed into another agent.
    pub fn is_installed(&self) -> bool {
        let expected = self.expected.as_ref().and_then(|expected| expected.read().ok());
        self.content().is_ok_and(|content| content.installed) || expected.is_some_and(|record| record.installed)
    }

    /// Returns the text of the user's own settings as they last set something, as far as it is known.
    pub(super) fn own_settings(&self) -> Option<String> {
        let expected = self.expected.as_ref().and_then(|expected| expected.read().ok()?.own);
        let print = self.content().ok().and_then(|content| content.own).or(expected)?;
        Some(self.text(Kind::Settings, &print).unwrap_or_default())
    }

    /// Remembers the text of the user's own settings. Where nothing can be written, their loss is not noticed.
    pub(super) fn remember_own_settings(&self, text: &str) {
        let print = fingerprint(Kind::Settings, text);
        // A damaged record stays so until a person has seen it.
        let content = self.content().ok().filter(|content| content.own.as_ref() != Some(&print));
        let expected = self.expected.as_ref().and_then(|expected| Some((expected, expected.read().ok()?)));
        let expected = expected.filter(|(_, record)| record.own.as_ref() != Some(&print));
        if content.is_none() && expected.is_none() {
            return;
        }
        let mut kept = keep(&self.copies().join(format!("{print}.json")), &text).is_ok();
        if let Some(mut content) = content.filter(|_| kept) {
            content.own = Some(print.clone());
            kept = content.keep(&self.path).is_ok();
        }
        if let Some((expected, mut record)) = expected.filter(|_| kept) {
            record.own = Some(print);
            let _ = record.keep(expected.path());
        }
    }

    /// Forgets the user's own settings, because a person has seen that they are gone. Returns whether they were known.
    pub fn forget_own_settings(&self) -> Result<bool, TrustError> {
        let mut content = Content::read_or_new(&self.path)?;
        let mut was_known = content.own.take().is_some();
        if was_known {
            content.keep(&self.path)?;
        }
        let is_noted = |expected: &&Expected| expected.read().is_ok_and(|record| record.own.is_some());
        if let Some(expected) = self.expected.as_ref().filter(is_noted) {
            was_known = true;
            expected.change(|record| record.own = None)?;
        }
        Ok(was_known)
    }

    /// Returns the files that trust depends on.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        let expected = self.expected.as_ref().map(|expected| expected.path().to_owned());
        std::iter::once(self.path.clone()).chain(expected)
    }

    /// The folder of the private copies that trusted scripts run from. Only this program writes to it.
    pub fn copies(&self) -> PathBuf {
        self.path.with_file_name("trusted")
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a project is trusted. A project without configuration, and without deleted settings, needs no trust.
    pub fn standing(&self, project: &Project) -> Result<Standing, TrustError> {
        let standing = match self.content() {
            Ok(content) => content.standing(project),
            Err(error) => return damaged(error),
        };
        match standing {
            Standing::Empty | Standing::Unknown => Ok(self.lost(&project.folder)?.unwrap_or(standing)),
            Standing::Trusted | Standing::Changed(_) => Ok(standing),
        }
    }

    /// Returns the standing of a folder whose policy is expected but not recorded any more.
    fn lost(&self, folder: &Path) -> Result<Option<Standing>, TrustError> {
        for (expected, is_own) in
            self.expected.iter().map(|own| (own, true)).chain(self.elsewhere.iter().map(|other| (other, false)))
        {
            let places = match expected.read() {
                Ok(record) => record.folders,
                // Others may have a home folder that this process cannot read.
                Err(TrustError::Io { .. }) if !is_own => continue,
                Err(error) => return damaged(error).map(Some),
            };
            let Some(mut how) = self.lost_of(&places, folder) else { continue };
            if !is_own {
                how = format!(
                    "{how}: {} expects it, and HOME or XDG_CONFIG_HOME leads elsewhere",
                    expected.path().display()
                );
            }
            return Ok(Some(Standing::Changed(vec![how])));
        }
        Ok(None)
    }

    /// Returns how the policy of a folder was lost that is expected to be one of these.
    fn lost_of(&self, places: &expected::Places, folder: &Path) -> Option<String> {
        let lost = expected::lost(places, folder).map(|(_, how)| how);
        let unrecorded = || {
            let holds = |(root, place): &(&String, &expected::Place)| {
                let above = |name: &String| {
                    let path = Path::new(root).join(name.trim_start_matches(".claude/"));
                    path.parent().is_some_and(|above| folder.starts_with(above))
                };
                place.settings.iter().any(above)
            };
            let (root, _) = places.iter().find(holds)?;
            let is_recorded = self.content().is_ok_and(|content| content.of(Path::new(root)).is_some());
            (!is_recorded).then(|| format!("the record of trust in {root} is gone"))
        };
        lost.or_else(unrecorded)
    }

    /// Returns the project whose policy applies to a folder, and whether it is trusted.
    ///
    /// A trusted policy applies until the person trusts a nearer one. A new file or repository inside or around the project
    /// does not replace it, because an agent may have created it.
    pub fn policy(&self, folder: &Path) -> Result<(Project, Standing), TrustError> {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let content = match self.content() {
            Ok(content) => content,
            Err(error) => return Ok((Project::look_at_policy(&folder), damaged(error)?)),
        };
        for root in folder.ancestors() {
            let Some(known) = content.of(root) else { continue };
            let is_above = |name: &&String| {
                let path = root.join(name);
                is_settings(&path) && path.parent().is_some_and(|above| folder.starts_with(above))
            };
            let named: Vec<&str> = known.keys().filter(is_above).map(String::as_str).collect();
            let named = nearest(&named);
            // The programs of a policy start in the folder of its file.
            if let Some(place) = named.first().and_then(|name| Some(root.join(name).parent()?.to_owned())) {
                let project = Project::look_at(root, &place, &named);
                let unlike = without_folders(&project.unlike(known, &named));
                let standing = if unlike.is_empty() { Standing::Trusted } else { Standing::Changed(unlike) };
                return Ok((project, standing));
            }
        }
        let project = Project::look_at_policy(&folder);
        let standing = match content.standing(&project) {
            standing @ (Standing::Empty | Standing::Unknown) => self.lost(&folder)?.unwrap_or(standing),
            standing @ (Standing::Trusted | Standing::Changed(_)) => standing,
        };
        Ok((project, standing))
    }

    /// Trusts a project with the content that was read, which is what the person has seen. Deleted files are forgotten.
    pub fn trust(&self, project: &Project) -> Result<(), TrustError> {
        let root = project.root.to_str().ok_or_else(|| TrustError::Name(project.root.clone()))?;
        let mut content = Content::read_or_new(&self.path)?;
        let known = content.folders.entry(root.to_owned()).or_default();
        known.retain(|name, _| !project.misses(name));
        known.extend(project.files.iter().filter_map(|file| Some((file.name.clone(), file.fingerprint.clone()?))));
        let is_policy = |name: &&String| {
            let path = Path::new(name);
            is_settings(path) || CLAUDE.iter().any(|of| path.ends_with(of))
        };
        let settings = known.keys().filter(is_policy).cloned().collect();
        // A person who trusts a folder that was moved, or that a link leads to now, has seen what became of the old one.
        let expected = self.expected.as_ref().and_then(|expected| expected.read().ok()).unwrap_or_default();
        if let Some((root, _)) = expected::lost(&expected.folders, &project.folder) {
            self.note(&root, Vec::new())?;
        }
        self.note(&project.root, settings)?;
        content.keep(&self.path)?;
        // Without the text that was trusted, less stays in force after a change.
        for file in project.of(Kind::Settings).chain(project.of(Kind::Claude)) {
            if let Some(print) = &file.fingerprint {
                let _ = keep(&self.copies().join(format!("{print}.json")), &file.text);
            }
        }
        self.prune(&content);
        Ok(())
    }

    fn note(&self, root: &Path, settings: Vec<String>) -> Result<(), TrustError> {
        self.expected.as_ref().map_or(Ok(()), |expected| expected.note(root, settings))
    }

    /// Deletes copies that no trusted folder needs any more.
    fn prune(&self, content: &Content) {
        let expected = self.expected.as_ref().and_then(|expected| expected.read().ok()).unwrap_or_default();
        let own = content.own.iter().chain(&expected.own);
        let needed: BTreeSet<&String> = content.folders.values().flat_map(BTreeMap::values).chain(own).collect();
        folder::prune(&self.copies(), |name| {
            needed.iter().any(|print| name.strip_suffix(".json").unwrap_or(name) == print.as_str())
        });
    }

    /// Returns the settings of a project as they were trusted.
    pub(super) fn trusted_settings(&self, project: &Project) -> Vec<Settings> {
        let texts = self.trusted_texts(project, Kind::Settings);
        let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
        let names = nearest(&names);
        let read = |(name, text): &(String, String)| {
            let level = if name.ends_with(LOCAL_NAME) { Level::Local } else { Level::Project };
            salvage(text, level, &project.root.join(name).display().to_string()).settings
        };
        texts.iter().filter(|(name, _)| names.contains(&name.as_str())).map(read).collect()
    }

    /// Returns the texts of a project's files of this kind as they were trusted, with their names.
    pub(super) fn trusted_texts(&self, project: &Project, kind: Kind) -> Vec<(String, String)> {
        let content = self.content().unwrap_or_default();
        let applies = |name: &str| {
            let path = project.root.join(name);
            let folder = match kind {
                Kind::Claude => path.parent().and_then(Path::parent),
                _ => path.parent(),
            };
            folder.is_some_and(|above| project.folder.starts_with(above))
        };
        let is_of_kind = |name: &str| match kind {
            Kind::Claude => CLAUDE.iter().any(|of| Path::new(name).ends_with(of)),
            _ => is_settings(Path::new(name)),
        };
        let known = content.of(&project.root).into_iter().flatten();
        let known = known.filter(|(name, _)| is_of_kind(name) && applies(name));
        known.filter_map(|(name, print)| Some((name.clone(), self.text(kind, print)?))).collect()
    }

    /// Returns the text with this fingerprint, if it is kept.
    fn text(&self, kind: Kind, print: &str) -> Option<String> {
        let file = open(&self.copies().join(format!("{print}.json"))).ok()??;
        let text: String = serde_json::from_reader(file.take(MAX_BYTES)).ok()?;
        (fingerprint(kind, &text) == print).then_some(text)
    }

    /// Returns what is trusted of a project's scripts, whatever the folder holds now.
    pub(super) fn recorded_seals(&self, project: &Project) -> Seals {
        let content = self.content().unwrap_or_default();
        let nothing = BTreeMap::new();
        Seals::of_record(project, self, content.of(&project.root).unwrap_or(&nothing))
    }

    /// Revokes the trust in a project. Returns whether it was trusted.
    pub fn forget(&self, root: &Path) -> Result<bool, TrustError> {
        let is_damaged = matches!(self.content(), Err(TrustError::Content { .. }));
        let mut content = Content::read_or_new(&self.path)?;
        let known = root.to_str().and_then(|root| content.folders.remove(root)).is_some();
        let expected = self.expected.as_ref().and_then(|expected| expected.read().ok()).unwrap_or_default();
        let is_expected = root.to_str().is_some_and(|root| expected.folders.contains_key(root));
        self.note(root, Vec::new())?;
        if known || is_damaged {
            content.keep(&self.path)?;
            self.prune(&content);
        }
        Ok(known || is_expected)
    }

    /// Returns the trusted folders and the number of recorded files of each.
    pub fn folders(&self) -> Result<Vec<(PathBuf, usize)>, TrustError> {
        let content = self.content()?;
        Ok(content.folders.into_iter().map(|(root, files)| (PathBuf::from(root), files.len())).collect())
    }

    fn content(&self) -> Result<Content, TrustError> {
        Content::read(&self.path)
    }
}
