//! The view for a terminal: finished text scrolls up, and a footer shows what is under way.

use std::{sync::Arc, time::Duration};

use vertebra::{Approval, Channel, Clock, News, Record, RunEvent, ToolCall, ToolResult, Usage};

use super::{
    About, Aside, Showing, View,
    block::{self, Place},
    call::Draft,
    calls::{Calls, Open},
    ending,
    footer::usable,
    hooks::{Told, of_call},
    result::Much,
    rows::{DIM, Row, YELLOW, lines},
    text::{counted, duration},
};
use crate::{markdown::Markdown, surface::Surface};

/// The maximum width of text: longer lines are hard to read.
pub(crate) const MAX_TEXT: usize = 100;
/// The shortest thought that is reported.
const THOUGHT: Duration = Duration::from_secs(1);
/// What stands below an answer that broke off.
const CUT_OFF: &str = "✂ cut off here; the model is asked again, and its next answer replaces this one";
/// How many bytes of a thought are kept.
const MAX_THOUGHT: usize = 2 * 1024;

/// Draws a run.
pub(crate) struct People {
    pub(super) colour: bool,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) answer: Markdown,
    pub(super) thought: Option<Thought>,
    pub(super) drafts: Vec<(u32, Draft)>,
    pub(super) calls: Calls,
    pub(super) spent: Usage,
    /// When the run started; `None` between runs.
    pub(super) since: Option<Duration>,
    /// The model call that is made again after a wait.
    pub(super) retry: Option<Retry>,
    pub(super) aside: Aside,
    /// What was written last.
    above: Above,
    told: Told,
}

/// A model call that failed and is made again.
pub(super) struct Retry {
    run_id: Arc<str>,
    pub(super) message: String,
    pub(super) number: u32,
    /// When it is made.
    pub(super) at: Duration,
}

/// A thought of the model.
pub(super) struct Thought {
    began: Duration,
    pub(super) text: String,
}

/// What was written last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    Answer,
    /// A block of one row.
    Row,
    /// A block of several rows.
    Rows,
}

impl People {
    pub(crate) fn new(showing: &Showing) -> Self {
        Self {
            colour: showing.colour,
            clock: showing.clock.clone(),
            answer: Markdown::new(showing.colour),
            thought: None,
            drafts: Vec::new(),
            calls: Calls::default(),
            spent: Usage::default(),
            since: None,
            retry: None,
            aside: Aside::default(),
            above: Above::Nothing,
            told: Told::default(),
        }
    }

    /// Returns whether an empty line separates the footer from the text above.
    pub(super) fn stands_apart(&self) -> bool {
        match self.above {
            Above::Nothing => false,
            // A paragraph that is partly written continues without a gap.
            Above::Answer => self.answer.is_empty(),
            Above::Row | Above::Rows => true,
        }
    }

    /// Returns the width of text.
    fn text_width(width: usize) -> usize {
        usable(width).min(MAX_TEXT)
    }

    fn take(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        match &event.news {
            News::Step { .. } => self.settle(surface),
            News::Delta { channel, text, call } if event.depth == 0 => match (channel, call) {
                (Channel::Text, _) => self.says(text, surface),
                (Channel::Reasoning, _) => self.thinks(text),
                (Channel::Call, Some(call)) => {
                    self.settle_text(surface);
                    self.draft(call.index, &call.tool, text);
                }
                (Channel::Call, None) => {}
            },
            News::ToolBegan { call } => {
                self.settle(surface);
                self.calls.began(event, call, self.clock.elapsed());
            }
            News::ToolSays { call_id, text } => self.calls.of(event, call_id).says(text),
            News::ToolEnded { call, result } => self.ended(event, call, result, surface),
            News::Hooks { record, call_id: Some(id), .. } => {
                self.calls.of(event, id).notes.extend(of_call(record));
            }
            News::Hooks { record, call_id: None, .. } => self.hooks(event, record, surface),
            News::Asked { approval } => {
                self.settle(surface);
                self.calls.asked(event, approval);
            }
            News::Decided { call_id, decision } => self.calls.decided(event, call_id, decision),
            News::Used { usage } => self.spent += *usage,
            News::Notice { message, .. } => {
                let rows = ending::notice_rows(message, surface.width());
                self.write(&rows, surface);
            }
            News::Retry { message, retry, wait_ms, cut_off } => {
                self.settle(surface);
                if *cut_off && event.depth == 0 {
                    self.write(&[Row::default().with(YELLOW, CUT_OFF)], surface);
                }
                let (run_id, message, number) = (event.run_id.clone(), message.clone(), *retry);
                let at = self.clock.elapsed() + Duration::from_millis(*wait_ms);
                self.retry = Some(Retry { run_id, message, number, at });
            }
            News::Missed { events } => {
                let text = format!("… {} not shown", counted(*events, "event"));
                self.write(&[Row::default().with(DIM, text)], surface);
            }
            News::Ended { report } if event.depth == 0 => {
                self.settle(surface);
                // Includes the usage of subagents, because the user pays for it. A user at this terminal can always be asked, so no
                // call is denied for lack of an approver.
                let spent = std::mem::take(&mut self.spent);
                let rows = ending::rows(report, spent, 0, surface.width());
                self.above = if self.above == Above::Nothing { Above::Nothing } else { Above::Rows };
                self.write(&rows, surface);
                self.since = None;
            }
            // The text of a subagent is for its parent, which reports the result. News of other kinds has no row.
            _ => {}
        }
    }

    fn says(&mut self, text: &str, surface: &mut dyn Surface) {
        self.settle_thought(surface);
        let rows = self.answer.push(text, Self::text_width(surface.width()));
        self.write_answer(&rows, surface);
    }

