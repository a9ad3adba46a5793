//! What the tests share: a log, a watch for every point, readable transcripts.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use vertebra::{
    AgentBuilder, Compactor, Kind, Messages, ModelError, Run, RunFailed, RunReport, StopReason, ToolSpec, ToolStatus,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script, SequentialIds},
};

/// Lines in the order they were written. A clone is another handle to the same lines.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|one| *one == line).count()
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: &[&str]) {
        assert_eq!(self.lines(), expected);
    }
}

/// One firing, as a watch saw it.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) point: &'static str,
    pub(crate) event: Value,
    pub(crate) verdict: Kind,
    /// Whether the event is the same after a trip over the wire.
    pub(crate) survives_the_wire: bool,
}

impl Sighting {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.event[field].as_str().unwrap_or_default()
    }

    /// The point, indented by depth, with the tool where there is one.
    pub(crate) fn line(&self) -> String {
        let depth = usize::try_from(self.event["depth"].as_u64().unwrap_or_default()).expect("a small depth");
        let indent = "  ".repeat(depth);
        match self.event.get("tool").and_then(Value::as_str) {
            Some(tool) => format!("{indent}{} {tool}", self.point),
            None => format!("{indent}{}", self.point),
        }
    }
}

/// A watch for any point that keeps what it sees.
#[derive(Clone, Default)]
pub(crate) struct Everything(Arc<Mutex<Vec<Sighting>>>);

impl Everything {
    pub(crate) fn seen(&self) -> Vec<Sighting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn at(&self, point: &str) -> Vec<Sighting> {
        self.seen().into_iter().filter(|sighting| sighting.point == point).collect()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Sighting::line).collect()
    }

    pub(crate) fn count(&self, point: &str) -> usize {
        self.at(point).len()
    }
}

impl<P: Point> Watch<P> for Everything {
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        let event = serde_json::to_value(&**cx)?;
        let back: P::Event = serde_json::from_value(event.clone())?;
        let survives_the_wire = serde_json::to_value(&back)? == event;
        let sighting = Sighting { point: P::NAME, event, verdict: cx.record().verdict(), survives_the_wire };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sighting);
        Ok(())
    }
}

/// Does something with each point there is: `at_every_point!(point => builder.add_watch(point, watch.clone()))`.
macro_rules! at_every_point {
    ($point:ident => $do:expr) => {
        at_every_point! { @ $point $do;
            SessionStart PromptSubmit ExecutionStart BeforeStep BeforeInference InferenceDelta AfterInference BeforeToolUse
            PermissionRequest AfterToolUse ToolUseFailed AfterStep ShouldContinue Output OnError ExecutionEnd SessionEnd
            SubagentStart SubagentStop BeforeCompact AfterCompact Notification
        }
    };
    (@ $point:ident $do:expr; $($each:ident)*) => {
        $({ let $point = vertebra::$each; $do; })*
    };
}
pub(crate) use at_every_point;

/// Watches every point.
pub(crate) fn watch_all(builder: &mut AgentBuilder) -> Everything {
    let seen = Everything::default();
    at_every_point!(point => builder.add_watch(point.named("everything"), seen.clone()));
    seen
}

/// An agent to test: sequential identifiers, a fake clock that sleepers move, the folder `/repo`.
pub(crate) fn agent(model: &Script) -> AgentBuilder {
    agent_on(model, &FakeClock::new())
}

pub(crate) fn agent_on(model: &Script, clock: &FakeClock) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    builder.name("tester").system_prompt("be brief").working_directory("/repo");
    builder.clock(clock.clone()).ids(SequentialIds::default());
    builder
}

/// A run's report, whether or not the run failed.
pub(crate) fn report(result: Result<RunReport, RunFailed>) -> RunReport {
    result.unwrap_or_else(|failed| *failed.0)
}

/// Runs one prompt.
pub(crate) async fn run(builder: &mut AgentBuilder) -> RunReport {
    let agent = builder.build().expect("an agent that fits together");
    report(agent.run("go").await)
}

