//! How a session begins and how a run ends, in words.

use std::time::Duration;

use vertebra::{RunReport, RunStatus, StopReason, Usage};

use super::{
    About,
    rows::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, Row, YELLOW, behind, wrap},
    text::{counted, dotted, duration, money, on_one_line, short_id, tokens, visible},
};

/// Who works where, and what one should know before.
pub(crate) fn header(about: &About<'_>, width: usize) -> Vec<Row> {
    let folder = about.folder.display().to_string();
    let facts = [about.model(), folder, about.mode.to_owned()];
    let facts = dotted(&facts.map(|fact| on_one_line(&fact)));
    let mut rows = vec![Row::default().with(BOLD, "vertebra").with(DIM, facts).cut(width)];
    for notice in about.notices {
        rows.extend(notice_rows(notice, width));
    }
    rows.extend(warning_rows(about.warnings, width));
    rows
}

/// What nobody may overlook.
pub(crate) fn warning_rows(warnings: &[String], width: usize) -> Vec<Row> {
    let rows = warnings.iter().flat_map(|warning| {
        let text = Row::default().with(YELLOW, visible(warning));
        behind(&Row::default().with(YELLOW, "! "), wrap(&text.0, width.saturating_sub(2)))
    });
    rows.collect()
}

/// Something worth knowing.
pub(crate) fn notice_rows(notice: &str, width: usize) -> Vec<Row> {
    let text = Row::default().with(DIM, visible(notice));
    behind(&Row::default().with(CYAN, "• "), wrap(&text.0, width.saturating_sub(2)))
}

/// How it went, why it ended, what to do next, and what it took.
pub(crate) fn rows(report: &RunReport, spent: Usage, width: usize) -> Vec<Row> {
    let (style, mark, word) = match report.status {
        RunStatus::Completed => (GREEN, "✓ ", "done"),
        RunStatus::Stopped => (YELLOW, "■ ", "stopped"),
        RunStatus::Cancelled => (YELLOW, "■ ", "cancelled"),
        RunStatus::Failed => (RED, "✗ ", "failed"),
        RunStatus::Suspended => (YELLOW, "⏸ ", "suspended"),
    };
    let mut told = Row::default().with(style, word);
    if matches!(report.status, RunStatus::Stopped | RunStatus::Failed | RunStatus::Suspended) {
        told.push(PLAIN, format!(": {}", on_one_line(&report.stop.to_string())));
    }
    let mut facts = vec![counted(report.steps, "step")];
    if report.tool_calls > 0 {
        facts.push(counted(report.tool_calls, "tool call"));
    }
    facts.extend(usage(spent));
    facts.push(duration(Duration::from_millis(report.duration_ms)));
    told.push(DIM, dotted(&facts));
    let mut rows = behind(&Row::default().with(style, mark), wrap(&told.0, width.saturating_sub(2)));
    if let Some(advice) = advice(report) {
        rows.extend(behind(
            &Row::default().with(PLAIN, "  "),
            wrap(&Row::default().with(DIM, advice).0, width.saturating_sub(2)),
        ));
    }
    rows
}

/// Tokens and money, as far as known.
pub(crate) fn usage(usage: Usage) -> Vec<String> {
    let mut facts = Vec::new();
    if usage.total_tokens() > 0 {
        facts.push(format!("{} in, {} out", tokens(usage.input_tokens), tokens(usage.output_tokens)));
    }
    if usage.cost_micros > 0 {
        facts.push(money(usage.cost_micros));
    }
    facts
}

/// What a person can do about it.
fn advice(report: &RunReport) -> Option<String> {
    let words = match report.stop.reason {
        StopReason::Steps => Some("--max-steps lets it take more"),
        StopReason::Cost => Some("--max-cost lets it spend more"),
        StopReason::Time | StopReason::Deadline => Some("--timeout gives it more time"),
        StopReason::Error if report.stop.source == "model" => Some("`vertebra doctor` checks the model and the set-up"),
        StopReason::Suspended => {
            let session = short_id(&report.session_id);
            return Some(format!(
                "to see what it asks: vertebra sessions questions {session}; to answer and go on: vertebra sessions \
                 answer {session} --approve --resume (or --deny WHY)"
            ));
        }
        StopReason::Finished
        | StopReason::Retries
        | StopReason::Tokens
        | StopReason::Requested
        | StopReason::Cancelled
        | StopReason::Error => None,
    };
    words.map(str::to_owned)
}
