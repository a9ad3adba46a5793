//! The timeline of a session: its runs, steps, calls and decisions.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use serde::Serialize;
use vertebra::{
    Args, Decision, Entry, Kind, Purpose, Ran, Record, RunStatus, ToolCall, ToolResult, ToolStatus, Usage, What,
};

/// Everything that happened in a session.
#[derive(Debug, Default, Serialize)]
pub(super) struct Story {
    /// The runs, in the order in which they started.
    pub(super) runs: Vec<RunStory>,
}

/// A run.
#[derive(Debug, Serialize)]
pub(super) struct RunStory {
    pub(super) run_id: Arc<str>,
    pub(super) agent: Arc<str>,
    /// The depth of delegation.
    pub(super) depth: u32,
    /// The call that started it.
    pub(super) for_call: Option<Arc<str>>,
    pub(super) began: Timestamp,
    pub(super) prompt: String,
    pub(super) steps: Vec<StepStory>,
    /// How it ended, or `None` if it has not.
    pub(super) status: Option<RunStatus>,
    /// Why it ended.
    pub(super) stop: Option<String>,
    /// The question that it waits for.
    pub(super) waits_for: Option<String>,
    /// When its session was resumed.
    pub(super) resumed: Vec<Timestamp>,
    /// The model calls of capabilities that are under way.
    #[serde(skip)]
    asides: HashSet<String>,
}

/// A step.
#[derive(Debug, Default, Serialize)]
pub(super) struct StepStory {
    pub(super) step: u32,
    /// The text of the model, as it left the run.
    pub(super) said: String,
    /// Whether hooks at `Output` decide what of the text leaves the run.
    #[serde(skip)]
    pub(super) undecided: bool,
    pub(super) usage: Usage,
    /// The error of the model call.
    pub(super) error: Option<String>,
    pub(super) calls: Vec<CallStory>,
    /// What hooks decided and changed outside of calls.
    pub(super) hooks: Vec<HookStory>,
}

/// A call.
#[derive(Debug, Serialize)]
pub(super) struct CallStory {
    /// The call as it was used, or as the model wrote it.
    #[serde(flatten, with = "vertebra::FlatCall")]
    pub(super) call: ToolCall,
    pub(super) state: CallState,
    /// Its result.
    pub(super) result: Option<ToolResult>,
    /// What the tool found when it checked the call, before anyone was asked.
    pub(super) checked: Option<CheckStory>,
    /// The question to a person.
    pub(super) asked: Option<String>,
    /// The answer.
    pub(super) answered: Option<Decision>,
    pub(super) hooks: Vec<HookStory>,
}

/// What a check found.
#[derive(Debug, Serialize)]
pub(super) struct CheckStory {
    /// Why a person has to agree to the call, whatever rules and hooks say.
    pub(super) ask: Option<String>,
    /// Why the call cannot be made.
    pub(super) problem: Option<String>,
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallState {
    /// The model asked for it.
    Asked,
    /// It was denied.
    Blocked,
    /// It has started.
    Begun,
    /// It has ended.
    Ended,
    /// It has started, and its result is unknown.
    Unknown,
}

/// What a hook decided or changed.
#[derive(Debug, Serialize)]
pub(super) struct HookStory {
    pub(super) point: String,
    pub(super) hook: String,
    pub(super) verdict: Option<Kind>,
    pub(super) reason: Option<String>,
    /// The paths of its changes.
    pub(super) changed: Vec<String>,
}

impl Story {
    /// Reads facts, oldest first.
    pub(super) fn of(lines: impl IntoIterator<Item = Entry>) -> Self {
        let mut story = Self::default();
        let mut resumed = None;
        for line in lines {
            story.read(line, &mut resumed);
        }
        story
    }

    fn read(&mut self, line: Entry, resumed: &mut Option<Timestamp>) {
        let Entry { run_id, timestamp, what, .. } = line;
        match what {
            What::SessionResumed { .. } => *resumed = Some(timestamp),
            What::RunBegan { prompt, agent, depth, for_call, .. } => {
                if self.run(&run_id).is_some() {
                    return;
                }
                let (steps, resumed) = (Vec::new(), Vec::new());
                let (status, stop, waits_for) = (None, None, None);
                let prompt = prompt.text;
                let began = timestamp;
                self.runs.push(RunStory {
                    run_id,
                    agent,
                    depth,
                    for_call,
                    began,
                    prompt,
                    steps,
                    status,
                    stop,
                    waits_for,
                    resumed,
                    asides: HashSet::new(),
                });
            }
            what => {
                let Some(run) = self.run(&run_id) else { return };
                if run.status.is_none()
                    && let Some(time) = resumed.take()
                {
                    run.resumed.push(time);
                    run.waits_for = None;
                }
                run.read(what);
            }
        }
    }

