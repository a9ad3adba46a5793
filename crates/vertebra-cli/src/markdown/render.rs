//! Renders one Markdown block as rows.

use anstyle::Style;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::table::Table;
use crate::view::{
    rows::{BOLD, CYAN, DIM, GREEN, PLAIN, Row, Span, wrap},
    text::visible,
};

/// The deepest nesting that is drawn.
const MAX_FRAMES: usize = 12;
/// The narrowest text inside nested blocks.
const MIN_WIDTH: usize = 10;
/// The length of a horizontal rule.
const RULE: usize = 40;

const CODE: Style = CYAN;
const ITALIC: Style = Style::new().italic();
const STRUCK: Style = Style::new().strikethrough();

/// The styles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) width: usize,
    pub(super) colour: bool,
}

/// Renders a line of code without wrapping, so that it can be copied.
pub(super) fn code_row(line: &str) -> Row {
    Row::default().with(PLAIN, "    ").with(CODE, visible(line))
}

/// Renders the language of a code block.
pub(super) fn label_row(info: &str) -> Option<Row> {
    let language = info.split([' ', ',', '{']).next().filter(|language| !language.is_empty())?;
    Some(Row::default().with(DIM, format!("  ── {}", visible(language))))
}

/// Renders the events of one block. `number` is the number of a list item. The first bytes of the text are skipped because
/// they have been written.
pub(super) fn render<'e>(
    events: impl Iterator<Item = &'e Event<'e>>,
    look: Look,
    number: Option<u64>,
    out_already: usize,
) -> Vec<Row> {
    let mut drawing = Drawing {
        look,
        out_already,
        rows: Vec::new(),
        frames: Vec::new(),
        lists: vec![List { next: number, loose: false }],
        inline: Vec::new(),
        styles: Vec::new(),
        links: Vec::new(),
        code: None,
        table: None,
        gap: false,
    };
    for event in events {
        drawing.take(event);
    }
    drawing.end_text();
    drawing.rows
}

struct Drawing {
    look: Look,
    out_already: usize,
    rows: Vec<Row>,
    /// The left margin of the first row and of the others.
    frames: Vec<Frame>,
    lists: Vec<List>,
    /// The text of the current block.
    inline: Vec<Span>,
    styles: Vec<Style>,
    /// The targets of open links and the start of their text.
    links: Vec<(String, usize)>,
    code: Option<String>,
    table: Option<Table>,
    /// Whether an empty line comes before the next block.
    gap: bool,
}

struct Frame {
    first: Option<Row>,
    rest: Row,
}

struct List {
    next: Option<u64>,
    loose: bool,
}

