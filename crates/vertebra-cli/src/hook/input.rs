//! Reads one event from stdin, with limits on size and time, and returns as soon as the event is complete.

use std::{
    io::{self, Read as _},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

/// How large an event may be. Tool results are the largest part.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// How much is read at once.
const CHUNK: usize = 16 * 1024;

/// The reason why no event could be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    #[error("stdin: {0}")]
    Io(#[from] io::Error),
    #[error("stdin is empty; expected one event as JSON")]
    Empty,
    #[error("no complete event arrived on stdin within {} s", .0.as_secs())]
    Late(Duration),
    #[error("the event on stdin is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("the event on stdin is not UTF-8")]
    NotText,
    #[error("the event on stdin is not JSON: {0}")]
    NotJson(serde_json::Error),
}

/// Reads an event. Some agents never close stdin, so reading stops after a complete object.
pub(super) fn read(patience: Duration) -> Result<Value, InputError> {
    let stdin = io::stdin();
    let mut lock = stdin.lock();
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    let end = Instant::now() + patience;
    loop {
        if !is_ready(Duration::ZERO)? {
            if bytes.trim_ascii_end().last() == Some(&b'}')
                && let Ok(event) = serde_json::from_slice(&bytes)
            {
                return Ok(event);
            }
            if !is_ready(end.saturating_duration_since(Instant::now()))? {
                return Err(InputError::Late(patience));
            }
        }
        let read = lock.read(&mut chunk)?;
        bytes.extend_from_slice(&chunk[..read]);
        if bytes.len() > MAX_BYTES {
            return Err(InputError::TooLarge);
        }
        if read == 0 {
            break;
        }
    }
    if bytes.trim_ascii().is_empty() {
        return Err(InputError::Empty);
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| InputError::NotText)?;
    serde_json::from_str(text).map_err(InputError::NotJson)
}

fn is_ready(patience: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let patience = Timespec::try_from(patience).ok();
    loop {
        match poll(&mut polled, patience.as_ref()) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
