//! The supervisor's life: it starts the process that becomes the command, makes changes of files for it, and ends with
//! the last of the processes that the command started. When the agent goes, however it goes, all of them go.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    fs,
    io::{Read as _, Write as _, stdin},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::sys::{
    signal::{SigSet, Signal as Number},
    signalfd::{SfdFlags, SignalFd},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
    process::{
        Pid, PidfdFlags, PidfdGetfdFlags, Resource, Rlimit, Signal, WaitOptions, WaitStatus, kill_process, pidfd_getfd,
        pidfd_open, setrlimit, wait,
    },
};

use super::{
    ENTER, HELD,
    handover::give,
    launch::{CANNOT_RUN, LISTENER, LaunchError},
    minder::Minder,
    refusal::{Refusal, Refusals},
    rules::Rules,
};
use crate::process::descendants;

/// How the kernel says that the other end of a connection is closed.
const GONE: PollFlags = PollFlags::RDHUP.union(PollFlags::HUP).union(PollFlags::ERR).union(PollFlags::NVAL);

/// How long what the command left in the background may still print.
const LINGER: Duration = Duration::from_millis(200);

/// How many processes in the background are named.
const NAMED: usize = 5;

/// How often an open that waits for the other end of a pipe is tried again.
const AGAIN: Duration = Duration::from_millis(5);

/// How often processes that are being killed are looked for.
const SWEEP: Duration = Duration::from_millis(2);

