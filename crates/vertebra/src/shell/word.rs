//! Reads one word: removes its quotes, and follows what a shell would run while expanding it.

use super::{
    expansion::Quotes,
    scan::{End, Scan},
};

/// A word as a program would get it, except that expansions stay as they are written.
#[derive(Default)]
pub(super) struct Word {
    bytes: Vec<u8>,
    /// A quote or escape took part: such a word is never a keyword.
    pub(super) quoted: bool,
}

impl Word {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(super) fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.bytes == keyword.as_bytes()
    }

    fn ends_with(&self, any: &[u8]) -> bool {
        self.bytes.last().is_some_and(|last| any.contains(last))
    }
}

impl Scan<'_, '_> {
    /// Reads a word that starts here. It may be empty, and then nothing was consumed.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'<' | b'>' if self.peek(1) != Some(b'(') => break,
                b'<' | b'>' => self.raw(&mut word, |scan| {
                    scan.at += 2;
                    scan.nested(|scan| scan.list(End::Parenthesis));
                }),
                b'(' if word.ends_with(b"=") => self.raw(&mut word, Self::array),
                b'(' if word.ends_with(b"@?+*!") && !word.is("!") => self.raw(&mut word, Self::extended_glob),
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
                b'$' => self.raw(&mut word, |scan| scan.dollar(Quotes::Count)),
                b'`' => self.raw(&mut word, |scan| scan.backquoted(Quotes::Count)),
                _ => {
                    word.bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.len());
        word
    }

    /// Adds to the word, as it is written, what `read` consumes.
    fn raw(&mut self, word: &mut Word, read: impl FnOnce(&mut Self)) {
        let start = self.at;
        read(self);
        self.at = self.at.min(self.len());
        word.bytes.extend_from_slice(self.slice(start, self.at).as_bytes());
    }

    pub(super) fn single_quoted(&mut self) -> &[u8] {
        let start = self.at + 1;
        self.at = start;
        self.skip_past(b'\'');
        self.slice(start, self.at - 1).as_bytes()
    }

    pub(super) fn double_quoted(&mut self, word: &mut Word) {
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
                b'$' => self.raw(word, |scan| scan.dollar(Quotes::AreText)),
                b'`' => self.raw(word, |scan| scan.backquoted(Quotes::AreText)),
                _ => {
                    word.bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        self.broken = true;
    }

    fn ansi_quoted(&mut self, word: &mut Word) {
        word.quoted = true;
        self.at += 2;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\'' => return,
                b'\\' => self.ansi_escape(&mut word.bytes),
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
            b'x' => self.number(16, 2).to_le_bytes()[0],
            b'0'..=b'7' => {
                self.at -= 1;
                self.number(8, 3).to_le_bytes()[0]
            }
            b'u' | b'U' => {
                let code = self.number(16, if byte == b'u' { 4 } else { 8 });
                let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return;
            }
            other => other,
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
