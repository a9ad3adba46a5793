//! One command as a process: one deadline over its output and its end.

use std::{
    convert::Infallible,
    io,
    net::Shutdown,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::ExitStatusExt as _},
    },
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    time::Instant,
};

use super::{
    capture::{Printed, Stream},
    live::Live,
    running::Running,
    sandbox::{PATIENCE, Refusal, Start, give},
    signals::Neighbours,
    text,
    told::Told,
};
use crate::process::{Ending, Tree, attend};

/// How long the word of a launcher may be.
const WORD: usize = 4096;

/// What came of a command.
pub(super) struct Ended {
    pub(super) how: How,
    pub(super) took: Duration,
    /// What the launcher said first.
    pub(super) word: String,
    /// What the supervisor refused.
    pub(super) refused: Vec<Refusal>,
}

pub(super) enum How {
    Exited(ExitStatus),
    TimedOut,
}

impl How {
    /// The exit code as a shell would give it: a signal counts as 128 and its number.
    pub(super) fn code(&self) -> Option<i32> {
        match self {
            Self::Exited(status) => status.code().or_else(|| status.signal().map(|signal| 128 + signal)),
            Self::TimedOut => None,
        }
    }
}

/// Runs a command with no input. If this is dropped, the command and all it started are ended.
pub(super) async fn run(
    command: &mut Command,
    limit: Duration,
    printed: &Printed,
    (live_out, live_err): (Live<'_>, Live<'_>),
    start: &Start,
    (running, neighbours): (&Running, &Neighbours),
) -> io::Result<Ended> {
    let began = Instant::now();
    let (input, connection) = if start.is_launched() {
        let (ours, theirs) = UnixStream::pair()?;
        (Stdio::from(OwnedFd::from(theirs)), Some(Arc::new(ours)))
    } else {
        (Stdio::null(), None)
    };
    let piped = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.process_group(0).spawn()?;
    running.began(child.id());
    neighbours.add(&running.leader());
    if let (Some(connection), Some(rules)) = (&connection, start.rules()) {
        connection.set_write_timeout(Some(PATIENCE))?;
        match give(&**connection, rules.as_bytes()) {
            // A launcher that is gone has said why.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    let (out, mut err) = (child.stdout.take(), child.stderr.take());
    // A supervisor lives until this end of its input is closed, and takes all that the command started with it.
    let tree = match connection.clone() {
        Some(connection) => Tree::of(&child).supervised(Lifeline(connection)),
        None => Tree::of(&child),
    };
    let mut told = connection.as_deref().map(Told::by).transpose()?;
    let listen = async {
        if let Some(told) = &mut told {
            told.listen(neighbours).await;
        }
    };
    let mut word = String::new();
    let talk = async {
        if let (Some(err), true) = (&mut err, start.is_launched()) {
            word = first_line(err).await;
        }
        let output = pump(out, (printed, Stream::Stdout), live_out);
        tokio::join!(output, pump(err, (printed, Stream::Stderr), live_err), listen);
        Ok(())
    };
    let how = match attend::<Infallible>(&mut child, tree, limit, talk).await? {
        Ending::Exited(status) => How::Exited(status),
        Ending::TimedOut => How::TimedOut,
        Ending::Broken(never) => match never {},
    };
    let refused = told.zip(connection).map(|(told, connection)| told.refused(&connection)).unwrap_or_default();
    Ok(Ended { how, took: began.elapsed(), word, refused })
}

/// The supervisor's input. Dropped, it is closed, though what the supervisor told can still be read.
struct Lifeline(Arc<UnixStream>);

impl Drop for Lifeline {
    fn drop(&mut self) {
        // A supervisor that is gone needs no end.
        _ = self.0.shutdown(Shutdown::Write);
    }
}

/// What comes before the first line end. Read byte by byte, because the rest belongs to the command.
async fn first_line(from: &mut (impl AsyncRead + Unpin)) -> String {
    let mut line = Vec::new();
    while let Ok(byte) = from.read_u8().await {
        if byte == b'\n' || line.len() == WORD {
            break;
        }
        line.push(byte);
    }
    text::clean(&line)
}

/// Reads until the end, in bounded memory. An error ends the stream like an end.
async fn pump(from: Option<impl AsyncRead + Unpin>, (printed, stream): (&Printed, Stream), mut live: Live<'_>) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        printed.push(stream, &buffer[..count]);
        live.push(&buffer[..count]);
    }
    live.finish();
}
