//! The view for programs: one JSON object at the end, after one per event if requested.
//!
//! The fields are stable: see `docs/output.md`.

use serde::Serialize;
use vertebra::{Approval, News, RunEvent, RunReport, RunStatus, Stop, StopReason, ToolStatus, Usage};

use super::{About, Aside, View, ending::resume_command};
use crate::surface::Surface;

/// How many denied calls are listed. The others are only counted.
const MAX_DENIED: usize = 100;

/// Which events are printed before the object at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Events {
    None,
    /// All but those of hooks, which are most of the bytes.
    WithoutHooks,
    All,
}

/// Prints a run as JSON objects.
pub(crate) struct Json {
    events: Events,
    resumable: bool,
    model: String,
    warnings: Vec<String>,
    denied: Vec<Denied>,
    denied_calls: u64,
    report: Option<RunReport>,
}

impl Json {
    /// Prints these events, then one object. `resumable`: the session is recorded.
    pub(crate) fn new(events: Events, resumable: bool) -> Self {
        Self {
            events,
            resumable,
            model: String::new(),
            warnings: Vec::new(),
            denied: Vec::new(),
            denied_calls: 0,
            report: None,
        }
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
        for message in about.warnings.iter().filter(|_| self.events != Events::None) {
            line(&Warning { event: "warning", message }, surface);
        }
    }

    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        self.note(event);
        let is_shown = match self.events {
            Events::None => false,
            Events::WithoutHooks => !matches!(event.news, News::Hooks { .. }),
            Events::All => true,
        };
        if is_shown {
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
            resume: (self.resumable && report.status != RunStatus::Completed)
                .then(|| resume_command(&report.session_id)),
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
    resume: Option<String>,
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
        surface.answer(&format!("{}\n", crate::programs::escaped(&text)));
    }
}
