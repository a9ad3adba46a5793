//! What the configuration of git, as a person wrote it, makes git start or read besides the files in its own directory: a
//! folder of hooks such as `.githooks`, an included file, the script of a filter or an alias. If it lies in the work tree,
//! an agent must not change it, because the person's next `git commit` runs it.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use crate::protected::plain;

use super::{
    GitPaths, MAX_BYTES,
    config::harmless,
    deciding::bytes_of,
    parse::{Entry, parse},
};

/// How many configuration files are read: the repository's, the user's, and what they include.
const MAX_FILES: usize = 64;

/// How many paths are returned.
const MAX_TARGETS: usize = 512;

/// Keys whose value is a path that decides what git executes.
const PATHS: &[(&str, &str)] = &[("core", "attributesfile"), ("init", "templatedir")];

/// Keys whose value is a path to plain data.
const DATA: &[(&str, &str)] = &[
    ("blame", "ignorerevsfile"),
    ("commit", "template"),
    ("core", "excludesfile"),
    ("mailmap", "file"),
    ("user", "signingkey"),
];

/// The hooks that git knows, for a folder of hooks that is the work tree itself.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Reads a variable of the environment.
type Variable<'v> = &'v dyn Fn(&str) -> Option<OsString>;

/// Returns the files and folders below `folder`, present or not, that git would start or take settings from because of the
/// configuration as it is now. Nothing is started for it.
pub(crate) fn targets(folder: &Path, variable: Variable<'_>) -> Vec<PathBuf> {
    let found = GitPaths::of(folder);
    let mut search = Search { folder, home: variable("HOME").map(PathBuf::from), files: Vec::new(), found: Vec::new() };
    // A hook may be a link to a script in the work tree, and so may a configuration file.
    for path in found.paths.iter().filter(|path| path.is_symlink()) {
        search.add(path);
    }
    let own = search.own_files(variable);
    for (work_tree, files) in &found.configured {
        search.files.clear();
        for file in files {
            search.file(file, work_tree);
        }
        for file in &own {
            search.add_link(file);
            search.file(file, work_tree);
        }
    }
    search.found.sort();
    search.found.dedup();
    search.found
}

struct Search<'s> {
    folder: &'s Path,
    home: Option<PathBuf>,
    /// The files that were read already.
    files: Vec<PathBuf>,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    /// The configuration of the user and of the system.
    fn own_files(&mut self, variable: Variable<'_>) -> Vec<PathBuf> {
        let of_user = self.home.as_ref().map(|home| home.join(".config"));
        let config = variable("XDG_CONFIG_HOME").filter(|set| !set.is_empty()).map(PathBuf::from).or(of_user);
        let git = config.map(|config| config.join("git"));
        if let Some(git) = &git {
            self.add_link(&git.join("attributes"));
        }
        let mut files = Vec::new();
        if let Some(set) = variable("GIT_CONFIG_GLOBAL") {
            files.push(set.into());
        } else {
            files.extend(git.map(|git| git.join("config")));
            files.extend(self.home.as_ref().map(|home| home.join(".gitconfig")));
        }
        if variable("GIT_CONFIG_NOSYSTEM").is_none_or(|set| set.is_empty()) {
            files.push(variable("GIT_CONFIG_SYSTEM").map_or_else(|| "/etc/gitconfig".into(), PathBuf::from));
        }
        files
    }

    /// Reads a configuration file, and those that it includes.
    fn file(&mut self, file: &Path, work_tree: &Path) {
        let Ok(real) = file.canonicalize() else { return };
        if self.files.len() == MAX_FILES || self.files.contains(&real) {
            return;
        }
        self.files.push(real);
        let Some(bytes) = bytes_of(file, MAX_BYTES as u64) else { return };
        // A file that git may read differently is read line by line.
        let entries = parse(&bytes).unwrap_or_else(|_| lines(&bytes));
        // The directory of a submodule says where its work tree is.
        let moved = entries.iter().find(|entry| is(entry, "core", "worktree")).and_then(text);
        let moved = moved.zip(file.parent()).map(|(to, from)| plain(&from.join(to)));
        let work_tree = moved.as_deref().unwrap_or(work_tree);
        for entry in &entries {
            let Some(value) = text(entry) else { continue };
            if matches!(&*entry.section, "include" | "includeif") && entry.key == "path" {
                let included = self.expanded(value, file.parent().unwrap_or(file));
                self.add(&included);
                self.file(&included, work_tree);
            } else if is(entry, "core", "hookspath") {
                self.hooks(&self.expanded(value, work_tree));
            } else if PATHS.iter().any(|(section, key)| is(entry, section, key)) {
                let named = self.expanded(value, work_tree);
                self.add(&named);
            } else if !DATA.iter().any(|(section, key)| is(entry, section, key)) && harmless(file, entry).is_err() {
                self.command(value, work_tree);
            }
        }
    }

    /// Adds a folder of hooks.
    fn hooks(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_TARGETS) {
            self.add_link(&entry.path());
        }
        if self.folder.starts_with(plain(folder)) {
            for name in HOOKS {
                self.add(&folder.join(name));
            }
        } else {
            self.add(folder);
        }
    }

    /// Adds the files that a command names.
    fn command(&mut self, command: &str, work_tree: &Path) {
        let ends = |c: char| c.is_whitespace() || "\"'`;|&()<>$={}[]!,".contains(c);
        for word in command.split(ends).filter(|word| !word.is_empty() && !word.contains("://")) {
            // Without a slash it may be any word, and a folder may be an argument: nobody could work there any more.
            let path = self.expanded(word, work_tree);
            if path.is_file() || (word.contains('/') && path.symlink_metadata().is_err()) {
                self.add(&path);
            }
            // `$(git rev-parse --show-toplevel)/scripts/x` ends like this.
            let from_root = work_tree.join(word.trim_start_matches('/'));
            if word.starts_with('/') && from_root.is_file() {
                self.add(&from_root);
            }
        }
    }

    /// A path as git reads it.
    fn expanded(&self, value: &str, base: &Path) -> PathBuf {
        match (value.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(value),
        }
    }

    /// Adds what a link leads to.
    fn add_link(&mut self, path: &Path) {
        if let Ok(real) = path.canonicalize()
            && real != path
        {
            self.add(&real);
        }
    }

    /// Adds a path by its name and by the place it leads to, if it lies in the folder.
    fn add(&mut self, path: &Path) {
        let path = plain(path);
        let real = path.canonicalize().ok();
        for path in [Some(path), real].into_iter().flatten() {
            if path.starts_with(self.folder) && path != self.folder && self.found.len() < MAX_TARGETS {
                self.found.push(path);
            }
        }
    }
}

