//! Walks through a script and lists each simple command where it ends.

use std::{mem, ops::Range};

use super::{
    Found,
    command::{Command, Head},
    document::Pending,
    rough,
};
use crate::{
    hidden::Fed,
    simple::{Joint, Via},
};

/// One text being read. Texts that have to be unquoted first are read by a scan of their own.
pub(super) struct Scan<'text, 'found> {
    text: &'text str,
    /// The byte to read next. Everything with a meaning is ASCII, so slices between such bytes are valid text.
    pub(super) at: usize,
    source: Source,
    pub(super) depth: usize,
    pub(super) found: &'found mut Found,
    /// No shell would accept the text as we understood it.
    pub(super) broken: bool,
    /// Here-documents whose text starts after the next line break.
    pub(super) documents: Vec<Pending>,
    /// What the command being read gets through a pipe.
    pub(super) fed: Option<Fed>,
    /// What stands before the command being read.
    pub(super) joint: Joint,
    pub(super) via: Via,
    pub(super) subshell: usize,
}

/// Where a text comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// It is a part of the line, from this byte on.
    Line(usize),
    /// It was unquoted or put together.
    Made,
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Text,
    Parenthesis,
}

/// What a part of the text is read as.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Script,
    Expansions,
}

impl<'text, 'found> Scan<'text, 'found> {
    pub(super) fn new(text: &'text str, source: Source, depth: usize, found: &'found mut Found) -> Self {
        Self {
            text,
            at: 0,
            source,
            depth,
            found,
            broken: false,
            documents: Vec::new(),
            fed: None,
            joint: Joint::First,
            via: Via::Line,
            subshell: 0,
        }
    }

