//! Finds the repository around a folder, and its object database.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::super::path::relative;

/// How much of a pointer file is read.
const MAX_POINTER_BYTES: u64 = 64 * 1024;

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
        let dot_git = folder.join(".git");
        let git = if dot_git.is_dir() {
            dot_git
        } else if let Some(pointer) = beginning(&dot_git) {
            folder.join(pointer.strip_prefix("gitdir:")?.trim())
        } else if ["objects", "refs"].iter().all(|name| folder.join(name).is_dir()) && folder.join("HEAD").exists() {
            folder.to_owned()
        } else {
            return None;
        };
        let git = git.canonicalize().unwrap_or(git);
        let common = beginning(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common.trim()));
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

    /// Returns whether a path is the git folder or leads to its objects.
    pub(super) fn is_part(&self, path: &str) -> bool {
        [&self.git, &self.common].into_iter().filter_map(|folder| folder.to_str()).any(|folder| {
            let inside = relative(folder, path);
            inside.is_some_and(|rest| rest.is_empty() || rest == "objects" || rest.starts_with("objects/"))
        })
    }
}

fn beginning(path: &Path) -> Option<String> {
    let is_file = fs::metadata(path).ok()?.is_file();
    let mut text = String::new();
    fs::File::open(path).ok().filter(|_| is_file)?.take(MAX_POINTER_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
