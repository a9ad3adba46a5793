//! A program that stays: its group is its own, and the end of what it says to its error output is kept.

use std::{
    collections::VecDeque,
    io,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

use super::Tree;

/// How much of the end of the error output is kept.
const KEPT_BYTES: usize = 4 * 1024;

/// How long its end, and the end of its error output, are waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A process and all that it starts. Dropped, they are ended.
pub struct Resident {
    child: Child,
    tree: Tree,
    said: Said,
    listening: Listening,
}

/// The end of what a process says to its error output.
#[derive(Clone, Default)]
pub struct Said(Arc<Mutex<VecDeque<u8>>>);

impl Said {
    /// What there is of it so far.
    pub fn text(&self) -> String {
        let said: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Keeps the end of what is written there.
    async fn listen(self, mut errors: impl AsyncRead + Unpin) {
        let mut piece = [0; 1024];
        while let Ok(read @ 1..) = errors.read(&mut piece).await {
            let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend(&piece[..read]);
            let over = said.len().saturating_sub(KEPT_BYTES);
            said.drain(..over);
        }
    }
}

/// Ends with whom it listens to.
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Resident {
    /// Starts it, and gives its output and input.
    pub fn start(mut program: Command) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.process_group(0).spawn()?;
        let tree = Tree::of(&child);
        let piped = |what| io::Error::other(format!("its {what} is not there"));
        let output = child.stdout.take().ok_or_else(|| piped("output"))?;
        let input = child.stdin.take().ok_or_else(|| piped("input"))?;
        let errors = child.stderr.take().ok_or_else(|| piped("error output"))?;
        let said = Said::default();
        let listening = Listening(tokio::spawn(said.clone().listen(errors)));
        Ok((Self { child, tree, said, listening }, output, input))
    }

    /// What it says to its error output.
    pub fn said(&self) -> Said {
        self.said.clone()
    }

    /// Kills it, if it has not ended, and tells how it went and what it said last.
    pub async fn last_words(self) -> (String, String) {
        let Self { mut child, tree, said, mut listening } = self;
        // As long as it was not waited for, its number is nobody else's.
        tree.sweep();
        let how = match timeout(LAST_WORDS, child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(_)) | Err(_) => "it does not end".to_owned(),
        };
        // Its error output ends with the last of its group.
        _ = timeout(LAST_WORDS, &mut listening.0).await;
        (how, said.text())
    }
}
