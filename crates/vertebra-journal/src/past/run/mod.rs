//! One run: its lines, and the moments that they tell of.

mod settle;

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;
use vertebra::{
    AfterInference, AfterToolUse, AgentState, At, BeforeInference, BeforeStep, BeforeToolUse, Checkpoint, Decision,
    Left, ModelId, Point, Prompt, PromptSubmit, Purpose, RECENT_TOOLS, Record, Request, RunInfo, RunReport, RunStatus,
    StateChange, StepKind, ToolCall, ToolResult, ToolStatus, ToolUseFailed, Usage, What,
    events::{InferenceAsked, Inferred, PromptSubmitted, StepStarted, ToolAsked, ToolFailed, ToolUsed},
};

use super::{Event, Moment, Unknown, fold::MISFIT};

/// The other names of a tool.
pub(super) type Aliases = Arc<dyn Fn(&str) -> Arc<[Arc<str>]> + Send + Sync>;

const NO_REQUEST: &str = "model calls: their system prompt and the tools they were offered are not recorded";
const VEILED: &str = "answers with something hidden in a call: hooks read what stands in its place";
const NO_STOPS: &str = "last answers after which the run went on: what spoke for its end is not recorded";
const NOT_REACHED: &str = "calls that never came to their hooks: the run was ending, or something answered for them";
const NO_RESULT: &str = "refused and replaced calls: what hooks after them read is not recorded";

/// A run whose lines are being read.
pub(super) struct RunPast {
    info: Arc<RunInfo>,
    model: ModelId,
    aliases: Option<Aliases>,
    state: AgentState,
    /// The state at the latest checkpoint: the next one says what changed since.
    known: AgentState,
    step: Step,
    calls: Vec<CallPast>,
    /// Model calls without an answer yet, by their keys.
    asked: HashMap<String, (Purpose, Request, Timestamp)>,
    waiting: Vec<Waiting>,
    continuations: u32,
    latest: Timestamp,
}

/// The step under way.
#[derive(Default)]
struct Step {
    number: u32,
    began: Timestamp,
    kind: Option<StepKind>,
    text: String,
    tools: Vec<Arc<str>>,
    usage: Usage,
    state: StepState,
}

#[derive(Default, PartialEq, Eq)]
enum StepState {
    /// None has begun.
    #[default]
    Before,
    UnderWay,
    /// Its end was told, to the hooks of [`AfterStep`].
    Ended,
    /// It has ended without being told.
    Failed,
}

/// A call of the latest answer.
struct CallPast {
    call: ToolCall,
    /// The tools used before it.
    recent_tools: Arc<Vec<Arc<str>>>,
    /// Whether it came to its hooks.
    passed: bool,
    attempts: u32,
    result: Option<ToolResult>,
}

/// A moment of which a later line may say what came of it.
struct Waiting {
    moment: Moment,
    within: Option<Arc<str>>,
}

/// What one line says of itself.
struct Now<'l> {
    within: Option<&'l Arc<str>>,
    timestamp: Timestamp,
}

impl RunPast {
    pub(super) fn new(info: RunInfo, model: ModelId, state: AgentState, aliases: Option<Aliases>) -> Self {
        Self {
            info: Arc::new(info),
            model,
            aliases,
            known: state.clone(),
            state,
            step: Step::default(),
            calls: Vec::new(),
            asked: HashMap::new(),
            waiting: Vec::new(),
            continuations: 0,
            latest: Timestamp::default(),
        }
    }

    /// Whether it is a run of this agent, and not of a child.
    pub(super) fn is_of(&self, agent: &Arc<str>) -> bool {
        self.info.depth == 0 && self.info.agent == *agent
    }

    pub(super) fn into_state(self) -> AgentState {
        self.state
    }

    pub(super) fn prompted(&mut self, prompt: Prompt, timestamp: Timestamp) {
        let Prompt { text, images } = prompt;
        let at = self.at(PromptSubmit::NAME, timestamp);
        self.wait(Event::PromptSubmit(PromptSubmitted { at, prompt: text, images, context: Vec::new() }), None);
    }

