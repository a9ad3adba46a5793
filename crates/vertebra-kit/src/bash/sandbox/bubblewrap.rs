//! Bubblewrap: the launcher becomes `bwrap`, which makes namespaces and mounts and starts the launcher again inside, where
//! it does the rest. For systems that give namespaces to that program only, and kernels without Landlock.
//!
//! Inside, all is read-only but what may be written; what is denied is empty; there are no other processes and, unless it
//! is on, no network.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    fs::File,
    io::Write as _,
    os::{fd::AsRawFd as _, unix::process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};

use super::{
    INSIDE,
    files::DEVICES,
    launch::LaunchError,
    rules::{Reach, Rules, Use},
};

/// Names that lead to a process's own streams.
const STREAMS: &[(&str, &str)] = &[
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Becomes bubblewrap, which becomes this very launcher with the rest of the rules.
pub(super) fn enter(
    bubblewrap: &Path,
    rules: Rules,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, LaunchError> {
    // By handle and left open, so that it is this program also inside, whatever stands at its path by then.
    let this = rustix::fs::open("/proc/self/exe", OFlags::RDONLY, Mode::empty())?;
    let here = std::env::current_dir().map_err(LaunchError::Here)?;
    let mut command = Command::new(bubblewrap);
    command.args(arguments(&rules)).arg("--chdir").arg(here);
    command.arg("--").arg(format!("/proc/self/fd/{}", this.as_raw_fd())).arg(INSIDE);
    let rest = Rules { bubblewrap: None, hide: Vec::new(), ..rules };
    // Left open too, and closed by the launcher inside.
    let mut told = File::from(memfd_create("rules", MemfdFlags::empty())?);
    told.write_all(&serde_json::to_vec(&rest)?).map_err(LaunchError::Inherited)?;
    command.arg(told.as_raw_fd().to_string()).arg(program).args(args);
    let error = command.exec();
    Err(LaunchError::Run { program: bubblewrap.into(), error })
}

/// What stands at a path inside. Where two want the same path, the later holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Writable,
    Nothing,
}

/// What bubblewrap is told.
fn arguments(rules: &Rules) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    arguments.add(&["--die-with-parent", "--unshare-pid", "--unshare-ipc"]);
    if !matches!(rules.network, Reach::Machine(_)) {
        arguments.add(&["--unshare-net"]);
    }
    arguments.add(&["--ro-bind", "/", "/", "--proc", "/proc", "--tmpfs", "/dev"]);
    for device in DEVICES.iter().filter(|device| STREAMS.iter().all(|(_, stream)| !stream.ends_with(*device))) {
        let device = Path::new("/dev").join(device);
        arguments.on("--dev-bind-try", Some(&device), &device);
    }
    for (to, stream) in STREAMS {
        arguments.add(&["--symlink", to, stream]);
    }
    // It lies among the devices, so it is there before those cannot be changed any more.
    for shared in rules.write.iter().filter(|folder| folder.used == Use::Shared) {
        arguments.on("--bind-try", Some(&shared.path), &shared.path);
    }
    // A superuser writes to the kernel's settings below `/proc` by name alone.
    arguments.add(&["--remount-ro", "/dev", "--remount-ro", "/proc"]);

    let mut emptied = Vec::new();
    for (path, shown) in shown(rules) {
        match shown {
            Shown::Writable => arguments.on("--bind", Some(&path), &path),
            Shown::Nothing if path.is_dir() => {
                arguments.add(&["--perms", "0000"]);
                arguments.on("--tmpfs", None, &path);
                emptied.push(path);
            }
            // A device on a mount without devices: it cannot be opened.
            Shown::Nothing => arguments.on("--ro-bind", Some(Path::new("/dev/null")), &path),
        }
    }
    // Only now: what may be written below them had to be mounted there first.
    for path in emptied {
        arguments.on("--remount-ro", None, &path);
    }
    arguments.0
}

/// Every path that is not simply read, those above before those below.
fn shown(rules: &Rules) -> Vec<(PathBuf, Shown)> {
    let writable = rules.write.iter().filter(|folder| folder.used != Use::Shared);
    let writable = writable.map(|folder| (&folder.path, Shown::Writable));
    let hidden = rules.hide.iter().chain(&rules.deny_read).map(|path| (path, Shown::Nothing));
    let all = writable.chain(hidden);
    // Links are not mounted on; where they lead is on the list as well.
    let real = all.filter_map(|(path, shown)| Some((path.canonicalize().ok()?, path, shown)));
    let mut shown: Vec<_> =
        real.filter(|(real, path, _)| real == *path).map(|(real, _, shown)| (real, shown)).collect();
    shown.sort();
    shown.dedup();
    shown
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn on(&mut self, what: &str, source: Option<&Path>, path: &Path) {
        self.0.push(what.into());
        self.0.extend(source.map(OsString::from));
        self.0.push(path.into());
    }
}
