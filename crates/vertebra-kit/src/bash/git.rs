//! Whether git would write protected names, or files outside of the writable folders. The sandbox would refuse them, and git would stop half-way: with a part of the
//! files written, or with a branch whose files are those of another. So it is found out before the command runs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::task::spawn_blocking;
use vertebra::{ToolError, paths::absolute};

use super::{
    Bash,
    environment::Variables,
    grants::Granted,
    needs::{is_new, may_be_granted},
    policy::{Ground, does_more, git_commands},
    sandbox::{Need, Use, resolved},
};
use crate::{
    is_protected,
    permissions::{git_copies, git_may_write, new_worktree, written_by_git},
    protected::{GitPaths, git, is_policy},
};

/// How many files are named.
const NAMED: usize = 10;

/// What a command needs besides, because git writes or removes protected names in a worktree.
#[derive(Default)]
pub(super) struct InWorktree {
    /// What a person has to grant.
    pub(super) asked: Granted,
    /// What needs no question, for this command only: it decides nothing that is not decided already.
    pub(super) free: Granted,
}

impl Bash {
    /// The paths among those granted that lie in a folder which commands may write anyway, or in another granted one; and the
    /// others, which are folders of their own.
    pub(super) fn inside_and_outside(
        &self,
        granted: &Granted,
        folder: &Path,
        variables: &Variables,
    ) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let in_other = |path: &PathBuf| granted.write.iter().any(|other| path != other && path.starts_with(other));
        let all = granted.write.iter().cloned();
        all.partition(|path| in_other(path) || self.is_inside(path, folder, variables))
    }

    /// The worktrees that a command makes beside the working folder, named after it: `../shop-fix` for `shop`. They are new, so
    /// nothing that exists changes, and nobody is asked about them.
    pub(super) fn worktrees_beside(
        &self,
        command: &str,
        (folder, here): (&Path, &Path),
        variables: &Variables,
    ) -> Granted {
        if self.sandbox.need == Need::Off || self.sandbox.fixed.write || !command.contains("worktree") {
            return Granted::default();
        }
        let may = |path: &PathBuf| may_be_granted(self, path, folder, variables).is_ok();
        let made = worktrees(&git_commands(command, &ground(folder, here, variables)));
        let is_new = |path: &PathBuf| is_beside(path, &resolved(folder)) && is_new(path);
        Granted { write: made.into_iter().filter(|path| is_new(path) && may(path)).collect(), ..Granted::default() }
    }

    /// Makes sure that git, if a command runs it, would write no protected name that nobody has allowed to change. Returns what
    /// the command needs besides, because git makes or removes a worktree outside of the writable folders.
    pub(super) async fn check_git(
        &self,
        command: &str,
        places: (&Path, &Path),
        (granted, session): (&Granted, &Arc<str>),
        variables: &Variables,
    ) -> Result<InWorktree, ToolError> {
        if self.sandbox.need == Need::Off || !command.contains("git") {
            return Ok(InWorktree::default());
        }
        let folder = resolved(places.0);
        let found = self.written_by_git(command, places, granted, variables).await;
        if found.is_empty() {
            return Ok(InWorktree::default());
        }
        let is_busy = self.grants.under_way.of(session).are_there();
        if found.iter().all(|(is_closed, _)| !is_closed)
            && let Some(is_alone) = self.decides_nothing(command, places, granted, &found, variables).await
            && !is_busy
        {
            let free = Granted { write: found.into_iter().map(|(_, path)| path).collect(), ..Granted::default() };
            return if is_alone {
                Ok(InWorktree { free, ..InWorktree::default() })
            } else {
                Err(alone(&free, &folder))
            };
        }
        let made = worktrees(&git_commands(command, &ground(places.0, places.1, variables)));
        let may = |path: &PathBuf| {
            let is_outside = !self.is_inside(path, places.0, variables);
            is_outside && is_new(path) && may_be_granted(self, path, places.0, variables).is_ok()
        };
        let made: BTreeSet<PathBuf> = made.into_iter().filter(may).collect();
        let mut more = Granted { write: made.clone(), ..Granted::default() }.beyond(granted);
        let outside = |granted: &Granted| self.inside_and_outside(granted, places.0, variables).1;
        let both = granted.clone().and(more.clone());
        let found = if more.is_empty() { found } else { self.written_by_git(command, places, &both, variables).await };
        let in_worktree = |path: &PathBuf| made.iter().any(|made| path.starts_with(made));
        if !found.iter().all(|(is_closed, path)| !is_closed && in_worktree(path)) {
            return Err(refusal(&found, &folder, &outside(&both)));
        }
        more.write.extend(found.into_iter().map(|(_, path)| path));
        Ok(InWorktree { asked: more, ..InWorktree::default() })
    }

    /// Whether the files that git writes decide nothing new: it removes worktrees of the session, or makes some in which these
    /// files are as they are in the working folder. If so, whether the command does nothing else, so that no other program
    /// can write them.
    async fn decides_nothing(
        &self,
        command: &str,
        (folder, here): (&Path, &Path),
        granted: &Granted,
        found: &[(bool, PathBuf)],
        variables: &Variables,
    ) -> Option<bool> {
        let ground = ground(folder, here, variables);
        let (home, command, granted) = (resolved(folder), command.to_owned(), granted.write.clone());
        let mut left: Vec<PathBuf> = found.iter().map(|(_, path)| path.clone()).collect();
        let decide = move || {
            if !starts_nothing(&home) {
                return None;
            }
            let is_of_session = |path: &PathBuf| granted.contains(path) && is_beside(path, &home);
            for (here, words) in git_commands(&command, &ground) {
                let removed = || removed_worktree(&here, &words).filter(|path| is_of_session(path));
                let made = new_worktree(&here, &words).map(|path| resolved(&path));
                if let Some(removed) = removed() {
                    left.retain(|path| !path.starts_with(&removed));
                } else if let Some(made) = made.filter(|path| is_beside(path, &home) && is_new(path)) {
                    let files: Vec<&Path> =
                        left.iter().filter(|path| path.starts_with(&made)).map(|path| &**path).collect();
                    if git_copies(&here, &words, &home, &files) {
                        left.retain(|path| !path.starts_with(&made));
                    }
                }
            }
            left.is_empty().then(|| does_more(&command, &ground).iter().all(|part| is_plain_worktree(part)))
        };
        spawn_blocking(decide).await.unwrap_or_default()
    }

    /// The protected names, and the files outside of the writable folders, that git would write, each with whether it is closed
    /// whoever asks.
    async fn written_by_git(
        &self,
        command: &str,
        (folder, here): (&Path, &Path),
        granted: &Granted,
        variables: &Variables,
    ) -> Vec<(bool, PathBuf)> {
        let (allowed, outside) = self.inside_and_outside(granted, folder, variables);
        let besides = self.sandbox.write_besides(variables, folder, &outside);
        let besides = besides.into_iter().map(|(path, used)| (resolved(&path), used));
        let shared = ("/dev/shm".into(), Use::Shared);
        let writable: Vec<(PathBuf, Use)> = besides.chain([(resolved(folder), Use::Work), shared]).collect();
        let (command, ground) = (command.to_owned(), ground(folder, here, variables));
        let found = spawn_blocking(move || {
            let gits = git_commands(&command, &ground).into_iter();
            let gits = gits.filter(|(_, words)| words.first().is_some_and(|sub| git_may_write(sub)));
            let below = |path: &Path| {
                let work = writable.iter().filter(|(root, used)| *used == Use::Work && path.starts_with(root));
                let root = work.map(|(root, _)| root).max_by_key(|root| root.as_os_str().len())?;
                path.strip_prefix(root).ok().map(Path::to_owned)
            };
            let counts = |path: &Path| match below(path) {
                Some(name) => {
                    let is_allowed = || allowed.iter().any(|allowed| path.starts_with(allowed));
                    is_protected(&name.to_string_lossy()) && (is_policy(&name) || !is_allowed())
                }
                // The policy takes it for `/tmp`.
                None => !command.contains("TMPDIR") && !writable.iter().any(|(root, _)| path.starts_with(root)),
            };
            let found = gits.flat_map(|(here, words)| written_by_git(&here, &words, &counts));
            found.map(|path| (below(&path).is_some_and(|name| is_policy(&name)), path)).collect::<Vec<_>>()
        });
        // Without an answer the sandbox holds the command all the same.
        found.await.unwrap_or_default()
    }
}