    /// Takes a line in.
    pub(super) fn take(
        &mut self,
        what: What,
        within: Option<&Arc<str>>,
        timestamp: Timestamp,
        unknown: &mut Unknown,
        out: &mut VecDeque<Moment>,
    ) {
        self.latest = timestamp;
        let now = Now { within, timestamp };
        match what {
            What::Dispatched { event_id, call_id, record, left } => {
                let about = Dispatch { number: number(&event_id), call_id, record, left: left.as_deref() };
                self.dispatched(about, &now, unknown, out);
            }
            What::StepBegan { step } => {
                self.end_step(None, unknown, out);
                self.flush(unknown, out);
                self.step = Step { number: step, began: timestamp, state: StepState::UnderWay, ..Step::default() };
                self.counted(|change| change.steps = step);
                let (messages, usage) = (self.state.messages().len(), self.state.usage());
                let at = self.at(BeforeStep::NAME, timestamp);
                self.wait(Event::BeforeStep(StepStarted { at, messages, usage }), within.cloned());
            }
            What::ModelAsked { key, purpose, model } => {
                self.model_asked(key, purpose, model, &now, unknown, out);
            }
            What::ModelAnswered { key, usage, response, veiled, error, .. } => {
                self.settle_before(&now, out);
                self.counted(|change| change.usage += usage);
                self.step.usage += usage;
                let Some((purpose, request, asked)) = self.asked.remove(&key) else { return };
                if error.is_some() && purpose == Purpose::Step {
                    self.step.state = StepState::Failed;
                }
                tally(unknown, VEILED, veiled);
                if let Some(response) = response {
                    let at = self.at(AfterInference::NAME, timestamp);
                    let duration_ms = millis(asked, timestamp);
                    let inferred = Inferred { at, purpose, request, response: *response, duration_ms };
                    self.wait(Event::AfterInference(inferred), within.cloned());
                }
            }
            What::ToolIntended { call_id, key, tool, args, .. } => {
                self.settle_before(&now, out);
                self.settle_call(&call_id, Some(AfterToolUse::NAME), out);
                let Some(index) = self.open_call(&call_id) else { return };
                if !self.calls[index].passed {
                    let number = number(&key);
                    self.ask(index, number, None, &now, out);
                }
                let open = &mut self.calls[index];
                open.attempts += 1;
                open.call.tool = tool.into();
                open.call.args = args;
            }
            What::ToolEnded { call_id, result, .. } => self.tool_ended(&call_id, result, &now),
            What::ToolLeftOut { call_id, result } => {
                if let Some(index) = self.open_call(&call_id) {
                    self.calls[index].passed = true;
                    self.calls[index].result = Some(result);
                    tally(unknown, NOT_REACHED, true);
                }
            }
            What::Answered { call_id, decision: Decision::Edit { args } } => {
                if let Some(index) = self.calls.iter().rposition(|open| open.passed && open.call.id == call_id) {
                    self.calls[index].call.args = args;
                }
            }
            // It stands between two steps.
            What::Checkpoint(checkpoint) => {
                self.settle_before(&now, out);
                self.end_step(None, unknown, out);
                self.flush(unknown, out);
                self.step.state = StepState::Before;
                self.checkpoint(*checkpoint, unknown);
            }
            What::RunEnded { report, checkpoint } => {
                self.ended(&report, unknown, out);
                self.checkpoint(*checkpoint, unknown);
            }
            // No event of a hook follows from the other facts.
            _ => {}
        }
    }

    /// The loop says what it knows.
    fn checkpoint(&mut self, checkpoint: Checkpoint, unknown: &mut Unknown) {
        self.continuations = checkpoint.continuations;
        if checkpoint.starts_over {
            self.known = AgentState::default();
        }
        match checkpoint.state.apply(&mut self.known) {
            Ok(()) => self.state = self.known.clone(),
            Err(_) => tally(unknown, MISFIT, true),
        }
    }

    /// No line says how it ended.
    pub(super) fn cut_short(&mut self, unknown: &mut Unknown, out: &mut VecDeque<Moment>) {
        self.flush(unknown, out);
    }

    fn ended(&mut self, report: &RunReport, unknown: &mut Unknown, out: &mut VecDeque<Moment>) {
        if matches!(report.status, RunStatus::Completed | RunStatus::Stopped) {
            self.end_step(Some(&report.stop), unknown, out);
        }
        self.flush(unknown, out);
    }

    fn model_asked(
        &mut self,
        key: String,
        purpose: Purpose,
        model: ModelId,
        now: &Now<'_>,
        unknown: &mut Unknown,
        out: &mut VecDeque<Moment>,
    ) {
        // Its hooks ran before, and their line did not say whom they were asked about.
        let about = |waiting: &Waiting| matches!(&waiting.moment.event, Event::BeforeInference(event) if event.at.number == number(&key));
        let dispatched = self.waiting.iter().position(about).map(|index| self.waiting.remove(index));
        self.settle_before(now, out);
        let mut moment = dispatched.map_or_else(|| self.asking(number(&key), now), |waiting| waiting.moment);
        if let Event::BeforeInference(event) = &mut moment.event {
            event.purpose = purpose.clone();
            event.request.model = model;
            self.asked.insert(key, (purpose, event.request.clone(), now.timestamp));
        }
        tally(unknown, NO_REQUEST, true);
        out.push_back(moment);
    }

