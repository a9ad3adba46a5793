//! Whether git would write protected names, or files outside of the writable folders. The sandbox would refuse them, and git would stop half-way: with a part of the
//! files written, or with a branch whose files are those of another. So it is found out before the command runs.

use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;
use vertebra::ToolError;

use super::{
    Bash,
    environment::Variables,
    grants::Granted,
    policy::{Ground, git_commands},
    sandbox::{Need, Use, resolved},
};
use crate::{
    is_protected,
    permissions::{git_may_write, written_by_git},
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

    /// Makes sure that git, if a command runs it, would write no protected name that nobody has allowed to change.
    pub(super) async fn check_git(
        &self,
        command: &str,
        (folder, here): (&Path, &Path),
        granted: &Granted,
        variables: &Variables,
    ) -> Result<(), ToolError> {
        if self.sandbox.need == Need::Off || !command.contains("git") {
            return Ok(());
        }
        let (allowed, outside) = self.inside_and_outside(granted, folder, variables);
        let besides = self.sandbox.write_besides(variables, folder, &outside);
        let besides = besides.into_iter().map(|(path, used)| (resolved(&path), used));
        let shared = ("/dev/shm".into(), Use::Shared);
        let writable: Vec<(PathBuf, Use)> = besides.chain([(resolved(folder), Use::Work), shared]).collect();
        let home = variables.folder("HOME").unwrap_or_else(|| "/".into());
        let mut ground = Ground::new(folder.to_string_lossy(), home.to_string_lossy());
        ground.here = here.to_string_lossy().into_owned();
        let (command, folder) = (command.to_owned(), resolved(folder));
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
        match found.await {
            Ok(found) if !found.is_empty() => Err(refusal(&found, &folder, &outside)),
            // Without an answer the sandbox holds the command all the same.
            _ => Ok(()),
        }
    }
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
