//! What is under way in one run: its step, its model calls, its tools, its questions to people.

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use vertebra::{
    Approval, Args, Decision, Entry, ModelId, Purpose, RunReport, RunStatus, ToolResult, ToolStatus, Usage, What,
};

use super::{
    Instruments,
    content::{self, bounded},
    dispatch, names,
    span::{Open, Plan},
    words,
};

/// The open spans of a run. The session has one too, for what belongs to no run.
pub(super) struct Track {
    span: Open,
    conversation: Arc<str>,
    step: Option<Open>,
    models: HashMap<String, (ModelId, Open)>,
    intended: HashMap<String, (Arc<str>, Args)>,
    /// In the order they began.
    tools: Vec<Tool>,
    questions: HashMap<Arc<str>, Open>,
    /// What the calls of the latest answer are called, for dispatches that know only which call they are about.
    called: HashMap<Arc<str>, Arc<str>>,
}

struct Tool {
    key: String,
    call_id: Arc<str>,
    name: Arc<str>,
    span: Open,
}

impl Track {
    pub(super) fn new(span: Open, conversation: Arc<str>) -> Self {
        Self {
            span,
            conversation,
            step: None,
            models: HashMap::new(),
            intended: HashMap::new(),
            tools: Vec::new(),
            questions: HashMap::new(),
            called: HashMap::new(),
        }
    }

    /// Where a line belongs: to the call from inside which it was written, to the step, or to the run.
    pub(super) fn inside(&self, call: Option<&str>) -> Context {
        let tool = call.and_then(|call| self.tools.iter().rev().find(|tool| &*tool.call_id == call));
        tool.map(|tool| &tool.span).or(self.step.as_ref()).unwrap_or(&self.span).context()
    }

    pub(super) fn span(&mut self) -> &mut Open {
        &mut self.span
    }

    pub(super) fn line(&mut self, with: &Instruments, entry: &Entry, at: SystemTime) {
        let inside = self.inside(entry.within.as_deref());
        match &entry.what {
            What::StepBegan { step } => {
                self.end_step(at);
                let plan = Plan::new("step", at).with(names::STEP, i64::from(*step));
                self.step = Some(plan.begin(&with.tracer, &self.span.context()));
            }
            What::Checkpoint(_) => self.end_step(at),
            What::Dispatched { event_id, call_id, record, left: _ } => {
                with.meters.dispatch(record);
                let call_id = call_id.as_ref();
                let tool = call_id.and_then(|call| self.called.get(call)).cloned();
                dispatch::tell(&with.tracer, &inside, dispatch::About { event_id, call_id, tool }, record, at);
            }
            What::ModelAsked { key, purpose, model } => self.model_asked(with, &inside, key, purpose, model, at),
            What::ModelAnswered { .. } => self.model_answered(with, &entry.what, at),
            What::ToolIntended { call_id: _, key, tool, args, digest: _ } => {
                self.intended.insert(key.clone(), (tool.clone(), args.clone()));
            }
            What::ToolStarted { call_id, key } => self.tool_started(with, &inside, call_id, key, at),
            What::ToolEnded { call_id: _, key, result } => self.tool_ended(with, key, result, at),
            What::ToolLeftOut { call_id, result } => {
                let status = KeyValue::new(names::TOOL_STATUS, words::of(&result.status));
                let about = vec![KeyValue::new(names::CALL, call_id.clone()), status];
                self.step.as_mut().unwrap_or(&mut self.span).note("tool left out", at, about);
            }
            What::Asked { approval, until: _ } => self.asked(with, &inside, approval, at),
            What::Answered { call_id, decision } => self.answered(call_id, decision, at),
            // Facts of sessions and runs are for the list of tracks; the others have no span.
            _ => {}
        }
    }

    fn end_step(&mut self, at: SystemTime) {
        if let Some(step) = self.step.take() {
            step.end(at);
        }
    }

    fn model_asked(
        &mut self,
        with: &Instruments,
        inside: &Context,
        key: &str,
        purpose: &Purpose,
        model: &ModelId,
        at: SystemTime,
    ) {
        let span = Plan::new(format!("chat {}", model.name), at)
            .of_client()
            .with(names::OPERATION, "chat")
            .with(names::PROVIDER, names::provider(&model.provider))
            .with(names::MODEL, model.name.clone())
            .with(names::CONVERSATION, self.conversation.clone())
            .with(names::PURPOSE, words::purpose(purpose))
            .begin(&with.tracer, inside);
        if let Some((_, before)) = self.models.insert(key.to_owned(), (model.clone(), span)) {
            before.end(at);
        }
    }

