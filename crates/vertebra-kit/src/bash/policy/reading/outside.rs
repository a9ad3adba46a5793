//! Looks for links that lead a reading command out of the folder, and for names that it would take for something else.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{walk::Walk, words::GLOB};
use crate::GitPaths;

/// How many folders the words of one command may refer to.
const MAX_FOLDERS: usize = 64;
/// How many entries of a folder are checked.
const MAX_ENTRIES: usize = 10_000;
/// How many entries of the folder are checked where the command may read all of them.
const MAX_LISTED: usize = 50_000;

/// The files in which version managers look for the version of a tool.
const VERSION_FILES: &[&str] = &[
    "rust-toolchain",
    "rust-toolchain.toml",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".config/mise.toml",
    ".config/mise/config.toml",
    "mise/config.toml",
    ".mise/config.toml",
    ".python-version",
    ".node-version",
    ".nvmrc",
    ".ruby-version",
    ".java-version",
    ".go-version",
    ".php-version",
    ".perl-version",
];
/// A longer file of this kind is not read.
const MAX_VERSION_FILE: u64 = 64 * 1024;

/// Returns whether everything that the command reads is in the folder.
pub(super) fn stays_inside(walk: &Walk<'_>) -> bool {
    let here = PathBuf::from(&walk.ground.here);
    // A folder that does not exist has no links.
    let Ok(root) = fs::canonicalize(&walk.ground.folder) else { return here.starts_with(&walk.ground.folder) };
    let mut folders = vec![here.clone()];
    if !fs::canonicalize(&here).is_ok_and(|here| here.starts_with(&root)) {
        return false;
    }
    for next in &walk.folders {
        for folder in folders.clone() {
            let Ok(there) = folder.join(next).canonicalize() else { continue };
            if !there.starts_with(&root) || folders.len() >= MAX_FOLDERS {
                return false;
            }
            if !folders.contains(&there) {
                folders.push(there);
            }
        }
    }
    let leads_out = |path: PathBuf| path.canonicalize().is_ok_and(|real| !real.starts_with(&root));
    let everywhere = || folders.iter();
    !walk.paths.iter().any(|path| everywhere().any(|folder| leads_out(folder.join(path))))
        && !walk
            .globs
            .iter()
            .any(|pattern| everywhere().any(|folder| several_lead_out(&folder.join(pattern), &leads_out)))
        && (!walk.needs.no_dashes || everywhere().all(|folder| has_no_dash(folder)))
        && (!walk.needs.is_wide || is_plain_below(&root, &leads_out))
        && (!walk.needs.uses_git || is_safe_for_git(&folders, &walk.git))
        && (!walk.needs.picks_version || folders.iter().all(|folder| names_versions_only(folder, &walk.ground.home)))
}

/// Returns whether no file in a folder or above it makes a version manager (rustup, asdf, mise, pyenv and so on) start a
/// program of the project: such a file may give a path in place of a version. Those in the home folder are the user's own.
fn names_versions_only(folder: &Path, home: &str) -> bool {
    let (Ok(folder), home) = (folder.canonicalize(), Path::new(home).canonicalize().ok()) else { return false };
    let is_plain = |file: PathBuf| match fs::metadata(&file) {
        Err(_) => true,
        Ok(found) if !found.is_file() || found.len() > MAX_VERSION_FILE => false,
        Ok(_) => fs::read_to_string(&file).is_ok_and(|text| {
            let said = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            // `lts/iron` is a version of Node.
            said.map(|line| line.replacen("lts/", "", 1))
                .all(|line| !line.contains(['/', '\\', '{', '$', '`']) && !line.contains("path"))
        }),
    };
    let mut above = folder.ancestors().take_while(|above| home.as_deref() != Some(above));
    above.all(|above| VERSION_FILES.iter().all(|name| is_plain(above.join(name))))
}

/// Returns whether git starts no program of these folders when it only reads.
fn is_safe_for_git(folders: &[PathBuf], named: &[String]) -> bool {
    let named = named.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    folders.iter().cloned().chain(named).all(|folder| GitPaths::of(&folder).reads_safely())
}

/// Returns whether a name that matches the pattern may lead out.
fn several_lead_out(pattern: &Path, leads_out: &impl Fn(PathBuf) -> bool) -> bool {
    let Some(folder) = pattern.parent() else { return true };
    // Patterns of folders stand for names in several folders, which are all looked at elsewhere.
    if folder.to_string_lossy().contains(GLOB) {
        return false;
    }
    let Ok(listed) = fs::read_dir(folder) else { return false };
    listed.zip(0..).any(|(entry, number)| number == MAX_ENTRIES || entry.is_ok_and(|entry| leads_out(entry.path())))
}

fn has_no_dash(folder: &Path) -> bool {
    let Ok(listed) = fs::read_dir(folder) else { return true };
    let mut listed = listed.zip(0..);
    !listed.any(|(entry, number)| {
        number == MAX_ENTRIES || entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"-"))
    })
}

/// Returns whether no link below a folder leads out, and no name would be split or be an option.
fn is_plain_below(root: &Path, leads_out: &impl Fn(PathBuf) -> bool) -> bool {
    let (mut folders, mut left) = (vec![root.to_owned()], MAX_LISTED);
    while let Some(folder) = folders.pop() {
        let Ok(listed) = fs::read_dir(&folder) else { continue };
        for entry in listed.flatten() {
            let name = entry.file_name();
            let is_odd = |byte: &u8| byte.is_ascii_whitespace() || b"*?[\\'\"`$~".contains(byte);
            let bytes = name.as_encoded_bytes();
            let kind = entry.file_type();
            if left == 0 || bytes.starts_with(b"-") || bytes.iter().any(is_odd) {
                return false;
            }
            left -= 1;
            match kind {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_symlink() && leads_out(entry.path()) => return false,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }
    true
}
