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

impl Placeholders {
    /// What can be protected of these paths in a folder: what is there, and what a placeholder can be put for.
    pub(super) fn put(folder: &Path, paths: &[PathBuf]) -> (Self, Vec<Protected>) {
        let mut needed = needed();
        let needed = needed.get_or_insert_default();
        let mut put = Self::default();
        let protected = paths.iter().filter_map(|relative| {
            let path = folder.join(relative);
            let above = above(folder, relative)?;
            if let Some(count) = needed.get_mut(&path) {
                *count += 1;
                put.0.push(path.clone());
            } else if path.symlink_metadata().is_err() {
                fs::DirBuilder::new().mode(0o555).create(&path).ok()?;
                needed.insert(path.clone(), 1);
                put.0.push(path.clone());
            }
            Some(Protected { above, path })
        });
        let protected = protected.collect();
        (put, protected)
    }
}

/// The folders between, if each of them is a folder. A path below a folder that is not there protects nothing.
fn above(folder: &Path, relative: &Path) -> Option<Vec<PathBuf>> {
    let mut above: Vec<PathBuf> = relative.ancestors().skip(1).map(|path| folder.join(path)).collect();
    above.pop();
    above.reverse();
    above.iter().all(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir())).then_some(above)
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
