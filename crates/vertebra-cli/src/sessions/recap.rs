//! What a session was about, for the user who continues it: the last exchanges, and what was left to do.

use vertebra::{RunStatus, Session};
use vertebra_kit::bash::Lift;

use super::{
    Past,
    story::{RunStory, Story},
};
use crate::{
    drive::Desk,
    view::{
        rows::{BOLD, DIM, PLAIN, Row, behind, wrap},
        text::{cut, more, on_one_line, short_id, visible},
    },
};

/// How many exchanges are shown.
const MAX_RUNS: usize = 3;
/// The longest prompt that is shown.
const MAX_PROMPT: usize = 400;
/// How many lines of an answer are shown.
const MAX_LINES: usize = 12;
/// The longest prompt that is named on one line.
const MAX_NAME: usize = 80;

/// What was left to do in a session.
pub(super) enum Left {
    /// A run has not ended.
    Unfinished,
    /// The last run ended before its task was done. This prompt continues it.
    Undone { prompt: String },
    /// Nothing.
    Nothing,
}

impl Past {
    /// Shows the last exchanges on a terminal, and says everywhere what is continued.
    pub(crate) fn recap(&self, session: &Session, desk: &mut Desk) {
        self.left(session, desk);
    }

    /// Says what the session was granted before, and still holds.
    pub(crate) fn granted(session: &Session, lift: &Lift, desk: &mut Desk) {
        if let Some(granted) = lift.granted(session.id()) {
            desk.note(&format!("still granted in this session: {granted}; change it with /sandbox in a chat"));
        }
    }

    /// The same. Returns what was left to do.
    pub(super) fn left(&self, session: &Session, desk: &mut Desk) -> Left {
        // What cannot be read is not shown; `sessions show` and `verify` report it.
        let lines = self.store.lines(&self.row.session_id).into_iter().flatten();
        let story = Story::of(lines.filter_map(Result::ok));
        let runs: Vec<&RunStory> = story.runs.iter().filter(|run| run.depth == 0).collect();
        if desk.is_terminal() {
            let width = desk.text_width();
            if let earlier @ 1.. = runs.len().saturating_sub(MAX_RUNS) {
                desk.note(&format!("… {earlier} earlier"));
            }
            for run in &runs[runs.len().saturating_sub(MAX_RUNS)..] {
                desk.say(&exchange(run, width));
            }
            desk.say(&[Row::default()]);
        }
        let id = short_id(session.id());
        let Some(last) = runs.last() else {
            desk.note(&format!("continuing session {id}"));
            return Left::Nothing;
        };
        let task = cut(&on_one_line(&last.prompt), MAX_NAME).into_owned();
        match (session.unfinished(), last.status, &last.stop) {
            (Some(_), ..) => {
                let why = match &last.waits_for {
                    Some(waits) => on_one_line(waits),
                    None => "its process ended before it was done".to_owned(),
                };
                desk.note(&format!("continuing session {id}: “{task}” is not finished ({why})"));
                Left::Unfinished
            }
            (None, Some(status), Some(stop)) if status != RunStatus::Completed => {
                let stop = on_one_line(stop);
                let ended = if status == RunStatus::Failed { "failed".to_owned() } else { format!("was {status}") };
                desk.note(&format!("continuing session {id}: “{task}” {ended} ({stop})"));
                let prompt =
                    format!("Continue with the task. The run before this one ended early: it {ended} ({stop}).");
                Left::Undone { prompt }
            }
            _ => {
                desk.note(&format!("continuing session {id}: “{task}” is finished"));
                Left::Nothing
            }
        }
    }
}

/// Formats a prompt and the answer to it.
fn exchange(run: &RunStory, width: usize) -> Vec<Row> {
    let prompt = Row::default().with(BOLD, cut(&on_one_line(&run.prompt), MAX_PROMPT));
    let mut rows = vec![Row::default()];
    rows.extend(behind(&Row::default().with(BOLD, "❯ "), wrap(&prompt.0, width.saturating_sub(2))));
    let answer = run.steps.iter().rev().map(|step| step.said.trim()).find(|said| !said.is_empty()).unwrap_or_default();
    let lines: Vec<&str> = answer.lines().collect();
    for line in lines.iter().take(MAX_LINES) {
        rows.extend(wrap(&Row::default().with(PLAIN, visible(line)).0, width));
    }
    if let missing @ 1.. = lines.len().saturating_sub(MAX_LINES) {
        rows.push(Row::default().with(DIM, more(missing, "line")));
    }
    rows
}
