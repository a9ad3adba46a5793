//! Reads one word: removes its quotes, and follows what a shell would run while expanding it.

use std::ops::Range;

use super::{expansion::Quotes, scan::Scan};
use crate::{
    simple::assigned,
    word::{Hole, UnknownKind, Word},
};

/// A word that is being read: what a program would get, except that expansions stay as they are written.
#[derive(Default)]
pub(super) struct Read {
    bytes: Vec<u8>,
    holes: Vec<Hole>,
    /// A quote or escape took part: such a word is never a keyword.
    pub(super) quoted: bool,
    span: Option<Range<usize>>,
    /// How many bytes were read.
    length: usize,
    /// Whether it assigns to a variable, once that was asked.
    assigns: Option<bool>,
}

impl Read {
    /// Returns whether nothing was consumed.
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.bytes == keyword.as_bytes()
    }

    pub(super) fn finish(mut self) -> Word {
        self.drop_literal_signs();
        let (text, holes) = match String::from_utf8(self.bytes) {
            Ok(text) => (text, self.holes),
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let hole = Hole { range: 0..text.len(), kind: UnknownKind::Bytes };
                (text, vec![hole])
            }
        };
        Word::new(text, holes, self.quoted, self.span)
    }

    fn ends_with(&self, any: &[u8]) -> bool {
        self.bytes.last().is_some_and(|last| any.contains(last))
    }

    /// Returns whether a `~` expands here: at the start of a word, or of a path in an assignment.
    fn begins_path(&mut self) -> bool {
        if self.bytes.is_empty() {
            return !self.quoted;
        }
        let bytes = &self.bytes;
        let assigns = || std::str::from_utf8(bytes).is_ok_and(|text| assigned(text).is_some());
        self.ends_with(b"=:") && *self.assigns.get_or_insert_with(assigns)
    }

    /// Adds a letter that a shell expands.
    fn sign(&mut self, byte: u8, kind: UnknownKind) {
        let at = self.bytes.len();
        self.bytes.push(byte);
        self.holes.push(Hole { range: at..at + 1, kind });
    }

    /// Removes the holes of literal brackets and braces: `[` without a `]`, `{}` and `{a}`.
    fn drop_literal_signs(&mut self) {
        if !self.holes.iter().any(|hole| matches!(hole.kind, UnknownKind::Pattern | UnknownKind::Several)) {
            return;
        }
        let bytes = &self.bytes;
        let last = |sign: u8| bytes.iter().rposition(|byte| *byte == sign).unwrap_or(0);
        let (bracket, brace, comma) = (last(b']'), last(b'}'), last(b','));
        let dots = bytes.windows(2).rposition(|two| two == b"..").unwrap_or(0);
        self.holes.retain(|Hole { range, .. }| match (bytes[range.start], range.len()) {
            (b'[', 1) => bracket > range.start,
            (b'{', 1) => brace > range.start && comma.max(dots) > range.start,
            _ => true,
        });
    }
}

impl Scan<'_, '_> {
    /// Reads a word that starts here. It may be empty, and then nothing was consumed.
    pub(super) fn word(&mut self) -> Read {
        let start = self.at;
        let mut word = Read::default();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'<' | b'>' if self.peek(1) != Some(b'(') => break,
                b'<' | b'>' => self.raw(&mut word, UnknownKind::Output, |scan| {
                    scan.at += 2;
                    scan.substitution();
                }),
                b'(' if word.ends_with(b"=") => self.raw(&mut word, UnknownKind::Several, Self::array),
                b'(' if word.ends_with(b"@?+*!") && !word.is("!") => {
                    self.raw(&mut word, UnknownKind::Pattern, Self::extended_glob);
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'(' => break,
                b'\\' => {
                    // A line may be continued in the middle of a word; the word does not notice.
                    if self.peek(1) != Some(b'\n') {
                        word.quoted = true;
                        word.bytes.extend(self.peek(1));
                    }
                    self.at += 2;
                }
                b'\'' => {
                    word.quoted = true;
                    let text = self.single_quoted();
                    word.bytes.extend_from_slice(text);
                }
                b'"' => self.double_quoted(&mut word),
                b'$' if self.peek(1) == Some(b'\'') => self.ansi_quoted(&mut word),
                b'$' if self.peek(1) == Some(b'"') => {
                    self.at += 1;
                    self.double_quoted(&mut word);
                }
                b'$' => self.expansion(&mut word, Quotes::Count),
                b'`' => self.raw(&mut word, UnknownKind::Output, |scan| scan.backquoted(Quotes::Count)),
                b'*' | b'?' | b'[' => {
                    word.sign(byte, UnknownKind::Pattern);
                    self.at += 1;
                }
                b'{' => {
                    word.sign(byte, UnknownKind::Several);
                    self.at += 1;
                }
                b'~' if word.begins_path() => self.tilde(&mut word),
                _ => {
                    word.bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.len());
        word.length = self.at - start;
        word.span = self.span(start, self.at);
        word
    }

    fn tilde(&mut self, word: &mut Read) {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte);
        let ends = self.peek(1).is_none_or(|byte| b"/: \t\n;&|<>()`".contains(&byte));
        let kind = if ends { UnknownKind::Home } else { UnknownKind::Folder };
        self.raw(word, kind, |scan| {
            scan.at += 1;
            while scan.peek(0).is_some_and(is_name) {
                scan.at += 1;
            }
        });
    }

