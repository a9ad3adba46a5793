//! Bytes as text and back, so that a file keeps its encoding, its byte order mark and its line ends.

use std::borrow::Cow;

/// How many bytes are looked at to tell text from other things.
pub(super) const HEAD: usize = 8 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf8WithMark,
    Utf16Le,
    Utf16Be,
    /// What is not UTF-8 and has no mark: one character for each byte, so nothing is lost.
    Windows1252,
}

impl Encoding {
    const ALL: [Self; 3] = [Self::Utf8WithMark, Self::Utf16Le, Self::Utf16Be];

    fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Windows1252 => &[],
            Self::Utf8WithMark => &[0xef, 0xbb, 0xbf],
            Self::Utf16Le => &[0xff, 0xfe],
            Self::Utf16Be => &[0xfe, 0xff],
        }
    }
}

/// What a text file says, and how it says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) body: String,
    encoding: Encoding,
    /// Whether every line ends with a carriage return and a line feed.
    crlf: bool,
}

/// Why bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotText {
    /// They are something else.
    Binary(&'static str),
}

/// A character that the encoding of a file does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotInEncoding {
    pub(super) letter: char,
    pub(super) line: usize,
}

impl Text {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, NotText> {
        let marked = Encoding::ALL.into_iter().find(|encoding| bytes.starts_with(encoding.mark()));
        let mut encoding = marked.unwrap_or(Encoding::Utf8);
        let rest = &bytes[encoding.mark().len()..];
        let body = match encoding {
            Encoding::Utf8 | Encoding::Utf8WithMark | Encoding::Windows1252 => {
                if let Some(kind) = kind_of(&rest[..rest.len().min(HEAD)]) {
                    return Err(NotText::Binary(kind));
                }
                if let Ok(text) = std::str::from_utf8(rest) {
                    text.to_owned()
                } else {
                    encoding = Encoding::Windows1252;
                    bytes.iter().copied().map(from_windows_1252).collect()
                }
            }
            Encoding::Utf16Le => from_utf16(rest, u16::from_le_bytes)?,
            Encoding::Utf16Be => from_utf16(rest, u16::from_be_bytes)?,
        };
        let crlf = has_crlf(&body);
        Ok(Self { body, encoding, crlf })
    }

    /// A new file: UTF-8, lines as they come.
    pub(super) fn new(body: &str) -> Self {
        Self { body: body.to_owned(), encoding: Encoding::Utf8, crlf: false }
    }

    /// The text with the line ends of this file.
    pub(super) fn in_my_lines<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.crlf && text.contains('\n') {
            Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Whether it is not Unicode: then it is shown as Windows-1252, of which Latin-1 is a part.
    pub(super) fn is_legacy(&self) -> bool {
        self.encoding == Encoding::Windows1252
    }

    /// Another body in the encoding of this file.
    pub(super) fn encode(&self, body: &str) -> Result<Vec<u8>, NotInEncoding> {
        let mut bytes = self.encoding.mark().to_vec();
        match self.encoding {
            Encoding::Utf8 | Encoding::Utf8WithMark => bytes.extend(body.as_bytes()),
            Encoding::Utf16Le => bytes.extend(body.encode_utf16().flat_map(u16::to_le_bytes)),
            Encoding::Utf16Be => bytes.extend(body.encode_utf16().flat_map(u16::to_be_bytes)),
            Encoding::Windows1252 => {
                for (at, letter) in body.char_indices() {
                    let line = || body[..at].matches('\n').count() + 1;
                    bytes.push(to_windows_1252(letter).ok_or_else(|| NotInEncoding { letter, line: line() })?);
                }
            }
        }
        Ok(bytes)
    }
}

/// The characters of the bytes from 0x80 to 0x9f. Five of these bytes mean nothing and stand for themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn from_windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn to_windows_1252(letter: char) -> Option<u8> {
    let special = WINDOWS_1252.iter().position(|other| *other == letter);
    let special = special.and_then(|at| u8::try_from(at + 0x80).ok());
    special.or_else(|| u8::try_from(u32::from(letter)).ok().filter(|byte| !(0x80..=0x9f).contains(byte)))
}

/// What these first bytes of a file are, if they are not text.
pub(super) fn kind_of(head: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"\x7fELF", "an ELF program"),
        (b"SQLite format 3\0", "an SQLite database"),
    ];
    let known = KINDS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
    known.or_else(|| head.contains(&0).then_some("binary data"))
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>();
    match text {
        Ok(text) if rest.is_empty() && !text.contains('\0') => Ok(text),
        _ => Err(NotText::Binary("binary data")),
    }
}

fn has_crlf(body: &str) -> bool {
    let ends = body.matches('\n').count();
    ends > 0 && body.matches("\r\n").count() == ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decoded_is_encoded_to_the_same_bytes() {
        let utf16 = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| {
            mark.into_iter().chain("grün 🌲\n".encode_utf16().flat_map(unit)).collect::<Vec<u8>>()
        };
        let cases = [
            b"plain\n".to_vec(),
            b"\xef\xbb\xbfmarked\n".to_vec(),
            utf16([0xff, 0xfe], u16::to_le_bytes),
            utf16([0xfe, 0xff], u16::to_be_bytes),
            Vec::new(),
            b"caf\xe9 \x80 \x81\xff\r\n".to_vec(),
            (1..=255).collect(),
        ];
        for bytes in cases {
            let text = Text::decode(&bytes).expect("text");
            assert_eq!(text.encode(&text.body).as_ref(), Ok(&bytes), "{:?}", text.body);
        }
    }

    #[test]
    fn what_is_not_text_is_told_by_kind() {
        let cases: [(&[u8], NotText); 4] = [
            (b"\x89PNG\r\n", NotText::Binary("a PNG image")),
            (b"a\0b", NotText::Binary("binary data")),
            (b"\xff\xfeodd", NotText::Binary("binary data")),
            (b"\xff\xfe\0\0a\0\0\0", NotText::Binary("binary data")),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Text::decode(bytes), Err(expected), "{bytes:?}");
        }
    }

    #[test]
    fn a_letter_that_an_old_encoding_does_not_have_is_named() {
        let text = Text::decode(b"caf\xe9\n").expect("text");
        assert_eq!((text.body.as_str(), text.is_legacy()), ("café\n", true));
        assert_eq!(text.encode("né €\n"), Ok(b"n\xe9 \x80\n".to_vec()));
        assert_eq!(text.encode("a\n日"), Err(NotInEncoding { letter: '日', line: 2 }));
    }

    #[test]
    fn text_takes_on_carriage_returns_only_where_all_lines_have_them() {
        let lines = |file: &str| Text::decode(file.as_bytes()).expect("text").in_my_lines("x\ny\r\nz").into_owned();
        assert_eq!(lines("a\r\nb\r\n"), "x\r\ny\r\nz");
        assert_eq!(lines("a\r\nb\n"), "x\ny\r\nz");
        assert_eq!(lines("a"), "x\ny\r\nz");
    }
}
