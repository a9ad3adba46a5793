//! The footer: what is being written, what runs, for how long and at what cost.

use std::time::Duration;

use super::{
    call, ending,
    people::{MAX_TEXT, People},
    rows::{BOLD, CYAN, DIM, PLAIN, Row, Span, YELLOW, behind, wrap},
    text::{dotted, more, on_one_line, visible},
};
use crate::surface::Surface;

/// How many rows at the end of an unfinished answer are shown.
const MAX_ANSWER: usize = 8;
/// How many rows of a thought are shown.
const MAX_THOUGHT: usize = 3;
/// How many calls are shown.
const MAX_CALLS: usize = 5;
/// How long a call must run before it is shown, so that short calls do not flicker.
const PATIENCE: Duration = Duration::from_millis(200);
/// How many rows of output are shown for a single call, and for each of several.
const MAX_TAIL: (usize, usize) = (4, 1);
/// How many unread messages are shown.
const MAX_WAITING: usize = 3;

const FRAMES: &[&str] = &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

impl People {
    /// Draws the footer.
    pub(super) fn draw(&self, surface: &mut dyn Surface) {
        let width = usable(surface.width());
        let rows = self.since.map(|since| self.moving(since, width)).unwrap_or_default();
        surface.footer(rows.into_iter().map(|row| row.cut(width).paint(self.colour)).collect());
    }

    fn moving(&self, since: Duration, width: usize) -> Vec<Row> {
        let now = self.clock.elapsed();
        let mut rows = self.answer_so_far(width);
        rows.extend(self.thought_so_far(width));
        rows.extend(self.at_work(now, width));
        rows.extend(self.drafts.iter().map(|(_, draft)| draft.row()));
        if self.stands_apart() && rows.first().is_some_and(|row| *row != Row::default()) {
            rows.insert(0, Row::default());
        }
        if self.stands_apart() || !rows.is_empty() {
            rows.push(Row::default());
        }
        rows.extend(self.retrying());
        rows.push(self.status(now, now.saturating_sub(since)));
        rows.extend(self.waiting(width));
        rows
    }

    fn answer_so_far(&self, width: usize) -> Vec<Row> {
        last(self.answer.unfinished(width.min(MAX_TEXT)), MAX_ANSWER)
    }

    fn thought_so_far(&self, width: usize) -> Vec<Row> {
        let Some(thought) = &self.thought else { return Vec::new() };
        let text = on_one_line(&thought.text);
        let rows = wrap(&[Span { style: DIM, text }], width.min(MAX_TEXT).saturating_sub(2));
        behind(&Row::default().with(DIM, "∴ "), last(rows, MAX_THOUGHT))
    }

    fn at_work(&self, now: Duration, width: usize) -> Vec<Row> {
        let at_work = || self.calls.running().filter(|(open, _)| now.saturating_sub(open.began) >= PATIENCE);
        let count = at_work().count();
        let tail = if count == 1 { MAX_TAIL.0 } else { MAX_TAIL.1 };
        let mut rows = Vec::new();
        for (open, call) in at_work().take(MAX_CALLS) {
            let margin = "  ".repeat(open.depth.min(4) as usize);
            let mark = Row::default().with(PLAIN, &*margin).with(CYAN, format!("{} ", frame(now)));
            let time = Row::default().with(DIM, format!(" · {}", seconds(now.saturating_sub(open.began))));
            let room = width.saturating_sub(mark.width() + time.width());
            rows.push(mark.then(call::on_one_row(call).cut(room)).then(time));
            let skipped = open.tail.len().saturating_sub(tail);
            let says = open.tail.iter().skip(skipped);
            rows.extend(says.map(|line| Row::default().with(DIM, format!("{margin}    {}", visible(line)))));
        }
        if let missing @ 1.. = count.saturating_sub(MAX_CALLS) {
            rows.push(Row::default().with(DIM, format!("  {}", more(missing, "call"))));
        }
        rows
    }

    /// Returns why the model call is made again, also while it is.
    fn retrying(&self) -> Option<Row> {
        let retry = self.retry.as_ref()?;
        Some(Row::default().with(YELLOW, "↻ ").with(PLAIN, on_one_line(&retry.message)))
    }

    fn status(&self, now: Duration, elapsed: Duration) -> Row {
        if let Some(retry) = self.retry.as_ref().filter(|retry| retry.at > now) {
            // Rounded up: it never says that it is over before it is.
            let left = retry.at.saturating_sub(now).as_millis().div_ceil(1000);
            let left = seconds(Duration::from_secs(u64::try_from(left).unwrap_or(u64::MAX)));
            let mut facts = vec![format!("retry {}", retry.number)];
            facts.extend((!self.aside.keys.is_empty()).then(|| self.aside.keys.clone()));
            let doing = format!(" trying again in {left}");
            return Row::default().with(CYAN, frame(now)).with(BOLD, doing).with(DIM, dotted(&facts));
        }
        let doing = if self.calls.is_asking() {
            return Row::default().with(YELLOW, "? waiting for your answer");
        } else if self.calls.running().next().is_some() {
            "working"
        } else if self.thought.is_some() {
            "thinking"
        } else if !self.drafts.is_empty() || !self.answer.is_empty() {
            "writing"
        } else {
            "waiting for the model"
        };
        let mut facts = vec![seconds(elapsed)];
        facts.extend(self.retry.as_ref().map(|retry| format!("retry {}", retry.number)));
        facts.extend(ending::usage(self.spent));
        facts.extend((!self.aside.keys.is_empty()).then(|| self.aside.keys.clone()));
        let facts = dotted(&facts);
        Row::default().with(CYAN, frame(now)).with(BOLD, format!(" {doing}")).with(DIM, facts)
    }

    /// Returns the messages that the model has not read yet.
    fn waiting(&self, width: usize) -> Vec<Row> {
        let waiting = &self.aside.waiting;
        let when = Row::default().with(DIM, " (sent at the next step)");
        let row = |text: &String| {
            let row = Row::default().with(DIM, "› ").with(PLAIN, on_one_line(text));
            row.cut(width.saturating_sub(when.width())).then(when.clone())
        };
        let mut rows: Vec<Row> = waiting.iter().take(MAX_WAITING).map(row).collect();
        if let missing @ 1.. = waiting.len().saturating_sub(MAX_WAITING) {
            rows.push(Row::default().with(DIM, format!("› {}", more(missing, "message"))));
        }
        rows
    }
}

/// Returns the usable width. The last column stays free, because some terminals wrap after writing there.
pub(super) fn usable(width: usize) -> usize {
    width.saturating_sub(1)
}

fn last(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    rows.drain(..rows.len().saturating_sub(most));
    rows
}

/// Formats whole seconds, so that the number does not change ten times a second.
fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => super::text::duration(time),
    }
}

fn frame(now: Duration) -> &'static str {
    let count = now.as_millis() / FRAME.as_millis();
    FRAMES[usize::try_from(count % FRAMES.len() as u128).unwrap_or_default()]
}
