//! A program that is started for one event: input on stdin, answer on stdout.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::timeout,
};

use crate::wire::{End, Exchange};

/// How much a program may write, on each of its two outputs.
pub const MAX_OUTPUT: usize = 1024 * 1024;

/// A program, and where and with what it runs.
#[derive(Debug, Clone)]
pub struct Program {
    /// What is started.
    pub start: Start,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// Its whole environment.
    pub variables: Vec<(OsString, OsString)>,
}

/// What is started.
#[derive(Debug, Clone)]
pub enum Start {
    /// A line for `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Exec(Vec<String>),
}

impl Program {
    /// What people know it as.
    pub fn shown(&self) -> String {
        match &self.start {
            Start::Shell(line) => line.clone(),
            Start::Exec(words) => words.join(" "),
        }
    }

    /// Starts it, gives it the input and waits for its end, all within the limit. What is left of it is killed.
    pub async fn exchange(&self, input: &[u8], limit: Duration) -> Exchange {
        let began = Instant::now();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let end = match timeout(limit, self.talk(input, &mut stdout, &mut stderr)).await {
            Ok(Ok(end)) => end,
            Ok(Err(error)) => End::Failed { message: error.to_string() },
            Err(_) => End::TimedOut { after: limit },
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Exchange { handler: self.shown(), end, stdout: text(stdout), stderr: text(stderr), took: began.elapsed() }
    }

    async fn talk(&self, input: &[u8], stdout: &mut Vec<u8>, stderr: &mut Vec<u8>) -> std::io::Result<End> {
        let mut command = match &self.start {
            Start::Shell(line) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line);
                command
            }
            Start::Exec(words) => {
                let mut command = Command::new(words.first().map_or("", String::as_str));
                command.args(words.get(1..).unwrap_or_default());
                command
            }
        };
        command.current_dir(&self.folder).env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let (to, from, besides) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async move {
            if let Some(mut to) = to {
                // Whoever does not read its input may still have an opinion.
                _ = to.write_all(input).await;
            }
            Ok(())
        };
        let cap = u64::try_from(MAX_OUTPUT).unwrap_or(u64::MAX);
        let read = async {
            if let Some(from) = from {
                from.take(cap).read_to_end(stdout).await?;
            }
            Ok::<_, std::io::Error>(())
        };
        let read_besides = async {
            if let Some(besides) = besides {
                besides.take(cap).read_to_end(stderr).await?;
            }
            Ok::<_, std::io::Error>(())
        };
        let ((), (), ()) = tokio::try_join!(write, read, read_besides)?;
        let status = child.wait().await?;
        Ok(match (status.code(), std::os::unix::process::ExitStatusExt::signal(&status)) {
            (Some(exit_code), _) => End::Exited { exit_code },
            (None, signal) => End::Signalled { signal: signal.unwrap_or_default() },
        })
    }
}
