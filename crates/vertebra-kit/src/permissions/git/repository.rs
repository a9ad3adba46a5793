//! Finds the repository around a folder, and its object database.

use std::{
    collections::VecDeque,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use super::{
    super::path::relative,
    folders::{Listed, listed},
    history::git,
};
use crate::protected::git::{common_dir, git_dir, is_git_dir};

/// How much of a pointer file is read.
const MAX_POINTER_BYTES: u64 = 64 * 1024;

/// What git keeps of files in its folder while it works, besides objects.
const KEPT: &[&str] = &["lost-found", "rebase-apply", "rebase-merge/patch", "rr-cache"];

/// How many repositories are found below a folder.
const MAX_FOUND: usize = 40;

/// How many repositories may lend objects, one to the other. Git goes five steps.
const MAX_LENDERS: usize = 20;

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The top folder of the work tree, or of a bare repository.
    pub(super) root: String,
    /// The folder with `HEAD`.
    pub(super) git: PathBuf,
    /// The folder with the objects and the shared refs.
    pub(super) common: PathBuf,
}

impl Repository {
    /// Returns the repository that git would use in this folder, which need not exist yet.
    pub(super) fn around(folder: &str) -> Option<Self> {
        Path::new(folder).ancestors().find_map(Self::at)
    }

    fn at(folder: &Path) -> Option<Self> {
        let entry = folder.join(".git");
        let git = match git_dir(&entry).filter(|git| !entry.is_dir() || is_git_dir(git)) {
            Some(git) => git,
            None if is_git_dir(folder) => folder.to_owned(),
            None => return None,
        };
        let git = git.canonicalize().unwrap_or(git);
        let common = common_dir(&git).unwrap_or_else(|| git.clone());
        let common = common.canonicalize().unwrap_or(common);
        let root = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let is_git_folder = root == git && root.ends_with(".git");
        let root = if is_git_folder { root.parent().map_or_else(|| root.clone(), Path::to_owned) } else { root };
        Some(Self { root: root.to_str()?.to_owned(), git, common })
    }

    /// Returns the folders with objects: that of the repository and those that it borrows from.
    pub(super) fn object_folders(&self) -> Vec<PathBuf> {
        let own = self.common.join("objects");
        let borrowed = beginning(&own.join("info/alternates")).unwrap_or_default();
        let borrowed = borrowed.lines().filter(|line| !line.is_empty()).map(|line| own.join(line));
        borrowed.chain(std::iter::once(own.clone())).collect()
    }

    /// Returns the repositories whose objects it borrows, and those whose objects they borrow. Returns `None` if it uses objects
    /// whose repository is not known.
    pub(super) fn lenders(&self) -> Option<Vec<Self>> {
        let mut found: Vec<Self> = Vec::new();
        let mut at = 0;
        loop {
            let borrower = if at == 0 { self } else { found.get(at - 1)? };
            for folder in borrower.object_folders() {
                let folder = folder.canonicalize().ok()?;
                if has_links(&folder) {
                    return None;
                }
                if folder == self.common.join("objects") {
                    continue;
                }
                let lender = Self::at(folder.parent()?).filter(|lender| lender.common.join("objects") == folder)?;
                if !found.contains(&lender) {
                    found.push(lender);
                }
            }
            at += 1;
            if at > found.len() {
                return Some(found);
            }
            if at > MAX_LENDERS {
                return None;
            }
        }
    }

    /// Returns whether objects are shown in the place of others.
    pub(super) fn replaces_objects(&self) -> bool {
        let packed =
            || fs::read_to_string(self.common.join("packed-refs")).is_ok_and(|refs| refs.contains(" refs/replace/"));
        fs::read_dir(self.common.join("refs/replace")).is_ok_and(|mut refs| refs.next().is_some()) || packed()
    }

    /// Returns whether settings give the paths in diffs another form.
    pub(super) fn has_other_diffs(&self) -> bool {
        let mut command = git(&self.git);
        command.args(["config", "--get-regexp", r"^diff\.(srcprefix|dstprefix|relative|submodule)$"]);
        command
            .stdout(Stdio::piped())
            .spawn()
            .and_then(Child::wait_with_output)
            .map_or(true, |set| !set.stdout.is_empty())
    }

    /// Returns what holds the content of committed files: the objects, and what git keeps while it works.
    pub(super) fn contents(&self) -> Vec<PathBuf> {
        let kept =
            [&self.git, &self.common].into_iter().flat_map(|folder| KEPT.iter().map(move |name| folder.join(name)));
        let mut found: Vec<PathBuf> = kept.filter(|path| path.exists()).chain(self.object_folders()).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Returns whether a path is the git folder or leads to what holds content.
    pub(super) fn is_part(&self, path: &str) -> bool {
        [&self.git, &self.common].into_iter().filter_map(|folder| folder.to_str()).any(|folder| {
            let inside = relative(folder, path);
            inside.is_some_and(|rest| {
                rest.is_empty()
                    || KEPT
                        .iter()
                        .chain(&["objects"])
                        .any(|part| relative(part, rest).is_some() || relative(rest, part).is_some())
            })
        })
    }

    /// Returns the repositories in and below a folder, the nearest first. At most so many names are looked at.
    pub(super) fn below(folder: &Path, mut left: usize) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut folders = VecDeque::from([folder.to_owned()]);
        while let Some(folder) = folders.pop_front() {
            if found.len() >= MAX_FOUND {
                break;
            }
            let is_git_folder = folder.ends_with(".git");
            // The repositories of submodules are in that of the project.
            let folder = if is_git_folder { folder.join("modules") } else { folder };
            let Some(inside) = listed(&folder, left) else {
                found.extend(Self::at(&folder).filter(|there| !is_git_folder && !found.contains(there)));
                break;
            };
            if inside.may_be_repository && !is_git_folder {
                found.extend(Self::at(&folder).filter(|there| !found.contains(there)));
            }
            left -= inside.names;
            folders.extend(inside.folders.iter().map(|name| folder.join(name)));
        }
        found
    }
}

/// Returns whether something in a folder with objects is a link, and so perhaps an object of another repository.
fn has_links(objects: &Path) -> bool {
    let links = |folder: &Path| listed(folder, usize::MAX).is_none_or(|inside| inside.has_links);
    let below = |inside: &Listed| inside.folders.iter().any(|name| links(&objects.join(name)));
    links(objects) || listed(objects, usize::MAX).is_none_or(|inside| below(&inside))
}

/// Reads a pointer. Opening anything but a regular file might never end.
fn beginning(path: &Path) -> Option<String> {
    let path = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|_| path)?;
    let mut text = String::new();
    fs::File::open(path).ok()?.take(MAX_POINTER_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
