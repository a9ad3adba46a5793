//! Landlock: which files a command reaches, and that it reaches no process outside of the sandbox.
//!
//! Landlock only allows. A denied path is therefore left out: every folder above it is opened entry by entry, and what
//! appears there later is not readable either.

use std::{
    ffi::OsStr,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{CWD as FROM_HERE, Dir, FileType, Mode, OFlags, fstat, openat};

use super::{
    calls::UnixSockets,
    launch::LaunchError,
    rules::{self, Reach, Rules},
};

/// The newest interface whose rights are understood here. Older kernels hold less: see [`lacking`].
const NEWEST: ABI = ABI::V9;

/// How many entries may be opened one by one.
const ENTRIES: usize = 50_000;

/// Where devices are. What is there is granted one by one.
const DEVICES_FOLDER: &str = "/dev";

/// Devices that hold nothing and hurt nobody. Terminals are not among them: a command has no business typing.
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr"];

/// Where pseudo-terminals are: those of the command alone, if it has its own.
const TERMINALS: &[&str] = &["ptmx", "pts"];

/// What this kernel's Landlock cannot hold; an error if there is none.
pub(super) fn lacking() -> Result<Vec<String>, String> {
    let hard = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    hard().handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create).map_err(|_| {
        "this kernel has no Landlock, or it is not enabled (it takes Linux 5.13 and `lsm=landlock`)".to_owned()
    })?;
    let held = [
        (hard().handle_access(AccessFs::Truncate).is_ok(), "truncating files outside (Linux 6.2)"),
        (hard().scope(Scope::from_all(ABI::V6)).is_ok(), "signals and abstract sockets (Linux 6.12)"),
    ];
    Ok(held.into_iter().filter(|(held, _)| !held).map(|(_, what)| what.to_owned()).collect())
}

/// Which Unix sockets with a name commands have.
pub(super) fn unix_sockets(rules: &Rules) -> UnixSockets {
    let are_held = || {
        let hard = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        hard.handle_access(AccessFs::ResolveUnix).is_ok()
    };
    if rules.unix_sockets == rules::UnixSockets::Open || (rules.landlock && are_held()) {
        UnixSockets::Open
    } else if rules.minded {
        UnixSockets::Supervised
    } else {
        UnixSockets::Closed
    }
}

/// What stands at the root, but for devices.
pub(super) fn top() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/").into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path != Path::new(DEVICES_FOLDER)).collect()
}

/// Opens the writable folders, and makes sure that they are those of the session.
pub(super) fn open_folders(rules: &Rules) -> Result<Vec<OwnedFd>, LaunchError> {
    let opened = rules.write.iter().map(|folder| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(FROM_HERE, &folder.path, flags, Mode::empty());
        let is_same = |handle: &OwnedFd| {
            fstat(handle).is_ok_and(|found| (found.st_dev, found.st_ino) == (folder.device, folder.inode))
        };
        handle.ok().filter(is_same).ok_or_else(|| LaunchError::Replaced(folder.path.clone()))
    });
    opened.collect()
}

/// The first layer, which holds the supervisor and the command: what may be read, and the folders that may be written.
pub(super) fn restrict(rules: &Rules, folders: &[OwnedFd]) -> Result<(), LaunchError> {
    let mut grants = Grants::new(rules)?;
    grants.root(AccessFs::from_read(NEWEST))?;
    grants.devices(rules.terminals)?;
    // The supervisor starts itself again, wherever its program lies.
    if let Ok(this) = openat(FROM_HERE, "/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        grants.add(this, AccessFs::ReadFile | AccessFs::Execute)?;
    }
    // Nobody needs to make devices.
    let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for (folder, handle) in rules.write.iter().zip(folders) {
        let handle = handle.try_clone().map_err(LaunchError::Inherited)?;
        grants.grant(&folder.path, handle, write)?;
    }
    // Only the supervisor removes something, and only what it was granted itself.
    for folder in rules.removable.iter().filter(|_| rules.minded) {
        if let Some(above) = folder.parent().and_then(|above| open(FROM_HERE, above.as_os_str())) {
            grants.add(above, AccessFs::RemoveDir.into())?;
        }
    }
    grants.hold()
}

