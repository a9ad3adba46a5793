//! What may be changed: where the command may write, and which names there decide what other programs do.

use std::{
    cell::{OnceCell, RefCell},
    collections::{HashMap, HashSet},
    fs,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};

use super::{
    super::rules::{Folder, Rules, Use},
    detach::detach,
    place::{Name, path_of},
};
use crate::protected::{Protection, git, is_packaged, is_policy, names_packages, protection_below};

/// How many names are looked through for protected files with a second name.
const LOOKED_AT: usize = 500_000;

/// How long it is believed where the writable folders are.
const REFRESHED: Duration = Duration::from_millis(20);

/// A file or folder, whatever its name.
pub(super) type Identity = (u64, u64);

/// What is to be done with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    MakeFile,
    MakeFolder,
    /// A link, a pipe, or a second name for a file.
    MakeOther,
    /// What is in a file.
    Write,
    /// Make it a program.
    Execute,
    /// Make it no program any more.
    Disarm,
    /// Take away the owner's right to read it or look into it.
    Close,
    Remove,
    /// Rename it to something else.
    Leave,
    /// Rename a regular file to it.
    ArriveFile,
    /// Rename something else to it.
    Arrive,
    /// Give it a second name.
    Share,
}

/// Whether a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Yes,
    No,
    /// If its content is harmless.
    IfHarmless(Content),
}

/// Which check a content has to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Link,
    Config,
    Todo,
    Index,
}

impl Content {
    /// Whether `new` may stand at a path in place of `old`.
    pub(super) fn is_harmless(self, path: &Path, old: &[u8], new: &[u8]) -> bool {
        match self {
            Self::Link => git::link(path, new),
            Self::Config => git::config_change(path, old, new),
            Self::Todo => git::todo(path, new),
            Self::Index => git::index(path, new),
        }
        .is_ok()
    }

    /// How long it may be.
    pub(super) fn most_bytes(self) -> usize {
        match self {
            Self::Link | Self::Config | Self::Todo => 1024 * 1024,
            Self::Index => git::MAX_INDEX_BYTES,
        }
    }
}

/// Where a path lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone<'a> {
    /// In a folder that people work in, with the folder above which names do not count.
    Work(&'a Path),
    /// Among temporary files and packages, where only git is guarded.
    Loose,
    /// Among the shared memory of all processes.
    Shared,
}

pub(super) struct Guard {
    folders: Vec<(OwnedFd, Use)>,
    /// Where they are now.
    roots: Vec<(PathBuf, Use)>,
    refreshed: Option<Instant>,
    /// Paths that are not changed besides.
    protect: Vec<PathBuf>,
    /// Protected names that a person has allowed to change.
    allowed: Vec<PathBuf>,
    /// Writable folders that a person has granted to this command, and that it may remove.
    removable: Vec<PathBuf>,
    /// What is not renamed or removed: the writable folders, and the folders above what is hidden or protected.
    pinned: HashSet<Identity>,
    /// Files that are protected and have a second name, by which they could be written. They are looked for when a file
    /// with several names is written first.
    shared_names: OnceCell<HashSet<Identity>>,
    /// What this command has made in shared memory.
    made: HashSet<Identity>,
}

impl Guard {
    /// The folders are those of the rules, in the same order.
    pub(super) fn new(rules: &Rules, handles: Vec<OwnedFd>) -> Self {
        let folders: Vec<(OwnedFd, Use)> =
            handles.into_iter().zip(&rules.write).map(|(handle, Folder { used, .. })| (handle, *used)).collect();
        let mut guard = Self {
            protect: rules.protect.clone(),
            allowed: rules.allowed.clone(),
            removable: rules.removable.clone(),
            pinned: HashSet::new(),
            shared_names: OnceCell::new(),
            made: HashSet::new(),
            roots: Vec::new(),
            refreshed: None,
            folders,
        };
        guard.refresh();
        let roots: Vec<PathBuf> = guard.roots.iter().map(|(path, _)| path.clone()).collect();
        let below_folder = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let still = roots.iter().chain(&rules.hide).chain(&rules.deny_read).chain(&rules.protect);
        for path in still.flat_map(|path| path.ancestors()).filter(|path| below_folder(path)) {
            guard.pinned.extend(identity_at(path));
        }
        guard
    }

    /// Whether one of the names of a file is protected, whichever it was found by.
    fn has_protected_name(&self, found: &Stat) -> bool {
        let has_more = found.st_nlink > 1 && FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        has_more && self.shared_names.get_or_init(|| self.protected_with_second_names()).contains(&identity(found))
    }

