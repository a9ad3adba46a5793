//! Which existing files decide what git executes in a folder, and whether one of them makes a read such as `git status` start
//! a program.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{
    MAX_BYTES, config_change,
    finding::{common_dir, git_dir, is_git_dir},
    has_head,
    parse::parse,
};
use crate::protected::names::folded;

/// How many git directories are looked at: those of submodules and of repositories in the work tree.
const MAX_REPOSITORIES: usize = 64;

/// How many names are looked at to find them.
const MAX_NAMES: usize = 20_000;

/// The largest index that is searched for submodules.
const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// The files and folders that decide what git executes in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitPaths {
    /// All of them that exist: configuration, hooks, attributes, steps of a rebase, and files that lead to another git
    /// directory, also those of submodules and of the repositories that they lead to.
    pub paths: Vec<PathBuf>,
    /// Those that can make git start a program when it only reads, as `git status` and `git log` do.
    pub starts: Vec<PathBuf>,
    /// Whether there was too much to look through, so that some may be missing.
    pub is_cut: bool,
    /// The folder that relative values belong to and the configuration files, for each repository.
    pub(super) configured: Vec<(PathBuf, Vec<PathBuf>)>,
}

impl GitPaths {
    /// Looks for them where git would: in this folder and the ones above it.
    ///
    /// Nothing is started for it, and links are followed as git follows them.
    pub fn of(folder: &Path) -> Self {
        let mut found = Self::default();
        let mut seen = Vec::new();
        for folder in folder.ancestors() {
            let entry = folder.join(".git");
            if entry.symlink_metadata().is_ok() {
                found.repository(&entry, Some(folder), &mut seen);
                // Git passes over a folder that lacks what a git directory has.
                if git_dir(&entry).is_none_or(|git| is_git_dir(&git)) {
                    break;
                }
            }
            // A folder with the right files is a repository, whatever its name.
            if has_head(folder) {
                found.repository(folder, None, &mut seen);
                found.starts.push(folder.to_owned());
                break;
            }
        }
        found
    }

    /// Returns whether git starts no program of the folder when it only reads.
    pub fn reads_safely(&self) -> bool {
        self.starts.is_empty() && !self.is_cut
    }

    fn repository(&mut self, entry: &Path, work_tree: Option<&Path>, seen: &mut Vec<PathBuf>) {
        if !entry.is_dir() {
            self.paths.push(entry.to_owned());
        }
        let Some(git) = git_dir(entry) else {
            self.starts.push(entry.to_owned());
            return;
        };
        let Ok(real) = git.canonicalize() else { return };
        if seen.contains(&real) {
            return;
        }
        if seen.len() == MAX_REPOSITORIES {
            self.is_cut = true;
            return;
        }
        seen.push(real);
        let mut folders = vec![git.clone()];
        let commondir = git.join("commondir");
        if commondir.symlink_metadata().is_ok() {
            self.paths.push(commondir.clone());
            match common_dir(&git) {
                Some(common) => folders.push(common),
                None => self.starts.push(commondir),
            }
        }
        for folder in &folders {
            self.files(folder);
        }
        let configurations = ["config", "config.worktree"];
        let files = folders.iter().flat_map(|folder| configurations.map(|name| folder.join(name))).collect();
        self.configured.push((work_tree.unwrap_or(&git).to_owned(), files));
        let common = folders.last().unwrap_or(&git).clone();
        self.modules(&common.join("modules"), seen);
        if let Some(work_tree) = work_tree
            && may_have_submodules(&git)
        {
            self.nested(work_tree, seen);
        }
    }

    /// Adds the files of one git directory.
    fn files(&mut self, git: &Path) {
        for name in ["config", "config.worktree"] {
            let file = git.join(name);
            if file.symlink_metadata().is_ok() {
                self.paths.push(file.clone());
                if !is_harmless(&file) {
                    self.starts.push(file);
                }
            }
        }
        for name in ["info/attributes", "rebase-merge/git-rebase-todo", "sequencer/todo"] {
            let file = git.join(name);
            self.paths.extend(file.symlink_metadata().is_ok().then_some(file));
        }
        for entry in fs::read_dir(git.join("hooks")).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = folded(&name);
            if !name.ends_with(".sample") {
                self.paths.push(entry.path());
                // The only hook that commands which read may start, when they refresh the index.
                if name == "post-index-change" {
                    self.starts.push(entry.path());
                }
            }
        }
    }

    /// Adds the git directories of submodules.
    fn modules(&mut self, folder: &Path, seen: &mut Vec<PathBuf>) {
        let (mut folders, mut left) = (vec![folder.to_owned()], MAX_NAMES);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Some(less) = left.checked_sub(1) else {
                    self.is_cut = true;
                    return;
                };
                left = less;
                let path = entry.path();
                if has_head(&path) {
                    self.repository(&path, None, seen);
                } else if path.is_dir() {
                    folders.push(path);
                }
            }
        }
    }

    /// Adds the repositories in a work tree, into which git goes for submodules.
    fn nested(&mut self, work_tree: &Path, seen: &mut Vec<PathBuf>) {
        let (mut folders, mut left) = (vec![work_tree.to_owned()], MAX_NAMES);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Some(less) = left.checked_sub(1) else {
                    self.is_cut = true;
                    return;
                };
                left = less;
                if folded(&entry.file_name()) == ".git" {
                    if folder != work_tree {
                        self.repository(&entry.path(), Some(&folder), seen);
                    }
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
            }
        }
    }
}

