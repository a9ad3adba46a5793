//! Mounts: what is denied in a writable folder is empty, what is written to a cache of the person goes to a layer on top, and
//! pseudo-terminals are those of the command. Landlock can say the first only by closing the whole folder to new names, and
//! the others not at all.
//!
//! It takes a mount namespace, and for everybody but the superuser a user namespace. Where the system gives none,
//! commands run without this and say so, or do not run if the sandbox is required.

use std::{
    env,
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::statvfs::{FsFlags, statvfs},
};

use super::{
    launch::LaunchError,
    rules::{Folder, Layers, Over, Rules, Use},
};

/// How many commands can have layers at the same time.
const SLOTS: usize = 16;

/// How pseudo-terminals are made: by the command's user, for that user, and not so many that others get none.
const TERMINALS: &str = "newinstance,ptmxmode=0666,mode=0600,max=64";

/// Hides what is to be hidden and lays what is to be laid over, in a namespace of this process and all that it will start.
/// An error leaves it half way: it must not go on. The layers belong to this process as long as it keeps what it gets.
pub(super) fn make(rules: &mut Rules) -> Result<Option<File>, LaunchError> {
    if !rules.needs_mounts() {
        // No user namespace is made for terminals alone: files of others would seem to belong to nobody.
        rules.terminals = rules.terminals && unshare(CloneFlags::CLONE_NEWNS).is_ok() && terminals().is_ok();
        return Ok(None);
    }
    // Who only wants layers can do without.
    hide(rules).map_err(if rules.hide.is_empty() { LaunchError::Layers } else { LaunchError::Mounts })?;
    rules.terminals = rules.terminals && terminals().is_ok();
    let taken = rules.layers.take().map(|layers| lay(&layers, rules)).transpose().map_err(LaunchError::Layers)?;
    // The folder this process is in was found before the mounts were there.
    let again = env::current_dir().and_then(env::set_current_dir);
    again.map_err(LaunchError::Mounts)?;
    Ok(taken)
}

fn hide(rules: &Rules) -> Result<(), std::io::Error> {
    super::space::enter(CloneFlags::CLONE_NEWNS)?;
    apart()?;
    for path in &rules.hide {
        emptied(path)?;
    }
    Ok(())
}

/// What is mounted here is nobody else's business.
fn apart() -> Result<(), Errno> {
    bound(None, Path::new("/"), MsFlags::MS_REC | MsFlags::MS_PRIVATE)
}

/// Puts pseudo-terminals of the command in the place of all others: a file system of its own, in which only those appear that
/// the command opens. An error leaves it half way, and then none may be granted.
fn terminals() -> Result<(), Errno> {
    apart()?;
    let (folder, maker) = (Path::new("/dev/pts"), Path::new("/dev/ptmx"));
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mount(Some("devpts"), folder, Some("devpts"), flags, Some(TERMINALS))?;
    if maker.is_symlink() {
        // It leads into the folder.
        return if maker.canonicalize().is_ok_and(|maker| maker.starts_with(folder)) {
            Ok(())
        } else {
            Err(Errno::ENXIO)
        };
    }
    bound(Some(&folder.join("ptmx")), maker, MsFlags::MS_BIND)
}

/// Lays a layer over each folder. From then on it may be written like any other.
fn lay(layers: &Layers, rules: &mut Rules) -> Result<File, std::io::Error> {
    let (folder, taken) = free_slot(&layers.folder)?;
    for Over { name, at } in &layers.over {
        let (upper, work) = (folder.join(name).join("upper"), folder.join(name).join("work"));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        let mut options = format!("lowerdir={},upperdir={},workdir={}", plain(at)?, plain(&upper)?, plain(&work)?);
        if !rustix::process::geteuid().is_root() {
            options.push_str(",userxattr");
        }
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("overlay"), at, Some("overlay"), flags, Some(&*options))?;
        let found = at.metadata()?;
        let folder = Folder { path: at.clone(), device: found.dev(), inode: found.ino(), used: Use::Temporary };
        rules.write.push(folder);
    }
    Ok(taken)
}

/// Layers that no other command uses now. Two at once would not see each other's changes.
fn free_slot(folder: &Path) -> Result<(PathBuf, File), std::io::Error> {
    for slot in 0..SLOTS {
        let folder = folder.join(slot.to_string());
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join("lock"))?;
        if lock.try_lock().is_ok() {
            return Ok((folder, lock));
        }
    }
    Err(std::io::Error::other("too many commands use them"))
}

/// A path that stands in the options of a mount as it is.
fn plain(path: &Path) -> Result<&str, std::io::Error> {
    let plain = path.to_str().filter(|path| !path.contains([',', ':', '\\', '"']));
    plain.ok_or_else(|| std::io::Error::other(format!("{} contains special characters", path.display())))
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