    fn protected_with_second_names(&self) -> HashSet<Identity> {
        let mut found = HashSet::new();
        let mut left = LOOKED_AT;
        // Each folder is looked at once, and not once for every name in it.
        let heads = RefCell::new(HashMap::new());
        let has_head = |folder: &Path| {
            let known = heads.borrow().get(folder).copied();
            known.unwrap_or_else(|| {
                *heads.borrow_mut().entry(folder.to_owned()).or_insert_with(|| git::has_head(folder))
            })
        };
        let works = self.roots.iter().filter(|(_, used)| *used == Use::Work);
        let mut folders: Vec<PathBuf> = works.map(|(root, _)| root.clone()).collect();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                left = left.saturating_sub(1);
                if left == 0 {
                    return found;
                }
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                // Git's objects are many, and nobody runs them.
                let is_skipped = || {
                    is_packaged(&path.join("x"), &folder)
                        || ["objects", "logs", "refs"].iter().any(|name| path.ends_with(Path::new(".git").join(name)))
                };
                if kind.is_dir() && !is_skipped() {
                    folders.push(path);
                } else if kind.is_file()
                    && self.protection_where(&path, &has_head) != Protection::Free
                    && let Ok(about) = entry.metadata()
                    && about.nlink() > 1
                {
                    found.insert((about.dev(), about.ino()));
                }
            }
        }
        found
    }

    /// Looks where the writable folders are, if that was not done just now: somebody outside may have renamed one. Until
    /// it is noticed, nothing is found in it, and Landlock refuses what is asked for there.
    pub(super) fn refresh(&mut self) {
        if self.refreshed.is_some_and(|refreshed| refreshed.elapsed() < REFRESHED) {
            return;
        }
        self.refreshed = Some(Instant::now());
        self.roots.clear();
        self.roots.extend(self.folders.iter().filter_map(|(handle, used)| Some((path_of(handle)?, *used))));
    }

    /// Where a path lies; nothing if no command may write there.
    pub(super) fn zone<'a>(&'a self, path: &'a Path) -> Option<Zone<'a>> {
        let mut zone = None;
        let mut longest = 0;
        for (root, used) in &self.roots {
            match used {
                Use::Work if is_below(path, root) => {
                    let length = root.as_os_str().len();
                    if length >= longest {
                        longest = length;
                        zone = Some(if is_packaged(path, root) { Zone::Loose } else { Zone::Work(root) });
                    }
                }
                // Right above a folder that people work in: what is there counts in it too.
                Use::Work if longest == 0 && path.parent().is_some_and(|above| is_below(root, above)) => {
                    let above = path.parent().unwrap_or(path);
                    let is_writable = self.roots.iter().any(|(other, _)| is_below(above, other));
                    zone = is_writable.then_some(Zone::Work(above)).or(zone);
                }
                Use::Temporary if is_below(path, root) => zone = zone.or(Some(Zone::Loose)),
                Use::Shared if is_below(path, root) => zone = zone.or(Some(Zone::Shared)),
                Use::Work | Use::Temporary | Use::Shared => {}
            }
        }
        zone
    }

    /// What may be done with a path. Where the folder of its last name is open, git directories are looked for from there.
    pub(super) fn protection(&self, path: &Path, folder: Option<&OwnedFd>) -> Protection {
        self.protection_where(path, &|above| match folder {
            Some(folder) => has_head_above(folder, path, above),
            None => git::has_head(above),
        })
    }

    fn protection_where(&self, path: &Path, has_head: &dyn Fn(&Path) -> bool) -> Protection {
        if self.protect.iter().any(|protected| path.starts_with(protected)) {
            return Protection::Denied;
        }
        let is_git = |folder: &Path| self.roots.iter().any(|(root, _)| is_below(folder, root)) && has_head(folder);
        match self.zone(path) {
            // What git executes is guarded all the same.
            Some(Zone::Work(root)) if self.is_allowed(root, path) => git::protection(path, &is_git),
            Some(Zone::Work(root)) => protection_below(root, path, &is_git),
            Some(Zone::Loose) => git::protection(path, &is_git),
            Some(Zone::Shared) | None => Protection::Free,
        }
    }

    /// Whether a person has allowed to change a path. Policies stay as they are, whatever the answer.
    fn is_allowed(&self, root: &Path, path: &Path) -> bool {
        let is_policy = is_policy(path.strip_prefix(root).unwrap_or(path));
        !is_policy && self.allowed.iter().any(|allowed| path.starts_with(allowed))
    }

    fn is_above_allowed(&self, path: &Path) -> bool {
        let is_protected = self.protect.iter().any(|protected| path.starts_with(protected));
        let is_policy = match self.zone(path) {
            Some(Zone::Work(root)) => is_policy(path.strip_prefix(root).unwrap_or(path)),
            Some(Zone::Loose | Zone::Shared) | None => true,
        };
        !is_protected && !is_policy && self.allowed.iter().any(|allowed| allowed.starts_with(path))
    }

    /// Whether something may be done with a name in a writable folder.
    pub(super) fn judge(&self, name: &Name, change: Change) -> Verdict {
        let path = &name.path;
        if let Some(found) = &name.found
            && !self.may_touch(path, found, change)
        {
            return Verdict::No;
        }
        let exists = name.found.is_some();
        let is_folder = name.kind() == Some(FileType::Directory);
        let yes_if = |yes: bool| if yes { Verdict::Yes } else { Verdict::No };
        match self.protection(path, Some(&name.folder)) {
            Protection::Free => Verdict::Yes,
            // A folder on the way to what is allowed. It is removed only while it is empty.
            Protection::Denied if change == Change::MakeFolder || (change == Change::Remove && is_folder) => {
                yes_if(self.is_above_allowed(path))
            }
            Protection::Denied => Verdict::No,
            Protection::Kept => match change {
                Change::MakeFolder => Verdict::Yes,
                // Where the directory of a submodule begins is not known from its name; a file in it is none.
                Change::MakeFile | Change::Write | Change::ArriveFile | Change::Leave if !is_folder => {
                    yes_if(is_in_submodules(path) && name.kind() != Some(FileType::Symlink))
                }
                Change::Remove => yes_if(!self.is_own(path)),
                _ => Verdict::No,
            },
            Protection::GitEntry => match change {
                Change::MakeFolder => Verdict::Yes,
                Change::MakeFile => Verdict::IfHarmless(Content::Link),
                Change::Write if !is_folder && !self.is_own(path) => Verdict::IfHarmless(Content::Link),
                // The file of a worktree goes with the folder that a person has granted.
                Change::Remove if name.kind() == Some(FileType::RegularFile) && self.is_in_removable(path) => {
                    Verdict::Yes
                }
                Change::Remove => yes_if(!self.is_own(path)),
                _ => Verdict::No,
            },
            Protection::GitLink => match change {
                Change::MakeFile => Verdict::IfHarmless(Content::Link),
                Change::Remove => Verdict::Yes,
                _ => Verdict::No,
            },
            Protection::GitHead => match change {
                Change::MakeFile | Change::MakeFolder | Change::MakeOther | Change::ArriveFile | Change::Arrive => {
                    yes_if(may_be_git_dir(&name.folder, path.parent().unwrap_or(path)))
                }
                _ => Verdict::Yes,
            },
            Protection::Hooks => match change {
                Change::MakeFile => yes_if(is_sample(path) && !exists),
                Change::Execute => yes_if(is_sample(path)),
                Change::Remove => yes_if(!self.is_own(path)),
                _ => Verdict::No,
            },
            Protection::GitConfig => match change {
                Change::MakeFile | Change::ArriveFile => Verdict::IfHarmless(Content::Config),
                // So git tries whether there are modes.
                Change::Execute | Change::Disarm => Verdict::Yes,
                Change::Remove => yes_if(!self.is_own(path)),
                _ => Verdict::No,
            },
            Protection::GitTodo => match change {
                Change::MakeFile | Change::Write | Change::ArriveFile => Verdict::IfHarmless(Content::Todo),
                Change::Remove | Change::Leave => Verdict::Yes,
                _ => Verdict::No,
            },
            Protection::GitIndex => match change {
                Change::MakeFile | Change::Write | Change::ArriveFile => Verdict::IfHarmless(Content::Index),
                // A part of the name of a submodule may be called like this.
                Change::MakeFolder | Change::Remove | Change::Leave | Change::Execute | Change::Disarm => Verdict::Yes,
                _ => Verdict::No,
            },
        }
    }

    /// Whether something that is there may be touched at all, whatever its name.
    fn may_touch(&self, path: &Path, found: &Stat, change: Change) -> bool {
        let is_pinned = self.pinned.contains(&identity(found));
        match change {
            Change::Remove | Change::Leave | Change::ArriveFile | Change::Arrive => {
                let is_removable = || change == Change::Remove && self.removable.iter().any(|folder| folder == path);
                (!is_pinned || is_removable()) && !self.is_foreign(path, found)
            }
            Change::Disarm | Change::Close => {
                !is_pinned && !self.has_protected_name(found) && !self.is_foreign(path, found)
            }
            // What lies where nothing may be written gets no second name in a folder where it could be: Landlock refuses it.
            Change::Share if self.zone(path).is_none() => true,
            Change::Write | Change::Execute | Change::Share => {
                !self.has_protected_name(found) && !self.is_foreign(path, found)
            }
            Change::MakeFile | Change::MakeFolder | Change::MakeOther => true,
        }
    }

    /// Whether it is in shared memory, and somebody else made it.
    pub(super) fn is_foreign(&self, path: &Path, found: &Stat) -> bool {
        self.zone(path) == Some(Zone::Shared) && !self.made.contains(&identity(found))
    }

    /// Whether an open file may be written, made a program or closed to its owner.
    pub(super) fn judge_open(&self, path: &Path, found: &Stat, change: Change) -> bool {
        // What has no name any more cannot be run by one.
        found.st_nlink == 0
            || (self.may_touch(path, found, change)
                && match self.protection(path, None) {
                    Protection::Free | Protection::GitHead => true,
                    Protection::GitConfig | Protection::GitIndex => matches!(change, Change::Execute | Change::Disarm),
                    // As `cp -a` does it with a sample that it has just made. Git runs none.
                    Protection::Hooks => change == Change::Execute && is_sample(path),
                    _ => false,
                })
    }

    /// Whether a folder may go from one place to another as it is. If not, it is copied, and each name in it judged.
    pub(super) fn may_move_folder(&self, from: &Path, to: &Path) -> bool {
        // Whether what is in it counts: not in a folder of packages, which is a name among others itself.
        let is_work = |folder: &Path| matches!(self.zone(&folder.join("x")), Some(Zone::Work(_)));
        let in_git = |path: &Path| {
            let mut above = path.ancestors().skip(1);
            above.any(|folder| folder.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git")))
                || path.parent().is_some_and(git::has_head)
        };
        !in_git(to) && (is_work(from) && !names_packages(from) || !is_work(to))
    }

    /// Remembers what was made in shared memory.
    pub(super) fn note_made(&mut self, path: &Path, made: &OwnedFd) {
        if self.zone(path) == Some(Zone::Shared)
            && let Ok(made) = fstat(made)
        {
            self.made.insert(identity(&made));
        }
    }

    /// Whether it stands right in a folder that may be removed.
    fn is_in_removable(&self, path: &Path) -> bool {
        self.removable.iter().any(|folder| path.parent() == Some(folder))
    }

    /// Whether it belongs to the repository of a folder that people work in: its hooks and its configuration stay.
    fn is_own(&self, path: &Path) -> bool {
        self.roots.iter().filter(|(_, used)| *used == Use::Work).any(|(root, _)| {
            let git = root.join(".git");
            let own = ["hooks", "config", "config.worktree"];
            path == git || own.iter().any(|name| path.starts_with(git.join(name)))
        })
    }
}

