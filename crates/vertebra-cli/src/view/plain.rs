//! The view for dumb terminals and pipes: fewer lines, no footer, no colour.
//!
//! The answer is printed at the end of a step, as the model wrote it, with invisible characters spelled out.

use std::{sync::Arc, time::Duration};

use vertebra::{Approval, Channel, Clock, News, RunEvent, ToolCall, ToolResult, Usage};

use super::{
    About, Aside, Canvas, Showing, Unapproved, View,
    block::{self, Place},
    calls::{Calls, Open},
    ending,
    hooks::{Told, of_call},
    result::Much,
    rows::{Row, lines},
    text::{counted, visible},
};
use crate::surface::Surface;

/// The width of a row. The width of the reader is not known.
const WIDTH: usize = 160;

/// Prints a run as lines.
pub(crate) struct Plain {
    canvas: Canvas,
    clock: Arc<dyn Clock>,
    calls: Calls,
    /// The text of the model in this step.
    said: String,
    /// Its text before the last tool call.
    settled: String,
    spent: Usage,
    told: Told,
    unapproved: Unapproved,
    /// How many unapproved calls earlier closing lines have reported.
    reported: u32,
}

impl Plain {
    pub(crate) fn new(showing: &Showing) -> Self {
        Self {
            canvas: showing.canvas,
            clock: showing.clock.clone(),
            calls: Calls::default(),
            said: String::new(),
            settled: String::new(),
            spent: Usage::default(),
            told: Told::default(),
            unapproved: showing.unapproved.clone(),
            reported: 0,
        }
    }

    /// Prints text that the model wrote before a tool call. It is not the answer.
    fn settle(&mut self, surface: &mut dyn Surface) {
        if !self.said.trim().is_empty() {
            surface.write(&format!("{}\n", visible(self.said.trim_end())));
            self.settled = std::mem::take(&mut self.said);
        }
    }

    fn ended(&mut self, event: &RunEvent, call: &ToolCall, result: &ToolResult, surface: &mut dyn Surface) {
        let Open { notes, .. } = self.calls.end(event, &call.id);
        let agent = (event.depth > 0).then_some(&*event.agent);
        let place = Place { width: WIDTH, depth: 0, agent };
        write(&block::ended(call, result, &notes, Much::Little, place), surface);
    }
}

/// Prints the answer as the model wrote it.
pub(super) fn answer(text: &str, surface: &mut dyn Surface) {
    if !text.trim().is_empty() {
        surface.answer(&format!("{}\n", visible(text.trim_end())));
    }
}

fn write(rows: &[Row], surface: &mut dyn Surface) {
    if !rows.is_empty() {
        surface.write(&lines(rows, false));
    }
}

impl View for Plain {
    fn begin(&mut self, about: &About<'_>, surface: &mut dyn Surface) {
        write(&ending::header(about, WIDTH), surface);
    }

    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        match &event.news {
            News::Step { .. } => self.settle(surface),
            News::Delta { channel: Channel::Text, text, .. } if event.depth == 0 => self.said.push_str(text),
            News::ToolBegan { call } => {
                self.settle(surface);
                self.calls.began(event, call, self.clock.elapsed());
            }
            News::ToolEnded { call, result } => {
                self.settle(surface);
                self.ended(event, call, result, surface);
            }
            News::Hooks { record, call_id: Some(id), .. } => {
                self.calls.of(event, id).notes.extend(of_call(record));
            }
            News::Hooks { record, call_id: None, .. } => {
                let place = Place { width: WIDTH, depth: 0, agent: None };
                let notes = self.told.notes(record);
                write(&notes.iter().flat_map(|note| block::noted(note, place)).collect::<Vec<_>>(), surface);
            }
            News::Asked { approval } => {
                self.settle(surface);
                self.calls.asked(event, approval);
            }
            News::Decided { call_id, decision } => self.calls.decided(event, call_id, decision),
            News::Used { usage } => self.spent += *usage,
            News::Notice { message, .. } => write(&ending::notice_rows(message, WIDTH), surface),
            News::Retry { message, wait_ms, cut_off, .. } => {
                // The next answer replaces what came of this one.
                if *cut_off && event.depth == 0 {
                    self.said.clear();
                }
                write(&ending::retry_rows(message, Duration::from_millis(*wait_ms), WIDTH), surface);
            }
            News::Missed { events } => surface.write(&format!("… {} not shown\n", counted(*events, "event"))),
            News::Ended { report } if event.depth == 0 => {
                self.said.clear();
                // A terminal has shown the text already.
                if self.canvas == Canvas::Pipe || report.text != self.settled {
                    answer(&report.text, surface);
                }
                self.settled.clear();
                let unapproved = self.unapproved.count() - self.reported;
                self.reported += unapproved;
                write(&ending::rows(report, std::mem::take(&mut self.spent), unapproved, WIDTH), surface);
            }
            // Not shown here.
            _ => {}
        }
    }

    fn asked(&mut self, _: &Approval) {}

    fn tick(&mut self, _: &mut dyn Surface) {}

    fn aside(&mut self, _: Aside, _: &mut dyn Surface) {}

    fn end(&mut self, surface: &mut dyn Surface) {
        self.settle(surface);
        self.calls.clear();
    }
}
