//! Processes by their number and their start, because numbers are used again.

use std::fs;

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};
use serde::{Deserialize, Serialize};

/// A process, and no other that is given its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pid: i32,
    /// When it began, in ticks since the system did.
    started: u64,
}

impl Process {
    /// The process that has this number now. None where there is no `/proc`.
    pub(crate) fn at(pid: i32) -> Option<Self> {
        Some(read(pid)?.0)
    }

    /// All processes, each with the number of its parent. None where there is no `/proc`.
    pub(super) fn all() -> impl Iterator<Item = (Self, i32)> {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?))
    }

    pub(crate) fn pid(self) -> i32 {
        self.pid
    }

    /// Whether it is there.
    pub(crate) fn is_alive(self) -> bool {
        Self::at(self.pid) == Some(self)
    }

    /// Whether it is there and has not ended: one that nobody has waited for yet keeps its number.
    pub(crate) fn is_running(self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let has_ended = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']));
        self.is_alive() && !has_ended
    }

    /// Kills it.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Sends it a signal. What fails here is gone already.
    #[cfg(target_os = "linux")]
    pub(super) fn signal(self, signal: Signal) {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

        let Some(pid) = Pid::from_raw(self.pid) else { return };
        match pidfd_open(pid, PidfdFlags::empty()) {
            // The handle is to one process, whatever becomes of its number after this look.
            Ok(handle) if self.is_alive() => _ = pidfd_send_signal(handle, signal),
            Err(Errno::NOSYS | Errno::PERM) if self.is_alive() => _ = kill_process(pid, signal),
            Ok(_) | Err(_) => {}
        }
    }

    /// Sends it a signal. What fails here is gone already.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn signal(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            _ = kill_process(pid, signal);
        }
    }

    #[cfg(test)]
    pub(crate) fn with_start(self, started: u64) -> Self {
        Self { started, ..self }
    }
}

/// The process that has this number, and its parent.
fn read(pid: i32) -> Option<(Process, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in brackets and may contain anything, brackets too.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((Process { pid, started: fields.get(19)?.parse().ok()? }, fields.get(1)?.parse().ok()?))
}

/// Why a signal was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotSent(pub(crate) Errno);

/// Sends a signal to a process that descends from one of these, or to the members of a group (as a negative number) that do.
/// Signal 0 asks whether there is one.
#[cfg(target_os = "linux")]
pub(crate) fn signal_below(leaders: &[Process], target: i32, number: i32) -> Result<(), NotSent> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    let signal = match number {
        0 => None,
        _ => Some(Signal::from_named_raw(number).ok_or(NotSent(Errno::INVAL))?),
    };
    let to_one = |pid: i32| {
        let pid = Pid::from_raw(pid).ok_or(NotSent(Errno::SRCH))?;
        // The handle is to one process, whatever becomes of its number after this.
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| NotSent(Errno::SRCH))?;
        if !descends(pid.as_raw_nonzero().get(), leaders) {
            return Err(NotSent(Errno::PERM));
        }
        signal.map_or(Ok(()), |signal| pidfd_send_signal(&handle, signal)).map_err(NotSent)
    };
    match target {
        1.. => to_one(target),
        i32::MIN | -1..=0 => Err(NotSent(Errno::PERM)),
        _ => {
            let members = Process::all().map(|(process, _)| process.pid).filter(|pid| group(*pid) == Some(-target));
            let sent: Vec<Result<(), NotSent>> = members.map(to_one).collect();
            let refused = sent.first().copied().unwrap_or(Err(NotSent(Errno::SRCH)));
            if sent.iter().any(Result::is_ok) { Ok(()) } else { refused }
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn signal_below(_: &[Process], _: i32, _: i32) -> Result<(), NotSent> {
    Err(NotSent(Errno::PERM))
}

/// Whether a process descends from one of these. It is looked at twice: if a parent ended in between and its number was given
/// to another process, its children have another parent the second time.
#[cfg(target_os = "linux")]
fn descends(pid: i32, leaders: &[Process]) -> bool {
    let line = || {
        let mut line = Vec::new();
        let mut parent = read(pid)?.1;
        // Deeper trees than this do not occur, and a circle cannot.
        while line.len() < 10_000 {
            let (process, next) = read(parent)?;
            line.push(process);
            if leaders.contains(&process) {
                return Some(line);
            }
            parent = next;
        }
        None
    };
    line().is_some_and(|found| line() == Some(found))
}

/// The group of a process.
#[cfg(target_os = "linux")]
fn group(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// The processes that have this variable. Those of other users are not found.
pub(crate) fn with_variable(name: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{name}={value}");
    let has = |process: &Process| {
        let variables = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    Process::all().map(|(process, _)| process).filter(has).collect()
}
