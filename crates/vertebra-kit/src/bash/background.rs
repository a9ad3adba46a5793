//! Commands that keep running while the agent does something else, such as servers. They end with the session.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use vertebra::{Args, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    Bash,
    capture::Printed,
    report::{Why, report},
    running::Leader,
};
use crate::process::Process;

/// The name of the tool that looks after them.
pub(super) const TOOL: &str = "background";

/// How many of them a session may have at the same time.
const MOST: usize = 8;

/// How often a command that has just begun is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// How long a new command must print nothing more before the agent continues.
const QUIET: Duration = Duration::from_millis(700);

/// How long the agent waits for that at most.
const BEGINS: Duration = Duration::from_secs(5);

/// How long a command that is stopped is waited for.
const ENDS: Duration = Duration::from_secs(5);

/// How long one may run that does not say.
pub(super) const LONGEST: Duration = Duration::from_hours(24);

/// What comes of a command.
type Outcome = Result<ToolOutput, ToolError>;

/// Where a command leaves what it prints, as soon as it has begun.
#[derive(Clone, Default)]
pub(super) struct Output(Arc<Mutex<Option<(Printed, Leader)>>>);

impl Output {
    pub(super) fn set(&self, printed: &Printed, leader: Leader) {
        *lock(&self.0) = Some((printed.clone(), leader));
    }

    fn get(&self) -> Option<Printed> {
        lock(&self.0).as_ref().map(|(printed, _)| printed.clone())
    }

    /// Waits until its first process has ended, which is its supervisor and ends after all others.
    async fn ended(&self) {
        let leader = lock(&self.0).as_ref().and_then(|(_, leader)| leader.get().copied());
        let began = Instant::now();
        while leader.is_some_and(Process::is_running) && began.elapsed() < ENDS {
            sleep(LOOK / 5).await;
        }
    }

    fn bytes(&self) -> u64 {
        self.get().map_or(0, |printed| {
            let streams = printed.streams();
            streams.stdout.total() + streams.stderr.total()
        })
    }

    /// What a model reads of it meanwhile.
    fn so_far(&self, bash: &Bash, why: &Why<'_>) -> ToolOutput {
        let Some(printed) = self.get() else { return "it has not begun yet".into() };
        let said = report(bash, why, &mut printed.streams(), &[], &[]);
        ToolOutput { text: said.text, exit_code: None, data: json!({ "output": said.output }) }
    }
}

/// The commands in the background, by session.
#[derive(Default)]
pub(super) struct Background(Mutex<HashMap<Arc<str>, Commands>>);

#[derive(Default)]
struct Commands {
    begun: usize,
    running: Vec<Running>,
}

/// A command that keeps running. It is ended with all that it started when this is dropped.
struct Running {
    id: String,
    output: Output,
    task: JoinHandle<Outcome>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Background {
    /// Starts a command. What comes of it, if it ends at once; else what it has printed when it has become quiet.
    pub(super) async fn start(
        &self,
        bash: &Bash,
        session: &Arc<str>,
        output: Output,
        command: impl Future<Output = Outcome> + Send + 'static,
    ) -> Outcome {
        let id = {
            let mut all = lock(&self.0);
            let commands = all.entry(session.clone()).or_default();
            if commands.running.iter().filter(|running| !running.task.is_finished()).count() >= MOST {
                return Err(ToolError::new(format!(
                    "not run: {MOST} commands are in the background already; stop one with `{TOOL}`"
                )));
            }
            commands.begun += 1;
            format!("b{}", commands.begun)
        };
        let mut running = Running { id: id.clone(), output: output.clone(), task: tokio::spawn(command) };
        let (began, mut changed, mut bytes) = (Instant::now(), Instant::now(), 0);
        while !running.task.is_finished() && began.elapsed() < BEGINS && (bytes == 0 || changed.elapsed() < QUIET) {
            sleep(LOOK).await;
            let now = output.bytes();
            if now != bytes {
                (bytes, changed) = (now, Instant::now());
            }
        }
        if running.task.is_finished() {
            return outcome(&mut running.task).await;
        }
        lock(&self.0).entry(session.clone()).or_default().running.push(running);
        Ok(output.so_far(bash, &Why::GoesOn(&id)))
    }

    /// Ends all commands of a session.
    pub(super) fn forget(&self, session: &str) {
        let all = lock(&self.0).remove(session);
        drop(all);
    }

    /// What has become of a command. One that has ended, or is stopped, is forgotten.
    async fn look(&self, bash: &Bash, session: &str, id: &str, stop: bool) -> Outcome {
        let mut running = {
            let mut all = lock(&self.0);
            let running = all.get_mut(session).map(|commands| &mut commands.running);
            let at = running.as_ref().and_then(|running| running.iter().position(|running| running.id == id));
            let (Some(running), Some(at)) = (running, at) else {
                let known: Vec<String> = all.get(session).into_iter().flat_map(Commands::ids).collect();
                let known =
                    if known.is_empty() { "no command is".to_owned() } else { format!("only {}", known.join(", ")) };
                return Err(ToolError::new(format!("there is no `{id}` in the background: {known}")));
            };
            if !stop && !running[at].task.is_finished() {
                return Ok(running[at].output.so_far(bash, &Why::GoesOn(id)));
            }
            running.remove(at)
        };
        if !running.task.is_finished() {
            running.task.abort();
            _ = (&mut running.task).await;
            running.output.ended().await;
            return Ok(running.output.so_far(bash, &Why::Stopped));
        }
        outcome(&mut running.task).await
    }
}

impl Commands {
    fn ids(&self) -> impl Iterator<Item = String> {
        self.running.iter().map(|running| format!("`{}`", running.id))
    }
}

async fn outcome(task: &mut JoinHandle<Outcome>) -> Outcome {
    task.await.unwrap_or_else(|error| Err(ToolError::new(format!("the command was lost: {error}"))))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const DESCRIPTION: &str = "Shows whether a command that `bash` left running in the background still runs, and what it has \
    printed; with `stop`, ends it first.";

/// What the model passes.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The id that `bash` gave for it, such as `b1`.
    id: String,
    /// Whether to end it.
    #[serde(default)]
    stop: bool,
}

/// The tool that looks after commands in the background.
pub(super) struct BackgroundTool {
    pub(super) bash: Bash,
    pub(super) background: Arc<Background>,
}

impl Tool for BackgroundTool {
    /// It touches nothing but what the agent itself has started, so no person has to be asked.
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(TOOL, DESCRIPTION).input::<Input>().read_only()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let Input { id, stop } = args.parse()?;
        self.background.look(&self.bash, &invocation.run().info().session_id, &id, stop).await
    }

    /// Other calls wait until a command has been stopped.
    fn only_reads(&self, args: &Args) -> bool {
        args.get("stop").is_none()
    }
}
