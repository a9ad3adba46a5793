//! What is counted and measured: the metrics of the `GenAI` conventions, and those of hooks, tools and the journal.

use std::{sync::Arc, time::Duration};

use opentelemetry::{
    KeyValue, Value,
    metrics::{Counter, Histogram, Meter},
};
use vertebra::{JournalError, ModelId, Ran, Record, ToolStatus, Trace, Usage};

use super::{names, words};

/// The buckets that the conventions name for tokens and for the seconds of a model call.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// From hooks in this process to those that ask a person: a microsecond to a minute.
const SMALL: [f64; 14] = [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 1.0, 10.0, 60.0];

pub(super) struct Meters {
    tokens: Histogram<u64>,
    model: Histogram<f64>,
    tool: Histogram<f64>,
    hook: Histogram<f64>,
    verdicts: Counter<u64>,
    append: Histogram<f64>,
}

impl Meters {
    pub(super) fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, what: &'static str, buckets: [f64; 14]| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(what);
            histogram.with_boundaries(buckets.to_vec()).build()
        };
        let tokens = meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}");
        let verdicts = meter.u64_counter("vertebra.hook.verdicts").with_unit("{verdict}");
        Self {
            tokens: tokens.with_description("Tokens of a model call").with_boundaries(TOKENS.to_vec()).build(),
            model: seconds("gen_ai.client.operation.duration", "How long a model call took", SECONDS),
            tool: seconds("vertebra.tool.duration", "How long a tool took", SECONDS),
            hook: seconds("vertebra.hook.duration", "How long a hook took, all attempts together", SMALL),
            verdicts: verdicts.with_description("What hooks answered").build(),
            append: seconds("vertebra.journal.append.duration", "How long the journal took for a line", SMALL),
        }
    }

    pub(super) fn model(&self, model: &ModelId, took: Duration, usage: Usage, error: Option<&str>) {
        let about = [
            KeyValue::new(names::OPERATION, "chat"),
            KeyValue::new(names::PROVIDER, names::provider(&model.provider)),
            KeyValue::new(names::MODEL, model.name.clone()),
        ];
        let with = |name: &'static str, value: &str| [&about[..], &[KeyValue::new(name, value.to_owned())]].concat();
        match error {
            Some(error) => self.model.record(took.as_secs_f64(), &with(names::ERROR, error)),
            None => self.model.record(took.as_secs_f64(), &about),
        }
        for (which, count) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            if count > 0 {
                self.tokens.record(count, &with(names::TOKEN_TYPE, which));
            }
        }
    }

    pub(super) fn tool(&self, name: &Arc<str>, took: Duration, status: ToolStatus) {
        let about = [KeyValue::new(names::TOOL, name.clone()), KeyValue::new(names::TOOL_STATUS, words::of(&status))];
        self.tool.record(took.as_secs_f64(), &about);
    }

    pub(super) fn dispatch(&self, record: &Record) {
        record.hooks.iter().for_each(|trace| self.hook(&record.point, trace));
    }

    fn hook(&self, point: &str, trace: &Trace) {
        let (verdict, failure) = match &trace.ran {
            Ran::Answered { verdict, .. } => (verdict, None),
            Ran::Failed { verdict, failure, .. } => (verdict, Some(words::failure(failure))),
            Ran::Skipped { .. } | Ran::Detached | Ran::Dropped => return,
        };
        let about = |more: Option<(&'static str, Value)>| {
            let mut about = vec![
                KeyValue::new(names::HOOK, trace.hook.clone()),
                KeyValue::new(names::POINT, point.to_owned()),
                KeyValue::new(names::ROLE, trace.role.to_string()),
            ];
            about.extend(more.map(|(name, value)| KeyValue::new(name, value)));
            about.extend(failure.map(|failure| KeyValue::new(names::ERROR, failure)));
            about
        };
        if let Some(took) = trace.took {
            self.hook.record(took.as_secs_f64(), &about(None));
        }
        self.verdicts.add(1, &about(Some((names::VERDICT, words::of(verdict).into()))));
    }

    pub(super) fn append(&self, entry: &'static str, took: Duration, result: &Result<(), JournalError>) {
        let mut about = vec![KeyValue::new(names::ENTRY, entry)];
        about.extend(result.as_ref().err().map(|error| KeyValue::new(names::ERROR, format!("{:?}", error.kind))));
        self.append.record(took.as_secs_f64(), &about);
    }
}
