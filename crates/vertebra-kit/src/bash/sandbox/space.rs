//! Namespaces: how the launcher gets one of its own, and how it joins the private network of a session.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
};

use nix::sched::{CloneFlags, setns, unshare};

use super::rules::Space;

/// Moves this process into new namespaces. Users who may not have them get them in a user namespace in which they are who
/// they were. Returns whether it took one.
pub(super) fn enter(namespaces: CloneFlags) -> io::Result<bool> {
    if unshare(namespaces).is_ok() {
        return Ok(false);
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | namespaces)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    Ok(true)
}

impl Space {
    /// The namespaces of a process that has just made them.
    pub(super) fn kept_by(keeper: u32, user: bool) -> io::Result<Self> {
        let inode = fs::metadata(format!("/proc/{keeper}/ns/net"))?.ino();
        Ok(Self { keeper, inode, user })
    }

    /// Moves this process into the private network.
    pub(super) fn join(&self) -> io::Result<()> {
        let open = |kind: &str| File::open(format!("/proc/{}/ns/{kind}", self.keeper));
        let network = open("net")?;
        let user = self.user.then(|| open("user")).transpose()?;
        if network.metadata()?.ino() != self.inode {
            return Err(io::Error::other("the process that kept it has ended"));
        }
        if let Some(user) = user {
            setns(user.as_fd(), CloneFlags::CLONE_NEWUSER)?;
        }
        Ok(setns(network.as_fd(), CloneFlags::CLONE_NEWNET)?)
    }
}
