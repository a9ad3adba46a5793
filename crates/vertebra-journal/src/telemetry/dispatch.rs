//! One dispatch as a span: who ran, who decided, and why. Each hook is an event in it.

use std::{sync::Arc, time::SystemTime};

use opentelemetry::{Context, KeyValue, trace::Event};
use opentelemetry_sdk::trace::SdkTracer;
use vertebra::{InferenceDelta, Kind, Point as _, Ran, Record, Trace};

use super::{content::bounded, names, span::Plan, words};

/// What a dispatch was about.
pub(super) struct About<'a> {
    pub(super) event_id: &'a str,
    pub(super) call_id: Option<&'a Arc<str>>,
    pub(super) tool: Option<Arc<str>>,
}

/// Tells of a dispatch that has ended now. Nothing is told of a streamed piece that all hooks let pass: an answer has
/// hundreds, and what they cost is in the metrics.
pub(super) fn tell(tracer: &SdkTracer, inside: &Context, about: About<'_>, record: &Record, ended: SystemTime) {
    if record.point == InferenceDelta::NAME && passed(record) {
        return;
    }
    let began = ended.checked_sub(record.took).unwrap_or(ended);
    let plan = Plan::new(format!("hooks {}", record.point), began)
        .with(names::POINT, record.point.clone())
        .with(names::VERDICT, words::of(&record.verdict))
        .with_some(names::DECIDED_BY, record.decided_by.clone())
        .with_some(names::REASON, record.reason.as_deref().map(bounded))
        .with(names::COUNT, count(record.hooks.iter().filter(|trace| was_run(trace)).count()))
        .with(names::FAILURES, count(record.failures().count()))
        .with(names::EVENT, about.event_id.to_owned())
        .with_some(names::CALL, about.call_id.cloned())
        .with_some(names::TOOL, about.tool)
        .events(record.hooks.iter().map(|trace| event(trace, ended)).collect());
    let mut span = plan.begin(tracer, inside);
    if record.decided_by_failure()
        && let Some((hook, failure)) = record.failures().find(|(hook, _)| Some(*hook) == record.decided_by.as_deref())
    {
        span.fail(words::failure(failure), bounded(&format!("{hook} {failure}")));
    }
    span.end(ended);
}

fn passed(record: &Record) -> bool {
    matches!(record.verdict, Kind::Proceed | Kind::Hold | Kind::Skip)
        && record.failures().next().is_none()
        && record.changes().next().is_none()
}

fn was_run(trace: &Trace) -> bool {
    matches!(trace.ran, Ran::Answered { .. } | Ran::Failed { .. })
}

/// The record has durations and an order, and no times: all hooks are told at the end of the dispatch.
fn event(trace: &Trace, ended: SystemTime) -> Event {
    let mut about = vec![
        KeyValue::new(names::HOOK, trace.hook.clone()),
        KeyValue::new(names::ROLE, trace.role.to_string()),
        KeyValue::new(names::RAN, words::ran(&trace.ran)),
        KeyValue::new(names::CHANGED, !trace.changes.is_empty()),
    ];
    about.extend(trace.took.map(|took| KeyValue::new(names::SECONDS, took.as_secs_f64())));
    if trace.shadow {
        about.push(KeyValue::new(names::SHADOW, true));
    }
    match &trace.ran {
        Ran::Answered { verdict, .. } => about.push(KeyValue::new(names::VERDICT, words::of(verdict))),
        Ran::Failed { verdict, failure, .. } => about.extend([
            KeyValue::new(names::VERDICT, words::of(verdict)),
            KeyValue::new(names::ERROR, words::failure(failure)),
        ]),
        Ran::Skipped { .. } | Ran::Detached | Ran::Dropped => {}
    }
    Event::new("hook", ended, about, 0)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
