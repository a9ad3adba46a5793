//! The launcher: this program, started again with an argument of its own. It takes rights away from itself, stays as the
//! supervisor of the command, and starts itself once more as the process that becomes the command.
//!
//! Restricting between fork and exec would be simpler, but takes the whole process off the fast way to spawn.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs,
    io::{Read as _, Write as _, stdin},
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd},
        unix::process::CommandExt as _,
    },
    path::PathBuf,
    process::{Command, Stdio, exit},
};

use nix::{sys::signal::SigSet, unistd::close};
use rustix::{
    fs::{CWD, Mode, mkdirat, unlinkat},
    io::Errno,
    process::{Signal, set_child_subreaper, set_parent_process_death_signal},
    thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities},
};

use super::{
    HELD, NO_LAYERS, NO_MOUNTS, NO_SPACE, NO_SUPERVISOR, bubblewrap,
    calls::{self, Open},
    files,
    handover::{inherited, take},
    minder::{PROBE, PROBED},
    mounts,
    rules::{Reach, Rules},
    supervise::supervise,
};

/// How the process that becomes the command begins to say which of its files the supervisor is to listen to.
pub(super) const LISTENER: &str = "listener ";

/// The exit code of a launcher that could not do its work, as shells use it for what cannot be run.
pub(super) const CANNOT_RUN: i32 = 126;

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
    Kernel(#[from] Errno),
    #[error("what this program inherited cannot be closed: {0}")]
    Inherited(std::io::Error),
    #[error("the folder that the command is to begin in cannot be used: {0}")]
    Here(std::io::Error),
    #[error("{0} is not the folder that this session began with: it was renamed or replaced")]
    Replaced(PathBuf),
    #[error("{NO_MOUNTS}{0}")]
    Mounts(std::io::Error),
    #[error("{NO_LAYERS}{0}")]
    Layers(std::io::Error),
    #[error("{NO_SPACE}{0}")]
    Space(std::io::Error),
    #[error("{NO_SUPERVISOR}{0}")]
    NoSupervisor(String),
    #[error("the command cannot be supervised: {0}")]
    Supervisor(std::io::Error),
    #[error("cannot run {program:?}: {error}")]
    Run { program: OsString, error: std::io::Error },
}

impl From<seccompiler::BackendError> for LaunchError {
    fn from(error: seccompiler::BackendError) -> Self {
        Self::Calls(error.into())
    }
}

/// Applies the rules that come over its input to itself, and sees the program in the arguments to its end. Never returns.
pub(super) fn launch(args: impl Iterator<Item = OsString>) -> ! {
    launch_by(take(stdin()), args)
}

/// Does the same with the rules in the file that the first argument names by its number. Never returns.
pub(super) fn launch_inside(mut args: impl Iterator<Item = OsString>) -> ! {
    let number = args.next().and_then(|number| number.into_string().ok()).ok_or(LaunchError::NotAsked);
    launch_by(number.and_then(|number| inherited(&number)), args)
}

fn launch_by(rules: Result<Vec<u8>, LaunchError>, args: impl Iterator<Item = OsString>) -> ! {
    let Err(error) = rules.and_then(|rules| become_supervisor(serde_json::from_slice(&rules)?, args));
    eprintln!("{error}");
    exit(CANNOT_RUN);
}

fn become_supervisor(mut rules: Rules, mut args: impl Iterator<Item = OsString>) -> Result<Infallible, LaunchError> {
    let program = args.next().ok_or(LaunchError::NotAsked)?;
    close_inherited()?;
    if let Some(bubblewrap) = rules.bubblewrap.take() {
        return bubblewrap::enter(&bubblewrap, rules, &program, args);
    }
    if let Reach::Private(space) = &rules.network {
        space.join().map_err(LaunchError::Space)?;
    }
    // Processes that lose their parent become children of this one: so all are found when the command ends.
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let _layers = mounts::make(&mut rules)?;
    let folders = files::open_folders(&rules)?;
    begins_inside(&rules)?;
    let top = files::top();
    if rules.landlock {
        files::restrict(&rules, &folders)?;
    }
    // A superuser's command may become another user, whose memory the supervisor reads all the same.
    drop_capabilities(if rules.minded { CapabilitySet::SYS_PTRACE } else { CapabilitySet::empty() })?;
    supervise(&rules, folders, &top, &program, args)
}

