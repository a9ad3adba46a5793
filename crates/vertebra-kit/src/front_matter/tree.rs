//! YAML as a tree that keeps every value as it is written, so that a text field can be `1.10` and a number can be `0x3`.

use std::fmt;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

/// How deep and how large a text may be.
const MAX_DEPTH: usize = 16;
const MAX_NODES: usize = 4096;

/// A value and the line it begins at.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: u64,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A scalar. Only a plain one, without quotes, can be a number, a truth value or nothing.
    Scalar {
        text: String,
        is_plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// What is wrong with a text or one of its values.
#[derive(Debug)]
pub(super) struct YamlError {
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

impl YamlError {
    fn at(line: u64, message: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into() }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for YamlError {}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        let cure = "put a value that contains `: ` in quotes";
        let info = error.info();
        let message = if info.contains("mapping values are not allowed") { format!("{info}; {cure}") } else { info };
        Self::at(line_of(error.marker().line()), message)
    }
}

/// Reads a text that holds one map.
pub(super) fn read(text: &str) -> Result<Node, YamlError> {
    let mut reader = Reader { events: Parser::new_from_str(text), nodes: 0 };
    let mut root = None;
    while let Some((event, line)) = reader.next()? {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => {}
            _ if root.is_some() => return Err(YamlError::at(line, "a second document; write only one")),
            event => root = Some(reader.node(event, line, 0)?),
        }
    }
    match root {
        Some(node @ Node { kind: Kind::Map(_), .. }) => Ok(node),
        Some(Node { line, .. }) => Err(YamlError::at(line, "these are not fields; write fields such as `name: …`")),
        None => Err(YamlError::at(1, "there are no fields; write fields such as `name: …`")),
    }
}

struct Reader<'t> {
    events: Parser<'t, granit_parser::StrInput<'t>>,
    nodes: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Option<(Event<'t>, u64)>, YamlError> {
        let next: Option<(Event<'t>, Span)> = self.events.next().transpose()?;
        Ok(next.map(|(event, span)| (event, line_of(span.start.line()))))
    }

    fn next_in(&mut self, line: u64) -> Result<(Event<'t>, u64), YamlError> {
        self.next()?.ok_or_else(|| YamlError::at(line, "the text ends inside a value"))
    }

    /// Reads the node that an event begins.
    fn node(&mut self, event: Event<'t>, line: u64, depth: usize) -> Result<Node, YamlError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(YamlError::at(line, format!("more than {MAX_NODES} values")));
        }
        if depth > MAX_DEPTH {
            return Err(YamlError::at(line, format!("values are nested more than {MAX_DEPTH} levels deep")));
        }
        let kind = match event {
            Event::Scalar(text, style, _, tag) => {
                Kind::Scalar { text: text.into_owned(), is_plain: style == ScalarStyle::Plain && tag.is_none() }
            }
            Event::SequenceStart(..) => Kind::List(self.list(line, depth)?),
            Event::MappingStart(..) => Kind::Map(self.map(line, depth)?),
            _ => return Err(YamlError::at(line, "aliases are not allowed; write the value out where it is used")),
        };
        Ok(Node { line, kind })
    }

    fn list(&mut self, line: u64, depth: usize) -> Result<Vec<Node>, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next_in(line)? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, line) => items.push(self.node(event, line, depth + 1)?),
            }
        }
    }

    fn map(&mut self, line: u64, depth: usize) -> Result<Vec<(String, Node)>, YamlError> {
        let mut fields: Vec<(String, Node)> = Vec::new();
        loop {
            let (key, line) = match self.next_in(line)? {
                (Event::MappingEnd, _) => return Ok(fields),
                (Event::Scalar(key, ..), line) => (key.into_owned(), line),
                (_, line) => return Err(YamlError::at(line, "a field's name must be text")),
            };
            if fields.iter().any(|(other, _)| *other == key) {
                return Err(YamlError::at(line, format!("the field `{key}` is there twice; keep one")));
            }
            let (event, line) = self.next_in(line)?;
            let node = self.node(event, line, depth + 1)?;
            fields.push((key, node));
        }
    }
}

fn line_of(line: usize) -> u64 {
    line.max(1) as u64
}