/// Sees a program to its end, and ends like it.
pub(super) fn supervise(
    rules: &Rules,
    folders: Vec<OwnedFd>,
    top: &[PathBuf],
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, LaunchError> {
    let told = serde_json::to_vec(&(rules, top))?;
    see_to_end(ENTER, program, args, |ours, command| {
        // One that is gone has said why.
        _ = give(&mut fs::File::from(ours.try_clone().map_err(LaunchError::Supervisor)?), &told);
        let listener = if rules.minded { received(ours, command)? } else { None };
        Ok(listener.map(|listener| Minder::new(listener, rules, folders)))
    })
}

/// Starts this program once more, with this word, as the process that becomes the command, and sees that to its end.
pub(super) fn see_to_end(
    word: &str,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
    minder: impl FnOnce(&OwnedFd, Pid) -> Result<Option<Minder>, LaunchError>,
) -> Result<Infallible, LaunchError> {
    let supervisor = |error: Errno| LaunchError::Supervisor(error.into());
    // It is asked to end together with the command, and has to be there until that has ended.
    SigSet::all().thread_block().map_err(|errno| LaunchError::Supervisor(errno.into()))?;
    let mut ended = SigSet::empty();
    ended.add(Number::SIGCHLD);
    let ended = SignalFd::with_flags(&ended, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(|errno| LaunchError::Supervisor(errno.into()))?;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(supervisor)?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(word).arg(program).args(args).stdin(Stdio::from(theirs)).process_group(0);
    let child = command.spawn().map_err(LaunchError::Supervisor)?;
    drop(command);
    let command = Pid::from_child(&child);
    let minder = minder(&ours, command)?;
    let mut life = Life { command, minder, word: Some(ours), ended, status: None, since: None };
    life.attend()
}

/// The listener of the process that becomes the command; nothing if that is gone.
fn received(from: &OwnedFd, command: Pid) -> Result<Option<OwnedFd>, LaunchError> {
    let mut said = [0; 4096];
    let count = rustix::io::read(from, &mut said)?;
    if count == 0 {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&said[..count]);
    let Some(number) = said.strip_prefix(LISTENER).and_then(|number| number.parse().ok()) else {
        // Why there is none.
        eprintln!("{said}");
        std::process::exit(CANNOT_RUN);
    };
    let taken = pidfd_open(command, PidfdFlags::empty())
        .and_then(|command| pidfd_getfd(command, number, PidfdGetfdFlags::empty()));
    taken.map(Some).map_err(|errno| LaunchError::NoSupervisor(errno.to_string()))
}

struct Life {
    command: Pid,
    minder: Option<Minder>,
    /// Where the command says whether it is held.
    word: Option<OwnedFd>,
    ended: SignalFd,
    /// How the command ended.
    status: Option<WaitStatus>,
    since: Option<Instant>,
}

/// What has happened.
#[expect(clippy::struct_excessive_bools, reason = "each of them happens or not, by itself")]
struct News {
    agent_is_gone: bool,
    answer: bool,
    ended: bool,
    word: bool,
    call: bool,
}

impl Life {
    fn attend(&mut self) -> Result<Infallible, LaunchError> {
        loop {
            let news = self.wait()?;
            if let Some(minder) = &mut self.minder {
                if news.answer {
                    minder.hear();
                }
                minder.serve(news.call);
            }
            if news.word {
                self.listen();
            }
            let nobody_left = news.ended && self.reap();
            let lingered = self.since.is_some_and(|since| since.elapsed() >= LINGER);
            if news.agent_is_gone || nobody_left || lingered {
                if !news.agent_is_gone && !nobody_left {
                    tell_left();
                }
                self.kill();
                if let Some(minder) = &mut self.minder {
                    minder.finish_checked();
                }
                end_like(self.status);
            }
        }
    }

    fn wait(&self) -> Result<News, LaunchError> {
        let agent = stdin();
        let said = if self.minder.is_some() { PollFlags::RDHUP | PollFlags::IN } else { PollFlags::RDHUP };
        let mut polled = vec![PollFd::from_borrowed_fd(agent.as_fd(), said), PollFd::new(&self.ended, PollFlags::IN)];
        polled.extend(self.word.as_ref().map(|word| PollFd::new(word, PollFlags::IN)));
        let listener = polled.len();
        polled.extend(self.minder.iter().flat_map(Minder::polled));
        let soon = self.minder.as_ref().is_some_and(Minder::is_waiting).then_some(AGAIN);
        let lingers = self.since.map(|since| LINGER.saturating_sub(since.elapsed()));
        let limit = soon.into_iter().chain(lingers).min();
        let limit = limit.map(|limit| Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() });
        match poll(&mut polled, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(LaunchError::Supervisor(error.into())),
        }
        let happened = |at: usize| polled.get(at).is_some_and(|polled| !polled.revents().is_empty());
        Ok(News {
            agent_is_gone: polled[0].revents().intersects(GONE),
            answer: polled[0].revents().contains(PollFlags::IN),
            ended: happened(1),
            word: self.word.is_some() && happened(2),
            call: self.minder.is_some() && polled[listener].revents().contains(PollFlags::IN),
        })
    }

    /// Passes on what the command says first, and lets it go on.
    fn listen(&mut self) {
        let Some(word) = self.word.take() else { return };
        let mut word = fs::File::from(word);
        let mut said = [0; 4096];
        let count = word.read(&mut said).unwrap_or(0);
        let said = String::from_utf8_lossy(&said[..count]);
        if said.is_empty() {
            return;
        }
        eprintln!("{said}");
        if said == HELD {
            _ = word.write_all(b"!");
        }
    }

    /// Takes note of all that have ended. True if nobody is left.
    fn reap(&mut self) -> bool {
        while let Ok(Some(_)) = self.ended.read_signal() {}
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => {
                    self.status = Some(status);
                    self.since = Some(Instant::now());
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Kills everything that the command started, until nothing is left.
    fn kill(&mut self) {
        let own = rustix::process::getpid();
        while !self.reap() {
            for pid in descendants(own) {
                // What fails here is gone already.
                _ = kill_process(pid, Signal::KILL);
            }
            // Until the next of them ends, or a moment.
            let moment = Timespec { tv_sec: 0, tv_nsec: SWEEP.subsec_nanos().into() };
            _ = poll(&mut [PollFd::new(&self.ended, PollFlags::IN)], Some(&moment));
        }
    }
}

/// Tells the agent what the command left in the background.
fn tell_left() {
    let name = |pid: &Pid| {
        let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())).ok()?;
        Some(name.chars().filter(char::is_ascii_graphic).collect())
    };
    let mut names: Vec<String> = descendants(rustix::process::getpid()).iter().filter_map(name).collect();
    names.sort();
    names.dedup();
    names.truncate(NAMED);
    if !names.is_empty() {
        Refusals::default().tell(Refusal::Left(names));
    }
}

/// The exit code as a shell gives it: a signal counts as 128 and its number.
fn code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(CANNOT_RUN)
}

/// Ends as the command has ended, so that whoever waits for this process sees the same.
fn end_like(status: Option<WaitStatus>) -> ! {
    if let Some(signal) = status.and_then(WaitStatus::terminating_signal)
        && let (Some(raised), Ok(number)) = (Signal::from_named_raw(signal), Number::try_from(signal))
    {
        // The command has left its remains, if it was to.
        _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        let mut only = SigSet::empty();
        only.add(number);
        _ = only.thread_unblock();
        _ = kill_process(rustix::process::getpid(), raised);
    }
    std::process::exit(status.map_or(CANNOT_RUN, code));
}
