//! A run for dumb terminals and pipes: the same in fewer lines; nothing moves, nothing is coloured.
//!
//! The answer comes when a step is over, as the model wrote it; only what is not plainly visible is spelled out.

use std::sync::Arc;

use vertebra::{Channel, Clock, News, RunEvent, ToolCall, ToolResult, Usage};

use super::{
    About, Aside, Canvas, Showing, View,
    block::{self, Place},
    calls::{Calls, Open},
    ending,
    hooks::{Told, of_call},
    result::Much,
    rows::{Row, lines},
    text::{counted, visible},
};
use crate::surface::Surface;

/// Rows are cut here, whatever the width is: nobody knows who reads them.
const WIDTH: usize = 160;

/// Writes lines.
pub(crate) struct Plain {
    canvas: Canvas,
    clock: Arc<dyn Clock>,
    calls: Calls,
    /// What the model said in this step.
    said: String,
    /// What it said last before it did something.
    settled: String,
    spent: Usage,
    told: Told,
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
        }
    }

    /// What the model said on its way is no answer.
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

/// The answer, as the model wrote it.
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
            News::Missed { events } => surface.write(&format!("… {} missed\n", counted(*events, "event"))),
            News::Ended { report } if event.depth == 0 => {
                self.said.clear();
                // On the same screen nothing needs to be said twice.
                if self.canvas == Canvas::Pipe || report.text != self.settled {
                    answer(&report.text, surface);
                }
                self.settled.clear();
                write(&ending::rows(report, std::mem::take(&mut self.spent), WIDTH), surface);
            }
            News::Delta { .. } | News::ToolSays { .. } | News::Ended { .. } => {}
        }
    }

    fn tick(&mut self, _: &mut dyn Surface) {}

    fn aside(&mut self, _: Aside, _: &mut dyn Surface) {}

    fn end(&mut self, surface: &mut dyn Surface) {
        self.settle(surface);
        self.calls.clear();
    }
}