    fn run(&mut self, run_id: &str) -> Option<&mut RunStory> {
        self.runs.iter_mut().rfind(|run| &*run.run_id == run_id)
    }
}

impl RunStory {
    fn read(&mut self, what: What) {
        match what {
            What::StepBegan { step } => {
                // What came before the first step belongs to it.
                if let Some(first @ StepStory { step: 0, .. }) = self.steps.last_mut() {
                    first.step = step;
                    return;
                }
                // A step that was under way when its process ended starts again.
                if self.steps.last().is_none_or(|last| last.step != step) {
                    self.steps.push(StepStory { step, ..StepStory::default() });
                }
            }
            What::Dispatched { call_id, record, .. } => {
                let hooks = decided(&record);
                match call_id.and_then(|id| self.call(&id)) {
                    Some(call) => {
                        if record.verdict == Kind::Deny && call.state == CallState::Asked {
                            call.state = CallState::Blocked;
                        }
                        call.hooks.extend(hooks);
                    }
                    None => self.step().hooks.extend(hooks),
                }
            }
            What::ModelAsked { key, purpose: Purpose::Capability(_), .. } => drop(self.asides.insert(key)),
            What::ModelAnswered { key, usage, response, undecided, error, .. } => {
                let is_aside = self.asides.remove(&key);
                let step = self.step();
                step.usage += usage;
                if is_aside {
                    return;
                }
                step.error = error.map(|error| error.to_string());
                let Some(response) = response else { return };
                step.undecided = undecided;
                step.said = if undecided { String::new() } else { response.text };
                for call in response.calls {
                    step.calls.push(CallStory::of(call));
                }
            }
            What::ToolIntended { call_id, tool, args, .. } => {
                let call = &mut self.call_or(&call_id, &tool).call;
                (call.tool, call.args) = (tool.into(), args);
            }
            What::ToolStarted { call_id, .. } => self.call_or(&call_id, &"".into()).state = CallState::Begun,
            What::ToolEnded { call_id, result, .. } | What::ToolLeftOut { call_id, result } => {
                let call = self.call_or(&call_id, &"".into());
                call.state = match result.status {
                    ToolStatus::Unknown => CallState::Unknown,
                    ToolStatus::Blocked => CallState::Blocked,
                    _ => CallState::Ended,
                };
                call.result = Some(result);
            }
            What::ToolChecked { call_id, ask, problem, .. } => {
                self.call_or(&call_id, &"".into()).checked = Some(CheckStory { ask, problem });
            }
            What::Asked { approval, .. } => {
                let call = self.call_or(&approval.call.id, &approval.call.tool.shared());
                call.asked = Some(format!("{}: {}", approval.asked_by, approval.reason));
            }
            What::Answered { call_id, decision } => {
                let call = self.call_or(&call_id, &"".into());
                if let Decision::Deny { .. } = decision {
                    call.state = CallState::Blocked;
                }
                call.answered = Some(decision);
            }
            What::Suspended { message } => self.waits_for = Some(message),
            What::RunEnded { report, .. } => {
                self.waits_for = None;
                if let Some(step @ StepStory { undecided: true, .. }) = self.steps.last_mut() {
                    step.said.clone_from(&report.text);
                }
                self.status = Some(report.status);
                self.stop = Some(report.stop.to_string());
            }
            // The other facts are not part of the story of a run.
            _ => {}
        }
    }

    /// Returns the current step. Before the first one, it has the number 0 until the step begins.
    fn step(&mut self) -> &mut StepStory {
        if self.steps.is_empty() {
            self.steps.push(StepStory::default());
        }
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    fn call(&mut self, call_id: &str) -> Option<&mut CallStory> {
        self.steps.iter_mut().flat_map(|step| &mut step.calls).rfind(|call| &*call.call.id == call_id)
    }

    /// Returns the call, and creates one that no model asked for.
    fn call_or(&mut self, call_id: &Arc<str>, tool: &Arc<str>) -> &mut CallStory {
        if self.call(call_id).is_none() {
            let call = ToolCall::new(call_id.clone(), tool.clone(), Args::default());
            self.step().calls.push(CallStory::of(call));
        }
        self.call(call_id).expect("it was made just now")
    }
}

impl CallStory {
    fn of(call: ToolCall) -> Self {
        Self {
            call,
            state: CallState::Asked,
            result: None,
            checked: None,
            asked: None,
            answered: None,
            hooks: Vec::new(),
        }
    }
}

/// Returns the hooks of a dispatch that decided or changed something.
fn decided(record: &Record) -> Vec<HookStory> {
    let told = record.hooks.iter().filter_map(|trace| {
        let (verdict, reason) = match &trace.ran {
            Ran::Answered { verdict, reason } => (Some(*verdict), reason.clone()),
            Ran::Failed { failure, .. } => (None, Some(failure.to_string())),
            Ran::Skipped { .. } | Ran::Detached | Ran::Dropped => return None,
        };
        // The notes of built-in capabilities are not interesting.
        let own =
            |path: &str| trace.hook.contains('/') && ["/metadata/", "/notes/"].iter().any(|at| path.starts_with(at));
        let changed: Vec<String> =
            trace.changes.iter().filter(|change| !own(&change.path)).map(|change| change.path.clone()).collect();
        if matches!(verdict, Some(Kind::Proceed | Kind::Skip)) && changed.is_empty() {
            return None;
        }
        let (point, hook) = (record.point.to_string(), trace.hook.to_string());
        Some(HookStory { point, hook, verdict, reason, changed })
    });
    told.collect()
}
