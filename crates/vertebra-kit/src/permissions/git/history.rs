//! The committed paths of a repository that rules hide.

use std::{
    collections::HashMap,
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
    MAX_NAMED, Repository, hides,
};

/// How long git may list the paths of a repository. Past it, the repository counts as one with hidden files.
const MAX_TIME: Duration = Duration::from_secs(3);

/// The maximum number of hidden paths that are kept.
const MAX_HIDDEN: usize = 1000;

/// How many ref files are checked for changes.
const MAX_REFS: usize = 5000;

/// How many repositories are remembered.
const MAX_KNOWN: usize = 512;

/// The hidden paths of a repository, in its index and in any commit.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// The paths from the top of the repository, with the rule that hides each.
    hidden: Vec<(String, Arc<str>)>,
    /// The rules to apply when not all paths could be listed.
    all_rules: Vec<Arc<str>>,
    /// Whether all paths could be listed.
    pub(super) is_whole: bool,
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
        let mut known = known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(key, history.clone());
        history
    }

    fn listed(repository: &Repository, rules: &[Arc<Rule>], base: &Base, commits: &[&str]) -> Self {
        let mut history = Self { is_whole: true, ..Self::default() };
        let loose = ["FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"];
        let loose = loose.into_iter().filter(|name| repository.git.join(name).exists());
        let mut log = vec!["log", "--all", "--reflog", "--ignore-missing", "--format=", "--name-only", "-z", "-c"];
        log.extend(["--root", "--no-renames", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color"]);
        log.extend(loose.chain(commits.iter().copied()).chain(["--"]));
        for arguments in [&["ls-files", "-z"][..], &log] {
            let heard = each_name(&repository.git, arguments, &mut |path| {
                let rule = rules.iter().find(|rule| hides(rule, &repository.root, path, base));
                if let Some(rule) = rule {
                    let known = (path.to_owned(), rule.text().clone());
                    if !history.hidden.contains(&known) {
                        history.hidden.push(known);
                    }
                }
                history.hidden.len() < MAX_HIDDEN
            });
            history.is_whole &= heard;
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

/// Hashes the state of the index and all refs. Returns whether this was possible.
fn hash_refs(repository: &Repository, state: &mut DefaultHasher) -> bool {
    let mut left = MAX_REFS;
    let mut add = |path: &Path| {
        let Ok(metadata) = fs::symlink_metadata(path) else { return };
        (path, metadata.len(), metadata.modified().ok()).hash(state);
    };
    for folder in [&repository.git, &repository.common] {
        for name in ["HEAD", "index", "packed-refs", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "logs/HEAD"] {
            add(&folder.join(name));
        }
    }
    let mut folders: Vec<PathBuf> = vec![repository.common.join("refs"), repository.common.join("logs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return false };
            left = rest;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) { folders.push(path) } else { add(&path) }
        }
    }
    !repository.common.join("reftable").exists()
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
        while wanted && reader.read_until(0, &mut name).is_ok_and(|read| read > 0) {
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
