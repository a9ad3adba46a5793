//! The committed paths of a repository that rules hide.

use std::{
    collections::{HashMap, HashSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, LazyLock, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use super::{
    super::{path::Base, rule::Rule},
    MAX_NAMED, Repository, folders, hides,
};

/// How long git may list the paths of a repository. Past it, the repository counts as one with hidden files.
const MAX_TIME: Duration = Duration::from_secs(3);

/// The maximum number of hidden paths that are kept.
const MAX_HIDDEN: usize = 1000;

/// How many ref files are checked for changes.
const MAX_REFS: usize = 5000;

/// How many repositories are remembered.
const MAX_KNOWN: usize = 512;

/// The hashes of the file without content.
const EMPTY: &[&str] =
    &["e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"];

/// The most commits without a name that are looked at.
const MAX_UNREFERENCED: usize = 1000;

/// The hidden paths of a repository, in its index and in any commit.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// The paths from the top of the repository, with the rule that hides each.
    hidden: Vec<(String, Arc<str>)>,
    /// The rules to apply when not all paths could be listed.
    all_rules: Vec<Arc<str>>,
    /// Whether all paths could be listed.
    pub(super) is_whole: bool,
    /// Other paths under which the index has the content of hidden ones. No commit has it there.
    pub(super) disguised: Vec<String>,
}

static KNOWN: LazyLock<Mutex<HashMap<u64, Arc<History>>>> = LazyLock::new(Mutex::default);

impl History {
    /// Returns the hidden paths. May block, because it runs git.
    ///
    /// `commits` are looked at too, although no branch may lead to them.
    pub(super) fn of(repository: &Repository, rules: &[Arc<Rule>], base: &Base, commits: &[&str]) -> Arc<Self> {
        let mut state = DefaultHasher::new();
        commits.hash(&mut state);
        for rule in rules {
            rule.text().hash(&mut state);
        }
        (&base.folders, &base.home, &repository.root).hash(&mut state);
        let countable = hash_refs(repository, &mut state);
        let key = state.finish();
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(history) = known().get(&key).filter(|_| countable) {
            return history.clone();
        }
        let history = Arc::new(Self::listed(repository, rules, base, commits));
        if !countable {
            return history;
        }
        let mut known = known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(key, history.clone());
        history
    }

    /// Returns what is known of a repository that cannot be looked through: any of these rules may hide something.
    pub(super) fn unknown(rules: &[Arc<Rule>]) -> Arc<Self> {
        Arc::new(Self { all_rules: rules.iter().map(|rule| rule.text().clone()).collect(), ..Self::default() })
    }

    fn listed(repository: &Repository, rules: &[Arc<Rule>], base: &Base, commits: &[&str]) -> Self {
        let mut history = Self { is_whole: true, ..Self::default() };
        let mut blobs = HashSet::new();
        let mut add = |path: &str, about: &str, hidden: &mut Vec<(String, Arc<str>)>| {
            if let Some(rule) = rules.iter().find(|rule| hides(rule, &repository.root, path, base)) {
                blobs.extend(hashes(about).map(str::to_owned));
                let known = (path.to_owned(), rule.text().clone());
                if !hidden.contains(&known) {
                    hidden.push(known);
                }
            }
            hidden.len() < MAX_HIDDEN
        };
        let loose = ["FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"];
        let loose = loose.into_iter().filter(|name| repository.git.join(name).exists());
        let mut log =
            vec!["log", "--all", "--reflog", "--ignore-missing", "--format=", "--raw", "--no-abbrev", "-z", "-c"];
        log.extend(["--root", "--no-renames", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color"]);
        log.extend(loose.chain(commits.iter().copied()).chain(["--"]));
        // A line about a change, and then its path.
        let mut about = String::new();
        history.is_whole &= each_name(&repository.git, &log, &mut |text| {
            if about.is_empty() {
                about.push_str(if text.starts_with(':') { text } else { "" });
                return true;
            }
            let goes_on = add(text, &about, &mut history.hidden);
            about.clear();
            goes_on
        });
        history.is_whole &= each_name(&repository.git, INDEX, &mut |entry| {
            let (about, path) = entry.split_once('\t').unwrap_or_default();
            add(path, about, &mut history.hidden)
        });
        if !history.hidden.is_empty() {
            history.disguised = disguised(repository, &history.hidden, &blobs);
        }
        if !history.is_whole {
            history.all_rules = rules.iter().map(|rule| rule.text().clone()).collect();
        }
        history
    }

    /// Returns the hidden paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.hidden.iter().map(|(path, _)| path.as_str())
    }

    /// Returns the rules that hide something here.
    pub(super) fn rules(&self) -> Vec<&Arc<str>> {
        let mut rules: Vec<&Arc<str>> = Vec::new();
        for rule in self.hidden.iter().map(|(_, rule)| rule).chain(&self.all_rules) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    /// Returns a rule that hides something here.
    pub(super) fn first_rule(&self) -> Option<&Arc<str>> {
        self.rules().first().copied()
    }

    /// Returns the hidden paths for a reason.
    pub(super) fn described(&self) -> String {
        let mut named: Vec<String> = self.paths().take(MAX_NAMED).map(|path| format!("`{path}`")).collect();
        match self.hidden.len() {
            0 => "files that could not be checked".to_owned(),
            count if count > MAX_NAMED => format!("{} and {} more", named.join(", "), count - MAX_NAMED),
            _ => {
                let last = named.pop().unwrap_or_default();
                if named.is_empty() { last } else { format!("{} and {last}", named.join(", ")) }
            }
        }
    }
}

/// Returns the hashes in a line about a file. Those of zeros stand for no file.
fn hashes(about: &str) -> impl Iterator<Item = &str> {
    let words = about.split(' ').filter(|word| word.len() >= 40 && word.bytes().any(|byte| byte != b'0'));
    words.filter(|word| !EMPTY.contains(word))
}

/// Returns the paths under which the index has the content of hidden files, although no rule hides them and the last commit
/// does not have it there: somebody wrote the index by hand.
fn disguised(repository: &Repository, hidden: &[(String, Arc<str>)], blobs: &HashSet<String>) -> Vec<String> {
    let mut found: Vec<(String, String)> = Vec::new();
    each_name(&repository.git, INDEX, &mut |entry| {
        let (about, path) = entry.split_once('\t').unwrap_or_default();
        if hidden.iter().all(|(known, _)| known != path) {
            found.extend(
                hashes(about).filter(|hash| blobs.contains(*hash)).map(|hash| (path.to_owned(), hash.to_owned())),
            );
        }
        found.len() < MAX_HIDDEN
    });
    if !found.is_empty() {
        each_name(&repository.git, &["ls-tree", "-r", "-z", "HEAD"], &mut |entry| {
            let (about, path) = entry.split_once('\t').unwrap_or_default();
            found.retain(|(known, hash)| known != path || !about.ends_with(&**hash));
            !found.is_empty()
        });
    }
    found.into_iter().map(|(path, _)| path).collect()
}

/// Returns the commits that no branch, tag or log leads to. Returns `None` if they are too many, or git takes too
/// long.
pub(super) fn unreferenced(repository: &Repository) -> Option<Vec<String>> {
    let mut referenced = HashSet::new();
    let reachable = ["rev-list", "--all", "--reflog", "--ignore-missing"];
    let heard = each_line(&repository.git, &reachable, &mut |commit| {
        referenced.insert(commit.to_owned());
        true
    });
    let mut found = Vec::new();
    let all = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)"];
    let whole = each_line(&repository.git, &all, &mut |line| {
        let commit = line.strip_prefix("commit ").filter(|commit| !referenced.contains(*commit));
        found.extend(commit.map(str::to_owned));
        found.len() <= MAX_UNREFERENCED
    });
    (heard && whole).then_some(found)
}

/// Returns whether the repository has content of files that neither a commit nor the index has, so that its path is not known.
/// Returns true also if git takes too long.
pub(super) fn has_loose_files(repository: &Repository) -> bool {
    let mut known: HashSet<String> = EMPTY.iter().map(|&hash| hash.to_owned()).collect();
    let reachable = ["rev-list", "--objects", "--all", "--reflog", "--indexed-objects", "--ignore-missing"];
    let heard = each_line(&repository.git, &reachable, &mut |line| {
        known.extend(line.split(' ').next().map(str::to_owned));
        true
    });
    let all = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)"];
    let whole = each_line(&repository.git, &all, &mut |line| {
        line.strip_prefix("blob ").is_none_or(|blob| known.contains(blob))
    });
    !(heard && whole)
}

/// Lists the index.
const INDEX: &[&str] = &["ls-files", "-s", "-z"];

/// Files whose change may change which commits there are.
const NAMES: &[&str] = &[
    "HEAD",
    "index",
    "packed-refs",
    "shallow",
    "info/grafts",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "logs/HEAD",
];

/// Hashes the state of the index and all refs. Returns whether it tells them from every other state.
fn hash_refs(repository: &Repository, state: &mut DefaultHasher) -> bool {
    let mut left = MAX_REFS;
    let mut settled = true;
    let mut add = |path: &Path| {
        let Ok(found) = fs::symlink_metadata(path).map(|found| folders::state(&found)) else { return };
        settled &= folders::is_settled(found);
        (path, found).hash(state);
    };
    for folder in [&repository.git, &repository.common] {
        for name in NAMES {
            add(&folder.join(name));
        }
    }
    let mut folders: Vec<PathBuf> = ["refs", "logs", "worktrees"].map(|name| repository.common.join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return false };
            left = rest;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) { folders.push(path) } else { add(&path) }
        }
    }
    settled && !repository.common.join("reftable").exists()
}

