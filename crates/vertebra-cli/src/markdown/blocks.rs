//! Where the blocks of a text begin, and when they are over.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

/// A block that stands in no other, or an item of a list that does: lists may be long, and their items come out one by one.
pub(super) struct Block {
    pub(super) start: usize,
    /// Its events.
    pub(super) events: Range<usize>,
    pub(super) kind: Kind,
    /// Whether it stands apart from what comes before.
    pub(super) apart: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// It has one line.
    Line,
    /// It ends with an empty line.
    Lines,
    /// An item, with its number if it has one, and whether others of its list come before it.
    Item(Option<u64>, Place),
    Other,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    First,
    Later,
}

/// An item whose list has come out before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried {
    number: Option<u64>,
    apart: bool,
}

impl Block {
    /// Nothing but definitions of links so far.
    pub(super) fn unknown() -> Self {
        Self { start: 0, events: 0..0, kind: Kind::Other, apart: true }
    }

    /// Whether nothing that follows can belong to it.
    pub(super) fn is_over(&self, text: &str) -> bool {
        match self.kind {
            Kind::Line => true,
            Kind::Lines => ends_blank(text),
            Kind::Item(..) | Kind::Other => false,
        }
    }

    /// What is to be known of it when what comes before it has gone.
    pub(super) fn carried(&self) -> Option<Carried> {
        match self.kind {
            Kind::Item(number, Place::Later) => Some(Carried { number, apart: self.apart }),
            _ => None,
        }
    }
}

/// The blocks of a text; `carried` is known of the first.
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
        // The range of an end is that of the whole.
        let (start, events_here) = (range.start, first..index + 1);
        match (&mut list, event, depth) {
            // The list itself is no block.
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
        // A heading that is underlined has come with its line, too.
        Event::Rule | Event::Start(Tag::Heading { .. }) => Kind::Line,
        _ => Kind::Other,
    }
}

/// Where the line begins that this byte is in.
pub(super) fn line_start(text: &str, byte: usize) -> usize {
    text[..byte].rfind('\n').map_or(0, |at| at + 1)
}

fn ends_blank(text: &str) -> bool {
    text.lines().next_back().is_some_and(|line| line.trim().is_empty())
}
