//! Which paths decide what git executes.
//!
//! In a git directory these are the configuration, the hooks, `info/attributes`, the steps of a rebase, and the files by
//! which git finds another git directory (`.git` as a file, `commondir`). The directories of worktrees and submodules have
//! them too. A folder without the name `.git` is a git directory as soon as it has a `HEAD`.

mod config;
mod deciding;
mod finding;
mod index;
mod parse;
mod targets;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    ffi::OsStr,
    fs,
    path::{Component, Path},
};

pub(crate) use config::config_change;
pub use deciding::GitPaths;
pub use finding::git_dir;
pub(crate) use finding::{common_dir, is_git_dir};
pub(crate) use index::{MAX_INDEX_BYTES, index};
pub(crate) use targets::targets;

use self::deciding::bytes_of;
use super::{Protection, names::folded};

/// The largest git file whose content is checked.
const MAX_BYTES: usize = 1024 * 1024;

/// Why a change in a git directory is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// The new file is too large or not text.
    #[error("the file is too large to check, or is not text")]
    NotText,
    /// The new file cannot be read as git reads it.
    #[error("line {line} cannot be read")]
    Syntax {
        /// The line, from 1.
        line: usize,
    },
    /// The key is not known to be harmless.
    #[error("`{key}` can make git start a program")]
    Key {
        /// The key, with its section.
        key: String,
    },
    /// The key is harmless, but not with this value.
    #[error("`{key}` may not have this value")]
    Value {
        /// The key, with its section.
        key: String,
    },
    /// Changing the order or removing one of several values of a key can bring an older value into force.
    #[error("`{key}` has several values, and only all of them may be removed")]
    Partly {
        /// The key, with its section.
        key: String,
    },
    /// The file points to a git directory that commands can change.
    #[error("it points to a folder that is not a worktree or submodule of this repository")]
    Link,
    /// A step of a rebase starts a program.
    #[error("line {line} of the rebase is a command")]
    Step {
        /// The line, from 1.
        line: usize,
    },
    /// An entry of an index lies in a git directory.
    #[error("an entry of the index lies in a git directory, or the index cannot be read")]
    Index,
    /// The state of a rebase or of a series of patches starts a program.
    #[error("the state of a rebase names a program")]
    State,
    /// The folder holds what would make git start a program.
    #[error("the folder contains `{name}`, which would make git start programs")]
    Folder {
        /// What it contains.
        name: String,
    },
}

/// Returns what may be done with an absolute, resolved path as far as git is concerned.
pub(crate) fn protection(path: &Path, is_git_dir: &dyn Fn(&Path) -> bool) -> Protection {
    let parts: Vec<&OsStr> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let names: Vec<Cow<'_, str>> = parts.iter().map(|name| folded(name)).collect();
    let mut folder = std::path::PathBuf::from("/");
    let mut is_named_git = false;
    for at in 0..names.len() {
        // A folder is looked at only where it matters whether it is a git directory: seldom.
        let is_git = || is_named_git || is_git_dir(&folder);
        match inside(&names[at..]) {
            Inside::Ruled(protection) if is_git() => return protection,
            Inside::Data if is_git() => return Protection::Free,
            Inside::Other if names[at] == "head" && at + 1 == names.len() && !is_git() => return Protection::GitHead,
            // Somebody may keep worktrees in a bare repository.
            Inside::Ruled(_) | Inside::Data | Inside::Other => {}
        }
        folder.push(parts[at]);
        is_named_git = names[at] == ".git";
        if is_named_git && at + 1 == names.len() {
            return Protection::GitEntry;
        }
    }
    Protection::Free
}

/// Returns whether a path could be one that matters to git, if a folder above it became a git directory.
pub(crate) fn may_matter(path: &Path) -> bool {
    let names: Vec<Cow<'_, str>> = path.iter().map(folded).collect();
    names.last().is_some_and(|last| last == "head")
        || (0..names.len()).any(|at| matches!(inside(&names[at..]), Inside::Ruled(_)))
}

/// What a path inside a git directory is.
enum Inside {
    Ruled(Protection),
    /// Objects, references, logs: git reads them and never starts anything because of them.
    Data,
    Other,
}