/// The folder that the command begins in is one of the session's, or in one. It was found by its path, which may have led
/// elsewhere meanwhile.
fn begins_inside(rules: &Rules) -> Result<(), LaunchError> {
    let here = std::env::current_dir().map_err(LaunchError::Here)?;
    if rules.write.iter().any(|folder| here.starts_with(&folder.path)) {
        Ok(())
    } else {
        Err(LaunchError::Replaced(here))
    }
}

/// Takes away from itself what the command does not get, tells the supervisor, and becomes the command. Never returns.
pub(super) fn enter(args: impl Iterator<Item = OsString>) -> ! {
    let entered = take(stdin()).and_then(|rules| {
        let (rules, top): (Rules, Vec<PathBuf>) = serde_json::from_slice(&rules)?;
        become_command(&rules, &top, args)
    });
    let Err(error) = entered;
    // The supervisor says it: what comes first is its word. Once the command has begun, nobody listens here.
    if rustix::io::write(stdin(), error.to_string().as_bytes()).is_err() {
        eprintln!("{error}");
    }
    exit(CANNOT_RUN);
}

fn become_command(
    rules: &Rules,
    top: &[PathBuf],
    mut args: impl Iterator<Item = OsString>,
) -> Result<Infallible, LaunchError> {
    let program = args.next().ok_or(LaunchError::NotAsked)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    SigSet::empty().thread_set_mask().map_err(|errno| LaunchError::Supervisor(errno.into()))?;
    let unix_sockets = files::unix_sockets(rules);
    let supervisor = stdin().as_fd().try_clone_to_owned().map_err(LaunchError::Supervisor)?;
    if rules.minded {
        files::fence(rules, top, unix_sockets == calls::UnixSockets::Open)?;
        changes_nothing(rules)?;
    }
    let open = Open { network: &rules.network, unix_sockets, neighbours: rules.neighbours };
    calls::restrict(open, rules.minded)?;
    drop_capabilities(CapabilitySet::empty())?;
    if rules.minded {
        let listener = calls::listen(open)?;
        // The supervisor takes it by its number: messages may go through the supervisor from now on.
        rustix::io::write(&supervisor, format!("{LISTENER}{}", listener.as_raw_fd()).as_bytes())?;
        // The supervisor answers, or nothing that the command does would be judged.
        match mkdirat(CWD, PROBE, Mode::empty()) {
            Err(PROBED) => {}
            answer => return Err(LaunchError::NoSupervisor(format!("it answered {answer:?}"))),
        }
        drop(listener);
    }
    begin(supervisor, program, args)
}

/// Says that all is ready, and becomes the command.
pub(super) fn begin(
    supervisor: OwnedFd,
    program: OsString,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, LaunchError> {
    let mut supervisor = std::fs::File::from(supervisor);
    supervisor.write_all(HELD.as_bytes()).map_err(LaunchError::Supervisor)?;
    // Its word has to come before anything that the command prints.
    supervisor.read_exact(&mut [0]).map_err(LaunchError::Supervisor)?;
    let error = Command::new(&program).args(args).stdin(Stdio::null()).exec();
    eprintln!("{}", LaunchError::Run { program, error });
    exit(CANNOT_RUN);
}

/// Makes sure that the second layer holds: nothing can be made in the first writable folder.
fn changes_nothing(rules: &Rules) -> Result<(), LaunchError> {
    let Some(folder) = rules.write.first() else { return Ok(()) };
    let probe = folder.path.join(format!(".vertebra-probe-{}", std::process::id()));
    match mkdirat(CWD, &probe, Mode::empty()) {
        Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => {
            _ = unlinkat(CWD, &probe, rustix::fs::AtFlags::REMOVEDIR);
            Err(LaunchError::NotEnforced)
        }
    }
}

/// Closes all but the three streams. No rule holds for a file that is open already, and somebody above may have left one.
pub(super) fn close_inherited() -> Result<(), LaunchError> {
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
///
/// Nothing is left to other users: in a user namespace they have all capabilities over their own files, and would write
/// files that they made read-only.
fn drop_capabilities(besides: CapabilitySet) -> rustix::io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        let nothing = CapabilitySet::empty();
        let sets = CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing };
        return set_capabilities(None, sets);
    }
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::KILL
        | CapabilitySet::SETUID
        | CapabilitySet::SETGID
        | CapabilitySet::NET_BIND_SERVICE
        | besides;
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: effective & kept, permitted: permitted & kept, inheritable })
}
