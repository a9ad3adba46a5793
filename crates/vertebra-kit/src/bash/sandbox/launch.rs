//! The launcher: this program, started again with an argument of its own, restricts itself and becomes the command.
//!
//! Restricting between fork and exec would be simpler, but takes the whole process off the fast way to spawn.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs,
    io::{self, Read as _},
    os::{fd::RawFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Command, Stdio, exit},
};

use nix::unistd::close;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::{
    HELD, NO_MOUNTS, bubblewrap, calls, files, mounts,
    rules::{Rules, UnixSockets},
};

/// The exit code of a launcher that could not do its work, as shells use it for what cannot be run.
const CANNOT_RUN: i32 = 126;

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    #[error("it was started without rules or without a program")]
    NotAsked,
    #[error("its rules cannot be read: {0}")]
    Rules(#[from] serde_json::Error),
    #[error("the kernel did not take the Landlock rules: {0}")]
    Files(#[from] landlock::RulesetError),
    #[error("the kernel does not enforce Landlock")]
    NotEnforced,
    #[error("{path} and the folders like it have more than {limit} entries: take what is denied below it off the list")]
    TooManyEntries { path: PathBuf, limit: usize },
    #[error("the kernel did not take the seccomp filter: {0}")]
    Calls(#[from] seccompiler::Error),
    #[error("the kernel did not take back a right: {0}")]
    Kernel(#[from] rustix::io::Errno),
    #[error("what this program inherited cannot be closed: {0}")]
    Inherited(std::io::Error),
    #[error("the folder that the command is to begin in is gone: {0}")]
    Here(std::io::Error),
    #[error("{NO_MOUNTS}{0}")]
    Mounts(std::io::Error),
    #[error("cannot run {program:?}: {error}")]
    Run { program: OsString, error: std::io::Error },
}

impl From<seccompiler::BackendError> for LaunchError {
    fn from(error: seccompiler::BackendError) -> Self {
        Self::Calls(error.into())
    }
}

/// Applies the rules in the first argument and becomes the program in the others. Never returns.
pub(super) fn launch(mut args: impl Iterator<Item = OsString>) -> ! {
    let rules = args.next().and_then(|rules| rules.into_string().ok()).ok_or(LaunchError::NotAsked);
    let rules = rules.and_then(|rules| Ok(serde_json::from_str::<Rules>(&rules)?));
    let Err(error) = rules.and_then(|rules| become_command(rules, args));
    eprintln!("{error}");
    exit(CANNOT_RUN);
}

fn become_command(mut rules: Rules, mut args: impl Iterator<Item = OsString>) -> Result<Infallible, LaunchError> {
    let program = args.next().ok_or(LaunchError::NotAsked)?;
    close_inherited()?;
    if let Some(bubblewrap) = rules.bubblewrap.take() {
        return bubblewrap::enter(&bubblewrap, rules, &program, args);
    }
    // Processes that lose their parent become children of the shell: so they are found when the command is ended.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let unix_sockets = rules.unix_sockets == UnixSockets::Open || (rules.landlock && files::holds_unix_sockets());
    mounts::make(&rules).map_err(LaunchError::Mounts)?;
    if rules.landlock {
        files::restrict(&rules)?;
    }
    calls::restrict(rules.network, unix_sockets)?;
    drop_capabilities()?;
    // The first line that comes out is the launcher's word, and nobody else could have said it.
    eprintln!("{HELD}");
    // Whoever waits for it may want to look at this process before it is another.
    io::stdin().read_exact(&mut [0]).err();
    let error = Command::new(&program).args(args).stdin(Stdio::null()).exec();
    Err(LaunchError::Run { program, error })
}

/// Closes all but the three streams. No rule holds for a file that is open already, and somebody above may have left one.
fn close_inherited() -> Result<(), LaunchError> {
    let open = fs::read_dir("/proc/self/fd").map_err(LaunchError::Inherited)?;
    let open: Vec<RawFd> = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // One of them was the list, which is closed by now.
        _ = close(descriptor);
    }
    Ok(())
}

/// What is left to a superuser: what unpacking, building and testing need. With more, the kernel would show it the memory
/// and the environment of others without asking Landlock. Since no privileges are gained any more, this is for ever.
fn drop_capabilities() -> rustix::io::Result<()> {
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::KILL
        | CapabilitySet::SETUID
        | CapabilitySet::SETGID
        | CapabilitySet::NET_BIND_SERVICE;
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: effective & kept, permitted: permitted & kept, inheritable })
}
