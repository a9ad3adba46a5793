//! Expands a glob in a command, such as `cat */key`, like a shell.

use std::{fs, path::Path};

use globset::GlobBuilder;
use vertebra::paths::absolute;

/// Returns the paths that match an absolute pattern, or `None` if this needs more names than are left. With `shows_hidden`, a star
/// also matches a dot at the beginning of a name.
pub(crate) fn found(pattern: &str, left: &mut usize, shows_hidden: bool) -> Option<Vec<String>> {
    let mut paths = vec!["/".to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        // A part without a glob is a plain name.
        let glob = GlobBuilder::new(part).literal_separator(true).build().ok().filter(|_| is_pattern(part));
        let Some(glob) = glob.map(|glob| glob.compile_matcher()) else {
            for path in &mut paths {
                *path = absolute(path, part);
            }
            continue;
        };
        let mut fitting = Vec::new();
        for path in &paths {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                *left = left.checked_sub(1)?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                if glob.is_match(&name) && (shows_hidden || part.starts_with('.') || !name.starts_with('.')) {
                    fitting.push(absolute(path, &name));
                }
            }
        }
        paths = fitting;
    }
    Some(paths)
}

pub(crate) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// How many files a command may copy with their folders.
pub(super) const MAX_COPIED: usize = 20_000;

/// Returns the paths of the files below a folder, from it, until there are more than the limit.
pub(super) fn names_below(folder: &str) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(Path::new(folder).join(&inner)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if inner.is_empty() { name } else { format!("{inner}/{name}") };
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if found.len() <= MAX_COPIED {
                found.push(path);
            } else {
                return found;
            }
        }
    }
    found
}
