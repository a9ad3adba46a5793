//! The tool itself: a command goes in, what it printed comes out.

use std::{
    cell::LazyCell,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vertebra::{AgentState, Args, CheckCx, Checked, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    Bash, TOOL,
    background::{Background, LONGEST, Output},
    capture::{Capture, Printed, Streams},
    environment::Variables,
    folders::{FolderError, Folders, Made},
    git::InWorktree,
    grants::Granted,
    hidden::{Hidden, npm_settings, unlisted},
    live::Live,
    needs::{Needs, Wanted, closed},
    outputs::Recorder,
    packages::{self, Caches},
    place::{CWD, Note, Places, is_sandbox_required},
    process::{self, How},
    rebase, refused,
    report::{Why, report},
    rights::Network as Way,
    running::Running,
    sandbox::{Need, Rights, Tried, Use},
};
use crate::denied::DeniedReads;

/// How long a command may be. A program takes no longer argument than 128 KiB.
const COMMAND_BYTES: usize = 100 * 1024;

/// The exit code of a command that was not run, as shells use it.
const NOT_RUN: i32 = 126;

const DESCRIPTION: &str = "Runs a command in bash and returns its exit code, stdout and stderr. The folder that `cd` \
    leaves is where the next command begins; nothing else of the shell is kept. There is no input. Processes left in the \
    background end with the command: to keep a server running, run it alone, without `&`, with `background`. A sandbox holds the command: it writes the working folder and TMPDIR, has a loopback \
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
    /// True to leave it running, such as a server, and go on: the result says the id by which `background` shows and stops
    /// it. It ends with the session.
    #[serde(default, alias = "run_in_background")]
    background: bool,
    /// What the command needs beyond what the sandbox gives. A person is asked, so leave it out if nothing was blocked.
    needs: Option<Needs>,
}

pub(super) struct BashTool {
    bash: Bash,
    folders: Folders,
    background: Arc<Background>,
}

impl BashTool {
    pub(super) fn new(bash: Bash, background: Arc<Background>) -> Self {
        Self { bash, folders: Folders::default(), background }
    }
}

impl Tool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(TOOL, DESCRIPTION).input::<Input>().alias("Bash")
    }

    async fn check(&self, args: Args, cx: CheckCx) -> Result<Option<Checked>, ToolError> {
        let digest = args.digest();
        let Input { command, needs, .. } = args.parse()?;
        if self.bash.sandbox.need != Need::Off && rebase::runs_commands(&command) {
            return Err(ToolError::new(rebase::WHY));
        }
        let (info, state) = (cx.run().info(), cx.state());
        let is_asked = cx.is_asked();
        let asked = self.wanted((&command, needs), is_asked, &info.session_id, &info.working_directory, state).await?;
        let Wanted { all, question: ask } = asked.wanted;
        if ask.is_some() {
            self.bash.grants.ask(&info.session_id, digest, all);
        }
        Ok(ask.map(|ask| Checked { ask: Some(ask), ..Checked::default() }))
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let input: Input = args.parse()?;
        let is_background = input.background;
        let prepared = match self.prepare(input, &invocation).await? {
            Ready::Yes(prepared) => prepared,
            Ready::No(output) => return Ok(output),
        };
        if !is_background {
            return prepared.run(Some(&invocation), &Output::default()).await;
        }
        let (session, output) = (&invocation.run().info().session_id, Output::default());
        let command = {
            let output = output.clone();
            async move { prepared.run(None, &output).await }
        };
        self.background.start(&self.bash, session, output, command).await
    }

    fn folder(&self, state: &AgentState) -> Option<String> {
        state.metadata().get(CWD)?.as_str().map(str::to_owned)
    }

    /// One that may go to another folder is not overlapped: the next command begins there.
    fn only_reads(&self, args: &Args) -> bool {
        let Some(command) = args.text("command") else { return false };
        let moves = |word: &str| matches!(word, "cd" | "pushd" | "popd");
        let reads = self.bash.reading.as_ref().is_some_and(|reading| reading.only_reads(command));
        reads && !command.split(|letter: char| !letter.is_alphanumeric()).any(moves)
    }
}

