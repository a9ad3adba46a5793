//! One command as a process: one deadline over its output and its end.

use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    pin::pin,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    time::{Instant, sleep_until, timeout},
};

use super::{capture::Capture, live::Live, tree::Tree};

/// How long output is still read once the shell has ended. Whoever holds the pipe longer is not waited for.
const DRAIN: Duration = Duration::from_millis(200);

/// How long a killed process is waited for. Only one stuck in the kernel takes longer.
const REAP: Duration = Duration::from_secs(2);

/// What came of a command.
pub(super) struct Ended {
    pub(super) how: How,
    pub(super) took: Duration,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
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
    (mut stdout, mut stderr): (Capture, Capture),
    (live_out, live_err): (Live<'_>, Live<'_>),
) -> io::Result<Ended> {
    let began = Instant::now();
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.process_group(0).spawn()?;
    let tree = Tree::of(&child);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let how = {
        let mut reading = pin!(async {
            tokio::join!(pump(out, &mut stdout, live_out), pump(err, &mut stderr, live_err));
        });
        let mut all_read = false;
        let how = loop {
            tokio::select! {
                status = child.wait() => break How::Exited(status?),
                () = &mut reading, if !all_read => all_read = true,
                () = sleep_until(began + limit) => break How::TimedOut,
            }
        };
        match how {
            // What was started in the background and still prints has a moment to finish.
            How::Exited(_) => {
                all_read = all_read || timeout(DRAIN, &mut reading).await.is_ok();
                tree.sweep();
            }
            How::TimedOut => {
                tree.end().await;
                _ = timeout(REAP, child.wait()).await;
            }
        }
        if !all_read {
            _ = timeout(DRAIN, reading).await;
        }
        how
    };
    Ok(Ended { how, took: began.elapsed(), stdout, stderr })
}

/// Reads until the end, in bounded memory. An error ends the stream like an end.
async fn pump(from: Option<impl AsyncRead + Unpin>, into: &mut Capture, mut live: Live<'_>) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        into.push(&buffer[..count]);
        live.push(&buffer[..count]);
    }
    live.finish();
}
