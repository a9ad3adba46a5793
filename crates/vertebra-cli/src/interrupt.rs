//! Work that a person, or whoever started us, may end.

use anyhow::bail;
use tokio::signal::unix::{SignalKind, signal};

/// Does some work, unless somebody ends it: then what it started ends with it. Hooks have process groups of their own, and
/// hear nothing of a Ctrl-C.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        done = work => Ok(done),
        _ = interrupted.recv() => bail!("it was interrupted"),
        _ = terminated.recv() => bail!("it was told to end"),
    }
}