/// Judges the names after those of a git directory.
fn inside(names: &[Cow<'_, str>]) -> Inside {
    let Some(first) = names.first() else { return Inside::Other };
    let only = names.len() == 1;
    let kept = |below: Protection| Inside::Ruled(if only { Protection::Kept } else { below });
    match &**first {
        "config" | "config.worktree" => Inside::Ruled(if only { Protection::GitConfig } else { Protection::Denied }),
        "hooks" => kept(Protection::Hooks),
        "commondir" => Inside::Ruled(if only { Protection::GitLink } else { Protection::Denied }),
        name if name == "index" || name.starts_with("sharedindex.") => {
            Inside::Ruled(if only { Protection::GitIndex } else { Protection::Denied })
        }
        // Remotes in the form before 2005, which nobody writes any more and git still reads.
        "branches" | "remotes" => kept(Protection::Denied),
        "info" => match names.get(1).map(|name| &**name) {
            None => Inside::Ruled(Protection::Kept),
            Some("attributes") => Inside::Ruled(Protection::Denied),
            Some(_) => Inside::Data,
        },
        "rebase-merge" | "rebase-apply" | "sequencer" => match names.get(1).map(|name| &**name) {
            None => Inside::Ruled(Protection::Kept),
            Some("git-rebase-todo" | "todo" | "strategy" | "opts" | "apply-opt") => {
                Inside::Ruled(if names.len() == 2 { Protection::GitTodo } else { Protection::Denied })
            }
            Some(_) => Inside::Data,
        },
        "worktrees" => linked(names, 2),
        "modules" => {
            // The name of a submodule may have several parts, and ends where its directory begins.
            let is_index = |at: usize| at + 1 == names.len() && names[at] == "index";
            let ends = (2..names.len()).find(|at| PARTS.contains(&&*names[*at]) || is_index(*at));
            linked(names, ends.unwrap_or(names.len()))
        }
        "objects" | "refs" | "logs" | "lfs" | "reftable" => Inside::Data,
        _ => Inside::Other,
    }
}

/// What a git directory is made of, as far as it matters where one begins.
const PARTS: &[&str] = &[
    "branches",
    "commondir",
    "config",
    "config.worktree",
    "head",
    "hooks",
    "info",
    "lfs",
    "logs",
    "modules",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "remotes",
    "sequencer",
    "worktrees",
];

/// Judges a path in the git directories of worktrees or submodules; `begins` is how many names lead to one of them.
fn linked(names: &[Cow<'_, str>], begins: usize) -> Inside {
    // Such a directory is made in its place and not moved there, with whatever is in it.
    if names.len() <= begins {
        return Inside::Ruled(Protection::Kept);
    }
    match inside(&names[begins..]) {
        Inside::Other => Inside::Data,
        found => found,
    }
}

/// Returns whether `content` may be that of the link file `path`: `.git` as a file, or `commondir`.
///
/// It has to lead to the git directory of a worktree or a submodule (from there to the repository), because commands can
/// write everything else, hooks included. `path` is absolute and resolved; links on the way to the target are resolved here.
pub(crate) fn link(path: &Path, content: &[u8]) -> Result<(), Refused> {
    let text = std::str::from_utf8(content).map_err(|_| Refused::NotText)?.trim_end_matches(['\n', '\r']);
    if text.len() > 4096 || text.contains(['\n', '\r', '\0']) {
        return Err(Refused::NotText);
    }
    let folder = path.parent().ok_or(Refused::Link)?;
    let name = path.file_name().map(folded).unwrap_or_default();
    if name == "commondir" {
        // Git writes nothing else, and from a worktree's directory this leads to the one that it belongs to.
        let above = folder.parent().and_then(Path::file_name).map(folded);
        return if text == "../.." && above.as_deref() == Some("worktrees") { Ok(()) } else { Err(Refused::Link) };
    }
    let target = folder.join(text.strip_prefix("gitdir: ").ok_or(Refused::Link)?);
    let target = target.canonicalize().map_err(|_| Refused::Link)?;
    let names: Vec<_> = target.components().map(|part| folded(part.as_os_str())).collect();
    let git = names.iter().rposition(|name| name == ".git");
    let inside = match git {
        Some(git) => &names[git + 1..],
        // A worktree of a bare repository.
        None => names.len().checked_sub(2).map_or(&names[..0], |at| &names[at..]),
    };
    let of_git = match inside {
        [kind, _] if kind == "worktrees" => git.is_some() || target.ancestors().nth(2).is_some_and(has_head),
        [kind, name @ ..] if kind == "modules" && !name.is_empty() => {
            git.is_some() && !name.iter().skip(1).any(|name| PARTS.contains(&&**name) && name != "modules")
        }
        _ => false,
    };
    if of_git { Ok(()) } else { Err(Refused::Link) }
}

/// Returns whether a folder has a `HEAD`, so that git may take it for a git directory.
pub(crate) fn has_head(folder: &Path) -> bool {
    folder.join("HEAD").symlink_metadata().is_ok()
}

/// Returns whether a file of a rebase that stopped starts no program when it goes on: the list of steps, the way to merge,
/// or the options for patches.
pub(crate) fn todo(path: &Path, content: &[u8]) -> Result<(), Refused> {
    if content.len() > MAX_BYTES || content.contains(&0) {
        return Err(Refused::NotText);
    }
    let harmless = match path.file_name().map(folded).as_deref() {
        Some("strategy") => is_strategy(String::from_utf8_lossy(content).trim()),
        Some("opts") => parse::parse(content)?.iter().all(|entry| {
            let value = String::from_utf8_lossy(entry.value.as_deref().unwrap_or_default());
            entry.section == "options" && (entry.key != "strategy" || is_strategy(&value))
        }),
        // Without this, git applies patches to the work tree only.
        Some("apply-opt") => !String::from_utf8_lossy(content).contains("--u"),
        _ => return steps(content),
    };
    if harmless { Ok(()) } else { Err(Refused::State) }
}

/// Whether it is a strategy of git itself: `git rebase` starts `git-merge-<strategy>`, also by a path.
fn is_strategy(name: &str) -> bool {
    matches!(name, "" | "ort" | "recursive" | "resolve" | "octopus" | "ours" | "subtree")
}

/// Returns whether the list of steps of a rebase starts no program.
fn steps(content: &[u8]) -> Result<(), Refused> {
    const STEPS: &[&str] = &[
        "pick",
        "p",
        "reword",
        "r",
        "edit",
        "e",
        "squash",
        "s",
        "fixup",
        "f",
        "drop",
        "d",
        "break",
        "b",
        "label",
        "l",
        "reset",
        "t",
        "merge",
        "m",
        "update-ref",
        "u",
        "noop",
        "revert",
    ];
    for (at, line) in content.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        // The comment character can be set, but not to a letter that begins a step.
        let word = line.split([' ', '\t', '\r']).find(|word| !word.is_empty()).unwrap_or_default();
        let is_comment = word.starts_with(['#', ';', '@', '!', '$', '%', '^', '&', '|', ':']);
        if !word.is_empty() && !is_comment && !STEPS.contains(&word) {
            return Err(Refused::Step { line: at + 1 });
        }
    }
    Ok(())
}

/// Returns whether a folder may become a git directory: nothing in it would make git start a program. `folder` is a path
/// by which the folder itself is reached, such as `/proc/self/fd/N`.
pub(crate) fn may_become_git_dir(folder: &Path) -> Result<(), Refused> {
    let refused = |name: &str| Err(Refused::Folder { name: name.to_owned() });
    let Ok(entries) = fs::read_dir(folder) else { return refused("..") };
    for entry in entries {
        let Ok(entry) = entry else { return refused("..") };
        let (name, is_folder) = (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let name = folded(&name);
        let harmless = match &*name {
            "config" | "config.worktree" => {
                entry.file_type().is_ok_and(|kind| kind.is_file())
                    && entry.metadata().is_ok_and(|found| found.len() <= MAX_BYTES as u64)
                    && fs::read(entry.path()).is_ok_and(|new| config_change(&entry.path(), b"", &new).is_ok())
            }
            "hooks" => is_folder && only_samples(&entry.path()),
            "index" => bytes_of(&entry.path(), MAX_INDEX_BYTES as u64)
                .is_some_and(|bytes| index(&entry.path(), &bytes).is_ok()),
            name if name.starts_with("sharedindex.") => false,
            "commondir" | "modules" | "worktrees" | "rebase-merge" | "rebase-apply" | "sequencer" => false,
            "branches" | "remotes" => is_folder && is_empty(&entry.path()),
            "info" => is_folder && !entry.path().join("attributes").exists(),
            _ => true,
        };
        if !harmless {
            return refused(&name);
        }
    }
    Ok(())
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn only_samples(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| entry.path().extension() == Some(OsStr::new("sample"))))
    })
}

/// Returns whether a path below a folder lies in a git directory without the name `.git`, and not in a work tree inside it.
pub(crate) fn is_in_bare(root: &Path, path: &Path) -> bool {
    let is_git = |folder: &Path| has_head(folder) && folder.join("objects").is_dir() && folder.join("refs").is_dir();
    let above = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    let mut until_work_tree = above.take_while(|folder| folder.join(".git").symlink_metadata().is_err());
    until_work_tree.any(is_git)
}
