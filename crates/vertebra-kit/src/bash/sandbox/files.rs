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
    launch::LaunchError,
    rules::{Network, Rules},
};

/// The newest interface whose rights are understood here. Older kernels hold less: see [`lacking`].
const NEWEST: ABI = ABI::V9;

/// How many entries may be opened one by one.
const ENTRIES: usize = 50_000;

/// Devices that hold nothing and hurt nobody. Terminals are not among them: a command has no business typing.
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr"];

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

/// Whether this kernel can hold Unix sockets to folders.
pub(super) fn holds_unix_sockets() -> bool {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::ResolveUnix).is_ok()
}

/// Restricts this thread, and all that it will start, for ever.
pub(super) fn restrict(rules: &Rules) -> Result<(), LaunchError> {
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?;
    if rules.network == Network::Off {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let created = ruleset.scope(Scope::from_all(NEWEST))?.create()?;
    let mut grants = Grants { created: Some(created), denied: &rules.deny_read, opened: 0 };
    let read = AccessFs::from_read(NEWEST);
    grants.root(read)?;
    let devices = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
    for device in DEVICES {
        grants.named(&Path::new("/dev").join(device), devices)?;
    }
    // Nobody needs to make devices.
    let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    grants.named(Path::new("/dev/shm"), write)?;
    for folder in &rules.write {
        grants.named(folder, write)?;
    }
    let status = grants.created.take().ok_or(LaunchError::NotEnforced)?.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(LaunchError::NotEnforced) } else { Ok(()) }
}

struct Grants<'a> {
    created: Option<RulesetCreated>,
    denied: &'a [PathBuf],
    opened: usize,
}

impl Grants<'_> {
    /// All that stands at the root, but for devices.
    fn root(&mut self, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        let root = open(FROM_HERE, OsStr::new("/")).ok_or(LaunchError::NotEnforced)?;
        self.below(Path::new("/"), &root, access, |path| path != Path::new("/dev"))
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
