//! `.gitignore` files on the way down, read through the handles of the folders they lie in.

use std::{
    ffi::OsStr,
    io::Read as _,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::{effort::Effort, place::Place};

const NAME: &str = ".gitignore";

/// How large such a file may be; a larger one does not count.
const MAX_BYTES: u64 = 256 * 1024;

/// The rules in force in a folder: its own, and those of the folders above it up to the root.
#[derive(Default)]
pub(super) struct Ignores(Vec<(PathBuf, Gitignore)>);

impl Ignores {
    /// Takes in the rules of a folder, until [`leave`](Self::leave).
    pub(super) fn enter(&mut self, folder: &Arc<OwnedFd>, path: &Path, effort: &Effort) {
        let rules = read(folder, path, effort).unwrap_or_else(Gitignore::empty);
        self.0.push((path.to_owned(), rules));
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Whether a path is ignored. The nearest rule that says anything decides.
    pub(super) fn hold(&self, path: &Path, is_folder: bool) -> bool {
        for (base, rules) in self.0.iter().rev() {
            let Ok(inside) = path.strip_prefix(base) else { continue };
            match rules.matched(inside, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

fn read(folder: &Arc<OwnedFd>, path: &Path, effort: &Effort) -> Option<Gitignore> {
    // A link is not followed: git does not follow it either.
    let place = Place::new(folder.clone(), OsStr::new(NAME).to_owned(), path.join(NAME));
    let (file, facts) = place.open().ok()?;
    if facts.len() > MAX_BYTES {
        return None;
    }
    let mut text = String::new();
    effort.reading(file).take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // A line that does not parse does not count, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
