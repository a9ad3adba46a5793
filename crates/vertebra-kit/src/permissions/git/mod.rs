//! What git commands can show of files that a rule denies reading.
//!
//! A file that was committed once is in the object database for good, under names that no path rule matches. Before a call
//! runs, the repositories that it can reach are asked which of their committed paths a rule hides. If there are any, a git
//! command may show content only if its pathspecs leave the hidden files out, or if its output is a plain diff or a list of
//! lines with paths, from which the hidden parts are removed afterwards (`results`). The sandbox hides the object database
//! from all other programs.

mod command;
mod folders;
mod history;
mod options;
mod pathspec;
mod quoted;
mod repository;
mod written;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use vertebra::paths::absolute;

pub(crate) use self::written::{copies, may_write, new_worktree, written};
use self::{
    command::{Git, Shows, blobs_in, is_harmless, objects_in, parse},
    history::{History, has_loose_files, unreferenced},
    pathspec::Pathspecs,
    repository::Repository,
};
use super::{
    command::only_wraps,
    path::{Base, Place},
    rule::{Part, Rule},
};

/// How long the histories of repositories that a call does not use are looked through.
const MAX_TIME_OTHERS: Duration = Duration::from_secs(1);

/// How many names are checked to find repositories, in the working folder and in the one for temporary files.
const MAX_NAMES: usize = 20_000;
const MAX_NAMES_NEAR: usize = 2000;

/// How many hidden files a reason names.
const MAX_NAMED: usize = 3;

/// Programs that neither start other programs nor read a file that they do not name. They may run beside git.
const COMPANIONS: &[&str] = &[
    ":", "[", "basename", "cat", "cd", "cut", "date", "dirname", "echo", "expr", "false", "grep", "head", "ls",
    "mkdir", "nl", "printf", "pwd", "rev", "rm", "set", "sleep", "sort", "tac", "tail", "test", "touch", "tr", "true",
    "uniq", "wc",
];

/// The simple commands of a call and the folders in which they may run.
pub(super) struct Line<'l> {
    pub(super) text: &'l str,
    pub(super) commands: &'l [String],
    pub(super) here: &'l [String],
    pub(super) base: &'l Base,
    /// The existing paths that the commands name.
    pub(super) places: Vec<&'l Place>,
}

impl Line<'_> {
    /// Returns the folders that variables such as `GIT_DIR` name.
    fn told_by_variables(&self) -> impl Iterator<Item = String> {
        let words = self.commands.iter().flat_map(|command| command.split(' ')).filter(|word| word.starts_with("GIT_"));
        let values = words.filter_map(|word| word.split_once('=')).flat_map(|(_, value)| value.split(':'));
        values.flat_map(|value| self.here.iter().map(move |here| absolute(here, value)))
    }

    /// Returns whether the line changes to a folder that is not known.
    fn goes_anywhere(&self) -> bool {
        let is_open = |word: &str| word.contains(['$', '`', '*', '?', '[']) || word == "-";
        self.commands.iter().any(|command| {
            let words: Vec<&str> = command.split(' ').collect();
            let goes = matches!(words[0], "cd" | "pushd");
            let told = |at: usize| at > 0 && matches!(words[at - 1], "-C" | "--git-dir" | "--chdir");
            let attached = |word: &str| ["-C", "--git-dir=", "--chdir="].iter().any(|start| word.starts_with(start));
            words.iter().enumerate().skip(1).any(|(at, word)| (goes || told(at) || attached(word)) && is_open(word))
        })
    }
}

/// What the git commands of a call can show.
#[derive(Debug, Clone, Default)]
pub(super) struct Review {
    /// Paths that git commands name as `REVISION:PATH`.
    pub(super) named: Vec<Place>,
    /// The rules that the call breaks, and how.
    pub(super) broken: Vec<(Arc<str>, String)>,
    /// The top folders of the repositories. Git prints paths relative to them.
    pub(super) roots: Vec<String>,
    /// Object databases with hidden content that the sandbox must hide from this call.
    pub(super) hide: Vec<PathBuf>,
    /// The git folders that its git commands use.
    used: Vec<PathBuf>,
    /// Whether its git commands use a repository with hidden content.
    pub(super) holds_hidden: bool,
    /// Why git and other programs cannot run in one call here.
    pub(super) mixed: Option<String>,
}

