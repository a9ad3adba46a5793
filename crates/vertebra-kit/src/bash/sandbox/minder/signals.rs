//! Signals to other commands of the session. Landlock lets a command signal its own processes alone, so the agent is asked about
//! all others: it knows which processes belong to the session, and sends the signal itself.

use std::{fs, io::stdin, os::fd::AsRawFd as _};

use rustix::{
    io::Errno,
    net::{RecvFlags, recv},
};
use seccompy::SeccompNotif;

use super::{
    super::refusal::SignalRequest,
    Answer, Minder,
    task::{Call, is_ours},
};

/// The longest answer that is kept until its line ends.
const ANSWER_BYTES: usize = 64 * 1024;

/// Signals that the agent has been asked to send.
#[derive(Default)]
pub(super) struct Signals {
    asked: u64,
    waiting: Vec<(u64, SeccompNotif)>,
    /// What the agent has said of an answer that is not complete.
    said: Vec<u8>,
}

impl Minder {
    /// `kill`. What is sent to processes of the command, and to all at once, is left to the kernel.
    pub(super) fn kill(&mut self, call: &Call) -> Answer {
        let target = call.descriptor(0);
        let is_left_to_kernel = match target {
            -1 | 0 => true,
            // The numbers of processes mean something else to an agent outside of a process namespace.
            1.. => is_ours(target) || !fs::exists(format!("/proc/{target}")).unwrap_or(false),
            // A group has the number of the process that leads it, or that led it.
            _ => is_ours(target.wrapping_neg()),
        };
        if is_left_to_kernel { Answer::Kernel } else { self.ask(call, target, call.descriptor(1)) }
    }

    /// The same by a handle of a process. One with more to say is left to the kernel, which refuses it.
    pub(super) fn kill_by_handle(&mut self, call: &Call) -> Answer {
        let Ok(handle) = call.file(call.descriptor(0)) else { return Answer::Kernel };
        let about = fs::read_to_string(format!("/proc/self/fdinfo/{}", handle.as_raw_fd())).unwrap_or_default();
        let pid = about.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok());
        match pid {
            Some(pid @ 1..) if !is_ours(pid) && call.argument(2) == 0 => self.ask(call, pid, call.descriptor(1)),
            _ => Answer::Kernel,
        }
    }

    fn ask(&mut self, call: &Call, target: i32, signal: i32) -> Answer {
        self.signals.asked += 1;
        let id = self.signals.asked;
        if !(SignalRequest { id, target, signal }).send() {
            return Answer::Failed(Errno::PERM);
        }
        self.signals.waiting.push((id, call.notification));
        Answer::Pending
    }

    /// Passes on what the agent has answered.
    pub(in super::super) fn hear(&mut self) {
        let mut bytes = [0; 4096];
        let Ok((read, _)) = recv(stdin(), &mut bytes, RecvFlags::DONTWAIT) else { return };
        self.signals.said.extend(&bytes[..read]);
        while let Some(end) = self.signals.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.signals.said.drain(..=end).collect();
            let Some((id, errno)) = SignalRequest::answered(&line) else { continue };
            let Some(at) = self.signals.waiting.iter().position(|(asked, _)| *asked == id) else { continue };
            let (_, notification) = self.signals.waiting.swap_remove(at);
            let answer = if errno == 0 { Answer::Done } else { Answer::Failed(Errno::from_raw_os_error(errno)) };
            self.respond(notification, answer);
        }
        self.signals.said.truncate(ANSWER_BYTES);
    }
}
