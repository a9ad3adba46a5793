//! The tool itself: a command goes in, what it printed comes out.

use std::{path::Path, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vertebra::{Args, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    Bash, TOOL,
    capture::Capture,
    folders::Folders,
    live::Live,
    place::{Note, Places},
    process::{self, How},
    report,
    sandbox::Tried,
};
use crate::denied::DeniedReads;

/// How long a command may be. A program takes no longer argument than 128 KiB.
const COMMAND_BYTES: usize = 100 * 1024;

const DESCRIPTION: &str = "Runs a command in bash and returns its exit code, stdout and stderr. The folder that `cd` \
    leaves is where the next command begins; nothing else of the shell is kept. There is no input. Processes left in the \
    background end with the command.";

/// What the model passes.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// What to run, as in `bash -c`.
    command: String,
    /// How many milliseconds it may take.
    #[schemars(range(min = 1))]
    timeout_ms: Option<u64>,
    /// What it is for, in a few words, for the people who watch.
    #[serde(default, rename = "description")]
    _description: Option<String>,
}

pub(super) struct BashTool {
    bash: Bash,
    folders: Folders,
}

impl BashTool {
    pub(super) fn new(bash: Bash) -> Self {
        Self { bash, folders: Folders::default() }
    }
}

impl Tool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(TOOL, DESCRIPTION).input::<Input>().alias("Bash")
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let Input { command, timeout_ms, .. } = args.parse()?;
        self.run(&command, timeout_ms.map(Duration::from_millis), &invocation).await
    }
}

impl BashTool {
    async fn run(
        &self,
        text: &str,
        timeout: Option<Duration>,
        invocation: &Invocation,
    ) -> Result<ToolOutput, ToolError> {
        let bash = &self.bash;
        check(text)?;
        let folder = bash.folder.as_deref().unwrap_or_else(|| Path::new(invocation.working_directory()));
        let state = invocation.state().await;
        let variables = bash.environment.variables().and_noted(&state);
        let session = &invocation.run().info().session_id;
        let places = Places::new(&self.folders, session, folder, bash.sandbox.write_besides(&variables, folder));
        let places = places.map_err(|(path, error)| {
            let what = if path == folder { "working directory" } else { "writable folder" };
            ToolError::new(format!("the {what} {} cannot be used: {error}", path.display()))
        })?;
        let shell = variables.program("bash").ok_or_else(|| ToolError::new("there is no `bash` on the PATH"))?;
        let temporary = variables.temporary();
        let note = Note::in_folder(&temporary)
            .map_err(|error| ToolError::new(format!("nothing can be written to {}: {error}", temporary.display())))?;
        let begin = places.begin(&state);
        let denied = DeniedReads::noted(&state)
            .map_err(|error| ToolError::new(format!("what may not be read is not known: {error}")))?;
        let limit = timeout.unwrap_or(bash.timeout).min(bash.max_timeout);
        let mut tried = Tried::default();
        let (start, ended) = loop {
            let start = bash.sandbox.hold(&variables, &places, &denied, &tried)?;
            let mut command = start.command(&shell);
            command.args(["--noprofile", "--norc", "-c"]).arg(note.script(text)).current_dir(&begin.folder);
            command.env_clear().envs(&variables.0);
            let captures = (Capture::of(bash.stdout_bytes), Capture::of(bash.stderr_bytes));
            let live = (Live::new(invocation, bash.stdout_bytes), Live::new(invocation, bash.stderr_bytes));
            let ended = process::run(&mut command, limit, captures, live, &start)
                .await
                .map_err(|error| ToolError::new(format!("bash cannot be started: {error}")))?;
            if !start.try_another(&ended.word, &mut tried) {
                break (start, ended);
            }
        };
        if let How::Exited(_) = ended.how {
            start.check(&ended.word)?;
        }
        let noted = note.read().unwrap_or_default();
        let end = places.stand(noted.strip_suffix('\n').map_or(&begin.folder, |noted| Path::new(noted)));
        let before: Vec<String> = start.remark.clone().into_iter().chain(begin.remark.clone()).collect();
        let text = report::text(bash, &ended, limit, &before, end.remark.as_slice());
        match ended.how {
            How::TimedOut => Err(ToolError::new(text)),
            How::Exited(_) => Ok(ToolOutput {
                text,
                exit_code: ended.how.code(),
                data: json!({
                    "stdout_bytes": ended.stdout.total(),
                    "stderr_bytes": ended.stderr.total(),
                    "duration_ms": u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
                    "cwd": end.folder.to_string_lossy(),
                    "moved": begin.remark.is_some() || end.folder != begin.folder,
                    "sandbox": start.state,
                }),
            }),
        }
    }
}

fn check(command: &str) -> Result<(), ToolError> {
    if command.contains('\0') {
        return Err(ToolError::new("the command contains a NUL byte, which no shell can run"));
    }
    let bytes = command.len();
    if bytes > COMMAND_BYTES {
        let advice = "write it to a file and run that";
        return Err(ToolError::new(format!(
            "the command has {bytes} bytes, at most {COMMAND_BYTES} can be run: {advice}"
        )));
    }
    Ok(())
}