/// Where a command is followed.
pub(super) fn ground(folder: &Path, here: &Path, variables: &Variables) -> Ground {
    let home = variables.folder("HOME").unwrap_or_else(|| "/".into());
    let mut ground = Ground::new(folder.to_string_lossy(), home.to_string_lossy());
    ground.here = here.to_string_lossy().into_owned();
    ground
}

/// The folders in which commands of git make worktrees.
fn worktrees(gits: &[(String, Vec<String>)]) -> Vec<PathBuf> {
    gits.iter().filter_map(|(here, words)| new_worktree(here, words)).map(|path| resolved(&path)).collect()
}

/// Returns whether git starts no hook and no other program when it makes or removes a worktree. A hook may run code of the
/// project, which could write what only git may write.
fn starts_nothing(folder: &Path) -> bool {
    let found = GitPaths::of(folder);
    let is_hook = |path: &PathBuf| path.parent().is_some_and(|above| above.ends_with("hooks"));
    found.reads_safely()
        && !found.paths.iter().any(is_hook)
        && git::targets(folder, &|name| std::env::var_os(name)).is_empty()
}

/// The folder of the worktree that a command of git removes.
fn removed_worktree(here: &str, words: &[String]) -> Option<PathBuf> {
    let (sub, words) = words.split_first().filter(|(sub, _)| *sub == "worktree")?;
    let mut operands = words.iter().filter(|word| !word.starts_with('-'));
    operands.next().filter(|word| *word == "remove")?;
    let folder = operands.next().filter(|_| sub == "worktree")?;
    Some(resolved(Path::new(&absolute(here, folder))))
}

