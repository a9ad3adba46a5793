//! Which files of a work tree a git command would write, asked from git before the command runs. Git that is refused a file
//! stops half-way.

use std::{
    fs,
    path::{Path, PathBuf},
};

use vertebra::paths::absolute;

use super::{Repository, history::each_name, pathspec::Pathspecs};

/// How many files are named.
const MAX_FILES: usize = 1000;

/// Options that finish or give up what an earlier command began.
const GO_ON: &[&str] = &["--abort", "--continue", "--quit", "--skip", "--edit-todo", "--show-current-patch"];

/// Returns the files that a git command in a folder would write or remove in a work tree, of those that count, as far as git
/// can tell before. The words are those after `git`.
///
/// May block, because it runs git.
pub(crate) fn written(here: &str, words: &[String], counts: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Some((sub, words)) = words.split_first() else { return Vec::new() };
    let asked = Asked::new(sub, words);
    let source = match &**sub {
        "clone" => asked.operands.first().map(|from| absolute(here, from.strip_prefix("file://").unwrap_or(from))),
        _ => Some(here.to_owned()),
    };
    let Some(repository) = source.and_then(|source| Repository::around(&source)) else { return Vec::new() };
    let mut look = Look { here, root: PathBuf::from(&repository.root), repository, counts, found: Vec::new() };
    look.at(sub, &asked);
    look.found.sort();
    look.found.dedup();
    look.found
}

/// Returns the folder in which a git command makes a worktree, if it does. The words are those after `git`.
pub(crate) fn new_worktree(here: &str, words: &[String]) -> Option<PathBuf> {
    let (sub, words) = words.split_first().filter(|(sub, _)| *sub == "worktree")?;
    match Asked::new(sub, words).operands[..] {
        ["add", folder, ..] => Some(absolute(here, folder).into()),
        _ => None,
    }
}

/// Returns whether a git command makes a worktree in which these files are as they are now in the work tree `folder`, in which it
/// runs. The words are those after `git`.
///
/// May block, because it runs git.
pub(crate) fn copies(here: &str, words: &[String], folder: &Path, files: &[&Path]) -> bool {
    let (Some(made), Some((sub, words))) = (new_worktree(here, words), words.split_first()) else { return false };
    let asked = Asked::new(sub, words);
    let Some(repository) = Repository::around(here).filter(|found| Path::new(&found.root) == folder) else {
        return false;
    };
    let counts = |path: &Path| path.strip_prefix(folder).is_ok_and(|name| files.contains(&&*made.join(name)));
    let mut look = Look { here, root: folder.to_owned(), repository, counts: &counts, found: Vec::new() };
    let Some((_, commit)) = look.added(&asked) else { return false };
    look.changed(Some(&commit), &[]);
    look.found.is_empty()
}

/// Returns whether a git command may write files of a work tree.
pub(crate) fn may_write(sub: &str) -> bool {
    !valued(sub).is_empty()
}

/// The options of a subcommand whose value is a word of its own.
fn valued(sub: &str) -> &'static [&'static str] {
    match sub {
        "checkout" => &["-b", "-B", "--orphan", "--conflict"],
        "cherry-pick" | "revert" => &["-m", "--mainline", "--strategy", "-X", "--strategy-option"],
        "clone" => &["-b", "--branch", "-o", "--origin", "-c", "--config", "--depth", "-j", "--jobs", "--reference"],
        "merge" => &["-m", "-F", "--file", "-s", "--strategy", "-X", "--strategy-option", "--into-name"],
        "pull" => &["-s", "--strategy", "-X", "--strategy-option", "-j", "--jobs", "--depth"],
        "rebase" => &["--onto", "-s", "--strategy", "-X", "--strategy-option", "-x", "--exec", "-C"],
        "reset" => &["--pathspec-from-file"],
        "restore" => &["-s", "--source", "--conflict"],
        "stash" => &["-m", "--message"],
        "switch" => &["-c", "-C", "--create", "--force-create", "--orphan", "--conflict"],
        "worktree" => &["-b", "-B", "--reason"],
        _ => &[],
    }
}

