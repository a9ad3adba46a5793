//! Veils: what is hidden in every text that leaves a run, towards its journal, front ends and whoever reads its report.

use std::{borrow::Cow, mem::take, sync::Arc};

use serde_json::Value;
use vertebra_hooks::{Failure, Ran, Record};

use crate::{Args, Decision, RunReport, Stop, ToolCall, ToolResult, front::News, journal::What};

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
            What::RunBegan { prompt, .. } => self.text(prompt),
            What::Dispatched { record, .. } => self.record(record),
            What::ModelAnswered { error, .. } => self.maybe(error),
            What::ToolIntended { args, .. } => self.args(args),
            What::ToolEnded { result, .. } | What::ToolLeftOut { result, .. } => self.result(result),
            What::Asked { reason, .. } => self.text(reason),
            What::Answered { answer, .. } => self.text(answer),
            What::RunEnded { report } => self.report(report),
            What::SessionBegan | What::StepBegan { .. } | What::ModelAsked { .. } | What::SessionEnded => {}
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
            News::Asked { approval } => {
                self.args(&mut approval.args);
                self.text(&mut approval.reason);
            }
            News::Decided { decision, .. } => match decision {
                Decision::Approve { .. } => {}
                Decision::Deny { reason } => self.text(reason),
                Decision::Edit { args } => self.args(args),
            },
            News::Notice { message, .. } => self.text(message),
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
