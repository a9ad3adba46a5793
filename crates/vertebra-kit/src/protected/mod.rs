//! Which names decide how programs, this one among them, behave in a folder. File tools, commands, the sandbox and trust
//! all ask here.

#[allow(dead_code, reason = "what the sandbox asks about a change, and file tools do not")]
pub(crate) mod git;
mod names;

use std::path::{Component, Path, PathBuf};

pub use git::{GitPaths, git_dir};
pub use names::PROTECTED;

use names::{Fit, fit};

/// What a command or a file tool may do with a name. A file tool changes nothing that is not [`Free`](Self::Free).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Anything.
    Free,
    /// Neither the name nor anything below it may be made, changed, renamed or removed.
    Denied,
    /// A folder such as `.git/hooks` or `.github`. It may be made with `mkdir` and removed with `rmdir` (so only while it
    /// is empty). It is never renamed, and never made by a rename, as a link or as a file.
    Kept,
    /// `.git` itself. As [`Kept`](Self::Kept), but a worktree or a submodule has a file of this name: a new regular file
    /// may be made whose content [`git::link`] accepts. It may be removed.
    GitEntry,
    /// `commondir` of a git directory: a new regular file whose content [`git::link`] accepts. It may be removed, and is
    /// never changed, renamed, linked, or made by a rename.
    GitLink,
    /// `HEAD` in a folder that is no git directory yet. Whoever makes it makes the folder one, so it may be made (by
    /// whatever call) only where [`git::may_become_git_dir`] says so.
    GitHead,
    /// Inside a git hooks folder: only new `*.sample` files may be made, never by a rename or a link.
    Hooks,
    /// `config` or `config.worktree` of a git directory: replaced only through `<name>.lock`, by content that
    /// [`git::config_change`] accepts.
    GitConfig,
    /// A file by which a stopped rebase goes on: replaced only by content that [`git::todo`] accepts.
    GitTodo,
    /// The index of a git directory: replaced only by content that [`git::index`] accepts.
    GitIndex,
}

/// Returns what may be done with `path`, which is absolute and resolved (no links, no `..`) and lies below a folder that a
/// person chose to work in. The names of that folder and of the ones above it do not count: somebody may well work in
/// `~/.claude/worktrees/one`.
///
/// `is_git_dir` tells whether a folder is a git directory without the name `.git`: it contains a `HEAD`.
pub(crate) fn protection_below(root: &Path, path: &Path, is_git_dir: &dyn Fn(&Path) -> bool) -> Protection {
    let below = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<_> = below
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(names::folded(name)),
            _ => None,
        })
        .collect();
    let found = git::protection(path, is_git_dir);
    match fit(&names) {
        Fit::Inside => Protection::Denied,
        Fit::Above if found == Protection::Free => Protection::Kept,
        Fit::Above | Fit::Not => found,
    }
}

/// Returns whether a path within a folder is one that [`PROTECTED`] names, or lies below one. File tools never write it.
///
/// ```
/// assert!(vertebra_kit::is_protected("sub/.claude/settings.json"));
/// assert!(!vertebra_kit::is_protected(".github/workflows/ci.yml"));
/// ```
pub fn is_protected(path: &str) -> bool {
    let names: Vec<_> = path.split('/').map(|name| names::folded(name.as_ref())).collect();
    names.iter().any(|name| name == ".git") || fit(&names) == Fit::Inside
}

/// Returns whether a path within a folder is a policy: rules, hooks or servers of this agent or another. No file tool
/// writes it, whatever a person says; a person edits it.
pub fn is_policy(path: &Path) -> bool {
    let names: Vec<_> = path.components().map(|part| names::folded(part.as_os_str())).collect();
    names::is_policy(&names)
}

/// Returns whether a path within a folder is a policy or the folder of one, which goes with it.
pub(crate) fn holds_policy(path: &Path) -> bool {
    is_policy(path) || path.file_name().is_some_and(|name| is_policy(&Path::new(name).join("hooks")))
}

/// Folders in which package managers unpack the files of others. Names that configure agents and editors are common there,
/// and people do not work in them. In the last one, cargo unpacks what it has packed, to build it.
const PACKAGES: &[&str] = &["node_modules", "site-packages", "dist-packages", "target/package"];

/// Returns whether a path below a folder lies in such a folder. That folder itself is still a name among others.
pub(crate) fn is_packaged(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.ancestors().skip(1).any(|above| PACKAGES.iter().any(|name| above.ends_with(name)))
}

/// Returns whether such a folder would no longer have its name if this folder above it had another one.
pub(crate) fn names_packages(folder: &Path) -> bool {
    PACKAGES.iter().any(|name| name.split_once('/').is_some_and(|(above, _)| folder.ends_with(above)))
}

/// Returns a path without `.` and `..`, by its letters. Links are not resolved.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Protection::*, *};

    #[test]
    fn what_is_protected_is_so_at_any_depth_and_for_commands_too() {
        for path in [
            ".git",
            "a/.git/hooks/x",
            "vertebra.toml",
            ".Claude/settings.json",
            "sub/.MCP.json",
            ".github/hooks/vertebra.json",
            "a/.GitHub/Hooks",
            // File systems that ignore case fold these letters too.
            ".hu\u{17f}ky",
            ".\u{212a}iro/agents",
            ".git\u{200c}",
        ] {
            assert!(is_protected(path), "{path}");
        }
        for path in ["", "src/git", ".github/workflows/ci.yml", ".gitignore", "vertebra.toml.bak", "hooks/.github"] {
            assert!(!is_protected(path), "{path}");
        }
        let page = include_str!("../../../../docs/sandbox.md");
        let missing: Vec<_> = PROTECTED.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/sandbox.md lists them: {missing:?}");
    }

    #[test]
    fn policies_are_told_from_what_a_person_may_let_an_agent_write() {
        for path in ["vertebra.toml", ".vertebra/x", "a/.Claude/settings.json", ".cursor/hooks.json", ".mcp.json"] {
            assert!(is_policy(Path::new(path)), "{path}");
        }
        for path in [".vscode/settings.json", ".claude/commands/x.md", ".git/config", ".husky/pre-commit", "hooks/x"] {
            assert!(!is_policy(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_folders_that_a_person_works_in_do_not_count_and_what_is_below_them_does() {
        let none = |_: &Path| false;
        let root = Path::new("/home/me/.claude/worktrees/one");
        assert_eq!(protection_below(root, &root.join("src/main.rs"), &none), Free);
        assert_eq!(protection_below(root, &root.join(".claude/x"), &none), Denied);
        let protection = |path: &Path| protection_below(Path::new("/"), path, &none);
        assert_eq!(protection(&root.join("src/main.rs")), Denied);
        assert_eq!(protection(Path::new("/p/.github")), Kept);
        assert_eq!(protection(Path::new("/p/.github/hooks/x.json")), Denied);
        assert_eq!(protection(Path::new("/p/.github/workflows")), Free);
    }
}