    /// A scan of another text, one level deeper.
    fn inner<'t>(&mut self, text: &'t str, source: Source, via: Via) -> Scan<'t, '_> {
        let via = if self.via == Via::Guess { Via::Guess } else { via };
        Scan { via, subshell: self.subshell, ..Scan::new(text, source, self.depth + 1, self.found) }
    }

    /// Reads all of the text as a script.
    pub(super) fn script(&mut self) {
        if !self.found.may_read(self.text.len()) {
            rough::split(self.text, self.found);
            return;
        }
        self.list(End::Text);
        if self.broken || self.text.contains(['\r', '\0']) {
            rough::split(self.text, self.found);
        }
    }

    /// Reads commands up to the end, which it consumes.
    pub(super) fn list(&mut self, end: End) {
        let mut command = self.command();
        let mut cases = 0usize;
        let mut in_pattern = false;
        while !self.found.is_full() {
            let Some(byte) = self.peek(0) else { break };
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
                b'#' => self.comment(),
                b'\n' => {
                    // A pipe at the end of a line goes on in the next.
                    let ends = !command.is_empty();
                    self.finish(&mut command);
                    if ends {
                        (self.fed, self.joint) = (None, Joint::Then);
                    }
                    self.at += 1;
                    self.documents();
                    command = self.command();
                }
                b';' => {
                    self.finish(&mut command);
                    (self.fed, self.joint) = (None, Joint::Then);
                    self.at += 1;
                    if matches!(self.peek(0), Some(b';' | b'&')) {
                        in_pattern = cases > 0;
                    }
                }
                b'&' if self.peek(1) == Some(b'>') => {
                    self.inside(&mut command, |scan, command| scan.redirection(command, ""));
                }
                b'|' | b'(' if in_pattern => self.at += 1,
                b'&' | b'|' => {
                    let is_double = self.peek(1) == Some(byte);
                    let is_pipe = byte == b'|' && !is_double;
                    let fed = is_pipe.then(|| Fed::by(&command.words, self.fed.is_none()));
                    self.finish(&mut command);
                    self.fed = fed;
                    self.joint = match (byte, is_double) {
                        (b'|', false) => Joint::Pipe,
                        (b'|', true) => Joint::Or,
                        (_, true) => Joint::And,
                        (_, false) => Joint::Background,
                    };
                    self.at += if is_double { 2 } else { 1 };
                    // `|&` also pipes errors.
                    self.at += usize::from(is_pipe && self.peek(0) == Some(b'&'));
                }
                b'(' => self.parenthesis(&mut command),
                b')' if in_pattern => {
                    in_pattern = false;
                    self.at += 1;
                    command = self.command();
                }
                b')' => {
                    self.finish(&mut command);
                    self.at += 1;
                    if end == End::Parenthesis {
                        return;
                    }
                    self.broken = true;
                }
                b'<' | b'>' if self.peek(1) != Some(b'(') => {
                    self.inside(&mut command, |scan, command| scan.redirection(command, ""));
                }
                _ => {
                    let word = self.inside(&mut command, |scan, _| scan.word());
                    if in_pattern || (command.is_empty() && word.is("esac")) {
                        if word.is("esac") {
                            cases = cases.saturating_sub(1);
                            in_pattern = false;
                        } else {
                            self.found.loose.push(word.finish());
                        }
                    } else if command.head == Head::Case && word.is("in") {
                        cases += 1;
                        in_pattern = true;
                        command = self.command();
                    } else {
                        self.add(&mut command, word);
                    }
                }
            }
        }
        self.finish(&mut command);
        self.broken |= end == End::Parenthesis || cases > 0;
    }

    /// A parenthesis where a word could start.
    fn parenthesis(&mut self, command: &mut Command) {
        let start = self.at;
        if (command.is_empty() || command.head == Head::Loop) && self.arithmetic() {
            // A shell without arithmetic commands takes `((…))` for two subshells.
            if command.is_empty() && self.depth < self.found.limits.depth {
                let subshells = self.slice(start + 2, self.at - 2);
                if self.found.may_read(subshells.len()) {
                    self.inner(subshells, Source::Made, Via::Guess).list(End::Text);
                } else {
                    rough::split(subshells, self.found);
                }
            }
            return;
        }
        let blanks = self.slice(self.at + 1, self.len()).bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
        let closes = self.at + 1 + blanks.count();
        if self.text.as_bytes().get(closes) == Some(&b')') {
            // `name ()`: the name is no command, but its body follows.
            self.at = closes + 1;
            if command.words.len() > 1 {
                self.finish(command);
            }
            *command = self.command();
            return;
        }
        self.finish(command);
        self.at += 1;
        self.subshell += 1;
        self.nested(|scan| scan.list(End::Parenthesis));
        self.subshell -= 1;
        self.joint = Joint::Then;
        *command = self.command();
    }

    /// Reads something that belongs to a command: what runs in it is run by the command.
    pub(super) fn inside<T>(&mut self, command: &mut Command, read: impl FnOnce(&mut Self, &mut Command) -> T) -> T {
        let number = *command.number.get_or_insert_with(|| self.found.number());
        let outer = self.found.outer.replace(number);
        let result = read(self, command);
        self.found.outer = outer;
        result
    }

    /// Reads the commands of a substitution up to the parenthesis that closes it, which it consumes.
    pub(super) fn substitution(&mut self) {
        let (via, joint, fed) = (self.via, mem::take(&mut self.joint), self.fed.take());
        if via != Via::Guess {
            self.via = Via::Substitution;
        }
        self.subshell += 1;
        self.nested(|scan| scan.list(End::Parenthesis));
        self.subshell -= 1;
        (self.via, self.joint, self.fed) = (via, joint, fed);
    }

    /// `[[ … ]]`, where operators and parentheses have meanings of their own.
    pub(super) fn test(&mut self) {
        while self.peek(0).is_some() {
            let word = self.word();
            if word.is("]]") {
                return;
            }
            if word.is_empty() {
                self.at += 1;
            } else {
                self.found.loose.push(word.finish());
            }
        }
        self.broken = true;
    }

    /// Reads a script that a command of this text runs.
    pub(super) fn reread(&mut self, text: &str, source: Source, via: Via) {
        if self.depth < self.found.limits.depth {
            self.inner(text, source, via).script();
        } else {
            self.too_deep(text);
        }
    }

    /// Reads a part of this text with a scan of its own.
    pub(super) fn apart(&mut self, start: usize, stop: usize, part: Part) {
        let text = self.slice(start, stop);
        if self.depth >= self.found.limits.depth {
            return self.too_deep(text);
        }
        if !self.found.may_read(text.len()) {
            return rough::split(text, self.found);
        }
        let mut scan = self.inner(text, self.source_at(start), Via::Substitution);
        match part {
            Part::Script => scan.list(End::Text),
            Part::Expansions => scan.expansions(),
        }
        let broken = scan.broken;
        self.broken |= broken;
    }

    pub(super) fn too_deep(&mut self, text: &str) {
        self.found.too_deep = true;
        rough::split(text, self.found);
    }

    /// Goes one level deeper, or cuts the rest in pieces when that is too deep.
    pub(super) fn nested(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= self.found.limits.depth {
            self.too_deep(self.slice(self.at, self.len()));
            self.at = self.len();
            return;
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    pub(super) fn comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Moves behind the next such byte; behind the imaginary one after the text if there is none.
    pub(super) fn skip_past(&mut self, end: u8) {
        while self.peek(0).is_some_and(|byte| byte != end) {
            self.at += 1;
        }
        self.broken |= self.at >= self.len();
        self.at += 1;
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.found.charge(1);
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn slice(&self, start: usize, stop: usize) -> &'text str {
        self.text.get(start..stop).unwrap_or_default()
    }

    /// Where a part of this text comes from.
    pub(super) fn source_at(&self, start: usize) -> Source {
        match self.source {
            Source::Line(base) => Source::Line(base + start),
            Source::Made => Source::Made,
        }
    }

    /// The place of a part of this text in the line.
    pub(super) fn span(&self, start: usize, stop: usize) -> Option<Range<usize>> {
        match self.source {
            Source::Line(base) => Some(base + start..base + stop),
            Source::Made => None,
        }
    }
}
