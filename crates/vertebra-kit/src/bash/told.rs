//! What a supervisor tells the agent while its command runs: what it refused, and which signals it wants to be sent.

use std::{
    io::{self, Read as _},
    os::unix::net::UnixStream,
};

use rustix::io::Errno;
use tokio::{io::AsyncWriteExt as _, task::spawn_blocking};

use super::{
    sandbox::{Refusal, SignalRequest},
    signals::Neighbours,
};

/// How much a supervisor may tell of what it refused.
const TOLD: usize = 256 * 1024;

/// The end of a connection at which the agent listens to a supervisor.
pub(super) struct Told {
    connection: tokio::net::UnixStream,
    refused: Refused,
}

#[derive(Default)]
struct Refused {
    /// What came after the last line.
    rest: Vec<u8>,
    bytes: usize,
    all: Vec<Refusal>,
}

impl Refused {
    /// Takes note of what came, and returns the signals that are to be sent.
    fn take(&mut self, bytes: &[u8]) -> Vec<SignalRequest> {
        self.rest.extend(bytes);
        let mut requests = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if let Ok(request) = serde_json::from_slice(&line) {
                requests.push(request);
            } else if let Ok(refusal) = serde_json::from_slice(&line)
                && self.bytes + line.len() <= TOLD
            {
                self.bytes += line.len();
                self.all.push(refusal);
            }
        }
        self.rest.truncate(TOLD);
        requests
    }
}

impl Told {
    pub(super) fn by(connection: &UnixStream) -> io::Result<Self> {
        let connection = connection.try_clone()?;
        connection.set_nonblocking(true)?;
        Ok(Self { connection: tokio::net::UnixStream::from_std(connection)?, refused: Refused::default() })
    }

    /// Listens until the supervisor has ended, and answers it.
    pub(super) async fn listen(&mut self, neighbours: &Neighbours) {
        let mut bytes = vec![0; 4096];
        while self.connection.readable().await.is_ok() {
            match self.connection.try_read(&mut bytes) {
                Ok(0) => return,
                Ok(read) => {
                    for request in self.refused.take(&bytes[..read]) {
                        let neighbours = neighbours.clone();
                        let errno = spawn_blocking(move || neighbours.signal(request.target, request.signal)).await;
                        let answer = request.answer(errno.unwrap_or(Errno::PERM.raw_os_error()));
                        // A supervisor that is gone needs no answer.
                        _ = self.connection.write_all(answer.as_bytes()).await;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// All that was refused. What was told by now is there already, so nobody is waited for.
    pub(super) fn refused(mut self, connection: &UnixStream) -> Vec<Refusal> {
        let mut text = Vec::new();
        // What came before it would block is in the text.
        _ = connection.take(TOLD as u64).read_to_end(&mut text);
        self.refused.take(&text);
        self.refused.all
    }
}
