//! Limits, retries, fallbacks, timeouts and a cache.

mod cache;
mod limits;
mod models;
mod tools;

use std::time::Duration;

use vertebra::{
    AgentBuilder, ModelError, RunReport,
    prelude::*,
    testing::{FakeClock, Script},
};
use vertebra_kit::resilience::*;

use crate::{sheet::Sheet, support::read_by_model};

/// An agent on a clock that sleepers move.
fn agent(model: &Script, clock: &FakeClock) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    builder.clock(clock.clone());
    builder
}

/// How a run ended: `stopped (Requested!) by limit: why`. A hard stop has a `!`.
fn ending(report: &RunReport) -> String {
    let hard = if report.stop.hard { "!" } else { "" };
    format!("{} ({:?}{hard}) by {}: {}", report.status, report.stop.reason, report.stop.source, report.stop.message)
}

fn busy(wait: Option<Duration>) -> ModelError {
    ModelError::Busy { message: "try later".to_owned(), wait }
}

fn network() -> ModelError {
    ModelError::Network { message: "no route".to_owned() }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Waits that tests can count on.
fn even() -> Backoff {
    Backoff { jitter_percent: 0, ..Backoff::default() }
}

pub(crate) fn sheets() -> Vec<Sheet> {
    let retry = ModelRetry::default();
    let calls = ModelCallLimit::default();
    let cache = CachePolicy::default();
    let told = |backoff: Backoff| {
        let Backoff { first, factor, longest, jitter_percent } = backoff;
        format!("{first:?}, times {factor}, at most {longest:?}, up to {jitter_percent} % less")
    };
    let (backoff, tool_backoff) = (told(retry.backoff), told(ToolRetry::default().backoff));
    vec![
        Sheet {
            name: "ToolCallLimit",
            purpose: "Limits how often one tool, or any tool, may be used, including by subagents.",
            install: |b| {
                b.with(ToolCallLimit::per_run(10));
            },
            knobs: vec![
                ("per_run, per_session", "none".into()),
                ("tool", "all".into()),
                ("at_limit", format!("{:?}", AtLimit::Continue)),
            ],
        },
        Sheet {
            name: "ModelCallLimit",
            purpose: "Limits how often models may be called for any purpose, including by subagents.",
            install: |b| {
                b.with(ModelCallLimit::default());
            },
            knobs: vec![
                ("per_run", format!("{:?}", calls.per_run)),
                ("per_session", format!("{:?}", calls.per_session)),
                ("at_limit", format!("{:?}", calls.at_limit)),
            ],
        },
        Sheet {
            name: "FinishGuard",
            purpose: "Ends the run when a model's answer has one of these finish reasons.",
            install: |b| {
                b.with(FinishGuard::default());
            },
            knobs: vec![("words", FinishGuard::default().words.join(", "))],
        },
        Sheet {
            name: "ModelRetry",
            purpose: "Retries a model that was busy, unreachable or broke off; then suspends the run, so that it can be resumed.",
            install: |b| {
                b.with(ModelRetry::default());
            },
            knobs: vec![
                ("patience", format!("{:?}", retry.patience)),
                ("backoff", backoff),
                ("broken", retry.broken.to_string()),
            ],
        },
        Sheet {
            name: "ModelFallback",
            purpose: "Calls other models, in order, when one fails. `Router` combines several drivers into one model.",
            install: |b| {
                b.with(ModelFallback::to([]));
            },
            knobs: vec![
                ("to", "none".into()),
                ("on", "busy, network, broken, unauthorised".into()),
                ("stay", format!("{:?}", Stay::WithWhoAnswered)),
            ],
        },
        Sheet {
            name: "ToolRetry",
            purpose: "Retries failed tools: those that are idempotent, or those that you name.",
            install: |b| {
                b.with(ToolRetry::default());
            },
            knobs: vec![
                ("retries", ToolRetry::default().retries.to_string()),
                ("tools", format!("{:?}", ToolRetry::default().tools)),
                ("backoff", tool_backoff),
            ],
        },
        Sheet {
            name: "ToolTimeout",
            purpose: "Stops tools that take too long. Waiting for approval does not count.",
            install: |b| {
                b.with(ToolTimeout::all(secs(30)));
            },
            knobs: vec![("all, of", "none".into())],
        },
        Sheet {
            name: "ResponseCache",
            purpose: "Answers a repeated request from a cache, at no cost.",
            install: |b| {
                b.with(ResponseCache::default());
            },
            knobs: vec![
                ("ttl", format!("{:?}", cache.ttl)),
                ("max_entries", cache.max_entries.to_string()),
                ("max_bytes", cache.max_bytes.to_string()),
                ("scope", format!("{:?}", cache.scope)),
                ("tool_calls", format!("{:?}", cache.tool_calls)),
            ],
        },
    ]
}
