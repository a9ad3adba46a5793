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

/// What one command was refused, told to the agent once each.
#[cfg(target_os = "linux")]
#[derive(Default)]
pub(super) struct Refusals(RefCell<HashSet<Refusal>>);

#[cfg(target_os = "linux")]
impl Refusals {
    /// Tells the agent, which is at the other end of this process's input.
    pub(super) fn tell(&self, refusal: Refusal) {
        let mut told = self.0.borrow_mut();
        if told.len() >= TOLD || told.contains(&refusal) {
            return;
        }
        if let Ok(mut line) = serde_json::to_string(&refusal) {
            line.push('\n');
            let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
            // Without anyone there, there is no one to tell.
            _ = rustix::net::send(stdin(), line.as_bytes(), flags);
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
