//! Mounts: what is denied in a writable folder is empty. Landlock can say that only by closing the whole folder to new
//! names.
//!
//! It takes a mount namespace, and for everybody but the superuser a user namespace. Where the system gives none,
//! commands run without this and say so, or do not run if the sandbox is required.

use std::{env, fs, path::Path};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::statvfs::{FsFlags, statvfs},
};

use super::rules::Rules;

/// Hides what is to be hidden, in a namespace of this process and all that it will start. An error leaves it half way: it
/// must not go on.
pub(super) fn make(rules: &Rules) -> Result<(), std::io::Error> {
    if !rules.needs_mounts() {
        return Ok(());
    }
    enter_namespace()?;
    // What is mounted here is nobody else's business.
    bound(None, Path::new("/"), MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    for path in &rules.hide {
        emptied(path)?;
    }
    // The folder this process is in was found before the mounts were there.
    env::set_current_dir(env::current_dir()?)
}

/// Puts nothing in the place of a path.
fn emptied(path: &Path) -> Result<(), Errno> {
    if path.is_dir() {
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        return mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some("mode=0,size=4k"));
    }
    // A device on a mount without devices: it cannot be opened.
    bound(Some(Path::new("/dev/null")), path, MsFlags::MS_BIND)?;
    again(path, MsFlags::MS_RDONLY | MsFlags::MS_NODEV)
}

/// Gives a mount more flags.
fn again(path: &Path, flags: MsFlags) -> Result<(), Errno> {
    bound(None, path, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags | locked(path)?)
}

fn bound(source: Option<&Path>, target: &Path, flags: MsFlags) -> Result<(), Errno> {
    mount(source, target, None::<&str>, flags, None::<&str>)
}

/// A mount namespace of one's own; for those who may not have one, in a user namespace in which they are who they were.
fn enter_namespace() -> Result<(), std::io::Error> {
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        return Ok(());
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Flags that a mount has and that may not be taken off in a namespace.
fn locked(path: &Path) -> Result<MsFlags, Errno> {
    let has = statvfs(path)?.flags();
    let pairs = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    Ok(pairs.into_iter().filter(|(flag, _)| has.contains(*flag)).map(|(_, flag)| flag).collect())
}