    fn thinks(&mut self, text: &str) {
        let began = self.clock.elapsed();
        let thought = self.thought.get_or_insert(Thought { began, text: String::new() });
        thought.text.push_str(text);
        if let Some(over @ 1..) = thought.text.len().checked_sub(MAX_THOUGHT) {
            thought.text.drain(..thought.text.ceil_char_boundary(over));
        }
    }

    fn draft(&mut self, index: u32, tool: &str, piece: &str) {
        let known = self.drafts.iter().position(|(of, _)| *of == index);
        let at = known.unwrap_or_else(|| {
            self.drafts.push((index, Draft::new(tool)));
            self.drafts.len() - 1
        });
        self.drafts[at].1.push(piece);
    }

    fn ended(&mut self, event: &RunEvent, call: &ToolCall, result: &ToolResult, surface: &mut dyn Surface) {
        self.settle(surface);
        self.announce(event, surface);
        let Open { notes, announced, is_shown, is_refused, .. } = self.calls.end(event, &call.id);
        if is_refused && notes.is_empty() {
            return;
        }
        let place = self.place(event, surface);
        if announced {
            self.write_under(&block::child_ended(call, result, place), surface);
            return;
        }
        let rows = if is_shown {
            block::ended_after_question(call, result, &notes, place)
        } else {
            block::ended(call, result, &notes, Much::Some, place)
        };
        if event.depth > 0 { self.write_under(&rows, surface) } else { self.write(&rows, surface) }
    }

    /// Writes the call that started a subagent before the first event of the subagent.
    fn announce(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        let Some(parent) = self.calls.parent_of(event) else { return };
        parent.announced = true;
        let place = Place { width: surface.width(), depth: parent.depth, agent: None };
        let Some(call) = &parent.call else { return };
        let rows = block::announced(call, &parent.notes, place);
        self.write(&rows, surface);
    }

    fn place<'e>(&self, event: &'e RunEvent, surface: &dyn Surface) -> Place<'e> {
        let agent = (event.depth > 0 && self.calls.several_children()).then_some(&*event.agent);
        Place { width: surface.width(), depth: event.depth, agent }
    }

    /// Writes what hooks did outside a tool call.
    fn hooks(&mut self, event: &RunEvent, record: &Record, surface: &mut dyn Surface) {
        let notes = self.told.notes(record);
        if notes.is_empty() {
            return;
        }
        self.settle(surface);
        let place = self.place(event, surface);
        let rows = notes.iter().flat_map(|note| block::noted(note, place)).collect();
        self.write(&place.put(rows), surface);
    }

    /// Finishes the text and drops the call drafts.
    fn settle(&mut self, surface: &mut dyn Surface) {
        self.settle_text(surface);
        self.drafts.clear();
    }

    fn settle_text(&mut self, surface: &mut dyn Surface) {
        self.settle_thought(surface);
        let rows = self.answer.finish(Self::text_width(surface.width()));
        self.write_answer(&rows, surface);
        if self.above == Above::Answer {
            self.above = Above::Rows;
        }
    }

    fn settle_thought(&mut self, surface: &mut dyn Surface) {
        let Some(thought) = self.thought.take() else { return };
        let time = self.clock.elapsed().saturating_sub(thought.began);
        if time >= THOUGHT {
            self.write(&[Row::default().with(DIM, format!("∴ thought for {}", duration(time)))], surface);
        }
    }

    fn write_answer(&mut self, rows: &[Row], surface: &mut dyn Surface) {
        if rows.is_empty() {
            return;
        }
        let gap = if matches!(self.above, Above::Row | Above::Rows) { "\n" } else { "" };
        surface.answer(&format!("{gap}{}", lines(rows, self.colour)));
        self.above = Above::Answer;
    }

    /// Writes rows that belong to the row above.
    fn write_under(&mut self, rows: &[Row], surface: &mut dyn Surface) {
        surface.write(&lines(rows, self.colour));
        self.above = Above::Rows;
    }

    fn write(&mut self, rows: &[Row], surface: &mut dyn Surface) {
        if rows.is_empty() {
            return;
        }
        let now = if rows.len() == 1 { Above::Row } else { Above::Rows };
        let apart = match self.above {
            Above::Nothing => false,
            Above::Row => now == Above::Rows,
            Above::Answer | Above::Rows => true,
        };
        surface.write(&format!("{}{}", if apart { "\n" } else { "" }, lines(rows, self.colour)));
        self.above = now;
    }
}

impl View for People {
    fn begin(&mut self, about: &About<'_>, surface: &mut dyn Surface) {
        let rows = ending::header(about, surface.width());
        self.write(&rows, surface);
        self.above = Above::Rows;
    }

    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        self.since.get_or_insert(self.clock.elapsed());
        // Whatever a run does next, it does not wait any more. Hooks may have a word about the retry itself.
        let is_of_hooks = matches!(event.news, News::Hooks { .. });
        self.retry.take_if(|retry| retry.run_id == event.run_id && !is_of_hooks);
        self.take(event, surface);
        self.draw(surface);
    }

    fn asked(&mut self, approval: &Approval) {
        self.calls.shown(approval);
    }

    fn tick(&mut self, surface: &mut dyn Surface) {
        self.draw(surface);
    }

    fn aside(&mut self, aside: Aside, surface: &mut dyn Surface) {
        self.aside = aside;
        self.draw(surface);
    }

    fn end(&mut self, surface: &mut dyn Surface) {
        self.settle(surface);
        self.calls.clear();
        self.since = None;
        self.retry = None;
        self.above = Above::Rows;
        self.draw(surface);
    }
}
