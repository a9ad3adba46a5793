//! What decides how programs, this one among them, behave in a folder. One list for tools that write files, for commands
//! and for people who let edits pass without a question.

/// What is not written by default, at any depth of a folder, there or not.
pub const PROTECTED: &[&str] = &[
    ".git",
    ".vertebra",
    "vertebra.toml",
    ".claude",
    ".mcp.json",
    ".codex",
    ".gemini",
    ".cursor",
    ".vscode",
    ".idea",
    ".husky",
    ".envrc",
];

/// What stands for `.git` where commands are held: git has to write the rest of it.
const IN_GIT: &[&str] = &[".git/hooks", ".git/config"];

/// What commands do not write, in the folder that they belong to.
pub(crate) fn from_commands() -> impl Iterator<Item = &'static str> {
    let but_git = PROTECTED.iter().filter(|name| **name != ".git");
    IN_GIT.iter().chain(but_git).copied()
}

/// Whether a path within a folder is such a path, or below one. Some file systems do not tell cases apart.
pub(crate) fn is_protected(path: &str) -> bool {
    path.split('/').any(|part| PROTECTED.iter().any(|name| name.eq_ignore_ascii_case(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_protected_is_so_at_any_depth_and_for_commands_too() {
        for path in [".git", "a/.git/hooks/x", "vertebra.toml", ".Claude/settings.json", "sub/.MCP.json"] {
            assert!(is_protected(path), "{path}");
        }
        for path in ["", "src/git", ".github/workflows/ci.yml", ".gitignore", "vertebra.toml.bak"] {
            assert!(!is_protected(path), "{path}");
        }
        assert!(from_commands().all(is_protected));
        let page = include_str!("../../../docs/sandbox.md");
        assert!(PROTECTED.iter().all(|name| page.contains(&format!("`{name}`"))), "docs/sandbox.md lists them");
        assert_eq!(from_commands().count(), PROTECTED.len() + IN_GIT.len() - 1);
    }
}
