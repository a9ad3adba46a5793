//! Commands that nothing holds, seen to their end all the same: when the agent goes, however it goes, they go with it.

use std::{convert::Infallible, ffi::OsString, io::stdin, os::fd::AsFd as _, process::exit};

use nix::sys::signal::SigSet;
use rustix::process::{Signal, set_child_subreaper, set_parent_process_death_signal};

use super::{
    JOIN,
    launch::{CANNOT_RUN, LaunchError, begin},
    supervise::see_to_end,
};

/// Sees the program in the arguments to its end. Never returns.
pub(super) fn attend(mut args: impl Iterator<Item = OsString>) -> ! {
    let attended = args.next().ok_or(LaunchError::NotAsked).and_then(|program| {
        // Processes that lose their parent become children of this one: so all are found when the command ends.
        set_child_subreaper(Some(rustix::process::getpid()))?;
        see_to_end(JOIN, &program, args, |_, _| Ok(None))
    });
    let Err(error) = attended;
    eprintln!("{error}");
    exit(CANNOT_RUN);
}

/// Tells the supervisor, and becomes the command. Never returns.
pub(super) fn join(mut args: impl Iterator<Item = OsString>) -> ! {
    let joined = args.next().ok_or(LaunchError::NotAsked).and_then(|program| become_command(program, args));
    let Err(error) = joined;
    // The supervisor says it: what comes first is its word.
    if rustix::io::write(stdin(), error.to_string().as_bytes()).is_err() {
        eprintln!("{error}");
    }
    exit(CANNOT_RUN);
}

fn become_command(program: OsString, args: impl Iterator<Item = OsString>) -> Result<Infallible, LaunchError> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    SigSet::empty().thread_set_mask().map_err(|errno| LaunchError::Supervisor(errno.into()))?;
    begin(stdin().as_fd().try_clone_to_owned().map_err(LaunchError::Supervisor)?, program, args)
}