impl BashTool {
    /// What a command needs besides what its session may do: what it asks for, and the folder of a worktree that it makes. If a
    /// person is asked about it anyway, also the protected files that it changes.
    async fn wanted(
        &self,
        (command, needs): (&str, Option<Needs>),
        is_asked: bool,
        session: &Arc<str>,
        agent: &str,
        state: &AgentState,
    ) -> Result<Asked, ToolError> {
        let bash = &self.bash;
        let folder = bash.folder.as_deref().unwrap_or_else(|| Path::new(agent));
        let here = self.folder(state).map_or_else(|| folder.to_owned(), PathBuf::from);
        let variables = self.variables(state);
        let beside = bash.worktrees_beside(command, (folder, &here), &variables);
        let held = bash.held(session).and(beside.clone());
        let mut needs = needs.unwrap_or_default();
        if is_asked {
            let changed = bash.check_changes(command, (folder, &here), &variables)?;
            needs.and_change(changed);
        }
        let wanted = needs.wanted(bash, &held, folder, (&variables, state))?;
        let granted = held.clone().and(wanted.all.clone());
        let InWorktree { asked, free } =
            bash.check_git(command, (folder, &here), (&granted, session), &variables).await?;
        if asked.is_empty() {
            return Ok(Asked { beside, free, wanted });
        }
        needs.and_write(asked.write, "git makes a worktree there");
        let wanted = needs.wanted(bash, &held, folder, (&variables, state))?;
        Ok(Asked { beside, free, wanted })
    }

    /// What a command may do besides what its session may, if a person has said yes to what needs one. New worktrees beside the
    /// folder belong to the session from now on.
    async fn granted(
        &self,
        command: &str,
        needs: Option<Needs>,
        invocation: &Invocation,
    ) -> Result<Granted, ToolError> {
        let approved = invocation.approved();
        if needs.is_none() && !command.contains("worktree") && approved.is_none() {
            return Ok(Granted::default());
        }
        let session = &invocation.run().info().session_id;
        let (agent, state) = (invocation.working_directory(), invocation.state());
        let mut asked = self.wanted((command, needs.clone()), approved.is_some(), session, agent, state).await?;
        if asked.wanted.question.as_deref() != approved {
            asked = self.wanted((command, needs), false, session, agent, state).await?;
        }
        let Asked { beside, free, wanted } = asked;
        if let Some(question) = wanted.question.filter(|question| approved != Some(&**question)) {
            return Err(ToolError::new(format!("not run: {question}; no person said yes to this")));
        }
        if !beside.is_empty() {
            self.bash.grants.add(session, beside.clone());
        }
        Ok(beside.and(wanted.all).and(free))
    }

    fn variables(&self, state: &AgentState) -> Variables {
        self.bash.environment.variables().and_noted(state)
    }

    /// Finds all that the command needs.
    async fn prepare(&self, input: Input, invocation: &Invocation) -> Result<Ready, ToolError> {
        let mut bash = self.bash.clone();
        if is_sandbox_required(invocation.state(), invocation.call_id()) {
            bash.sandbox.need = Need::Required;
        }
        let timeout = input.timeout_ms.map(Duration::from_millis);
        check(&input.command)?;
        let folder = bash.folder.clone().unwrap_or_else(|| PathBuf::from(invocation.working_directory()));
        let folder = &*folder;
        let state = invocation.state();
        let mut variables = self.variables(state);
        let session = &invocation.run().info().session_id;
        let more = self.granted(&input.command, input.needs, invocation).await?;
        let held = bash.held(session);
        let granted = held.clone().and(more.clone());
        let (inside, mut outside) = bash.inside_and_outside(&granted, folder, &variables);
        // One that was granted before and is gone by now is made again for a command that asks for it, and for no other.
        outside.retain(|path| path.exists() || more.write.contains(path));
        let made = Made::new(&self.folders, session, &outside)?;
        let mut besides = bash.sandbox.write_besides(&variables, folder, &outside);
        let caches = if bash.sandbox.need == Need::Off { None } else { Caches::prepare(&variables) };
        besides.extend(caches.iter().map(|caches| (caches.own.clone(), Use::Temporary)));
        let places = Places::new(&self.folders, session, folder, besides);
        let places = places.map_err(|(path, error)| unusable(&path, folder, &error))?;
        let shell = variables.program("bash").ok_or_else(|| ToolError::new("there is no `bash` on the PATH"))?;
        let temporary = variables.temporary();
        // The description of the tool names it, so models use it.
        packages::set(&mut variables, [("TMPDIR".into(), temporary.clone().into())]);
        let note = Note::in_folder(&temporary)
            .map_err(|error| ToolError::new(format!("nothing can be written to {}: {error}", temporary.display())))?;
        let begin = places.begin(state);
        if let Some(why) = &begin.remark {
            return Ok(Ready::No(not_run(why, &begin.folder)));
        }
        let denied = DeniedReads::noted(state)
            .map_err(|error| ToolError::new(format!("what may not be read is not known: {error}")))?;
        let limit = if input.background {
            timeout.unwrap_or(LONGEST).min(LONGEST)
        } else {
            timeout.unwrap_or(bash.timeout).min(bash.max_timeout)
        };
        let place = bash.outputs.as_ref().map(|outputs| outputs.open(session)).transpose();
        let place = place.map_err(|error| ToolError::new(format!("there is no place to keep the output: {error}")))?;
        let mut tried = Tried::default();
        let way = Way::open(&bash, session, &granted).await?;
        tried.space.clone_from(&way.none);
        packages::set(&mut variables, way.variables(&bash, &granted));
        // The folders that only this command may write.
        let once = granted.write.difference(&held.write).cloned().collect();
        Ok(Ready::Yes(Box::new(Prepared {
            bash,
            command: input.command,
            key: invocation.key().to_owned(),
            variables,
            session: session.clone(),
            granted,
            inside,
            outside,
            once,
            made,
            denied,
            caches,
            places,
            shell,
            note,
            begin: begin.folder,
            limit,
            place,
            way,
            tried,
        })))
    }
}

