//! One table of the files by which a folder tells programs what to run: coding agents, editors, shells, package managers
//! and tools that act on git hooks.

use std::{borrow::Cow, collections::HashMap, ffi::OsStr, sync::LazyLock};

use crate::{invisible::is_joiner, is_invisible};

/// What is not written by default, at any depth of a folder, whether it exists or not. Case does not matter. A name with
/// a slash means the second name inside the first.
pub const PROTECTED: &[&str] = &[
    ".git",
    // Vertebra.
    ".vertebra",
    "vertebra.toml",
    "vertebra.local.toml",
    // Coding agents.
    ".agents",
    ".aider.conf.yml",
    ".amp",
    ".augment",
    ".claude",
    ".claude.json",
    ".cline",
    ".clinerules",
    ".codebuddy",
    ".codeium",
    ".codex",
    ".config/amp",
    ".config/opencode",
    ".continue",
    ".copilot",
    ".crush.json",
    "crush.json",
    ".cursor",
    ".cursorrules",
    "Cline/Hooks",
    ".factory",
    ".gemini",
    ".github/hooks",
    ".goose",
    ".iflow",
    ".junie",
    ".kilocode",
    ".kiro",
    ".mcp.json",
    ".openhands",
    ".opencode",
    ".pi",
    "opencode.json",
    "opencode.jsonc",
    ".qwen",
    ".roo",
    ".roomodes",
    ".trae",
    ".windsurf",
    ".windsurfrules",
    // Editors.
    ".devcontainer",
    ".devcontainer.json",
    ".config/nvim",
    ".dir-locals.el",
    ".emacs",
    ".emacs.d",
    ".exrc",
    ".fleet",
    ".helix",
    ".idea",
    ".lvimrc",
    ".nvim.lua",
    ".nvimrc",
    ".vim",
    ".vimrc",
    ".vscode",
    ".zed",
    // Shells, and what starts when somebody enters the folder.
    ".autoenv",
    ".autoenv.zsh",
    ".bash_aliases",
    ".bash_completion",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".byebugrc",
    ".config/autostart",
    ".config/fish",
    ".config/mise",
    ".config/systemd",
    ".cshrc",
    ".envrc",
    ".gdbinit",
    ".ghci",
    ".iex.exs",
    ".irbrc",
    ".kshrc",
    ".lldbinit",
    ".login",
    ".logout",
    ".mise",
    ".mise.local.toml",
    ".mise.toml",
    "mise.local.toml",
    "mise.toml",
    "mise/config.toml",
    ".mkshrc",
    ".ocamlinit",
    ".octaverc",
    ".pdbrc",
    ".perldb",
    ".profile",
    ".pryrc",
    ".rdbgrc",
    ".Rprofile",
    ".rvmrc",
    ".screenrc",
    ".ssh",
    ".tcshrc",
    ".tmux.conf",
    ".xinitrc",
    ".xprofile",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    // Package managers.
    ".npmrc",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    ".yarnrc",
    ".yarnrc.yml",
    // Version control.
    ".config/git",
    ".gitconfig",
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".husky",
    ".huskyrc",
    ".huskyrc.js",
    ".huskyrc.json",
    ".jj/repo/config.toml",
    ".lefthook",
    ".lefthook-local",
    ".lefthook-local.json",
    ".lefthook-local.toml",
    ".lefthook-local.yaml",
    ".lefthook-local.yml",
    ".lefthook.json",
    ".lefthook.toml",
    ".lefthook.yaml",
    ".lefthook.yml",
    "lefthook-local.json",
    "lefthook-local.toml",
    "lefthook-local.yaml",
    "lefthook-local.yml",
    "lefthook.json",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "prek.toml",
    ".sl/config",
];

/// The files of Vertebra itself.
const OWN: &[&str] = &[".vertebra", "vertebra.toml", "vertebra.local.toml"];

/// Files, outside of folders of their own, in which coding agents keep rules, hooks and servers.
const AGENT_FILES: &[&str] = &[
    ".aider.conf.yml",
    ".claude.json",
    ".crush.json",
    "crush.json",
    ".mcp.json",
    "opencode.json",
    "opencode.jsonc",
    ".roomodes",
];