impl Review {
    /// Reviews the git commands of a call. May block, because it runs git.
    pub(super) fn new(line: &Line<'_>, rules: &[Arc<Rule>]) -> Self {
        let mut review = Self::default();
        if line.commands.is_empty() || rules.is_empty() {
            return review;
        }
        let gits: Vec<Git<'_>> = line.commands.iter().filter_map(|command| parse(command)).collect();
        let runs_git = !gits.is_empty();
        let mut repositories: Vec<Repository> = Vec::new();
        let named = gits.iter().flat_map(|git| git.repositories(line)).chain(line.told_by_variables());
        for folder in line.here.iter().cloned().chain(named) {
            let found = Repository::around(&folder);
            repositories.extend(found.filter(|found| !repositories.contains(found)));
        }
        if runs_git && line.goes_anywhere() {
            for near in line.base.folders.iter().flat_map(|folder| Repository::below(Path::new(folder), MAX_NAMES)) {
                repositories.extend(Some(near).filter(|near| !repositories.contains(near)));
            }
        }
        let lenders: Vec<Option<Vec<Repository>>> = repositories.iter().map(Repository::lenders).collect();
        if lenders.contains(&None) {
            review.refuse_unknown_objects(&gits, rules);
        }
        let lenders: Vec<Repository> = lenders.into_iter().flatten().flatten().collect();
        for lender in &lenders {
            repositories.extend(Some(lender.clone()).filter(|lender| !repositories.contains(lender)));
        }
        let others = || line.commands.iter().filter(|command| !is_companion(command, line.commands));
        let writes_files = gits.iter().any(Git::writes_files);
        let gropes = || line.commands.iter().filter(|command| writes_files && gropes(command));
        let other = others().chain(gropes()).next();
        for repository in &repositories {
            review.roots.push(repository.root.clone());
            review.used.push(repository.git.clone());
            for git in &gits {
                review.named.extend(git.named(line, &repository.root));
            }
            let hashes: Vec<&str> = gits.iter().flat_map(Git::hashes).collect();
            let commits =
                objects_in(&repository.git, &hashes).into_iter().filter(|(_, kind)| kind == "commit" || kind == "tag");
            let mut commits: Vec<&str> = commits.map(|(commit, _)| commit).collect();
            // A commit that a substitution names may be any.
            let any = if gits.iter().any(Git::is_open) { unreferenced(repository) } else { Some(Vec::new()) };
            commits.extend(any.iter().flatten().map(String::as_str));
            let history = match any {
                Some(_) => History::of(repository, rules, line.base, &commits),
                None => History::unknown(rules),
            };
            let Some(first) = history.first_rule() else {
                review.look_for_blobs(&gits, repository, rules);
                continue;
            };
            review.holds_hidden |= runs_git;
            let taken = line.places.iter().any(|place| place.any(|path| repository.is_part(path)));
            if taken && !line.commands.iter().all(|command| is_listing(command)) {
                let why = format!("{} are read from the files of the repository", history.described());
                review.broken.push((first.clone(), why));
            }
            let is_lent = lenders.contains(repository);
            for git in &gits {
                review.look_at(git, line, (repository, is_lent), &history);
            }
            match other {
                Some(other) if runs_git => {
                    let program = other.split(' ').next().unwrap_or_default();
                    review.mixed.get_or_insert_with(|| {
                        format!(
                            "`{first}` hides {}, which this repository holds in its history; run git in a call of its own, \
                             without `{program}`",
                            history.described()
                        )
                    });
                }
                _ if runs_git => {}
                _ => review.hide.extend(repository.contents()),
            }
        }
        review
    }

    /// Adds what the sandbox must hide of repositories that this call does not use: those in its folders, and some in the
    /// folder for temporary files. May block, because it runs git.
    pub(super) fn hide_others(&mut self, rules: &[Arc<Rule>], base: &Base, temporary: &Path) {
        let inside = base.folders.iter().map(|folder| (PathBuf::from(folder), MAX_NAMES));
        let near = [(temporary.to_owned(), MAX_NAMES_NEAR)];
        let deadline = Instant::now() + MAX_TIME_OTHERS;
        let mut seen = self.used.clone();
        for (folder, names) in inside.chain(near) {
            for repository in Repository::below(&folder, names) {
                if seen.contains(&repository.git) || Instant::now() > deadline {
                    continue;
                }
                seen.push(repository.git.clone());
                if History::of(&repository, rules, base, &[]).first_rule().is_some() {
                    self.hide.extend(repository.contents());
                }
            }
        }
    }

