//! What the sandbox refused a command, as the supervisor saw it: it travels from the supervisor to the agent while the
//! command runs. The command cannot write to that connection.

use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::{cell::RefCell, collections::HashSet, io::stdin};

use serde::{Deserialize, Serialize};

/// How many refusals are told of one command. More of them say nothing new.
#[cfg(target_os = "linux")]
const TOLD: usize = 64;

/// The longest path that is told. All that is told then fits into the buffer of the connection, so the supervisor never
/// waits for the agent.
#[cfg(target_os = "linux")]
const PATH_BYTES: usize = 1024;

/// Something that the sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::bash) enum Refusal {
    /// A connection or a datagram to an address outside of the private network.
    Address(SocketAddr),
    /// A connection to a port of the loopback interface on which nothing listens in the private network.
    Port(u16),
    /// A network socket, where there is no private network.
    Socket,
    /// A change of a protected name.
    Protected(String),
    /// A change outside of the writable folders.
    Outside(String),
    /// A connection to a Unix socket that the command has not made.
    UnixSocket(String),
    /// A pseudo-terminal.
    Terminal,
    /// A system call.
    Call(String),
    /// Processes that the command left in the background, by their names: they were ended with it.
    Left(Vec<String>),
}

/// A signal that a command wants to send to a process which is not its own. The supervisor asks the agent to send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bash) struct SignalRequest {
    pub(in crate::bash) id: u64,
    /// A process, or a group as a negative number.
    pub(in crate::bash) target: i32,
    pub(in crate::bash) signal: i32,
}

impl SignalRequest {
    /// Asks the agent. Returns whether it can be asked.
    #[cfg(target_os = "linux")]
    pub(super) fn send(self) -> bool {
        serde_json::to_string(&self).is_ok_and(|line| say(&format!("{line}\n")))
    }

    /// What the agent answers: an error number, or 0.
    pub(in crate::bash) fn answer(self, errno: i32) -> String {
        format!("{} {errno}\n", self.id)
    }

    /// Which request was answered, and how.
    #[cfg(target_os = "linux")]
    pub(super) fn answered(line: &[u8]) -> Option<(u64, i32)> {
        let (id, errno) = std::str::from_utf8(line).ok()?.trim_end().split_once(' ')?;
        Some((id.parse().ok()?, errno.parse().ok()?))
    }
}

/// Says something to the agent, which is at the other end of this process's input. Returns whether it could be said.
#[cfg(target_os = "linux")]
fn say(line: &str) -> bool {
    let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
    rustix::net::send(stdin(), line.as_bytes(), flags).is_ok_and(|sent| sent == line.len())
}

/// What one command was refused, told to the agent once each.
#[cfg(target_os = "linux")]
#[derive(Default)]
pub(super) struct Refusals(RefCell<HashSet<Refusal>>);

#[cfg(target_os = "linux")]
impl Refusals {
    /// Tells the agent.
    pub(super) fn tell(&self, refusal: Refusal) {
        let mut told = self.0.borrow_mut();
        if told.len() >= TOLD || told.contains(&refusal) {
            return;
        }
        if let Ok(line) = serde_json::to_string(&refusal) {
            // Without anyone there, there is no one to tell.
            say(&format!("{line}\n"));
        }
        told.insert(refusal);
    }

    pub(super) fn tell_path(&self, path: &std::path::Path, of: fn(String) -> Refusal) {
        let path = path.to_string_lossy();
        if path.len() <= PATH_BYTES {
            self.tell(of(path.into_owned()));
        }
    }
}
