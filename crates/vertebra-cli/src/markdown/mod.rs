//! Renders streamed Markdown on a terminal.
//!
//! A finished block is written once. The unfinished rest can be drawn in the footer. The result does not depend on how the
//! text was split into pieces.

mod blocks;
mod fence;
mod render;
mod table;

use pulldown_cmark::{Event, Options, Parser, Tag};

use self::{
    blocks::{Block, Carried, Kind, blocks, line_start},
    fence::Fence,
    render::{Look, code_row, label_row, render},
};
use crate::view::{
    rows::{PLAIN, Row, Span, wrap},
    text::is_plain,
};

/// The longest line or block. A longer one counts as finished.
const MAX_BYTES: usize = 16 * 1024;
const MAX_LINES: usize = 400;

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// A renderer for one text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Markdown {
    colour: bool,
    /// Complete lines of unfinished blocks.
    pending: String,
    /// The incomplete last line.
    partial: String,
    /// How many bytes of the first line have been written.
    flowed: usize,
    /// The open code block.
    fence: Option<Fence>,
    /// What is known about the first block.
    carried: Option<Carried>,
    /// Whether anything has been written.
    begun: bool,
}

impl Markdown {
    /// Creates a renderer. Without colours, marks such as `**` stay in the text.
    pub(crate) fn new(colour: bool) -> Self {
        Self { colour, ..Self::default() }
    }

    /// Adds a piece and returns the rows that are finished.
    pub(crate) fn push(&mut self, piece: &str, width: usize) -> Vec<Row> {
        let (mut rows, mut rest) = (Vec::new(), piece);
        while !rest.is_empty() {
            let newline = rest.find('\n');
            let part = &rest[..newline.unwrap_or(rest.len())];
            let room = MAX_BYTES.saturating_sub(self.partial.len());
            if part.len() > room {
                let end = part.floor_char_boundary(room);
                self.partial.push_str(&part[..end]);
                rest = &rest[end..];
                self.end_line(width, &mut rows);
            } else {
                self.partial.push_str(part);
                rest = &rest[part.len() + usize::from(newline.is_some())..];
                if newline.is_some() {
                    self.end_line(width, &mut rows);
                }
            }
        }
        self.flow(width, &mut rows);
        rows
    }

    /// Ends the text and returns the remaining rows.
    pub(crate) fn finish(&mut self, width: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        if !self.partial.is_empty() {
            self.end_line(width, &mut rows);
        }
        self.settle(width, Until::End, &mut rows);
        *self = Self::new(self.colour);
        rows
    }

    /// Renders the unfinished rest.
    pub(crate) fn unfinished(&self, width: usize) -> Vec<Row> {
        let mut copy = self.clone();
        copy.finish(width)
    }

    /// Returns whether everything has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.partial.is_empty()
    }

    fn look(&self, width: usize) -> Look {
        Look { width, colour: self.colour }
    }

    /// Writes the full rows of a paragraph whose line is incomplete, because models write whole paragraphs on one line.
    fn flow(&mut self, width: usize, rows: &mut Vec<Row>) {
        let begins = self.partial.starts_with(char::is_alphabetic);
        if self.fence.is_some() || !self.pending.is_empty() || !begins {
            return;
        }
        let plain = self.partial.find(|c| !flows(c)).unwrap_or(self.partial.len());
        let Some(whole_words) = self.partial[..plain].rfind(' ').filter(|end| *end > self.flowed) else { return };
        let text = self.partial[self.flowed..whole_words].to_owned();
        let mut wrapped = wrap(&[Span { style: PLAIN, text: text.clone() }], width);
        wrapped.pop();
        if wrapped.is_empty() {
            return;
        }
        let mut out = 0;
        for row in &wrapped {
            out += row.0.iter().map(|span| span.text.len()).sum::<usize>();
            out += text[out..].len() - text[out..].trim_start_matches(' ').len();
        }
        if self.flowed == 0 {
            self.gap(rows);
        }
        self.flowed += out;
        rows.append(&mut wrapped);
    }

    fn end_line(&mut self, width: usize, rows: &mut Vec<Row>) {
        if self.partial.ends_with('\r') {
            self.partial.pop();
        }
        self.flow(width, rows);
        let line = std::mem::take(&mut self.partial);
        if let Some(fence) = &self.fence {
            if fence.is_closed_by(&line) {
                self.fence = None;
            } else {
                rows.push(code_row(fence.inside(&line)));
            }
            return;
        }
        if let Some(fence) = Fence::opened_by(&line).filter(|fence| !(fence.indent >= 2 && self.in_list())) {
            self.settle(width, Until::End, rows);
            self.gap(rows);
            rows.extend(label_row(&fence.info));
            self.fence = Some(fence);
            return;
        }
        let goes_on = goes_on(&self.pending, &line);
        self.pending.push_str(&line);
        self.pending.push('\n');
        if self.pending.len() > MAX_BYTES || self.pending.lines().count() > MAX_LINES {
            self.settle(width, Until::End, rows);
        } else if !goes_on {
            self.settle(width, Until::Open, rows);
        }
    }

    /// Writes the blocks that can no longer change.
    fn settle(&mut self, width: usize, until: Until, rows: &mut Vec<Row>) {
        let pending = std::mem::take(&mut self.pending);
        let events: Vec<_> = Parser::new_ext(&pending, OPTIONS).into_offset_iter().collect();
        let mut blocks = blocks(&pending, &events, self.carried.take());
        let open = match (until, blocks.last()) {
            (Until::Open, Some(last)) if !last.is_over(&pending) => blocks.pop(),
            // A link definition may come before its link.
            (Until::Open, None) if !pending.trim().is_empty() => Some(Block::unknown()),
            _ => None,
        };
        for block in &blocks {
            if block.apart && self.flowed == 0 {
                self.gap(rows);
            }
            let events = events[block.events.clone()].iter().map(|(event, _)| event);
            let number = if let Kind::Item(number, _) = block.kind { number } else { None };
            rows.extend(render(events, self.look(width), number, std::mem::take(&mut self.flowed)));
        }
        if let Some(open) = open {
            pending[line_start(&pending, open.start)..].clone_into(&mut self.pending);
            self.carried = open.carried();
        } else {
            self.flowed = 0;
        }
    }

    fn in_list(&self) -> bool {
        let mut events = Parser::new_ext(&self.pending, OPTIONS);
        matches!(events.next(), Some(Event::Start(Tag::List(_))))
    }

    fn gap(&mut self, rows: &mut Vec<Row>) {
        if self.begun {
            rows.push(Row::default());
        }
        self.begun = true;
    }
}

/// How much is written.
#[derive(Clone, Copy)]
enum Until {
    /// Everything except a block that may continue.
    Open,
    /// Everything.
    End,
}

/// Returns whether a line most likely continues a table or a quote, so that no block is finished. A wrong guess only delays
/// the block until the next line.
fn goes_on(block: &str, line: &str) -> bool {
    ['|', '>'].into_iter().any(|mark| block.starts_with(mark) && line.starts_with(mark))
}

/// Returns whether the meaning of a character cannot depend on the text after it.
fn flows(c: char) -> bool {
    is_plain(c) && !matches!(c, '*' | '_' | '[' | ']' | '<' | '>' | '&' | '\\' | '`' | '~' | '|' | '\t')
}

#[cfg(test)]
mod tests;
