//! Work that a signal can end.

use anyhow::bail;
use tokio::signal::unix::{SignalKind, signal};

/// Does some work until it is done or a signal arrives. Dropping the work also ends the processes that it started: hooks
/// have their own process groups and do not receive the Ctrl-C.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        done = work => Ok(done),
        _ = interrupted.recv() => bail!("interrupted"),
        _ = terminated.recv() => bail!("terminated by SIGTERM"),
    }
}