    fn model_answered(&mut self, with: &Instruments, line: &What, at: SystemTime) {
        let What::ModelAnswered { key, usage, response, veiled: _, undecided, halted, error } = line else { return };
        let Some((model, mut span)) = self.models.remove(key) else { return };
        let class = match (response, error) {
            (_, Some(error)) => Some(words::of(&error.class())),
            (None, None) => Some("cancelled".to_owned()),
            (Some(_), None) => None,
        };
        let took = at.duration_since(span.began()).unwrap_or_default();
        with.meters.model(&model, took, *usage, class.as_deref());
        used(&mut span, *usage);
        if let Some(response) = response {
            // Capabilities ask in between, and get no calls back.
            if !response.calls.is_empty() {
                self.called = response.calls.iter().map(|call| (call.id.clone(), call.tool.shared())).collect();
            }
            if !response.finish.is_empty() {
                let finish = StringValue::from(bounded(&response.finish));
                span.set(names::FINISH, Value::Array(Array::String(vec![finish])));
            }
            // The span of the run exports the text that hooks at `Output` let out.
            if with.contents && !undecided {
                span.set(names::OUTPUT, content::response(response));
            }
        }
        if let Some((by, _)) = halted {
            span.set(names::HALTED_BY, by.clone());
        }
        if let Some(class) = class {
            let told = error.as_ref().map_or_else(|| "the run was cancelled".to_owned(), ToString::to_string);
            span.fail(class, bounded(&told));
        }
        span.end(at);
    }

    fn tool_started(&mut self, with: &Instruments, inside: &Context, call_id: &Arc<str>, key: &str, at: SystemTime) {
        let Some((tool, args)) = self.intended.remove(key) else { return };
        let contents = with.contents.then(|| bounded(&args.to_value().to_string()));
        let span = Plan::new(format!("execute_tool {tool}"), at)
            .with(names::OPERATION, "execute_tool")
            .with(names::TOOL, tool.clone())
            .with(names::CALL, call_id.clone())
            .with_some(names::ARGUMENTS, contents)
            .begin(&with.tracer, inside);
        self.tools.push(Tool { key: key.to_owned(), call_id: call_id.clone(), name: tool, span });
    }

    fn tool_ended(&mut self, with: &Instruments, key: &str, result: &ToolResult, at: SystemTime) {
        let Some(index) = self.tools.iter().position(|tool| tool.key == key) else { return };
        let Tool { name, mut span, .. } = self.tools.remove(index);
        with.meters.tool(&name, at.duration_since(span.began()).unwrap_or_default(), result.status);
        span.set(names::TOOL_STATUS, words::of(&result.status));
        if let Some(code) = result.exit_code {
            span.set(names::EXIT_CODE, i64::from(code));
        }
        if with.contents {
            span.set(names::RESULT, bounded(&result.output));
        }
        match result.status {
            ToolStatus::Done | ToolStatus::Blocked | ToolStatus::NotRun => {}
            // What a tool says of its failure is its output, and exported as that or not at all.
            status => span.fail(words::of(&status), format!("{name}: {status}")),
        }
        span.end(at);
    }

    fn asked(&mut self, with: &Instruments, inside: &Context, approval: &Approval, at: SystemTime) {
        let span = Plan::new(format!("approval {}", approval.call.tool), at)
            .with(names::TOOL, approval.call.tool.shared())
            .with(names::CALL, approval.call.id.clone())
            .with(names::ASKED_BY, approval.asked_by.clone())
            .with(names::ASKED_WHY, bounded(&approval.reason))
            .begin(&with.tracer, inside);
        if let Some(before) = self.questions.insert(approval.call.id.clone(), span) {
            before.end(at);
        }
    }

    fn answered(&mut self, call_id: &str, decision: &Decision, at: SystemTime) {
        if let Some(mut span) = self.questions.remove(call_id) {
            span.set(names::DECISION, words::decision(decision));
            span.end(at);
        }
    }

    /// Ends the run as its report says.
    pub(super) fn end_as(mut self, with: &Instruments, report: &RunReport, at: SystemTime) {
        used(&mut self.span, report.usage);
        self.span.set(names::STATUS, words::of(&report.status));
        self.span.set(names::STEPS, i64::from(report.steps));
        self.span.set(names::STOP_REASON, words::of(&report.stop.reason));
        self.span.set(names::STOP_SOURCE, report.stop.source.clone());
        if with.contents {
            self.span.set(names::OUTPUT, content::answer(&report.text));
        }
        if report.status == RunStatus::Failed {
            self.span.fail(words::of(&report.stop.reason), bounded(&report.stop.message));
        }
        self.end(at);
    }

    /// Ends all that is open, and the run last.
    pub(super) fn end(mut self, at: SystemTime) {
        let inner = self.models.drain().map(|(_, (_, span))| span);
        let inner =
            inner.chain(self.tools.drain(..).map(|tool| tool.span)).chain(self.questions.drain().map(|(_, span)| span));
        inner.chain(self.step.take()).for_each(|span| span.end(at));
        self.span.end(at);
    }
}

fn used(span: &mut Open, usage: Usage) {
    let counts = [
        (names::INPUT_TOKENS, usage.input_tokens),
        (names::OUTPUT_TOKENS, usage.output_tokens),
        (names::CACHE_READ_TOKENS, usage.cache_read_tokens),
        (names::CACHE_WRITE_TOKENS, usage.cache_write_tokens),
        (names::COST, usage.cost_micros),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        span.set(name, i64::try_from(count).unwrap_or(i64::MAX));
    }
}
