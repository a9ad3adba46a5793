//! Walks through a script and lists each simple command where it ends.

use super::{
    Found, MAX_DEPTH,
    command::{Command, Head},
    document::Document,
    hidden::Fed,
    rough,
};

/// One text being read. Texts that have to be unquoted first are read by a scan of their own.
pub(super) struct Scan<'text, 'found> {
    text: &'text str,
    /// The byte to read next. Everything with a meaning is ASCII, so slices between such bytes are valid text.
    pub(super) at: usize,
    depth: usize,
    pub(super) found: &'found mut Found,
    /// No shell would accept the text as we understood it.
    pub(super) broken: bool,
    /// Here-documents whose text starts after the next line break.
    pub(super) documents: Vec<Document>,
    /// What the command being read gets through a pipe.
    pub(super) fed: Option<Fed>,
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
    pub(super) fn new(text: &'text str, depth: usize, found: &'found mut Found) -> Self {
        Self { text, at: 0, depth, found, broken: false, documents: Vec::new(), fed: None }
    }

    /// Reads all of the text as a script.
    pub(super) fn script(&mut self) {
        if !self.found.may_read(self.text) {
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
                    self.fed = self.fed.take().filter(|_| !ends);
                    self.at += 1;
                    self.documents();
                    command = self.command();
                }
                b';' => {
                    self.finish(&mut command);
                    self.fed = None;
                    self.at += 1;
                    if matches!(self.peek(0), Some(b';' | b'&')) {
                        in_pattern = cases > 0;
                    }
                }
                b'&' if self.peek(1) == Some(b'>') => self.redirection(&mut command, ""),
                b'|' | b'(' if in_pattern => self.at += 1,
                b'&' | b'|' => {
                    let is_pipe = byte == b'|' && self.peek(1) != Some(b'|');
                    let fed = is_pipe.then(|| Fed::by(&command, self.fed.is_none()));
                    self.finish(&mut command);
                    self.fed = fed;
                    self.at += if is_pipe || self.peek(1) != Some(byte) { 1 } else { 2 };
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
                b'<' | b'>' if self.peek(1) != Some(b'(') => self.redirection(&mut command, ""),
                _ => {
                    let word = self.word();
                    if in_pattern || (command.is_empty() && word.is("esac")) {
                        if word.is("esac") {
                            cases = cases.saturating_sub(1);
                            in_pattern = false;
                        }
                    } else if command.head == Head::Case && word.is("in") {
                        cases += 1;
                        in_pattern = true;
                        command = self.command();
                    } else {
                        self.add(&mut command, &word);
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
            let subshells = self.slice(start + 2, self.at - 2);
            if command.is_empty() && self.depth < MAX_DEPTH {
                if self.found.may_read(subshells) {
                    Scan::new(subshells, self.depth + 1, self.found).list(End::Text);
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
        self.nested(|scan| scan.list(End::Parenthesis));
        *command = self.command();
    }

    /// `[[ … ]]`, where operators and parentheses have meanings of their own.
    pub(super) fn test(&mut self) {
        while self.peek(0).is_some() {
            let start = self.at;
            if self.word().is("]]") {
                return;
            }
            if self.at == start {
                self.at += 1;
            }
        }
        self.broken = true;
    }

    /// Reads a text of its own, which is not a part of this one as it is written.
    pub(super) fn reread(&mut self, text: &str) {
        if self.depth < MAX_DEPTH {
            Scan::new(text, self.depth + 1, self.found).script();
        } else {
            rough::split(text, self.found);
        }
    }

    /// Reads a part of this text with a scan of its own.
    pub(super) fn apart(&mut self, start: usize, stop: usize, part: Part) {
        let text = self.slice(start, stop);
        if self.depth >= MAX_DEPTH || !self.found.may_read(text) {
            return rough::split(text, self.found);
        }
        let mut scan = Scan::new(text, self.depth + 1, self.found);
        match part {
            Part::Script => scan.list(End::Text),
            Part::Expansions => scan.expansions(),
        }
        self.broken |= scan.broken;
    }

    /// Goes one level deeper, or cuts the rest in pieces when that is too deep.
    pub(super) fn nested(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            let rest = self.text.get(self.at..).unwrap_or_default();
            rough::split(rest, self.found);
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
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn slice(&self, start: usize, stop: usize) -> &'text str {
        self.text.get(start..stop).unwrap_or_default()
    }
}
