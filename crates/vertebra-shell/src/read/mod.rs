//! The reader: walks through the text once and lists each simple command where it ends.

mod command;
mod document;
mod expansion;
mod rough;
mod scan;
mod spread;
mod word;

use std::cell::Cell;

use self::scan::{Scan, Source};
use crate::{
    ParseLimits,
    line::{CommandLine, Completeness, Document},
    simple::{SimpleCommand, Via},
    word::Word,
};

pub(crate) use self::rough::is_reserved;

/// How many bytes are read in all, where arguments are read again as scripts: in proportion to the line, up to a limit.
/// Without it, `eval` within substitutions within `eval` would double the work at each level.
const READ_AGAIN: usize = 16;
const SMALL_LINE: usize = 1024;

/// The limit, for each byte that a line may have.
const MOST_AGAIN: usize = 4;

pub(crate) fn read(line: &str, limits: ParseLimits) -> CommandLine {
    let left = (READ_AGAIN * line.len() + SMALL_LINE).min(MOST_AGAIN * limits.bytes.max(SMALL_LINE)).max(line.len());
    let mut found = Found {
        limits,
        commands: Vec::new(),
        documents: Vec::new(),
        loose: Vec::new(),
        left,
        roughly: left.max(2 * line.len()),
        gave_up: false,
        too_deep: false,
        outer: None,
        numbers: Vec::new(),
        steps: Cell::new(0),
    };
    let is_too_long = line.len() > limits.bytes && !is_plain(line);
    let mut is_broken = false;
    if is_too_long {
        rough::split(line, &mut found);
    } else {
        let mut scan = Scan::new(line, Source::Line(0), 0, &mut found);
        scan.script();
        is_broken = scan.broken;
    }
    let completeness = if is_too_long {
        Completeness::TooLong
    } else if found.gave_up || found.is_full() {
        Completeness::TooMany
    } else if found.too_deep {
        Completeness::TooDeep
    } else if is_broken {
        Completeness::Broken
    } else {
        Completeness::Whole
    };
    found.finish(line, completeness)
}

/// Returns whether a line is one command of literal words, however long it is.
fn is_plain(line: &str) -> bool {
    line.bytes().all(|byte| !b"\t\n\r\0;&|<>(){}$`\\\"'#!".contains(&byte))
}

/// What has been found so far, and what may still be spent on finding more.
struct Found {
    limits: ParseLimits,
    commands: Vec<Numbered>,
    documents: Vec<(Option<usize>, String)>,
    /// The words that belong to no command.
    loose: Vec<Word>,
    /// How many bytes may still be read.
    left: usize,
    /// How many bytes may still be cut at separators.
    roughly: usize,
    /// A part was left unread, because there is too much to read.
    gave_up: bool,
    too_deep: bool,
    /// The number of the command whose words are being read, or that runs what is being read.
    outer: Option<usize>,
    /// Of each number that was given to a command, its index once all are known.
    numbers: Vec<Option<usize>>,
    /// The bytes that were looked at.
    steps: Cell<usize>,
}

/// A command, and the number that those inside of it know it by.
struct Numbered {
    number: usize,
    command: SimpleCommand,
}

impl Found {
    fn is_full(&self) -> bool {
        self.commands.len() >= self.limits.commands
    }

    /// A number for a command that is about to be read.
    fn number(&mut self) -> usize {
        self.numbers.push(None);
        self.numbers.len() - 1
    }

    /// Lists a command at `place`, or at the end when fewer are listed by now. Returns the place behind it.
    fn insert(&mut self, place: usize, number: usize, command: SimpleCommand) -> usize {
        let is_empty = command.range.is_empty() && command.redirects.is_empty();
        // Comparing with all of them would make long lists slow, and only short ones are read by people.
        let is_known = || {
            command.via == Via::Guess
                && self.commands.len() < 64
                && self.commands.iter().any(|known| known.command.is_like(&command))
        };
        if is_empty || self.is_full() || is_known() {
            return place;
        }
        let place = place.min(self.commands.len());
        self.charge(self.commands.len() - place);
        self.commands.insert(place, Numbered { number, command });
        place + 1
    }

    /// Whether so many bytes may be read (again).
    fn may_read(&mut self, bytes: usize) -> bool {
        let enough = bytes <= self.left;
        self.left = self.left.saturating_sub(bytes);
        self.gave_up |= !enough;
        enough && !self.is_full()
    }

    fn charge(&self, steps: usize) {
        self.steps.set(self.steps.get() + steps);
    }

    fn finish(mut self, line: &str, completeness: Completeness) -> CommandLine {
        for (at, known) in self.commands.iter().enumerate() {
            self.numbers[known.number].get_or_insert(at);
        }
        let index = |number: Option<usize>| number.and_then(|number| self.numbers[number]);
        let listed = |Numbered { mut command, .. }| {
            command.outer = index(command.outer);
            command
        };
        let commands = self.commands.into_iter().map(listed).collect();
        let documents = self.documents.into_iter();
        let documents = documents.map(|(number, text)| Document { command: index(number), text }).collect();
        CommandLine::new(line, (commands, documents, self.loose), completeness, self.steps.get())
    }
}