/// Whether a folder lies beside the working folder and is named after it.
fn is_beside(path: &Path, home: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let is_named_after = name(home).zip(name(path)).is_some_and(|(home, name)| name.starts_with(&format!("{home}-")));
    is_named_after && path.parent() == home.parent()
}

/// Whether a part of a command is `git worktree` with plain words and no more.
fn is_plain_worktree(part: &str) -> bool {
    let part = part.trim().trim_end_matches("2>&1");
    let is_plain = |letter: char| letter.is_alphanumeric() || " -_./@~^:,+'\"".contains(letter);
    part.starts_with("git worktree ") && part.chars().all(is_plain)
}

/// What is said if other parts of the command could write what only git may write.
fn alone(files: &Granted, folder: &Path) -> ToolError {
    let first = files.write.first().map(|path| path.strip_prefix(folder).unwrap_or(path).display().to_string());
    ToolError::new(format!(
        "not run, nothing was changed: git writes `{}`, which the sandbox protects; run `git worktree` in a call of its own, \
         which takes no question, and the rest in the next call",
        first.unwrap_or_default()
    ))
}

/// What is said of files, with whether each is closed whoever asks. Folders outside of the working folder do not open what is
/// protected in them.
fn refusal(found: &[(bool, PathBuf)], folder: &Path, outside: &[PathBuf]) -> ToolError {
    let mut names: Vec<String> = Vec::new();
    for (_, path) in found {
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let names =
        format!("`{}`{}", names.join("`, `"), if more > 0 { format!(" and {more} more") } else { String::new() });
    let advice = if found.iter().any(|(is_closed, _)| *is_closed) {
        "policies of agents stay closed to commands, so a person has to run this"
    } else if found.iter().any(|(_, path)| outside.iter().any(|outside| path.starts_with(outside))) {
        "a folder outside does not open them: ask for them by name, beside their folder, in `needs.write`"
    } else {
        "ask for them, or for their folders, in `needs.write`"
    };
    ToolError::new(format!(
        "not run, nothing was changed: git would change {names}, which the sandbox protects, and stop half-way; {advice}"
    ))
}
