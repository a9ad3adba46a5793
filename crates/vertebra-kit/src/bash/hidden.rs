//! What the sandbox hides from a command. The kernel refuses a read without telling anyone, so what is hidden is named where
//! the command, or what it printed, speaks of it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use vertebra::shell::{ParseLimits, parse};

use super::{
    Bash,
    environment::Variables,
    sandbox::{expanded, resolved},
};
use crate::{
    denied::DeniedReads,
    permissions::{
        fetched_by,
        opened::{Refusals, Use},
    },
};

/// A path that commands cannot read, and why.
pub(super) struct Hidden {
    path: PathBuf,
    rule: String,
    home: Option<PathBuf>,
}

impl Hidden {
    /// All that is hidden from a command and exists.
    pub(super) fn all(bash: &Bash, denied: &DeniedReads, folder: &Path, variables: &Variables) -> Vec<Self> {
        let home = variables.folder("HOME");
        let listed = bash.sandbox.deny_read.iter().filter_map(|listed| {
            let path = expanded(listed, home.as_deref(), folder)?;
            path.symlink_metadata().ok()?;
            Some((path, format!("`deny_read` lists {}", listed.display())))
        });
        let rules = Refusals::of(&denied.rules).unwrap_or_default();
        let by_rule = denied.paths.iter().map(|path| {
            let rule = rules.refuse(&[], Use::Read, std::slice::from_ref(path));
            (path.clone(), rule.map_or_else(|| "a rule denies it".to_owned(), |rule| format!("rule {rule}")))
        });
        by_rule.chain(listed).map(|(path, rule)| Self { path, rule, home: home.clone() }).collect()
    }

    /// What is said about it, if one of these texts names it or something in it.
    pub(super) fn remark(&self, folder: &Path, texts: &[&str]) -> Option<String> {
        let real = resolved(&self.path);
        let below = |above: &Path| self.path.strip_prefix(above).or_else(|_| real.strip_prefix(above)).ok();
        let in_folder = below(folder).map(|below| below.display().to_string());
        let in_home = self.home.as_deref().and_then(below).map(|below| format!("~/{}", below.display()));
        let whole = [self.path.display().to_string(), real.display().to_string()];
        let names: Vec<String> = in_folder.iter().chain(&in_home).chain(&whole).cloned().collect();
        let is_named = names.iter().any(|name| texts.iter().any(|text| speaks_of(text, name)));
        let shown = in_folder.or(in_home).unwrap_or_else(|| whole[0].clone());
        is_named
            .then(|| format!("the sandbox hides {} from commands: {}", shown.replace(char::is_control, "?"), self.rule))
    }
}

/// What is said if a package manager of Node runs without the user's settings, because the file holds tokens too. A scope that
/// belongs to another registry is then looked for in the public one.
pub(super) fn npm_settings(bash: &Bash, command: &str, folder: &Path, variables: &Variables) -> Option<String> {
    // What only runs scripts of the project has no use for them.
    if !parse(command, ParseLimits::default()).texts().iter().any(|command| is_npm(command)) {
        return None;
    }
    let home = variables.folder("HOME")?;
    let file = home.join(".npmrc");
    let mut hidden = bash.sandbox.deny_read.iter().filter_map(|listed| expanded(listed, Some(&home), folder));
    if !hidden.any(|hidden| file.starts_with(hidden)) {
        return None;
    }
    let text = fs::read_to_string(&file).ok()?;
    let is_secret = |name: &&str| name.starts_with(['#', ';', '/', '_']) || name.to_lowercase().contains("token");
    let names = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim());
    let names: Vec<&str> = names.filter(|name| !is_secret(name)).collect();
    let told = format!(
        "the sandbox hides ~/.npmrc from commands, so these settings do not apply: {}; what is needed belongs into options \
         or into the .npmrc of the project",
        names.join(", ").replace(char::is_control, "?")
    );
    (!names.is_empty()).then_some(told)
}

/// What is said about a folder that cannot be listed because something in it is hidden, if a complaint names it. Relative names
/// begin where the command ended.
pub(super) fn unlisted(all: &[Hidden], printed: &str, here: &Path) -> Option<String> {
    let complaints = printed.lines().filter(|line| line.contains("ermission denied") || line.contains("EACCES"));
    let words = complaints.flat_map(|line| line.split([' ', '\'', '"', '`', ':', '‘', '’', '(', ')', ',']));
    let folders = words.filter(|word| word.contains('/') || matches!(*word, "." | "..")).map(|word| {
        let folder = resolved(&here.join(word));
        let hidden =
            all.iter().map(|hidden| resolved(&hidden.path)).find(|path| *path != folder && path.starts_with(&folder));
        Some((folder.clone(), hidden.filter(|_| folder.is_dir())?))
    });
    let (folder, hidden) = folders.flatten().next()?;
    let shown = |path: &Path| path.display().to_string().replace(char::is_control, "?");
    Some(format!(
        "the sandbox lets no command list {}, because it hides {}; the other files in it can be read by their names",
        shown(&folder),
        shown(&hidden)
    ))
}

/// Whether a simple command downloads packages of npm.
fn is_npm(command: &str) -> bool {
    fetched_by(command)
        .is_some_and(|fetches| matches!(fetches.split(' ').next(), Some("npm" | "npx" | "pnpm" | "yarn")))
}

/// Whether a text names a path or something below it, and not another one that only contains the name.
fn speaks_of(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-');
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let (before, after) = (text[..at].chars().next_back(), &text[at + name.len()..]);
            let begins = match before {
                // What follows a slash is below another folder, except for `./`.
                Some('/') => text[..at].ends_with("./") && !text[..at].ends_with("../"),
                Some(letter) => !is_part(letter),
                None => true,
            };
            let mut after = after.chars();
            let ends = match after.next() {
                // The end of a sentence.
                Some('.') => after.next().is_none_or(|next| !is_part(next)),
                Some(letter) => !is_part(letter),
                None => true,
            };
            begins && ends
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_by_itself_and_by_what_is_below_it() {
        for (text, expected) in [
            ("cat: .env: Permission denied", true),
            ("cat ./.env", true),
            ("open('.env')", true),
            ("no access to .env.", true),
            (".env", true),
            (".env/x", true),
            (".env.example", false),
            ("my.env", false),
            ("sub/.env", false),
            ("../.env", false),
            ("", false),
        ] {
            assert_eq!(speaks_of(text, ".env"), expected, "{text}");
        }
        assert!(speaks_of("cat: /home/a/.ssh/id: Permission denied", "/home/a/.ssh"));
        assert!(!speaks_of("anything", ""));
    }
}