fn is(entry: &Entry, section: &str, key: &str) -> bool {
    entry.section == section && entry.key == key
}

fn text(entry: &Entry) -> Option<&str> {
    std::str::from_utf8(entry.value.as_deref()?).ok().filter(|value| !value.is_empty())
}

/// Returns the values of a file that cannot be parsed.
fn lines(bytes: &[u8]) -> Vec<Entry> {
    let text = String::from_utf8_lossy(bytes);
    let mut section = String::new();
    let mut entries = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[') {
            section = head.split([' ', ']', '.', '"']).next().unwrap_or_default().to_ascii_lowercase();
        }
        if let Some((key, value)) = line.rsplit(']').next().and_then(|pair| pair.split_once('=')) {
            let value = value.trim().trim_matches('"').as_bytes().to_vec();
            let key = key.trim().to_ascii_lowercase();
            entries.push(Entry { section: section.clone(), subsection: None, key, value: Some(value) });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_makes_git_start_in_the_work_tree_is_found_and_nothing_else() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("a path");
        let (project, home) = (root.join("project"), root.join("home"));
        for folder in [project.join(".git/hooks"), project.join("src"), project.join("tools"), home.clone()] {
            fs::create_dir_all(folder).expect("a folder");
        }
        for file in ["check.sh", "tools/fsmonitor", "tools/pre-push", "src/status", "shared.inc"] {
            fs::write(project.join(file), "").expect("a file");
        }
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        std::os::unix::fs::symlink("../../tools/pre-push", project.join(".git/hooks/pre-push")).expect("a link");
        let cases: &[(&str, &str, &[&str])] = &[
            ("", "", &[]),
            ("[core]\n\thooksPath = .githooks\n", "", &[".githooks"]),
            ("", "[core]\n\thooksPath = ./.githooks/_\n", &[".githooks/_"]),
            ("[core]\n\thooksPath = PROJECT/my hooks\n", "", &["my hooks"]),
            ("[include]\n\tpath = ../shared.inc\n", "", &["shared.inc"]),
            ("[include]\n\tpath = ../absent.inc\n", "", &["absent.inc"]),
            ("[includeIf \"gitdir:/\"]\n\tpath = PROJECT/shared.inc\n", "", &["shared.inc"]),
            ("[core]\n\tfsmonitor = tools/fsmonitor -v\n", "", &["tools/fsmonitor"]),
            ("[core]\n\tattributesFile = attrs\n", "", &["attrs"]),
            ("[filter \"x\"]\n\tclean = \"sh check.sh %f\"\n", "", &["check.sh"]),
            ("[diff \"x\"]\n\ttextconv = ./absent\n", "", &["absent"]),
            ("", "[alias]\n\tx = \"!$(git rev-parse --show-toplevel)/tools/fsmonitor\"\n", &["tools/fsmonitor"]),
            ("[alias]\n\ty = !cd src/ && make\n\tst = status\n", "", &[]),
            ("[url \"git@example.com:\"]\n\tinsteadOf = https://example.com/\n", "", &[]),
            ("[commit]\n\ttemplate = check.sh\n[user]\n\tname = check.sh\n", "", &[]),
            ("[core\n\thooksPath = .githooks\n[core]\nhooksPath = .other\n", "", &[".githooks", ".other"]),
        ];
        for (own, global, expected) in cases {
            let at = |text: &str| text.replace("PROJECT", &project.to_string_lossy());
            fs::write(project.join(".git/config"), at(own)).expect("a file");
            fs::write(home.join(".gitconfig"), at(global)).expect("a file");
            let variable = |name: &str| match name {
                "HOME" => Some(home.clone().into_os_string()),
                "GIT_CONFIG_NOSYSTEM" => Some("1".into()),
                _ => None,
            };
            let mut wanted: Vec<PathBuf> = expected.iter().map(|path| project.join(path)).collect();
            wanted.push(project.join("tools/pre-push"));
            wanted.sort();
            let found: Vec<PathBuf> = targets(&project, &variable)
                .into_iter()
                .filter(|path| !path.starts_with(project.join(".git")))
                .collect();
            assert_eq!(found, wanted, "{own}{global}");
        }
    }

    #[test]
    fn a_folder_of_hooks_that_is_the_work_tree_protects_hooks_and_no_other_file() {
        let outer = tempfile::tempdir().expect("a folder");
        let project = outer.path().canonicalize().expect("a path");
        fs::create_dir_all(project.join(".git")).expect("a folder");
        fs::write(project.join(".git/config"), "[core]\n\thooksPath = .\n").expect("a file");
        let found = targets(&project, &|_| None);
        assert!(found.contains(&project.join("pre-commit")) && !found.contains(&project), "{found:?}");
    }
}
