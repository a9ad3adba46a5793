//! Whether git would write protected names, or files outside of the writable folders. The sandbox would refuse them, and git would stop half-way: with a part of the
//! files written, or with a branch whose files are those of another. So it is found out before the command runs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use tokio::task::spawn_blocking;
use vertebra::ToolError;

use super::{
    Bash,
    environment::Variables,
    grants::Granted,
    needs::{is_new, may_be_granted},
    policy::{Ground, git_commands},
    sandbox::{Need, Use, resolved},
};
use crate::{
    is_protected,
    permissions::{git_may_write, new_worktree, written_by_git},
    protected::is_policy,
};

/// How many files are named.
const NAMED: usize = 10;

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
        let home = resolved(folder);
        let is_beside = |path: &PathBuf| {
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            let is_named_after =
                name(&home).zip(name(path)).is_some_and(|(home, name)| name.starts_with(&format!("{home}-")));
            is_named_after && path.parent() == home.parent() && is_new(path)
        };
        let may = |path: &PathBuf| may_be_granted(self, path, folder, variables).is_ok();
        let made = worktrees(&git_commands(command, &ground(folder, here, variables)));
        Granted { write: made.into_iter().filter(|path| is_beside(path) && may(path)).collect(), ..Granted::default() }
    }

    /// Makes sure that git, if a command runs it, would write no protected name that nobody has allowed to change. Returns what
    /// a person has to grant besides, because git makes a worktree outside of the writable folders.
    pub(super) async fn check_git(
        &self,
        command: &str,
        places: (&Path, &Path),
        granted: &Granted,
        variables: &Variables,
    ) -> Result<Granted, ToolError> {
        if self.sandbox.need == Need::Off || !command.contains("git") {
            return Ok(Granted::default());
        }
        let folder = resolved(places.0);
        let found = self.written_by_git(command, places, granted, variables).await;
        if found.is_empty() {
            return Ok(Granted::default());
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
        Ok(more)
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