/// Prepares git to read a repository without starting any program that its configuration names.
pub(super) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command.envs([("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none"), ("GIT_OPTIONAL_LOCKS", "0")]);
    command.args([
        "--no-pager",
        "--no-replace-objects",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
    ]);
    command.args(["-c", "safe.directory=*", "-c", "log.showRoot=true", "-c", "core.quotePath=false"]);
    command.arg("--git-dir").arg(folder).current_dir("/");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Calls `take` with each name that git lists, until it returns false. Returns whether that were all names.
pub(super) fn each_name(folder: &Path, arguments: &[&str], take: &mut dyn FnMut(&str) -> bool) -> bool {
    each(folder, arguments, 0, take)
}

/// Does the same with each line.
fn each_line(folder: &Path, arguments: &[&str], take: &mut dyn FnMut(&str) -> bool) -> bool {
    each(folder, arguments, b'\n', take)
}

fn each(folder: &Path, arguments: &[&str], end: u8, take: &mut dyn FnMut(&str) -> bool) -> bool {
    let Ok(mut child) = git(folder).args(arguments).stdout(Stdio::piped()).spawn() else { return false };
    let Some(output) = child.stdout.take() else { return false };
    let child = Mutex::new(child);
    let kill = || {
        // An error means that it has ended.
        let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    };
    let (done, waiting) = mpsc::channel::<()>();
    let kill = &kill;
    let wanted = thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(MAX_TIME) == Err(mpsc::RecvTimeoutError::Timeout) {
                kill();
            }
        });
        let mut reader = BufReader::new(output);
        let mut name = Vec::new();
        let mut wanted = true;
        while wanted && reader.read_until(end, &mut name).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&name);
            wanted = take(text.trim_matches(['\0', '\n']));
            name.clear();
        }
        if !wanted {
            kill();
        }
        drop(done);
        wanted
    });
    let ended = child.lock().unwrap_or_else(PoisonError::into_inner).wait();
    wanted && ended.is_ok_and(|status| status.success())
}
