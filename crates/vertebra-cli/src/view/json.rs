//! The view for programs: one JSON object at the end, after one per event if requested.
//!
//! The fields are stable: see `docs/output.md`.

use serde::Serialize;
use vertebra::{Approval, News, RunEvent, RunReport, RunStatus, Stop, StopReason, ToolStatus, Usage};

use super::{About, Aside, View};
use crate::surface::Surface;

/// How many denied calls are listed. The others are only counted.
const MAX_DENIED: usize = 100;

/// Prints a run as JSON objects.
pub(crate) struct Json {
    events: bool,
    model: String,
    warnings: Vec<String>,
    denied: Vec<Denied>,
    denied_calls: u64,
    report: Option<RunReport>,
}

impl Json {
    /// Prints one object at the end.
    pub(crate) fn at_the_end() -> Self {
        Self {
            events: false,
            model: String::new(),
            warnings: Vec::new(),
            denied: Vec::new(),
            denied_calls: 0,
            report: None,
        }
    }

    /// Prints one object per event, then the one at the end.
    pub(crate) fn streaming() -> Self {
        Self { events: true, ..Self::at_the_end() }
    }

    fn note(&mut self, event: &RunEvent) {
        match &event.news {
            News::ToolEnded { call, result } if result.status == ToolStatus::Blocked => {
                self.denied_calls += 1;
                if self.denied.len() < MAX_DENIED {
                    let (tool, reason) = (call.tool.to_string(), result.output.clone());
                    self.denied.push(Denied { tool, agent: event.agent.to_string(), reason });
                }
            }
            News::Ended { report } if event.depth == 0 => self.report = Some((**report).clone()),
            _ => {}
        }
    }
}

impl View for Json {
    fn begin(&mut self, about: &About<'_>, surface: &mut dyn Surface) {
        self.model = about.model();
        self.warnings = about.warnings.to_vec();
        for message in about.warnings.iter().filter(|_| self.events) {
            line(&Warning { event: "warning", message }, surface);
        }
    }

    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        self.note(event);
        if self.events {
            line(event, surface);
        }
    }

    fn asked(&mut self, _: &Approval) {}

    fn tick(&mut self, _: &mut dyn Surface) {}

    fn aside(&mut self, _: Aside, _: &mut dyn Surface) {}

    fn end(&mut self, surface: &mut dyn Surface) {
        let Some(report) = self.report.take() else { return };
        let cost = (report.usage.cost_micros > 0).then_some(Dollars(report.usage.cost_micros));
        let result = Outcome {
            event: "result",
            status: report.status,
            text: &report.text,
            stop: Why::from(&report.stop),
            steps: report.steps,
            tool_calls: report.tool_calls,
            denied_calls: self.denied_calls,
            denied: std::mem::take(&mut self.denied),
            usage: report.usage,
            cost_usd: cost.map(Dollars::number),
            duration_ms: report.duration_ms,
            warnings: &self.warnings,
            model: &self.model,
            session_id: &report.session_id,
            run_id: &report.run_id,
        };
        line(&result, surface);
        self.denied_calls = 0;
    }
}

/// The result object. Every field is always present.
#[derive(Serialize)]
struct Outcome<'a> {
    event: &'static str,
    status: RunStatus,
    text: &'a str,
    stop: Why<'a>,
    steps: u32,
    tool_calls: u64,
    denied_calls: u64,
    denied: Vec<Denied>,
    usage: Usage,
    cost_usd: Option<f64>,
    duration_ms: u64,
    warnings: &'a [String],
    model: &'a str,
    session_id: &'a str,
    run_id: &'a str,
}

/// A warning.
#[derive(Serialize)]
struct Warning<'a> {
    event: &'static str,
    message: &'a str,
}

/// Why the run ended.
#[derive(Serialize)]
struct Why<'a> {
    reason: StopReason,
    message: &'a str,
    source: &'a str,
}

impl<'a> From<&'a Stop> for Why<'a> {
    fn from(stop: &'a Stop) -> Self {
        Self { reason: stop.reason, message: &stop.message, source: &stop.source }
    }
}

/// A denied call.
#[derive(Serialize)]
struct Denied {
    tool: String,
    agent: String,
    reason: String,
}

/// Millionths of a dollar.
struct Dollars(u64);

impl Dollars {
    #[expect(clippy::cast_precision_loss, reason = "f64 is exact for any realistic cost in millionths of a dollar")]
    fn number(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

fn line(value: &impl Serialize, surface: &mut dyn Surface) {
    // Serialisation cannot fail, because all keys are strings.
    if let Ok(text) = serde_json::to_string(value) {
        surface.answer(&format!("{text}\n"));
    }
}
