//! A program that is started for one event: input on stdin, answer on stdout.

mod refused;

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
};
use vertebra_kit::process::{Ending, Resident, Tree, attend, on_path};

use crate::{
    settings::Words,
    trust::{Bound, Seal},
    wire::{End, Exchange},
};

/// How much a program may write, on each of its two outputs.
pub const MAX_OUTPUT: usize = 1024 * 1024;

/// A program, and where and with what it runs.
#[derive(Clone)]
pub struct Program {
    /// What is started.
    pub start: Start,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// Its whole environment.
    pub variables: Vec<(OsString, OsString)>,
    /// What of a project's program is trusted; it starts with exactly that.
    pub seal: Seal,
}

/// What is started.
#[derive(Debug, Clone)]
pub enum Start {
    /// A line for `sh -c`.
    Shell(String),
    /// A line for `bash -c`.
    Bash(String),
    /// A program and its arguments.
    Exec(Vec<String>),
}

/// Values of variables are nobody's business, not even a log's.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("start", &self.start).field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Program {
    /// What people know it as.
    pub fn shown(&self) -> String {
        match &self.start {
            Start::Shell(line) | Start::Bash(line) => line.clone(),
            Start::Exec(words) => words.join(" "),
        }
    }

    /// Starts it, gives it the input and waits for its end, all within the limit.
    ///
    /// It has a group of its own. Whatever is left of that group when this ends, or is dropped, is killed; who left the
    /// group and holds a pipe is not waited for.
    pub async fn exchange(&self, input: &[u8], limit: Duration) -> Exchange {
        let began = Instant::now();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut end = match self.spawn() {
            Ok(child) => talk(child, input, limit, &mut stdout, &mut stderr).await,
            Err(message) => End::Failed { message },
        };
        let not_text = std::str::from_utf8(&stdout).is_err();
        if let (End::Exited { exit_code }, true) = (&end, not_text) {
            end = End::NotText { exit_code: Some(*exit_code) };
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Exchange { handler: self.shown(), end, stdout: text(stdout), stderr: text(stderr), took: began.elapsed() }
    }

    fn spawn(&self) -> Result<Child, String> {
        let mut command = self.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).spawn().map_err(|error| refused::why(self, command.as_std().get_program(), &error))
    }

    /// Starts it to stay, and gives its output and input.
    pub(super) fn stay(&self) -> Result<(Resident, ChildStdout, ChildStdin), String> {
        let command = self.command()?;
        let file = command.as_std().get_program().to_owned();
        Resident::start(command).map_err(|error| refused::why(self, &file, &error))
    }

    /// Checks that a project's program would start as it was trusted.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.bound().map(drop)
    }

    fn bound(&self) -> Result<Bound, String> {
        let words = match &self.start {
            Start::Shell(line) | Start::Bash(line) => Words::Line(line.clone()),
            Start::Exec(words) => Words::List(words.clone()),
        };
        self.seal.bind(&words, &self.folder, &self.variables)
    }

    /// The program with its folder and environment, found on its own `PATH`.
    fn command(&self) -> Result<Command, String> {
        let Bound { words, variables } = self.bound()?;
        let mut command = match words {
            Words::Line(line) => {
                let shell = match &self.start {
                    Start::Bash(_) => self.found("bash", &variables)?,
                    Start::Shell(_) | Start::Exec(_) => "/bin/sh".into(),
                };
                let mut command = Command::new(shell);
                command.arg("-c").arg(line);
                command
            }
            Words::List(words) => {
                let (name, arguments) = words.split_first().ok_or("the command is empty")?;
                let mut command = Command::new(self.found(name, &variables)?);
                command.args(arguments);
                command
            }
        };
        command.current_dir(&self.folder).env_clear().envs(variables);
        Ok(command)
    }

    /// A path is taken from the folder, a name is looked for.
    fn found(&self, name: &str, variables: &[(OsString, OsString)]) -> Result<PathBuf, String> {
        if name.contains('/') {
            return Ok(self.folder.join(name));
        }
        let path = variables.iter().find(|(variable, _)| variable == OsStr::new("PATH")).map(|(_, path)| &**path);
        on_path(name, path).next().ok_or_else(|| format!("there is no program `{name}` on the PATH"))
    }
}

/// Writes, reads and waits at the same time, under one deadline.
async fn talk(mut child: Child, input: &[u8], limit: Duration, stdout: &mut Vec<u8>, stderr: &mut Vec<u8>) -> End {
    let tree = Tree::of(&child);
    let (to, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let talk = async { tokio::try_join!(write(to, input), read(out, stdout), read(err, stderr)).map(drop) };
    match attend(&mut child, tree, limit, talk).await {
        Ok(Ending::Exited(status)) => match (status.code(), status.signal()) {
            (Some(exit_code), _) => End::Exited { exit_code },
            (None, signal) => End::Signalled { signal: signal.unwrap_or_default() },
        },
        Ok(Ending::TimedOut) => End::TimedOut { after: limit },
        Ok(Ending::Broken(Flood)) => End::TooLarge { limit: MAX_OUTPUT },
        Err(error) => End::Failed { message: format!("it cannot be waited for: {error}") },
    }
}

/// Whoever does not read its input may still have an opinion, so what cannot be written is no error.
async fn write(to: Option<ChildStdin>, input: &[u8]) -> Result<(), Flood> {
    if let Some(mut to) = to {
        _ = to.write_all(input).await;
    }
    Ok(())
}

/// More than anybody reads.
struct Flood;

/// Reads until the end. An error ends the stream like an end.
async fn read(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> Result<(), Flood> {
    let Some(from) = from else { return Ok(()) };
    let one_more = MAX_OUTPUT as u64 + 1;
    _ = from.take(one_more).read_to_end(into).await;
    if into.len() > MAX_OUTPUT {
        into.truncate(MAX_OUTPUT);
        return Err(Flood);
    }
    Ok(())
}