/// Returns whether a configuration names no program, and makes git neither fetch while it reads nor start itself in submodules
/// that the last commit had.
fn is_harmless(file: &Path) -> bool {
    let Some(bytes) = bytes_of(file, MAX_BYTES as u64) else { return false };
    let starts_git =
        |entry: &super::parse::Entry| matches!(&*entry.key, "promisor" | "partialclone" | "submodulesummary");
    config_change(file, b"", &bytes).is_ok() && parse(&bytes).is_ok_and(|entries| !entries.iter().any(starts_git))
}

/// Returns whether the index of a git directory may list submodules. A part of it may lie in another file. The mode of a
/// submodule is a number that other fields have now and then too.
fn may_have_submodules(git: &Path) -> bool {
    const MODE: &[u8] = &[0, 0, 0xe0, 0];
    let is_part = |name: &OsStr| name == "index" || name.as_encoded_bytes().starts_with(b"sharedindex.");
    let mut files = fs::read_dir(git).into_iter().flatten().flatten().filter(|entry| is_part(&entry.file_name()));
    files.any(|entry| {
        bytes_of(&entry.path(), MAX_INDEX_BYTES).is_none_or(|bytes| memchr::memmem::find(&bytes, MODE).is_some())
    })
}

/// Returns a regular file, if it is not larger than this.
pub(super) fn bytes_of(file: &Path, limit: u64) -> Option<Vec<u8>> {
    let file = file.metadata().ok().filter(fs::Metadata::is_file).and_then(|_| File::open(file).ok())?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, line: &str) {
        let status = Command::new("git")
            .args(["-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b"])
            .args(line.split(' '))
            .current_dir(folder)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        assert!(status.expect("git").success(), "{line}");
    }

    /// A name, git commands to run and files to write.
    type Way<'a> = (&'a str, &'a [String], &'a [(&'a str, String)]);

    /// Whether a plain `git status` starts the program that the test put there.
    fn status_starts(folder: &Path, witness: &Path) -> bool {
        let _ = fs::remove_file(witness);
        // What is in the index looks as if it had changed.
        let _ = Command::new("touch").arg(folder.join("file")).status();
        git(folder, "status");
        git(folder, "diff");
        witness.exists()
    }

    #[test]
    fn whatever_makes_a_plain_status_start_a_program_is_found() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("a path");
        let witness = root.join("witness");
        let program = root.join("program");
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", witness.display())).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).expect("a mode");
        let program = program.display().to_string();
        let config = |key: &str, value: &str| format!("config {key} {value}");
        // Each way is a list of git commands and of files to write, in the repository.
        let ways: &[Way<'_>] = &[
            ("fsmonitor", &[config("core.fsmonitor", &program)], &[]),
            ("hook", &[], &[(".git/hooks/post-index-change", format!("#!/bin/sh\ntouch {}\n", witness.display()))]),
            ("filter", &[config("filter.x.clean", &program)], &[(".gitattributes", "file filter=x".to_owned())]),
            ("external diff", &[config("diff.external", &program)], &[("file", "changed".to_owned())]),
            (
                "text conversion",
                &[config("diff.x.textconv", &program)],
                &[(".gitattributes", "file diff=x".to_owned()), ("file", "changed".to_owned())],
            ),
            (
                "attributes of the repository",
                &[config("filter.x.clean", &program)],
                &[(".git/info/attributes", "file filter=x".to_owned())],
            ),
            (
                "include",
                &[config("include.path", "../more")],
                &[("more", format!("[core]\n\tfsmonitor = {program}\n"))],
            ),
            (
                "configuration of the worktree",
                &[config("extensions.worktreeConfig", "true")],
                &[(".git/config.worktree", format!("[core]\n\tfsmonitor = {program}\n"))],
            ),
            (
                "common directory",
                &[],
                &[
                    (".git/commondir", "../other".to_owned()),
                    ("other/config", format!("[core]\n\tfsmonitor = {program}\n")),
                ],
            ),
            (
                "submodule",
                &[
                    "submodule -q add ../inner sub".to_owned(),
                    "commit -qm sub".to_owned(),
                    format!("-C sub config core.fsmonitor {program}"),
                ],
                &[],
            ),
            (
                "nested repository",
                &[
                    "clone -q ../inner sub".to_owned(),
                    "add sub".to_owned(),
                    "commit -qm sub".to_owned(),
                    format!("-C sub config core.fsmonitor {program}"),
                ],
                &[],
            ),
        ];
        for (number, (way, commands, files)) in ways.iter().enumerate() {
            let area = root.join(number.to_string());
            let repository = area.join("repository");
            for name in ["repository", "inner"] {
                fs::create_dir_all(area.join(name)).expect("a folder");
                git(&area.join(name), "init -q");
                fs::write(area.join(name).join("file"), "text").expect("a file");
                git(&area.join(name), "add file");
                git(&area.join(name), "commit -qm one");
            }
            assert!(
                !status_starts(&repository, &witness) && GitPaths::of(&repository).reads_safely(),
                "{way}: at first"
            );
            if *way == "common directory" {
                git(&area, "clone -q --bare repository repository/other");
            }
            for command in *commands {
                git(&repository, command);
            }
            for (name, text) in *files {
                let path = repository.join(name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(&path, text).expect("a file");
                if name.contains("hooks/") {
                    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                    fs::set_permissions(&path, mode).expect("a mode");
                }
            }
            assert!(status_starts(&repository, &witness), "{way}: git starts it");
            let found = GitPaths::of(&repository);
            assert!(!found.starts.is_empty() && !found.reads_safely(), "{way}: {found:?}");
            assert!(found.starts.iter().all(|path| found.paths.contains(path)), "{way}: {found:?}");
        }
    }
}
