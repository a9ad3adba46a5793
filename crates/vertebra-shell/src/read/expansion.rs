//! Follows what a shell runs while it expands a word, a here-document or an expression.

use super::{
    scan::{Part, Scan, Source},
    word::Read,
};
use crate::simple::Via;

/// Whether single quotes quote: within double quotes and here-documents they are ordinary letters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Count,
    AreText,
}

impl Scan<'_, '_> {
    /// Follows the substitutions in text that is neither words nor commands: a here-document, an arithmetic expression.
    pub(super) fn expansions(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.at += 2,
                b'$' => self.dollar(Quotes::AreText),
                b'`' => self.backquoted(Quotes::AreText),
                _ => self.at += 1,
            }
        }
    }

    /// Follows what starts with `$`, and consumes at least that.
    pub(super) fn dollar(&mut self, quotes: Quotes) {
        match self.peek(1) {
            Some(b'(') => {
                self.at += 1;
                if !self.arithmetic() {
                    self.at += 1;
                    self.substitution();
                }
            }
            Some(b'{') => {
                self.at += 2;
                self.nested(|scan| scan.braced(quotes));
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.at += 2;
                while self.peek(0).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    self.at += 1;
                }
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-!".contains(&byte) => self.at += 2,
            _ => self.at += 1,
        }
    }

    /// Follows `((…))` if the parenthesis here starts one, and says whether it did.
    pub(super) fn arithmetic(&mut self) -> bool {
        let Some(end) = self.end_of_arithmetic() else { return false };
        let (start, stop) = (self.at + 2, end - 2);
        self.at = end;
        self.apart(start, stop, Part::Expansions);
        true
    }

    /// `((a) + (b))` is arithmetic, `((a); (b))` too, but `((a); (b) )` is a subshell: the last two parentheses decide.
    fn end_of_arithmetic(&self) -> Option<usize> {
        if self.peek(1) != Some(b'(') {
            return None;
        }
        let (mut open, mut ahead, mut inner_closed) = (0usize, 0usize, None);
        while let Some(byte) = self.peek(ahead) {
            match byte {
                b'\\' => ahead += 1,
                b'(' => open += 1,
                b')' if open == 1 => return (inner_closed == Some(ahead - 1)).then_some(self.at + ahead + 1),
                b')' => {
                    open -= 1;
                    if open == 1 {
                        inner_closed = Some(ahead);
                    }
                }
                b'\'' | b'"' => {
                    ahead += 1;
                    while self.peek(ahead)? != byte {
                        ahead += 1;
                    }
                }
                _ => {}
            }
            ahead += 1;
        }
        None
    }

    /// Follows the rest of `${…}`.
    fn braced(&mut self, quotes: Quotes) {
        let start = self.at;
        let is_script = matches!(self.peek(0), Some(b' ' | b'\t' | b'\n' | b'|'));
        while let Some(byte) = self.peek(0) {
            match byte {
                b'}' => {
                    if is_script {
                        self.apart(start, self.at, Part::Script);
                    }
                    self.at += 1;
                    return;
                }
                b'\\' => self.at += 2,
                b'\'' if quotes == Quotes::Count => {
                    self.single_quoted();
                }
                b'"' => self.nested(|scan| scan.double_quoted(&mut Read::default())),
                b'$' => self.dollar(quotes),
                b'`' => self.backquoted(quotes),
                _ => self.at += 1,
            }
        }
        self.broken = true;
    }

    pub(super) fn backquoted(&mut self, quotes: Quotes) {
        self.at += 1;
        let start = self.at;
        let mut script = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'`' => {
                    let as_written = script.len() == self.at - start;
                    let source = if as_written { self.source_at(start) } else { Source::Made };
                    self.at += 1;
                    self.subshell += 1;
                    self.reread(&String::from_utf8_lossy(&script), source, Via::Substitution);
                    self.subshell -= 1;
                    return;
                }
                b'\\' => {
                    let next = self.peek(1);
                    let escapes =
                        matches!(next, Some(b'`' | b'\\' | b'$')) || (quotes == Quotes::AreText && next == Some(b'"'));
                    if !escapes {
                        script.push(b'\\');
                    }
                    script.extend(next);
                    self.at += 2;
                }
                _ => {
                    script.push(byte);
                    self.at += 1;
                }
            }
        }
        self.broken = true;
    }

    /// The words of `name=(…)`.
    pub(super) fn array(&mut self) {
        self.at += 1;
        self.nested(|scan| {
            while let Some(byte) = scan.peek(0) {
                match byte {
                    b')' => {
                        scan.at += 1;
                        return;
                    }
                    b' ' | b'\t' | b'\n' => scan.at += 1,
                    b'#' => scan.comment(),
                    _ => scan.word_or_byte(),
                }
            }
            scan.broken = true;
        });
    }

    /// The alternatives of `@(a|b)`.
    pub(super) fn extended_glob(&mut self) {
        self.at += 1;
        self.nested(|scan| {
            while let Some(byte) = scan.peek(0) {
                match byte {
                    b')' => {
                        scan.at += 1;
                        return;
                    }
                    b'(' => scan.extended_glob(),
                    _ => scan.word_or_byte(),
                }
            }
            scan.broken = true;
        });
    }

    fn word_or_byte(&mut self) {
        let word = self.word();
        if word.is_empty() {
            self.at += 1;
        } else {
            self.found.loose.push(word.finish());
        }
    }
}
