//! The folders in a folder, read again only if something was added, removed or renamed there.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

/// How many folders are remembered.
const MAX_KNOWN: usize = 50_000;

/// How old the last change of something has to be before what was read is believed. File systems count time in steps, so
/// that a change right after another may have the same time.
pub(super) const SETTLED: Duration = Duration::from_secs(1);

/// What tells one state of a file or folder from another: device, inode, and the time of its last change, which no program can
/// set.
pub(super) type State = (u64, u64, i64, i64);

pub(super) fn state(found: &fs::Metadata) -> State {
    (found.dev(), found.ino(), found.ctime(), found.ctime_nsec())
}

/// Returns whether the last change is long enough ago. A time in the future says nothing.
pub(super) fn is_settled((_, _, seconds, _): State) -> bool {
    let changed =
        u64::try_from(seconds).ok().and_then(|past| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(past)));
    let ago = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
    // The time was cut to seconds.
    ago.is_some_and(|ago| ago > SETTLED + Duration::from_secs(1))
}

/// What is in a folder.
pub(super) struct Listed {
    state: State,
    /// The folders in it, links not followed.
    pub(super) folders: Vec<OsString>,
    /// How many names are in it.
    pub(super) names: usize,
    /// Whether a link is among them.
    pub(super) has_links: bool,
    /// Whether a repository may begin here.
    pub(super) may_be_repository: bool,
}

static KNOWN: LazyLock<Mutex<HashMap<PathBuf, Arc<Listed>>>> = LazyLock::new(Mutex::default);

/// Lists a folder. Returns `None` if it has more names than this, and nothing in it if it cannot be read.
pub(super) fn listed(folder: &Path, most: usize) -> Option<Arc<Listed>> {
    let state = fs::metadata(folder).map(|found| state(&found)).unwrap_or_default();
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(listed) = known().get(folder).filter(|listed| listed.state == state) {
        return (listed.names <= most).then(|| listed.clone());
    }
    let mut listed = Listed { state, folders: Vec::new(), names: 0, has_links: false, may_be_repository: false };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        listed.names += 1;
        if listed.names > most {
            return None;
        }
        let name = entry.file_name();
        listed.may_be_repository |= name == ".git" || name == "HEAD";
        let kind = entry.file_type();
        listed.has_links |= kind.as_ref().is_ok_and(fs::FileType::is_symlink);
        if kind.is_ok_and(|kind| kind.is_dir()) {
            listed.folders.push(name);
        }
    }
    let listed = Arc::new(listed);
    if is_settled(state) {
        let mut known = known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(folder.to_owned(), listed.clone());
    }
    Some(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_changed_is_read_again_whatever_times_were_set() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path();
        fs::create_dir(folder.join("a")).expect("a folder");
        let names = || listed(folder, 10).expect("few names").names;
        assert_eq!(names(), 1);
        let modified = fs::metadata(folder).and_then(|found| found.modified()).expect("a time");
        fs::create_dir(folder.join(".git")).expect("a folder");
        fs::File::open(folder).and_then(|folder| folder.set_modified(modified)).expect("a time is set");
        assert_eq!(names(), 2);
        assert!(listed(folder, 10).expect("few names").may_be_repository);
        assert!(listed(folder, 1).is_none(), "too many");
    }

    #[test]
    fn what_changed_just_now_or_in_the_future_is_not_believed() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
        let at = |seconds: u64| is_settled((1, 1, i64::try_from(seconds).expect("a time"), 0));
        assert!(at(now - 60));
        assert!(!at(now) && !at(now + 60));
    }
}
