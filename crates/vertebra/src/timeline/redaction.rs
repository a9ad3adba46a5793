//! Veils: what is hidden in every text that leaves a run, towards its journal, front ends and whoever reads its report.

use std::{borrow::Cow, mem::take, sync::Arc};

use serde_json::Value;
use vertebra_hooks::{Failure, Ran, Record};

use crate::{
    Approval, Args, Decision, JournalError, Left, Message, ModelError, Response, RunError, RunReport, StateChange,
    Stop, ToolCall, ToolResult, timeline::What, timeline::feed::News,
};

/// Hides things in a text.
pub(crate) type Veil = dyn for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync;

/// The veils of an agent, those of its parents first. The matches name every variant and field that carries text, so that
/// a new one is not forgotten.
#[derive(Clone, Default)]
pub(crate) struct Veils(Vec<Arc<Veil>>);

impl Veils {
    pub(crate) fn add(&mut self, veil: Arc<Veil>) {
        self.0.push(veil);
    }

    /// These, then those of a child.
    pub(crate) fn and(&self, own: &Self) -> Self {
        Self(self.0.iter().chain(&own.0).cloned().collect())
    }

    pub(crate) fn what(&self, what: &mut What) {
        if self.0.is_empty() {
            return;
        }
        match what {
            What::RunBegan { prompt, .. } => self.text(&mut prompt.text),
            What::Dispatched { record, left, .. } => {
                self.record(record);
                if let Some(left) = left {
                    self.left(left);
                }
            }
            What::ModelAnswered { response, veiled, halted, error, .. } => {
                if let Some(response) = response {
                    *veiled = self.response(response);
                }
                if let Some((_, reason)) = halted {
                    self.text(reason);
                }
                if let Some(error) = error {
                    self.error(error);
                }
            }
            What::ToolIntended { args, digest, .. } => {
                *digest = args.digest();
                self.args(args);
            }
            What::ToolChecked { ask, problem, .. } => {
                self.maybe(ask);
                self.maybe(problem);
            }
            What::ToolEnded { result, .. } | What::ToolLeftOut { result, .. } => self.result(result),
            What::Asked { approval, .. } => self.approval(approval),
            What::Answered { decision, .. } => self.decision(decision),
            What::Checkpoint(checkpoint) => self.change(&mut checkpoint.state),
            What::Suspended { message } => self.text(message),
            What::RunEnded { report, checkpoint } => {
                self.report(report);
                self.change(&mut checkpoint.state);
            }
            What::SessionBegan { .. }
            | What::SessionResumed { .. }
            | What::StepBegan { .. }
            | What::ModelAsked { .. }
            | What::ToolStarted { .. }
            | What::SessionEnded => {}
        }
    }

    pub(crate) fn news(&self, news: &mut News) {
        if self.0.is_empty() {
            return;
        }
        match news {
            News::Delta { text, .. } | News::ToolSays { text, .. } => self.text(text),
            News::ToolBegan { call } => self.call(call),
            News::ToolEnded { call, result } => {
                self.call(call);
                self.result(result);
            }
            News::Hooks { record, subject, .. } => {
                self.record(record);
                self.text(subject);
            }
            News::Asked { approval } => self.approval(approval),
            News::Decided { decision, .. } => self.decision(decision),
            News::Notice { message, .. } | News::Retry { message, .. } => self.text(message),
            News::Ended { report } => self.report(report),
            News::Step { .. } | News::Used { .. } | News::Missed { .. } => {}
        }
    }

    pub(crate) fn report(&self, report: &mut RunReport) {
        self.text(&mut report.text);
        let Stop { message, source, context, .. } = &mut report.stop;
        self.text(message);
        self.text(source);
        self.value(context);
    }

    fn record(&self, record: &mut Record) {
        self.maybe(&mut record.reason);
        for trace in &mut record.hooks {
            match &mut trace.ran {
                Ran::Answered { reason, .. } => self.maybe(reason),
                Ran::Failed { failure: Failure::Error { message } | Failure::Panic { message }, .. } => {
                    self.text(message);
                }
                Ran::Failed { failure: Failure::Timeout { .. } | Failure::RetriesExhausted, .. }
                | Ran::Skipped { .. }
                | Ran::Detached
                | Ran::Dropped => {}
            }
            for change in &mut trace.changes {
                self.text(&mut change.path);
                change.before.iter_mut().chain(&mut change.after).for_each(|value| self.value(value));
            }
        }
    }

    fn error(&self, error: &mut RunError) {
        self.text(match error {
            RunError::Model(
                ModelError::Busy { message, .. }
                | ModelError::Rejected { message }
                | ModelError::TooLong { message }
                | ModelError::Unauthorised { message }
                | ModelError::Network { message }
                | ModelError::Broken { message },
            )
            | RunError::Journal(JournalError { message, .. })
            | RunError::Internal { message } => message,
        });
    }

    fn approval(&self, approval: &mut Approval) {
        self.args(&mut approval.call.args);
        self.text(&mut approval.reason);
        self.maybe(&mut approval.preview);
    }

    fn decision(&self, decision: &mut Decision) {
        match decision {
            Decision::Approve { grants, .. } => grants.iter_mut().for_each(|grant| self.text(grant)),
            Decision::Later => {}
            Decision::Deny { reason } => self.text(reason),
            Decision::Edit { args } => self.args(args),
        }
    }

    /// Answers with whether a call of it is another one now.
    fn response(&self, response: &mut Response) -> bool {
        let before = response.calls.clone();
        self.text(&mut response.text);
        self.text(&mut response.reasoning);
        response.calls.iter_mut().for_each(|call| self.call(call));
        // Nobody can say what is in it, so it is not kept where something is to be hidden.
        response.carry = None;
        response.calls != before
    }

    fn left(&self, left: &mut Left) {
        left.rulings.iter_mut().for_each(|(_, verdict)| self.value(verdict));
        left.event.iter_mut().for_each(|event| self.value(event));
        left.state.iter_mut().for_each(|state| self.change(state));
    }

    fn change(&self, change: &mut StateChange) {
        change.messages.iter_mut().for_each(|message| self.message(Arc::make_mut(message)));
        change.metadata.values_mut().for_each(|value| self.value(value));
        if let Some(notes) = &mut change.notes
            && let Ok(mut value) = serde_json::to_value(&**notes)
        {
            self.value(&mut value);
            **notes = serde_json::from_value(value).unwrap_or_default();
        }
    }

    fn message(&self, message: &mut Message) {
        match message {
            Message::User { text, .. } | Message::Instruction { text, .. } => self.text(text),
            Message::Assistant { text, reasoning, calls, carry } => {
                self.text(text);
                self.text(reasoning);
                for call in calls {
                    self.call(call);
                }
                *carry = None;
            }
            Message::Tool { result, .. } => self.result(result),
        }
    }

    fn call(&self, call: &mut ToolCall) {
        self.args(&mut call.args);
        self.maybe(&mut call.malformed);
    }

    fn result(&self, result: &mut ToolResult) {
        self.text(&mut result.output);
        self.value(&mut result.data);
    }

    fn args(&self, args: &mut Args) {
        let mut value = args.to_value();
        self.value(&mut value);
        if let Ok(veiled) = Args::try_from(value) {
            *args = veiled;
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => {
                let veiled = take(map).into_iter().map(|(mut name, mut value)| {
                    self.text(&mut name);
                    self.value(&mut value);
                    (name, value)
                });
                *map = veiled.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn maybe(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn text(&self, text: &mut String) {
        for veil in &self.0 {
            if let Cow::Owned(veiled) = veil(text) {
                *text = veiled;
            }
        }
    }
}