/// How a run ended: `completed (finished) by model: finished`. A hard stop has a `!`.
pub(crate) fn ending(report: &RunReport) -> String {
    let hard = if report.stop.hard { "!" } else { "" };
    let (reason, stop) = (reason(report.stop.reason), &report.stop);
    format!("{} ({reason}{hard}) by {}: {}", report.status, stop.source, stop.message)
}

pub(crate) fn reason(reason: StopReason) -> String {
    format!("{reason:?}").to_lowercase()
}

/// The tool results the model read, in the order of its latest request: `blocked: no`.
pub(crate) fn read_by_model(model: &Script) -> Vec<String> {
    let requests = model.requests();
    let messages = requests.last().map(|request| request.messages.clone()).unwrap_or_default();
    results_in(&messages)
}

pub(crate) fn results_in(messages: &Messages) -> Vec<String> {
    let result = |message: &Message| match message {
        Message::Tool { result, .. } => Some(format!("{}: {}", status(result.status), result.output)),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    };
    messages.iter().filter_map(result).collect()
}

pub(crate) fn status(status: ToolStatus) -> String {
    format!("{status:?}").to_lowercase()
}

/// What was said, by whom: `user: go`.
pub(crate) fn conversation(messages: &Messages) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::User { text, .. } => format!("user: {text}"),
        Message::Instruction { text, from } => format!("{from} instructs: {text}"),
        Message::Assistant { text, calls, .. } => {
            let calls: Vec<String> = calls.iter().map(|call| format!("<{}>", call.tool)).collect();
            format!("model: {text}{}", calls.concat())
        }
        Message::Tool { tool, result, .. } => format!("{tool}: {}", result.output),
    };
    messages.iter().map(line).collect()
}

/// Shortens the conversation to its last message, once, when it has more than so many.
pub(crate) struct KeepLast {
    pub(crate) over: usize,
}

impl Compactor for KeepLast {
    fn due(&self, state: &AgentState) -> Option<String> {
        (state.messages().len() > self.over).then(|| format!("more than {} messages", self.over))
    }

    async fn compact(&self, _run: &Run, state: &mut AgentState, told: &str) -> Result<Messages, HookError> {
        let summary = Message::instruction(format!("summary ({told})"), "compactor");
        let last = state.messages().last().cloned();
        Ok([Some(summary), last].into_iter().flatten().collect())
    }
}

pub(crate) fn busy() -> ModelError {
    ModelError::Busy { message: "try later".to_owned(), wait: None }
}

pub(crate) fn rejected() -> ModelError {
    ModelError::Rejected { message: "too rude".to_owned() }
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A tool that answers this and writes its name and arguments down.
pub(crate) fn logged(name: &'static str, answer: &'static str, log: &Log) -> RecordingTool {
    let log = log.clone();
    RecordingTool::new(name).by(move |args| {
        log.add(format!("{name} {}", args.to_value()));
        Ok(answer.into())
    })
}

/// Runs `go` and tells what was said, which tools ran, and how it ended.
pub(crate) async fn story(model: &Script, hooks: impl FnOnce(&mut AgentBuilder)) -> Vec<String> {
    story_on(model, &FakeClock::new(), hooks).await
}

pub(crate) async fn story_on(model: &Script, clock: &FakeClock, hooks: impl FnOnce(&mut AgentBuilder)) -> Vec<String> {
    let mut builder = agent_on(model, clock);
    let ran = Log::default();
    let reading = |name, answer| logged(name, answer, &ran).with(ToolSpec::read_only);
    builder.tool(reading("ls", "files")).tool(reading("cat", "meow"));
    builder.tool(RecordingTool::new("bad").failing("no luck"));
    hooks(&mut builder);
    let agent = builder.build().expect("an agent that fits together");
    let mut session = agent.session().await.expect("a session");
    let report = report(session.prompt("go").await);
    let mut story = conversation(session.state().await.messages());
    session.close().await;
    story.extend(ran.lines().iter().map(|line| format!("ran {line}")));
    story.push(format!("= {}", ending(&report)));
    story
}

/// What most stories end with.
pub(crate) const FINISHED: &str = "= completed (finished) by model: finished";