    /// A model is about to be asked to go on with the conversation.
    fn asking(&self, number: u64, now: &Now<'_>) -> Moment {
        let request = Request {
            model: self.model.clone(),
            system_prompt: "".into(),
            messages: self.state.messages().clone(),
            tools: Arc::default(),
            max_output_tokens: None,
            temperature: None,
            options: serde_json::Value::Null,
        };
        let at = At { number, ..self.at(BeforeInference::NAME, now.timestamp) };
        self.moment(Event::BeforeInference(InferenceAsked { at, purpose: Purpose::Step, request }))
    }

    /// A call comes to its hooks.
    fn ask(&mut self, index: usize, number: u64, then: Option<Record>, now: &Now<'_>, out: &mut VecDeque<Moment>) {
        let at = At { number, ..self.at(BeforeToolUse::NAME, now.timestamp) };
        let open = &mut self.calls[index];
        let first = !std::mem::replace(&mut open.passed, true);
        if first {
            open.recent_tools = self.state.recent_tools().clone();
            // Where a tool keeps the folder that its calls start in, as `bash` does.
            let folder = self.state.metadata().get(&format!("{}/cwd", open.call.tool));
            open.call.folder = folder.and_then(|folder| folder.as_str()).map(Into::into);
        }
        let event = Event::BeforeToolUse(open.asked(at));
        let tool = open.call.tool.shared();
        out.push_back(Moment { then, ..self.moment(event) });
        if first {
            let mut recent = (**self.state.recent_tools()).clone();
            recent.push(tool);
            recent.drain(..recent.len().saturating_sub(RECENT_TOOLS));
            self.counted(|change| {
                change.tool_calls += 1;
                change.recent_tools = Some(Arc::new(recent));
            });
        }
    }

    fn tool_ended(&mut self, call_id: &Arc<str>, result: ToolResult, now: &Now<'_>) {
        let running = |open: &CallPast| open.attempts > 0 && open.call.id == *call_id;
        let Some(index) = self.calls.iter().rposition(running) else { return };
        self.calls[index].result = Some(result.clone());
        let open = &self.calls[index];
        let (attempts, asked) = (open.attempts, open.asked(self.at(AfterToolUse::NAME, now.timestamp)));
        if result.status == ToolStatus::Failed {
            let failed = ToolFailed {
                asked: asked.later(self.at(ToolUseFailed::NAME, now.timestamp)),
                error: result.output.clone(),
                reached: true,
                attempts,
                duration_ms: result.duration_ms,
            };
            self.wait(Event::ToolUseFailed(failed), now.within.cloned());
        }
        self.wait(Event::AfterToolUse(ToolUsed { asked, result, blocked_by: None }), now.within.cloned());
    }

    /// The call that a line means: one that has not come to its hooks yet before one that has.
    fn open_call(&self, call_id: &Arc<str>) -> Option<usize> {
        let is = |open: &&CallPast| open.call.id == *call_id;
        let fresh = self.calls.iter().position(|open| is(&open) && !open.passed);
        fresh.or_else(|| self.calls.iter().rposition(|open| is(&open)))
    }

    fn wait(&mut self, event: Event, within: Option<Arc<str>>) {
        let moment = self.moment(event);
        self.waiting.push(Waiting { moment, within });
    }

    fn moment(&self, event: Event) -> Moment {
        Moment { event, state: self.state.clone(), then: None }
    }

    /// The head of an event. Which of the run's events it is, is only known where a line says so.
    fn at(&self, point: &'static str, timestamp: Timestamp) -> At {
        At { run: self.info.clone(), point: Cow::Borrowed(point), number: 0, step: self.step.number, timestamp }
    }

    /// Changes what the state counts.
    fn counted(&mut self, change: impl FnOnce(&mut StateChange)) {
        let state = &mut self.state;
        let mut counts = StateChange {
            kept: state.messages().len(),
            usage: state.usage(),
            steps: state.steps(),
            tool_calls: state.tool_calls(),
            ..StateChange::default()
        };
        change(&mut counts);
        counts.apply(state).expect("a change that keeps all messages fits");
    }
}

impl CallPast {
    fn new(call: ToolCall, aliases: Option<&Aliases>) -> Self {
        let aliases = aliases.map(|of| of(&call.tool)).unwrap_or_default();
        let call = ToolCall { aliases, ..call };
        Self { call, recent_tools: Arc::default(), passed: false, attempts: 0, result: None }
    }

    fn asked(&self, at: At) -> ToolAsked {
        ToolAsked { at, call: self.call.clone(), time_limit: None, recent_tools: self.recent_tools.clone() }
    }
}

/// A line about hooks.
struct Dispatch<'l> {
    number: u64,
    call_id: Option<Arc<str>>,
    record: Record,
    left: Option<&'l Left>,
}

/// Which of the run's events an identifier means.
fn number(event_id: &str) -> u64 {
    event_id.rsplit('.').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_millisecond() - from.as_millisecond()).unwrap_or_default()
}

fn tally(unknown: &mut Unknown, what: &'static str, is_so: bool) {
    if is_so {
        *unknown.entry(what).or_default() += 1;
    }
}
