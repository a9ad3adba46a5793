//! A server's process: a clean environment, a group of its own, and what it says to its error output.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};

use super::visible;

/// How much of the end of the error output is kept.
const KEPT_BYTES: usize = 4 * 1024;

/// How long the end of the error output is waited for once the process is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A process and all that it starts. Dropped, they are ended.
pub(super) struct Process {
    child: Child,
    said: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
}

impl Process {
    /// Starts it, and gives its output and input.
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        cwd: Option<&Path>,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut program = Command::new(command);
        program.args(args).env_clear().envs(env);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program.process_group(0).kill_on_drop(true);
        if let Some(cwd) = cwd {
            program.current_dir(cwd);
        }
        let mut child = program.spawn()?;
        let piped = |what| io::Error::other(format!("its {what} is not there"));
        let output = child.stdout.take().ok_or_else(|| piped("output"))?;
        let input = child.stdin.take().ok_or_else(|| piped("input"))?;
        let errors = child.stderr.take().ok_or_else(|| piped("error output"))?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let listening = tokio::spawn(listen(errors, said.clone()));
        Ok((Self { child, said, listening }, output, input))
    }

    /// Ends it, if it has not ended, and tells how it went and what it said last.
    pub(super) async fn last_words(mut self) -> String {
        self.kill();
        let how = match tokio::time::timeout(LAST_WORDS, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(_)) | Err(_) => "it does not end".to_owned(),
        };
        // Its error output ends with the last of its group.
        let _ = tokio::time::timeout(LAST_WORDS, &mut self.listening).await;
        let said: Vec<u8> = self.said.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let said = visible::text(&String::from_utf8_lossy(&said));
        match said.trim() {
            "" => format!(" ({how}; it wrote no errors)"),
            said => format!(" ({how}; it wrote: {said})"),
        }
    }

    /// Ends the whole group. As long as the process was not waited for, its number is nobody else's.
    fn kill(&self) {
        let group = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = group {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.listening.abort();
    }
}

/// Keeps the end of what a process writes.
async fn listen(mut errors: impl AsyncRead + Unpin, said: Arc<Mutex<VecDeque<u8>>>) {
    let mut piece = [0; 1024];
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend(&piece[..read]);
        let over = said.len().saturating_sub(KEPT_BYTES);
        said.drain(..over);
    }
}
