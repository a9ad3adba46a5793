//! Processes by their number and their start, because numbers are used again.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
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
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) if self.is_alive() => _ = kill_process(pid, signal),
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

/// The processes that have this variable. Those of other users are not found.
pub(crate) fn with_variable(name: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{name}={value}");
    let has = |process: &Process| {
        let variables = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    Process::all().map(|(process, _)| process).filter(has).collect()
}