/// What a command needs besides what its session may do.
struct Asked {
    /// Worktrees beside the folder, which take no question.
    beside: Granted,
    /// What git may write in worktrees, without a question as well. It holds for this command only.
    free: Granted,
    wanted: Wanted,
}

/// Whether a command can be run.
enum Ready {
    Yes(Box<Prepared>),
    /// What is said instead.
    No(ToolOutput),
}

/// A command that is about to run, with all that it needs.
struct Prepared {
    bash: Bash,
    command: String,
    key: String,
    session: Arc<str>,
    variables: Variables,
    granted: Granted,
    /// Protected paths in the folder that a person has allowed to change.
    inside: Vec<PathBuf>,
    /// Folders outside that a person has granted.
    outside: Vec<PathBuf>,
    /// Folders that only this command may write.
    once: Vec<PathBuf>,
    made: Made,
    denied: DeniedReads,
    caches: Option<Caches>,
    places: Places,
    shell: PathBuf,
    note: Note,
    begin: PathBuf,
    limit: Duration,
    /// Where its output is kept.
    place: Option<PathBuf>,
    way: Way,
    tried: Tried,
}

impl Prepared {
    /// Runs it. A call that waits for it is told what it prints.
    async fn run(self, waiting: Option<&Invocation>, output: &Output) -> Result<ToolOutput, ToolError> {
        let Self {
            bash,
            command,
            key,
            session,
            variables,
            granted,
            inside,
            outside,
            denied,
            caches,
            places,
            shell,
            ..
        } = self;
        let Self { note, begin, limit, place, way, once, made: _made, mut tried, .. } = self;
        let bash = &bash;
        let neighbours = bash.grants.under_way.of(&session);
        let rights = Rights {
            denied: &denied,
            network: &granted.network,
            ports: &granted.ports,
            private: way.private.as_deref(),
            allowed: &inside,
            removable: &outside,
            layers: caches.as_ref().map(|caches| &caches.layers),
            neighbours: neighbours.are_there(),
        };
        let (start, printed, ended, began) = loop {
            let start = bash.sandbox.hold(&variables, &places, &rights, &tried)?;
            let running = Running::new(place.as_deref(), &key, &command);
            let mut shell = start.command(&shell);
            shell.args(["--noprofile", "--norc", "-c"]).arg(note.script(&command)).current_dir(&begin);
            let mut variables = variables.clone();
            if let Some(caches) = &caches {
                let own = caches.variables(&variables, start.has_layers());
                packages::set(&mut variables, own);
            }
            let count = variables.0.get(OsStr::new("GIT_CONFIG_COUNT")).and_then(|count| count.to_str());
            let for_git = denied.git_variables(count);
            shell.env_clear().envs(&variables.0).envs(for_git).envs(running.variable());
            let record = Recorder::new(place.clone(), bash.head_bytes + bash.tail_bytes);
            let printed = Printed::new(bash.stdout_bytes, bash.stderr_bytes, record);
            output.set(&printed, running.leader());
            if let Some(invocation) = waiting {
                if_cut_short(bash, invocation, &printed, start.remark.as_slice());
            }
            let began = SystemTime::now();
            let live = (Live::new(waiting, bash.stdout_bytes), Live::new(waiting, bash.stderr_bytes));
            let ended = process::run(&mut shell, limit, &printed, live, &start, (&running, &neighbours))
                .await
                .map_err(|error| ToolError::new(format!("bash cannot be started: {error}")))?;
            if !start.try_another(&ended.word, &mut tried) {
                break (start, printed, ended, began);
            }
        };
        if let How::Exited(_) = ended.how {
            start.check(&ended.word)?;
        }
        let noted = note.read().unwrap_or_default();
        let end = noted.strip_suffix('\n').map_or(&*begin, Path::new);
        let end = places.stand_after(end, &once);
        let mut streams = printed.streams();
        // Most commands are refused nothing, and then their output is not looked through.
        let printed = LazyCell::new(|| text(bash, &streams));
        let hidden = || {
            let known = (places.home(), &variables);
            if start.is_held() { hidden(bash, (&command, &printed, &end.folder), &denied, known) } else { Vec::new() }
        };
        let home = variables.folder("HOME");
        let closed = |path: &str| closed(bash, Path::new(path), places.home(), (&variables, &denied));
        let (about, told) = ((&*command, places.home(), home.as_deref()), (&*way.refused(), &printed));
        let blocked = refused::remarks(&ended, about, tried.space.as_deref(), told, hidden, closed);
        let unread = start.is_held().then(|| npm_settings(bash, &command, places.home(), &variables)).flatten();
        let after = [&blocked[..], unread.as_slice(), end.remark.as_slice()].concat();
        let said = report(bash, &Why::Ended(&ended.how, limit), &mut streams, start.remark.as_slice(), &after);
        match ended.how {
            How::TimedOut => Err(ToolError::new(said.text)),
            How::Exited(_) => Ok(ToolOutput {
                text: said.text,
                exit_code: ended.how.code(),
                data: json!({
                    "stdout_bytes": streams.stdout.total(),
                    "stderr_bytes": streams.stderr.total(),
                    "output": said.output,
                    "duration_ms": millis(ended.took),
                    "began_ms": began.duration_since(UNIX_EPOCH).map_or(0, millis),
                    "from": begin.to_string_lossy(),
                    "cwd": end.folder.to_string_lossy(),
                    "moved": waiting.is_some() && end.folder != begin,
                    "sandbox": start.state,
                    "blocked": blocked,
                    "granted": bash.grants.noted(&session),
                }),
            }),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What of the hidden paths a command, or what it printed, speaks of.
fn hidden(
    bash: &Bash,
    (command, printed, here): (&str, &str, &Path),
    denied: &DeniedReads,
    (folder, variables): (&Path, &Variables),
) -> Vec<String> {
    let all = Hidden::all(bash, denied, folder, variables);
    let named = all.iter().filter_map(|hidden| hidden.remark(folder, &[command, printed]));
    named.chain(unlisted(&all, printed, here)).collect()
}

/// What a command has printed, as far as it is shown.
fn text(bash: &Bash, streams: &Streams) -> String {
    let shown = |stream: &Capture| stream.shown(bash.head_bytes, bash.tail_bytes).text;
    format!("{}\n{}", shown(&streams.stderr), shown(&streams.stdout))
}

/// Whoever ends the run, or the call, still reads what the command has printed so far.
fn if_cut_short(bash: &Bash, invocation: &Invocation, printed: &Printed, before: &[String]) {
    let (bash, printed, before) = (bash.clone(), printed.clone(), before.to_vec());
    invocation.if_cut_short(move || {
        let said = report(&bash, &Why::CutShort, &mut printed.streams(), &before, &[]);
        ToolOutput { text: said.text, exit_code: None, data: json!({ "output": said.output }) }
    });
}

fn unusable(path: &Path, folder: &Path, error: &FolderError) -> ToolError {
    let what = if path == folder { "working directory" } else { "writable folder" };
    ToolError::new(format!("the {what} {} cannot be used: {error}", path.display()))
}

/// A command whose folder is gone is not run: it was judged there, and means something else where commands go on.
fn not_run(why: &str, folder: &Path) -> ToolOutput {
    let text = format!("exit code: {NOT_RUN}\n[{why}; the command was not run: run it again]");
    let data = json!({ "cwd": folder.to_string_lossy(), "moved": true });
    ToolOutput { text, exit_code: Some(NOT_RUN), data }
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
