//! What is protected and not there yet: an empty folder holds its place while commands run. Git does not see those.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::rules::Protected;

/// How many commands need each placeholder. A placeholder that is taken away frees its place, also inside of sandboxes.
static NEEDED: Mutex<Option<HashMap<PathBuf, usize>>> = Mutex::new(None);

fn needed() -> MutexGuard<'static, Option<HashMap<PathBuf, usize>>> {
    NEEDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The placeholders of one command. They go when nobody needs them.
#[derive(Default)]
pub(in crate::bash) struct Placeholders(Vec<PathBuf>);

/// What came of protecting paths.
pub(super) struct Put {
    pub(super) placeholders: Placeholders,
    /// What can be mounted: what is there, and what has a placeholder now.
    pub(super) protected: Vec<Protected>,
    /// What cannot, because it is a link or behind one: a mount holds where a link leads, not the link.
    pub(super) links: Vec<PathBuf>,
}

impl Placeholders {
    /// Protects what can be protected of these paths in a folder.
    pub(super) fn put(folder: &Path, paths: &[PathBuf]) -> Put {
        let mut needed = needed();
        let needed = needed.get_or_insert_default();
        let mut put = Put { placeholders: Self::default(), protected: Vec::new(), links: Vec::new() };
        for relative in paths {
            let (path, above) = (folder.join(relative), above(folder, relative));
            if above.iter().chain([&path]).any(|path| path.is_symlink()) {
                put.links.push(relative.clone());
            }
            // A path below a folder that is not there protects nothing.
            if !above.iter().all(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir())) {
                continue;
            }
            if let Some(count) = needed.get_mut(&path) {
                *count += 1;
                put.placeholders.0.push(path.clone());
            } else if !path.exists() {
                // Fails where there is a link to nowhere, and where no command can make anything either.
                if fs::DirBuilder::new().mode(0o555).create(&path).is_err() {
                    continue;
                }
                needed.insert(path.clone(), 1);
                put.placeholders.0.push(path.clone());
            }
            put.protected.push(Protected { above, path });
        }
        put
    }
}

/// The folders between, the uppermost first.
fn above(folder: &Path, relative: &Path) -> Vec<PathBuf> {
    let mut above: Vec<PathBuf> = relative.ancestors().skip(1).map(|path| folder.join(path)).collect();
    above.pop();
    above.reverse();
    above
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut needed = needed();
        let Some(needed) = needed.as_mut() else { return };
        for path in &self.0 {
            let Some(count) = needed.get_mut(path) else { continue };
            *count -= 1;
            if *count == 0 {
                needed.remove(path);
                // Fails if somebody outside has put something into it meanwhile: then it is theirs.
                _ = fs::remove_dir(path);
            }
        }
    }
}