/// The second layer, which holds the command alone: it changes nothing itself, except by writing to devices and, where
/// they are open, by making sockets.
pub(super) fn fence(rules: &Rules, top: &[PathBuf], unix_sockets: bool) -> Result<(), LaunchError> {
    // The first layer says what is denied, and does not let the root be listed any more.
    let mut grants = Grants { denied: &[], ..Grants::new(rules)? };
    for path in top {
        grants.named(path, AccessFs::from_read(NEWEST))?;
    }
    grants.devices(rules.terminals)?;
    if unix_sockets {
        for (folder, handle) in rules.write.iter().zip(open_folders(rules)?) {
            let sockets = AccessFs::from_read(NEWEST) | AccessFs::MakeSock | AccessFs::ResolveUnix;
            grants.grant(&folder.path, handle, sockets)?;
        }
    }
    grants.hold()
}

struct Grants<'a> {
    created: Option<RulesetCreated>,
    denied: &'a [PathBuf],
    opened: usize,
}

impl<'a> Grants<'a> {
    fn new(rules: &'a Rules) -> Result<Self, LaunchError> {
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?;
        if rules.network == Reach::Closed {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let created = ruleset.scope(Scope::from_all(NEWEST))?.create()?;
        Ok(Self { created: Some(created), denied: &rules.deny_read, opened: 0 })
    }

    /// Restricts this thread, and all that it will start, for ever.
    fn hold(mut self) -> Result<(), LaunchError> {
        let status = self.created.take().ok_or(LaunchError::NotEnforced)?.restrict_self()?;
        if status.ruleset == RulesetStatus::NotEnforced { Err(LaunchError::NotEnforced) } else { Ok(()) }
    }

    /// The devices that a command writes to.
    fn devices(&mut self, terminals: bool) -> Result<(), LaunchError> {
        let devices = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
        for device in DEVICES.iter().chain(TERMINALS.iter().filter(|_| terminals)) {
            self.named(&Path::new(DEVICES_FOLDER).join(device), devices)?;
        }
        Ok(())
    }

    /// All that stands at the root, but for devices.
    fn root(&mut self, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        let root = open(FROM_HERE, OsStr::new("/")).ok_or(LaunchError::NotEnforced)?;
        self.below(Path::new("/"), &root, access, |path| path != Path::new(DEVICES_FOLDER))
    }

    /// A path that was named, if it is there.
    fn named(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        match open(FROM_HERE, real.as_os_str()) {
            Some(handle) => self.grant(&real, handle, access),
            None => Ok(()),
        }
    }

    /// A path with all below it, but for what is denied.
    fn grant(&mut self, path: &Path, handle: OwnedFd, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        if self.denied.iter().any(|denied| denied == path) {
            return Ok(());
        }
        let Ok(stat) = fstat(&handle) else { return Ok(()) };
        let access = match FileType::from_raw_mode(stat.st_mode) {
            // Where it points is granted in its own place, or not.
            FileType::Symlink => return Ok(()),
            FileType::Directory if self.denied.iter().any(|denied| denied.starts_with(path)) => {
                return self.below(path, &handle, access, |_| true);
            }
            FileType::Directory => access,
            _ => access & AccessFs::from_file(NEWEST),
        };
        self.add(handle, access)
    }

    fn add(&mut self, handle: OwnedFd, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        if let Some(created) = self.created.take() {
            self.created = Some(created.add_rule(PathBeneath::new(handle, access))?);
        }
        Ok(())
    }

    /// What stands in a folder, by handle: a name that is exchanged for a link meanwhile leads nowhere else.
    fn below(
        &mut self,
        path: &Path,
        folder: &OwnedFd,
        access: BitFlags<AccessFs>,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<(), LaunchError> {
        let list = openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        // What cannot be listed is not granted.
        let Ok(entries) = list.and_then(Dir::new) else { return Ok(()) };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let below = path.join(name);
            if name == "." || name == ".." || !wanted(&below) {
                continue;
            }
            self.opened += 1;
            if self.opened > ENTRIES {
                return Err(LaunchError::TooManyEntries { path: path.to_owned(), limit: ENTRIES });
            }
            if let Some(handle) = open(folder, name) {
                self.grant(&below, handle, access)?;
            }
        }
        Ok(())
    }
}

fn open(folder: impl std::os::fd::AsFd, name: &OsStr) -> Option<OwnedFd> {
    openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()
}