    /// Notes the rules that a git command breaks in a repository with hidden files.
    fn look_at(
        &mut self,
        git: &Git<'_>,
        line: &Line<'_>,
        (repository, is_lent): (&Repository, bool),
        history: &History,
    ) {
        let why = match git.shows(line, repository) {
            // Whoever made the other repository chose the names of its files.
            shows if is_lent && (shows != Shows::Nothing || git.writes_files()) => {
                format!("the objects of another repository are used, which holds {}", history.described())
            }
            _ if !history.disguised.is_empty() && !git.mends_index() => {
                let names = history.disguised.join("` and `");
                format!("the index has the content of a hidden file as `{names}`; take it out with `git reset -- PATH`")
            }
            Shows::Unclear(why) => format!("{why}, and the repository holds {}", history.described()),
            Shows::Objects | Shows::Content { .. } if !blobs_in(&repository.git, &git.objects()).is_empty() => {
                "a file is named by its hash or by a tag; write `REVISION:PATH` instead".to_owned()
            }
            // Words are split at blanks, so a path may go on in the next one.
            Shows::Objects
                if git
                    .paths_behind_colons()
                    .any(|start| history.paths().any(|path| path.contains(' ') && path.starts_with(start))) =>
            {
                "a path with blanks may be a hidden one".to_owned()
            }
            Shows::Nothing | Shows::Objects => return,
            Shows::Content { pathspecs, filtered } => {
                let limits = Pathspecs::new(&pathspecs, line.here, &repository.root);
                let shown: Vec<&str> = history.paths().filter(|path| limits.cover(path)).collect();
                if history.is_whole && (shown.is_empty() || filtered) {
                    return;
                }
                let leave_out: Vec<String> =
                    shown.iter().take(MAX_NAMED).map(|path| format!("':(top,exclude){path}'")).collect();
                match leave_out.as_slice() {
                    [] => "the history of the repository is too long to check for hidden files".to_owned(),
                    paths => {
                        format!("git shows {} too; leave it out with `-- {}`", history.described(), paths.join(" "))
                    }
                }
            }
        };
        for rule in history.rules() {
            self.broken.push((rule.clone(), why.clone()));
        }
    }

    /// Notes commands that may show objects of a repository that is not known.
    fn refuse_unknown_objects(&mut self, gits: &[Git<'_>], rules: &[Arc<Rule>]) {
        if gits.iter().any(|git| git.may_show() || git.writes_files()) {
            let why = "the repository uses objects that lie elsewhere, and may hold hidden files";
            self.broken.extend(rules.iter().map(|rule| (rule.text().clone(), why.to_owned())));
        }
    }

    /// Notes files that are named by a hash or a tag. No commit need hold them, so their paths are not known.
    fn look_for_blobs(&mut self, gits: &[Git<'_>], repository: &Repository, rules: &[Arc<Rule>]) {
        for git in gits {
            let objects = git.objects();
            let all = git.shows_all_objects();
            if all || (!objects.is_empty() && !blobs_in(&repository.git, &objects).is_empty()) {
                let why = "the path of a file that is named by its hash is not known; write `REVISION:PATH` instead";
                self.broken.extend(rules.iter().map(|rule| (rule.text().clone(), why.to_owned())));
            } else if git.may_show_any_file() && has_loose_files(repository) {
                let why = "a file that was added and never committed may be named, whose path is not known; write `…^{commit}` \
                           behind the variable or the substitution";
                self.broken.extend(rules.iter().map(|rule| (rule.text().clone(), why.to_owned())));
            }
        }
    }
}

/// Returns whether a command may run beside git: it is git, or it reads only what it names.
fn is_companion(command: &str, all: &[String]) -> bool {
    if parse(command).is_some() || only_wraps(command, all) {
        return true;
    }
    let mut words = command.split(' ').filter(|word| !word.is_empty()).skip_while(|word| is_assignment(word));
    let Some(program) = words.next() else { return true };
    COMPANIONS.contains(&program) && (matches!(program, "echo" | "printf") || !command.contains(['$', '`']))
}

/// Returns whether a command at most lists names.
fn is_listing(command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    matches!(program, "ls" | "cd" | "test" | "[" | "stat" | "du" | "echo" | "pwd" | "true") || parse(command).is_some()
}

/// Returns whether a command may read files that it does not name. They may have been written by git before.
fn gropes(command: &str) -> bool {
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let reads = words.next().is_some_and(|program| COMPANIONS.contains(&program) && !is_listing(program));
    reads
        && words.any(|word| {
            let recurses = word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']);
            word.contains(['*', '?', '[']) || recurses || word.starts_with("--rec") || word.starts_with("--deref")
        })
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && is_harmless(word)
}

/// Returns whether a rule hides a path of a repository: where the repository is, and where a copy of it would be.
fn hides(rule: &Rule, root: &str, path: &str, base: &Base) -> bool {
    let Part::Path(_, pattern) = &rule.part else { return false };
    std::iter::once(root)
        .chain(base.folders.iter().map(String::as_str))
        .any(|folder| pattern.refuses(&format!("{}/{path}", folder.trim_end_matches('/')), base))
}
