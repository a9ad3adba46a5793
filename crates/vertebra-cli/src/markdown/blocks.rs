//! Finds the blocks of a text and whether they are complete.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

/// A top-level block, or an item of a top-level list. Lists can be long, so their items are written one by one.
pub(super) struct Block {
    pub(super) start: usize,
    /// Its events.
    pub(super) events: Range<usize>,
    pub(super) kind: Kind,
    /// Whether an empty line separates it from the block before.
    pub(super) apart: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A block of one line.
    Line,
    /// A block that ends with an empty line.
    Lines,
    /// A list item, with its number if it has one, and whether it is not the first of its list.
    Item(Option<u64>, Place),
    Other,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    First,
    Later,
}

/// An item whose list has been written in part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried {
    number: Option<u64>,
    apart: bool,
}

impl Block {
    /// Only link definitions so far.
    pub(super) fn unknown() -> Self {
        Self { start: 0, events: 0..0, kind: Kind::Other, apart: true }
    }

    /// Returns whether no following text can belong to it.
    pub(super) fn is_over(&self, text: &str) -> bool {
        match self.kind {
            Kind::Line => true,
            Kind::Lines => ends_blank(text),
            Kind::Item(..) | Kind::Other => false,
        }
    }

    /// Returns what must be known of it after the blocks before it were removed.
    pub(super) fn carried(&self) -> Option<Carried> {
        match self.kind {
            Kind::Item(number, Place::Later) => Some(Carried { number, apart: self.apart }),
            _ => None,
        }
    }
}

/// Splits a text into blocks. `carried` describes the first one.
pub(super) fn blocks(text: &str, events: &[(Event<'_>, Range<usize>)], carried: Option<Carried>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut depth, mut first, mut list) = (0_usize, 0, None);
    for (index, (event, range)) in events.iter().enumerate() {
        match event {
            Event::Start(tag) => {
                if let (0, Tag::List(number)) = (depth, tag) {
                    let known = carried.filter(|_| blocks.is_empty());
                    list = Some(known.map_or((*number, Place::First), |known| (known.number, Place::Later)));
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
        // The range of an end event covers the whole block.
        let (start, events_here) = (range.start, first..index + 1);
        match (&mut list, event, depth) {
            // The list itself is not a block.
            (Some(_), Event::Start(Tag::List(_)), 1) => first = index + 1,
            (Some((number, place)), Event::End(TagEnd::Item), 1) => {
                let apart = match (*place, blocks.is_empty()) {
                    (Place::First, _) => true,
                    (Place::Later, true) => carried.is_some_and(|known| known.apart),
                    (Place::Later, false) => ends_blank(&text[..line_start(text, start)]),
                };
                blocks.push(Block { start, events: events_here, kind: Kind::Item(*number, *place), apart });
                (*number, *place) = (number.map(|number| number.saturating_add(1)), Place::Later);
                first = index + 1;
            }
            (Some(_), _, 0) => (list, first) = (None, index + 1),
            (None, _, 0) => {
                let kind = kind(&events[first].0);
                blocks.push(Block { start, events: events_here, kind, apart: true });
                first = index + 1;
            }
            _ => {}
        }
    }
    blocks
}

fn kind(first: &Event<'_>) -> Kind {
    match first {
        Event::Start(Tag::Paragraph | Tag::Table(_) | Tag::BlockQuote(_)) => Kind::Lines,
        // An underlined heading includes its underline.
        Event::Rule | Event::Start(Tag::Heading { .. }) => Kind::Line,
        _ => Kind::Other,
    }
}

/// Returns the start of the line that contains this byte.
pub(super) fn line_start(text: &str, byte: usize) -> usize {
    text[..byte].rfind('\n').map_or(0, |at| at + 1)
}

fn ends_blank(text: &str) -> bool {
    text.lines().next_back().is_some_and(|line| line.trim().is_empty())
}