/// The folders of coding agents.
const AGENT_FOLDERS: &[&str] = &[
    ".agents",
    ".amp",
    ".augment",
    ".claude",
    ".cline",
    ".codebuddy",
    ".codeium",
    ".codex",
    "amp",
    ".continue",
    ".copilot",
    ".cursor",
    ".factory",
    ".gemini",
    ".goose",
    ".iflow",
    ".junie",
    ".kilocode",
    ".kiro",
    ".openhands",
    ".opencode",
    ".pi",
    "opencode",
    ".qwen",
    ".roo",
    ".trae",
    ".windsurf",
];

/// What such a folder calls its rules, hooks and servers. The rest of it is text for the model: skills, commands, notes.
const AGENT_RULES: &[&str] = &[
    "config.json",
    "config.toml",
    "config.yaml",
    "config.yml",
    "hooks",
    "hooks.json",
    "mcp.json",
    "mcp_config.json",
    "permissions.json",
    "plugins",
    "settings.json",
    "settings.local.json",
    "settings.toml",
    "trustedfolders.json",
];

/// Returns whether folded names are those of a policy: of rules, hooks or servers of an agent.
pub(super) fn is_policy(names: &[Cow<'_, str>]) -> bool {
    let is_in = |list: &[&str], name: &str| list.contains(&name);
    let hooks = names.windows(2).any(|pair| match &*pair[1] {
        "hooks" => is_in(&[".github", "cline", ".clinerules"], &pair[0]),
        // The agents of Kiro have their hooks with them.
        "agents" => pair[0] == ".kiro",
        "mcp.json" => pair[0] == ".vscode",
        _ => false,
    });
    let folder = names.iter().position(|name| is_in(AGENT_FOLDERS, name));
    let rules = folder.is_some_and(|at| names[at..].iter().any(|name| is_in(AGENT_RULES, name)));
    hooks || rules || names.iter().any(|name| is_in(OWN, name) || is_in(AGENT_FILES, name))
}

/// How a path fits the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is protected, or lies below something that is.
    Inside,
    /// It is a folder in which a name is protected, such as `.github`.
    Above,
    Not,
}

/// The rest of each row of the table, by its first name. The sandbox asks for every name of every file that is made.
static ROWS: LazyLock<HashMap<String, Vec<Vec<String>>>> = LazyLock::new(|| {
    let mut rows: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    for row in PROTECTED.iter().filter(|row| **row != ".git") {
        let mut parts = row.split('/').map(str::to_ascii_lowercase);
        rows.entry(parts.next().unwrap_or_default()).or_default().push(parts.collect());
    }
    rows
});

/// Returns how folded names fit the table.
pub(super) fn fit(names: &[Cow<'_, str>]) -> Fit {
    let mut fit = Fit::Not;
    for at in 0..names.len() {
        for rest in ROWS.get(&*names[at]).into_iter().flatten() {
            let here = &names[at + 1..];
            if rest.iter().zip(here).any(|(part, name)| part != name) {
                continue;
            }
            if here.len() >= rest.len() {
                return Fit::Inside;
            }
            fit = Fit::Above;
        }
    }
    fit
}

/// Returns a name as file systems that ignore case compare it. It covers what they fold to ASCII letters and what they
/// leave out; other letters do not matter, because the table has none.
pub(super) fn folded(name: &OsStr) -> Cow<'_, str> {
    let text = name.to_string_lossy();
    if text.is_ascii() {
        let is_folded = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if is_folded { text } else { text.to_ascii_lowercase().into() };
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{212a}' => folded.push('k'),
            '\u{17f}' => folded.push('s'),
            '\u{df}' | '\u{1e9e}' => folded.push_str("ss"),
            '\u{fb00}' => folded.push_str("ff"),
            '\u{fb01}' => folded.push_str("fi"),
            '\u{fb02}' => folded.push_str("fl"),
            '\u{fb03}' => folded.push_str("ffi"),
            '\u{fb04}' => folded.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => folded.push_str("st"),
            c if is_invisible(c) || is_joiner(c) => {}
            c => folded.push(c.to_ascii_lowercase()),
        }
    }
    folded.into()
}