/// The words of a command, told apart.
struct Asked<'w> {
    options: Vec<(&'w str, Option<&'w str>)>,
    operands: Vec<&'w str>,
    /// What stands behind `--`.
    paths: Option<Vec<&'w str>>,
}

impl<'w> Asked<'w> {
    fn new(sub: &str, words: &'w [String]) -> Self {
        let mut asked = Self { options: Vec::new(), operands: Vec::new(), paths: None };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word == "--" {
                asked.paths = Some(words.by_ref().collect());
            } else if !word.starts_with('-') || word == "-" {
                asked.operands.push(word);
            } else if valued(sub).contains(&word) {
                asked.options.push((word, words.next()));
            } else if let Some((name, value)) = word.split_once('=') {
                asked.options.push((name, Some(value)));
            } else {
                asked.options.push((word, None));
            }
        }
        asked
    }

    /// Whether one of these is among the options; of single letters also within `-qf`.
    fn has(&self, names: &[&str]) -> bool {
        let within = |word: &str, name: &str| name.len() == 2 && !word.starts_with("--") && word.contains(&name[1..]);
        self.options.iter().any(|(word, _)| names.iter().any(|name| word == name || within(word, name)))
    }

    fn value(&self, names: &[&str]) -> Option<&'w str> {
        self.options.iter().find(|(word, _)| names.contains(word)).and_then(|(_, value)| *value)
    }

    /// What the command is limited to, from an operand on.
    fn limits(&self, from: usize) -> Vec<&'w str> {
        self.operands.iter().skip(from).chain(self.paths.iter().flatten()).copied().collect()
    }
}

struct Look<'l> {
    here: &'l str,
    repository: Repository,
    /// The top of the work tree that is written.
    root: PathBuf,
    counts: &'l dyn Fn(&Path) -> bool,
    found: Vec<PathBuf>,
}

