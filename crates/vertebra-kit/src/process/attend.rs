//! One process, from its start to its end: one deadline over what is said to it, what it says, and its end.

use std::{io, pin::pin, process::ExitStatus, time::Duration};

use tokio::{
    process::Child,
    time::{sleep, timeout},
};

use super::Tree;

/// How long output is still read once the process has ended. Whoever holds a pipe longer is not waited for.
const DRAIN: Duration = Duration::from_millis(200);

/// How long a killed process is waited for. Only one stuck in the kernel takes longer.
const REAP: Duration = Duration::from_secs(2);

/// How a process ended.
#[derive(Debug)]
pub enum Ending<B> {
    /// By itself, or by somebody's signal.
    Exited(ExitStatus),
    /// It was ended, because its time was over.
    TimedOut,
    /// It was ended, because the talk with it was broken off for this.
    Broken(B),
}

/// Sees a process to its end while the `talk` writes to it and reads from it. Nothing of its tree is left afterwards.
pub async fn attend<B>(
    child: &mut Child,
    tree: Tree,
    limit: Duration,
    talk: impl Future<Output = Result<(), B>>,
) -> io::Result<Ending<B>> {
    let mut talk = pin!(talk);
    let mut deadline = pin!(sleep(limit));
    let mut is_over = false;
    let mut ending = loop {
        tokio::select! {
            status = child.wait() => break Ending::Exited(status?),
            said = &mut talk, if !is_over => {
                is_over = true;
                if let Err(broken) = said {
                    break Ending::Broken(broken);
                }
            }
            () = &mut deadline => break Ending::TimedOut,
        }
    };
    match ending {
        Ending::Exited(_) => {
            // What was started in the background and still prints has a moment to finish.
            if !is_over && let Ok(said) = timeout(DRAIN, &mut talk).await {
                is_over = true;
                if let Err(broken) = said {
                    ending = Ending::Broken(broken);
                }
            }
            tree.sweep();
        }
        Ending::TimedOut | Ending::Broken(_) => {
            tree.end().await;
            _ = timeout(REAP, child.wait()).await;
        }
    }
    if !is_over {
        _ = timeout(DRAIN, talk).await;
    }
    Ok(ending)
}
