//! What git commands can show of files that a rule denies reading.
//!
//! A file that was committed once is in the object database for good, under names that no path rule matches. Before a call
//! runs, the repositories that it can reach are asked which of their committed paths a rule hides. If there are any, a git
//! command may show content only if its pathspecs leave the hidden files out, or if its output is a plain diff or a list of
//! lines with paths, from which the hidden parts are removed afterwards (`results`). The sandbox hides the object database
//! from all other programs.

mod command;
mod history;
mod pathspec;
mod repository;
mod written;

use std::{path::PathBuf, sync::Arc};

pub(crate) use self::written::{may_write, written};
use self::{
    command::{Git, Shows, blobs_in, parse},
    history::History,
    pathspec::Pathspecs,
    repository::Repository,
};
use super::{
    command::only_wraps,
    path::{Base, Place},
    rule::{Part, Rule},
};

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
        let mut repositories: Vec<Repository> = Vec::new();
        let named = gits.iter().flat_map(|git| git.repositories(line));
        for folder in line.here.iter().cloned().chain(named) {
            let found = Repository::around(&folder);
            repositories.extend(found.filter(|found| !repositories.contains(found)));
        }
        let runs_git = !gits.is_empty();
        let other = line.commands.iter().find(|command| !is_companion(command, line.commands));
        for repository in &repositories {
            review.roots.push(repository.root.clone());
            for git in &gits {
                review.named.extend(git.named(line, &repository.root));
            }
            let history = History::of(repository, rules, line.base);
            let Some(first) = history.first_rule() else {
                review.look_for_blobs(&gits, repository, rules);
                continue;
            };
            let objects = repository.object_folders();
            let taken = line.places.iter().any(|place| place.any(|path| repository.is_part(path)));
            if taken && !line.commands.iter().all(|command| is_listing(command)) {
                let why = format!("{} are read from the files of the repository", history.described());
                review.broken.push((first.clone(), why));
            }
            for git in &gits {
                review.look_at(git, line, repository, &history);
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
                _ => review.hide.extend(objects),
            }
        }
        review
    }

    /// Notes the rules that a git command breaks in a repository with hidden files.
    fn look_at(&mut self, git: &Git<'_>, line: &Line<'_>, repository: &Repository, history: &History) {
        let why = match git.shows(line, repository) {
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

    /// Notes files that are named by a hash or a tag. No commit need hold them, so their paths are not known.
    fn look_for_blobs(&mut self, gits: &[Git<'_>], repository: &Repository, rules: &[Arc<Rule>]) {
        for git in gits {
            let objects = git.objects();
            let all = git.shows_all_objects();
            if all || (!objects.is_empty() && !blobs_in(&repository.git, &objects).is_empty()) {
                let why = "the path of a file that is named by its hash is not known; write `REVISION:PATH` instead";
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

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty()
        && !name.starts_with("GIT_")
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns whether a rule hides a path of a repository: where the repository is, and where a copy of it would be.
fn hides(rule: &Rule, root: &str, path: &str, base: &Base) -> bool {
    let Part::Path(_, pattern) = &rule.part else { return false };
    std::iter::once(root)
        .chain(base.folders.iter().map(String::as_str))
        .any(|folder| pattern.refuses(&format!("{}/{path}", folder.trim_end_matches('/')), base))
}