impl Drawing {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(text),
                None => self.say(self.style(), text),
            },
            Event::Code(text) => {
                self.mark("`");
                self.say(self.style().fg_color(CODE.get_fg_color()), text);
                self.mark("`");
            }
            Event::SoftBreak => self.say(self.style(), " "),
            Event::HardBreak => self.inline.push(Span { style: PLAIN, text: "\n".to_owned() }),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.room().min(RULE));
                self.emit(Row::default().with(DIM, rule));
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.tick_off(*done),
            Event::Html(text) | Event::InlineHtml(text) => self.say(DIM, text),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.say(self.style(), text);
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.styles.push(if *level == HeadingLevel::H1 { BOLD.underline() } else { BOLD });
                if !self.look.colour {
                    self.say(PLAIN, &format!("{} ", "#".repeat(*level as usize)));
                }
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.frame(Row::default().with(DIM, "│ "), Row::default().with(DIM, "│ "));
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                if let CodeBlockKind::Fenced(info) = kind
                    && let Some(label) = label_row(info)
                {
                    self.emit(label);
                }
                self.code = Some(String::new());
            }
            Tag::List(start) => {
                // In a list item it belongs to the text above it.
                self.gap &= self.frames.is_empty();
                self.begin_block();
                self.lists.push(List { next: *start, loose: false });
            }
            Tag::Item => self.begin_item(),
            Tag::Table(alignment) => {
                self.begin_block();
                self.table = Some(Table::new(alignment));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::Emphasis => self.emphasise(ITALIC, "*"),
            Tag::Strong => self.emphasise(BOLD, "**"),
            Tag::Strikethrough => self.emphasise(STRUCK, "~~"),
            Tag::Link { dest_url, .. } => self.links.push((dest_url.to_string(), self.inline.len())),
            Tag::Image { dest_url, .. } => {
                self.say(DIM, "[image: ");
                self.links.push((dest_url.to_string(), self.inline.len()));
            }
            Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.end_text();
                self.gap = true;
                if let (Some(list), false) = (self.lists.last_mut(), self.frames.is_empty()) {
                    list.loose = true;
                }
            }
            TagEnd::HtmlBlock => {
                self.end_text();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_text();
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_text();
                self.frames.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                for line in code.lines() {
                    self.emit(code_row(line));
                }
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = true;
            }
            TagEnd::Item => self.end_item(),
            TagEnd::Table => {
                let room = self.room();
                for row in self.table.take().map(|table| table.rows(room)).unwrap_or_default() {
                    self.emit(row);
                }
                self.gap = true;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Emphasis => self.relax("*"),
            TagEnd::Strong => self.relax("**"),
            TagEnd::Strikethrough => self.relax("~~"),
            TagEnd::Link => self.end_link(""),
            TagEnd::Image => self.end_link("]"),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn say(&mut self, style: Style, text: &str) {
        self.inline.push(Span { style, text: visible(text).into_owned() });
    }

    /// Writes a mark where there is no colour.
    fn mark(&mut self, mark: &str) {
        if !self.look.colour {
            self.say(PLAIN, mark);
        }
    }

    fn emphasise(&mut self, style: Style, mark: &str) {
        self.mark(mark);
        let outer = self.style();
        self.styles.push(outer.effects(outer.get_effects() | style.get_effects()));
    }

    fn relax(&mut self, mark: &str) {
        self.styles.pop();
        self.mark(mark);
    }

    fn end_link(&mut self, close: &str) {
        let Some((url, begin)) = self.links.pop() else { return };
        self.say(DIM, close);
        let text: String = self.inline[begin.min(self.inline.len())..].iter().map(|span| &*span.text).collect();
        if !url.is_empty() && text != visible(&url) && format!("mailto:{text}") != url {
            self.say(DIM, &format!(" ({url})"));
        }
    }

    fn begin_item(&mut self) {
        self.end_text();
        let gap = std::mem::take(&mut self.gap);
        if gap && self.lists.last().is_some_and(|list| list.loose) {
            self.emit(Row::default());
        }
        let marker = match self.lists.last_mut().map(|list| &mut list.next) {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let rest = " ".repeat(marker.chars().count());
        self.frame(Row::default().with(DIM, marker), Row::default().with(PLAIN, rest));
    }

    fn end_item(&mut self) {
        self.end_text();
        if self.frames.last().is_some_and(|frame| frame.first.is_some()) {
            self.emit(Row::default());
        }
        self.frames.pop();
    }

    fn tick_off(&mut self, done: bool) {
        let (style, mark) = if done { (GREEN, "☑ ") } else { (PLAIN, "☐ ") };
        if let Some(first) = self.frames.last_mut().and_then(|frame| frame.first.as_mut()) {
            *first = Row::default().with(style, mark);
        }
    }

    fn frame(&mut self, first: Row, rest: Row) {
        let hidden = self.frames.len() >= MAX_FRAMES;
        let (first, rest) = if hidden { (Row::default(), Row::default()) } else { (first, rest) };
        self.frames.push(Frame { first: Some(first), rest });
    }

    /// Returns the width that is left inside the nested blocks.
    fn room(&self) -> usize {
        let frames: usize = self.frames.iter().map(|frame| frame.rest.width()).sum();
        self.look.width.saturating_sub(frames).max(MIN_WIDTH)
    }

    fn begin_block(&mut self) {
        self.end_text();
        if std::mem::take(&mut self.gap) {
            self.emit(Row::default());
        }
    }

    /// Writes the collected text.
    fn end_text(&mut self) {
        let mut inline = std::mem::take(&mut self.inline);
        self.out_already = skip(&mut inline, self.out_already);
        // Raw HTML contains line breaks.
        if let Some(last) = inline.last_mut() {
            last.text.truncate(last.text.trim_end_matches('\n').len());
        }
        if inline.iter().all(|span| span.text.is_empty()) {
            return;
        }
        for row in wrap(&inline, self.room()) {
            self.emit(row);
        }
    }

    fn emit(&mut self, row: Row) {
        let mut whole = Row::default();
        for frame in &mut self.frames {
            whole = whole.then(frame.first.take().unwrap_or_else(|| frame.rest.clone()));
        }
        if row.0.is_empty() {
            // No trailing spaces in an empty row.
            while whole.0.last().is_some_and(|span| span.text.trim().is_empty()) {
                whole.0.pop();
            }
            if let Some(last) = whole.0.last_mut() {
                last.text.truncate(last.text.trim_end().len());
            }
        }
        self.rows.push(whole.then(row));
    }
}

/// Skips bytes and returns how many are still to be skipped.
fn skip(spans: &mut [Span], mut bytes: usize) -> usize {
    for span in spans {
        let out = bytes.min(span.text.len());
        span.text.drain(..span.text.floor_char_boundary(out));
        bytes -= out;
    }
    bytes
}