    /// Reads what starts with `$`. A `$` before nothing that has a name is a letter.
    fn expansion(&mut self, word: &mut Read, quotes: Quotes) {
        let start = self.at;
        let from = word.bytes.len();
        self.dollar(quotes);
        self.at = self.at.min(self.len());
        let written = self.slice(start, self.at).as_bytes();
        word.bytes.extend_from_slice(written);
        let is_name = |name: &[u8]| {
            name.first().is_some_and(|byte| !byte.is_ascii_digit())
                && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let kind = match written {
            [b'$'] if self.peek(0) != Some(b'$') => return,
            [b'$', b'(', b'(', ..] => UnknownKind::Arithmetic,
            [b'$', b'(', ..] => UnknownKind::Output,
            [b'$', b'{', name @ .., b'}'] | [b'$', name @ ..] if is_name(name) => UnknownKind::Variable,
            _ => UnknownKind::Expansion,
        };
        word.holes.push(Hole { range: from..word.bytes.len(), kind });
    }

    /// Adds to the word, as it is written, what `read` consumes.
    fn raw(&mut self, word: &mut Read, kind: UnknownKind, read: impl FnOnce(&mut Self)) {
        let (start, from) = (self.at, word.bytes.len());
        read(self);
        self.at = self.at.min(self.len());
        word.bytes.extend_from_slice(self.slice(start, self.at).as_bytes());
        word.holes.push(Hole { range: from..word.bytes.len(), kind });
    }

    pub(super) fn single_quoted(&mut self) -> &[u8] {
        let start = self.at + 1;
        self.at = start;
        self.skip_past(b'\'');
        self.slice(start, self.at - 1).as_bytes()
    }

    pub(super) fn double_quoted(&mut self, word: &mut Read) {
        word.quoted = true;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => {
                    match self.peek(1) {
                        Some(b'\n') => {}
                        Some(next @ (b'$' | b'`' | b'"' | b'\\')) => word.bytes.push(next),
                        next => {
                            word.bytes.push(b'\\');
                            word.bytes.extend(next);
                        }
                    }
                    self.at += 2;
                }
                b'$' => self.expansion(word, Quotes::AreText),
                b'`' => self.raw(word, UnknownKind::Output, |scan| scan.backquoted(Quotes::AreText)),
                _ => {
                    word.bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        self.broken = true;
    }

    fn ansi_quoted(&mut self, word: &mut Read) {
        word.quoted = true;
        self.at += 2;
        let mut end = None;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\'' => {
                    word.bytes.truncate(end.unwrap_or(word.bytes.len()));
                    return;
                }
                b'\\' => {
                    let before = word.bytes.len();
                    self.ansi_escape(&mut word.bytes);
                    // To bash, the text ends with a zero byte.
                    if word.bytes[before..] == [0] {
                        end.get_or_insert(before);
                    }
                }
                _ => word.bytes.push(byte),
            }
        }
        self.broken = true;
    }

    /// The escapes of `$'…'`, after the backslash.
    fn ansi_escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(byte) = self.peek(0) else { return };
        self.at += 1;
        let code = match byte {
            b'a' => 0x07,
            b'b' => 0x08,
            b'e' | b'E' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'x' | b'u' | b'U' if !self.peek(0).is_some_and(|byte| byte.is_ascii_hexdigit()) => {
                return bytes.extend([b'\\', byte]);
            }
            b'x' => self.number(16, 2).to_le_bytes()[0],
            b'0'..=b'7' => {
                self.at -= 1;
                self.number(8, 3).to_le_bytes()[0]
            }
            b'c' => {
                let letter = self.peek(0).unwrap_or_default();
                self.at += 1;
                letter & 0x1f
            }
            b'u' | b'U' => {
                let code = self.number(16, if byte == b'u' { 4 } else { 8 });
                let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return;
            }
            b'\\' | b'\'' | b'"' | b'?' => byte,
            other => return bytes.extend([b'\\', other]),
        };
        bytes.push(code);
    }

    fn number(&mut self, radix: u32, digits: usize) -> u32 {
        let mut number = 0u32;
        for _ in 0..digits {
            let Some(digit) = self.peek(0).and_then(|byte| char::from(byte).to_digit(radix)) else { break };
            number = number.wrapping_mul(radix).wrapping_add(digit);
            self.at += 1;
        }
        number
    }
}
