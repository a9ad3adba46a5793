//! The tool itself: a command goes in, what it printed comes out.

use std::{path::Path, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vertebra::{AgentState, Args, CheckCx, Checked, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    Bash, TOOL,
    capture::Capture,
    environment::Variables,
    folders::Folders,
    live::Live,
    needs::{Needs, Wanted},
    packages::{self, Caches},
    place::{Note, Places},
    process::{self, How},
    refused, report,
    rights::Network as Way,
    sandbox::{Need, Networks, Rights, Tried, Use},
};
use crate::denied::DeniedReads;

/// How long a command may be. A program takes no longer argument than 128 KiB.
const COMMAND_BYTES: usize = 100 * 1024;

const DESCRIPTION: &str = "Runs a command in bash and returns its exit code, stdout and stderr. The folder that `cd` \
    leaves is where the next command begins; nothing else of the shell is kept. There is no input. Processes left in the \
    background end with the command. A sandbox holds the command: it writes the working folder and TMPDIR, has a loopback \
    interface of its own, and no network. If it needs more, ask for it with `needs`.";

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
    /// What the command needs beyond what the sandbox gives. A person is asked, so leave it out if nothing was blocked.
    needs: Option<Needs>,
}

pub(super) struct BashTool {
    bash: Bash,
    folders: Folders,
    networks: Arc<Networks>,
}

impl BashTool {
    pub(super) fn new(bash: Bash, networks: Arc<Networks>) -> Self {
        Self { bash, folders: Folders::default(), networks }
    }
}

impl Tool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(TOOL, DESCRIPTION).input::<Input>().alias("Bash")
    }

    async fn check(&self, args: Args, cx: CheckCx) -> Result<Option<Checked>, ToolError> {
        let Input { needs: Some(needs), .. } = args.parse()? else { return Ok(None) };
        let (info, state) = (cx.run().info(), cx.state());
        let wanted = self.wanted(&needs, &info.session_id, &info.working_directory, state)?;
        Ok(Some(Checked { ask: wanted.question, ..Checked::default() }))
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let input: Input = args.parse()?;
        self.run(input, &invocation).await
    }
}

impl BashTool {
    fn wanted(&self, needs: &Needs, session: &str, agent: &str, state: &AgentState) -> Result<Wanted, ToolError> {
        let folder = self.bash.folder.as_deref().unwrap_or_else(|| Path::new(agent));
        let variables = self.variables(state);
        needs.wanted(&self.bash, session, folder, (&variables, state))
    }

    fn variables(&self, state: &AgentState) -> Variables {
        self.bash.environment.variables().and_noted(state)
    }

    async fn run(&self, input: Input, invocation: &Invocation) -> Result<ToolOutput, ToolError> {
        let bash = &self.bash;
        let (text, timeout) = (&*input.command, input.timeout_ms.map(Duration::from_millis));
        check(text)?;
        let folder = bash.folder.as_deref().unwrap_or_else(|| Path::new(invocation.working_directory()));
        let state = invocation.state().await;
        let mut variables = self.variables(&state);
        let session = &invocation.run().info().session_id;
        let mut granted = bash.held(session);
        if let Some(needs) = &input.needs {
            let wanted = self.wanted(needs, session, invocation.working_directory(), &state)?;
            if let Some(question) = wanted.question.filter(|question| invocation.approved() != Some(&**question)) {
                return Err(ToolError::new(format!("not run: {question}; no person said yes to this")));
            }
            granted = granted.and(wanted.all);
        }
        let (inside, outside) =
            granted.write.iter().cloned().partition::<Vec<_>, _>(|path| bash.is_inside(path, folder, &variables));
        let mut besides = bash.sandbox.write_besides(&variables, folder, &outside);
        let caches = if bash.sandbox.need == Need::Off { None } else { Caches::prepare(&variables) };
        besides.extend(caches.iter().map(|caches| (caches.own.clone(), Use::Temporary)));
        let places = Places::new(&self.folders, session, folder, besides);
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
        let way = Way::open(bash, &self.networks, session, &granted).await?;
        tried.space.clone_from(&way.none);
        packages::set(&mut variables, way.variables());
        let rights = Rights {
            denied: &denied,
            network: &granted.network,
            private: way.private.as_deref(),
            allowed: &inside,
            layers: caches.as_ref().map(|caches| &caches.layers),
        };
        let (start, ended) = loop {
            let start = bash.sandbox.hold(&variables, &places, &rights, &tried)?;
            let mut command = start.command(&shell);
            command.args(["--noprofile", "--norc", "-c"]).arg(note.script(text)).current_dir(&begin.folder);
            let mut variables = variables.clone();
            if let Some(caches) = &caches {
                let own = caches.variables(&variables, start.has_layers());
                packages::set(&mut variables, own);
            }
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
        let blocked = refused::remarks(&ended, (text, places.home()), tried.space.as_deref(), &way.refused());
        let after: Vec<String> = blocked.iter().cloned().chain(end.remark).collect();
        let text = report::text(bash, &ended, limit, &before, &after);
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
                    "blocked": blocked,
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