impl Look<'_> {
    fn at(&mut self, sub: &str, asked: &Asked<'_>) {
        let first = asked.operands.first().copied();
        match sub {
            "switch" | "checkout" => self.checkout(sub, asked),
            _ if asked.has(GO_ON) => {}
            "merge" if asked.operands.is_empty() => self.merge("@{upstream}"),
            "merge" => asked.operands.iter().for_each(|name| self.merge(name)),
            "pull" => match asked.operands.as_slice() {
                [remote, branch, ..] => self.merge(&format!("{remote}/{branch}")),
                _ => self.merge("@{upstream}"),
            },
            "rebase" => self.rebase(asked),
            "reset" => self.reset(asked, first.unwrap_or("HEAD")),
            "cherry-pick" | "revert" => {
                let mut log = vec!["log", "--no-walk", "--format=", "--name-only", "-z", "-c", "--no-renames"];
                log.extend(["--no-show-signature", "--no-ext-diff", "--no-textconv", "--end-of-options"]);
                log.extend(&asked.operands);
                self.names(&log);
            }
            "stash" => self.stash(asked, first.unwrap_or("push")),
            "restore" if asked.has(&["-S", "--staged"]) && !asked.has(&["-W", "--worktree"]) => {}
            "restore" => self.changed(asked.value(&["-s", "--source"]), &asked.limits(0)),
            "worktree" if first == Some("add") => {
                let Some((folder, commit)) = self.added(asked) else { return };
                self.root = folder;
                self.count(self.root.clone());
                self.tree(&commit);
            }
            "worktree" if matches!(first, Some("remove" | "move")) => {
                let Some(folder) = asked.operands.get(1) else { return };
                self.root = absolute(self.here, folder).into();
                self.count(self.root.clone());
                if let Some(tree) = Repository::around(&self.root.to_string_lossy()) {
                    self.repository = tree;
                    self.tree("HEAD");
                }
            }
            "clone" if !asked.has(&["--bare", "--mirror", "-n", "--no-checkout"]) => {
                let name = self.root.file_name().map(PathBuf::from).unwrap_or_default();
                let name =
                    if name.extension().is_some_and(|end| end == "git") { name.with_extension("") } else { name };
                let folder =
                    asked.operands.get(1).map_or_else(|| name.to_string_lossy().into_owned(), ToString::to_string);
                self.root = absolute(self.here, &folder).into();
                self.tree(asked.value(&["-b", "--branch"]).unwrap_or("HEAD"));
            }
            _ => {}
        }
    }

    fn checkout(&mut self, sub: &str, asked: &Asked<'_>) {
        if sub == "switch" && asked.has(&["--orphan"]) {
            return self.tree("HEAD");
        }
        let target = asked.operands.first().and_then(|name| self.branch(name));
        match (&target, &asked.paths, asked.operands.get(1)) {
            (Some(commit), Some(_), _) | (Some(commit), None, Some(_)) if sub == "checkout" => {
                self.changed(Some(commit), &asked.limits(1));
            }
            (Some(commit), ..) => {
                self.between("HEAD", commit);
                if asked.has(&["-f", "--force", "--discard-changes"]) {
                    self.changed(Some(commit), &[]);
                }
            }
            (None, ..) if sub == "checkout" && !asked.limits(0).is_empty() => self.changed(None, &asked.limits(0)),
            (None, ..) => {}
        }
    }

    /// The folder in which a worktree is made, and the commit that is checked out there.
    fn added(&self, asked: &Asked<'_>) -> Option<(PathBuf, String)> {
        let folder = asked.operands.get(1).filter(|_| !asked.has(&["--no-checkout", "--orphan"]))?;
        let folder = PathBuf::from(absolute(self.here, folder));
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let begun = asked.has(&["-b", "-B", "-d", "--detach"]);
        let branch = asked.operands.get(2).map(|branch| (*branch).to_owned()).or((!begun).then_some(name));
        let commit = branch.and_then(|branch| self.commit(&branch)).unwrap_or_else(|| "HEAD".to_owned());
        Some((folder, commit))
    }

    fn merge(&mut self, name: &str) {
        let Some(commit) = self.commit(name) else { return };
        let before = std::mem::take(&mut self.found);
        self.between("HEAD", &commit);
        // What only changed on this side stays as it is.
        if let Some(base) = self.line(&["merge-base", "HEAD", &commit]) {
            let differ = std::mem::take(&mut self.found);
            self.between(&base, &commit);
            self.found.retain(|path| differ.contains(path));
        }
        self.found.extend(before);
    }

    fn rebase(&mut self, asked: &Asked<'_>) {
        let upstream = asked.operands.first().copied().unwrap_or("@{upstream}");
        let (Some(upstream), Some(head)) =
            (self.commit(upstream), self.commit(asked.operands.get(1).unwrap_or(&"HEAD")))
        else {
            return;
        };
        let onto = asked.value(&["--onto"]).and_then(|onto| self.commit(onto)).unwrap_or_else(|| upstream.clone());
        let is_done = self.line(&["merge-base", &onto, &head]).is_some_and(|base| base == onto);
        if is_done && onto == upstream && !asked.has(&["-i", "--interactive", "-f", "--force-rebase", "--no-ff"]) {
            return self.between("HEAD", &head);
        }
        self.between("HEAD", &onto);
        let range = format!("{upstream}..{head}");
        self.names(&["log", "--format=", "--name-only", "-z", "--no-renames", "--no-show-signature", &range]);
    }

    fn reset(&mut self, asked: &Asked<'_>, to: &str) {
        let Some(commit) = self.commit(to) else { return };
        if asked.has(&["--hard"]) {
            self.changed(Some(&commit), &[]);
            self.staged(&commit, &[]);
        } else if asked.has(&["--merge", "--keep"]) {
            self.between("HEAD", &commit);
            self.staged("HEAD", &[]);
        }
    }

    fn stash(&mut self, asked: &Asked<'_>, what: &str) {
        match what {
            "push" | "save" => {
                let limits = if what == "push" { asked.limits(1) } else { Vec::new() };
                self.staged("HEAD", &limits);
                if asked.has(&["-S", "--staged"]) {
                    return;
                }
                self.changed(Some("HEAD"), &limits);
                let root = self.repository.root.clone();
                let others = ["--work-tree", &root, "ls-files", "-o", "-z", "--exclude-standard"];
                match (asked.has(&["-a", "--all"]), asked.has(&["-u", "--include-untracked"])) {
                    (true, _) => self.limited(&others[..5], &limits),
                    (false, true) => self.limited(&others, &limits),
                    (false, false) => {}
                }
            }
            "pop" | "apply" => {
                let name = asked.operands.get(1).copied().unwrap_or("stash@{0}");
                let name = if name.bytes().all(|c| c.is_ascii_digit()) {
                    format!("stash@{{{name}}}")
                } else {
                    name.to_owned()
                };
                self.between(&format!("{name}^1"), &name);
                if let Some(untracked) = self.commit(&format!("{name}^3")) {
                    self.tree(&untracked);
                }
            }
            _ => {}
        }
    }

    /// What is not the same in two commits.
    fn between(&mut self, from: &str, to: &str) {
        self.names(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", from, to]);
    }

    /// All files of a commit.
    fn tree(&mut self, commit: &str) {
        self.names(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", commit]);
    }

    /// What is not the same in the index and a commit.
    fn staged(&mut self, commit: &str, limits: &[&str]) {
        self.limited(
            &["diff-index", "--cached", "-z", "--name-only", "--no-renames", "--end-of-options", commit],
            limits,
        );
    }

    /// What is not the same in the work tree and a commit, or the index.
    fn changed(&mut self, commit: Option<&str>, limits: &[&str]) {
        let arguments = match commit {
            Some(commit) => vec!["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit],
            None => vec!["ls-files", "-s", "-z"],
        };
        let limits = Pathspecs::new(limits, &[self.here.to_owned()], &self.repository.root);
        let mut same = Vec::new();
        each_name(&self.repository.git, &arguments, &mut |entry| {
            let Some((about, name)) = entry.split_once('\t') else { return true };
            let path = self.root.join(name);
            if limits.cover(name) && (self.counts)(&path) {
                let is_link = about.starts_with("120000");
                match fs::symlink_metadata(&path) {
                    Ok(found) if found.is_file() && !is_link => same.push((about.to_owned(), path)),
                    Ok(found) if found.is_symlink() && is_link => {}
                    _ => self.found.push(path),
                }
            }
            self.found.len() + same.len() < MAX_FILES
        });
        if same.is_empty() {
            return;
        }
        let paths: Vec<_> = same.iter().map(|(_, path)| path.to_string_lossy()).collect();
        let hash: Vec<&str> =
            ["hash-object", "--no-filters", "--"].into_iter().chain(paths.iter().map(|path| &**path)).collect();
        let hashes = self.line(&hash).unwrap_or_default();
        let hashes = hashes.lines().map(str::to_owned).chain(std::iter::repeat(String::new()));
        let differ =
            same.into_iter().zip(hashes).filter(|((about, _), hash)| !about.split(' ').any(|part| part == hash));
        self.found.extend(differ.map(|((_, path), _)| path));
    }

    fn count(&mut self, path: PathBuf) {
        if (self.counts)(&path) {
            self.found.push(path);
        }
    }

    fn names(&mut self, arguments: &[&str]) {
        self.limited(arguments, &[]);
    }

    fn limited(&mut self, arguments: &[&str], limits: &[&str]) {
        let limits = Pathspecs::new(limits, &[self.here.to_owned()], &self.repository.root);
        each_name(&self.repository.git, arguments, &mut |name| {
            let path = self.root.join(name);
            if !name.is_empty() && limits.cover(name) && (self.counts)(&path) {
                self.found.push(path);
            }
            self.found.len() < MAX_FILES
        });
    }

    /// The commit that a name stands for.
    fn commit(&self, name: &str) -> Option<String> {
        let name = if name == "-" { "@{-1}" } else { name };
        self.line(&["rev-parse", "--verify", "-q", "--end-of-options", &format!("{name}^{{commit}}")])
    }

    /// The same for `git switch`, which also makes a branch of one elsewhere.
    fn branch(&self, name: &str) -> Option<String> {
        self.commit(name).or_else(|| {
            self.line(&["for-each-ref", "--count=1", "--format=%(objectname)", &format!("refs/remotes/*/{name}")])
        })
    }

    /// What git prints, if that is all.
    fn line(&self, arguments: &[&str]) -> Option<String> {
        let mut text = None;
        let is_whole = each_name(&self.repository.git, arguments, &mut |line| {
            text = Some(line.to_owned());
            true
        });
        text.filter(|text| is_whole && !text.is_empty())
    }
}
