//! The header of a session and the closing line of a run.

use std::time::Duration;

use vertebra::{RunReport, RunStatus, StopReason, Usage};

use super::{
    About,
    rows::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, Row, YELLOW, behind, wrap},
    text::{counted, dotted, duration, money, on_one_line, short_id, tokens, visible},
};

/// Returns the header: model, folder, permission mode, notices and warnings.
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

/// Returns the warnings.
pub(crate) fn warning_rows(warnings: &[String], width: usize) -> Vec<Row> {
    let width = width.saturating_sub(2);
    let rows = warnings.iter().flat_map(|warning| {
        let shown = visible(warning);
        let rows = shown.split('\n').flat_map(|line| {
            let row = Row::default().with(YELLOW, line);
            if is_excerpt(line) { vec![row.cut(width)] } else { wrap(&row.0, width) }
        });
        behind(&Row::default().with(YELLOW, "! "), rows.collect())
    });
    rows.collect()
}

/// Returns whether a line of an error shows a line of a file, or marks a part of the line above it: `  12 | mode = 1`. Its
/// columns mean something, so it is not wrapped.
fn is_excerpt(line: &str) -> bool {
    let inner = line.trim_start_matches(' ').trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.starts_with("  ") && inner.trim_start_matches(' ').starts_with("| ")
}

/// Returns a notice.
pub(crate) fn notice_rows(notice: &str, width: usize) -> Vec<Row> {
    let text = Row::default().with(DIM, visible(notice));
    behind(&Row::default().with(CYAN, "• "), wrap(&text.0, width.saturating_sub(2)))
}

/// Returns the line about a model call that failed and is made again.
pub(crate) fn retry_rows(message: &str, wait: Duration, width: usize) -> Vec<Row> {
    let text = Row::default().with(DIM, format!("{}; trying again in {}", visible(message), duration(wait)));
    behind(&Row::default().with(YELLOW, "↻ "), wrap(&text.0, width.saturating_sub(2)))
}

/// Returns the command that continues a session.
pub(crate) fn resume_command(session_id: &str) -> String {
    format!("vertebra sessions resume {}", short_id(session_id))
}

/// Returns the closing line: how the run ended, why, what to do next, and what it used. `unapproved` calls were denied
/// because no one could approve them; then the exit code is 4, and the line says so.
pub(crate) fn rows(report: &RunReport, spent: Usage, unapproved: u32, width: usize) -> Vec<Row> {
    let (style, mark, word) = match report.status {
        RunStatus::Completed if unapproved > 0 => (RED, "⊘ ", "denied"),
        RunStatus::Completed => (GREEN, "✓ ", "done"),
        RunStatus::Stopped => (YELLOW, "■ ", "stopped"),
        RunStatus::Cancelled => (YELLOW, "■ ", "cancelled"),
        RunStatus::Failed => (RED, "✗ ", "failed"),
        RunStatus::Suspended => (YELLOW, "⏸ ", "suspended"),
        _ => (YELLOW, "■ ", "ended"),
    };
    let mut told = Row::default().with(style, word);
    if matches!(report.status, RunStatus::Stopped | RunStatus::Failed | RunStatus::Suspended) {
        told.push(PLAIN, format!(": {}", on_one_line(&report.stop.to_string())));
    }
    if unapproved > 0 && matches!(report.status, RunStatus::Completed | RunStatus::Stopped) {
        let colon = if report.status == RunStatus::Completed { ":" } else { ";" };
        told.push(
            PLAIN,
            format!("{colon} {} needed approval (use --allow, --mode or --wait)", counted(unapproved, "call")),
        );
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

/// Returns tokens and cost, if known.
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

/// Returns what the user can do next.
fn advice(report: &RunReport) -> Option<String> {
    let words = match report.stop.reason {
        StopReason::Steps => Some("raise the limit with --max-steps"),
        StopReason::Cost => Some("raise the limit with --max-cost"),
        StopReason::Time | StopReason::Deadline => Some("raise the limit with --timeout"),
        StopReason::Error if report.stop.source == "model" => {
            Some("run `vertebra doctor` to check the model and the setup")
        }
        StopReason::Suspended if report.stop.source != "approver" => {
            return Some(format!("continue with: {}", resume_command(&report.session_id)));
        }
        StopReason::Suspended => {
            let session = short_id(&report.session_id);
            return Some(format!(
                "see the question: vertebra sessions questions {session}; answer and continue: vertebra sessions \
                 answer {session} --approve --resume (or --deny WHY)"
            ));
        }
        _ => None,
    };
    words.map(str::to_owned)
}