/// Whether nothing in a folder would make git start a program. What a process may still write to is replaced by copies.
pub(super) fn may_be_git_dir(folder: &OwnedFd, at: &Path) -> bool {
    let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(folder));
    git::may_become_git_dir(Path::new(&own)).is_ok() && detach(folder, at).is_ok()
}

/// Whether a name among the hooks is one that git does not run.
fn is_sample(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sample")
}

/// Whether a path lies among the git directories of submodules.
pub(super) fn is_in_submodules(path: &Path) -> bool {
    let names: Vec<_> = path.iter().map(std::ffi::OsStr::to_ascii_lowercase).collect();
    names.windows(3).any(|names| names[0] == ".git" && names[1] == "modules")
}

/// Whether a path is that of a folder or lies in it. Both are as the kernel tells them: absolute, without `.` and `..`.
fn is_below(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (path.as_os_str().as_bytes(), folder.as_os_str().as_bytes());
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || folder == b"/")
}

/// Whether a folder above a name, or the one that it lies in and that is open, has a `HEAD`.
pub(super) fn has_head_above(folder: &OwnedFd, path: &Path, above: &Path) -> bool {
    let mut way = steps_up(path.parent().unwrap_or(path), above);
    way.push_str("HEAD");
    statat(folder, way, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// The way from a folder up to one above it.
pub(super) fn steps_up(from: &Path, to: &Path) -> String {
    let below = from.as_os_str().as_bytes().strip_prefix(to.as_os_str().as_bytes()).unwrap_or_default();
    "../".repeat(below.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).count())
}

pub(super) fn identity(found: &Stat) -> Identity {
    (found.st_dev, found.st_ino)
}

fn identity_at(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
