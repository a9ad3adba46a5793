//! Reads a git configuration file as git does: every way of writing it, or an error.

use super::Refused;

/// One value of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// In lower case.
    pub(super) section: String,
    /// As written; it minds case.
    pub(super) subsection: Option<Vec<u8>>,
    /// In lower case.
    pub(super) key: String,
    /// `None` for a key without `=`, which means true.
    pub(super) value: Option<Vec<u8>>,
}

impl Entry {
    /// Returns whether both set the same thing.
    pub(super) fn same_key(&self, other: &Self) -> bool {
        self.section == other.section && self.subsection == other.subsection && self.key == other.key
    }

    /// Returns the key for people.
    pub(super) fn name(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{}.{}", self.section, String::from_utf8_lossy(subsection), self.key),
            None => format!("{}.{}", self.section, self.key),
        }
    }
}

/// Returns the values of a file in their order.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Entry>, Refused> {
    let mut reader = Reader { text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), at: 0, line: 1 };
    let mut entries = Vec::new();
    let mut section: Option<(String, Option<Vec<u8>>)> = None;
    while let Some(byte) = reader.next() {
        match byte {
            b'\n' => {}
            byte if is_space(byte) => {}
            b'#' | b';' => reader.skip_line(),
            b'[' => section = Some(reader.section()?),
            byte if byte.is_ascii_alphabetic() => {
                let Some((section, subsection)) = section.clone() else { return Err(reader.wrong()) };
                let (key, value) = reader.pair(byte)?;
                entries.push(Entry { section, subsection, key, value });
            }
            _ => return Err(reader.wrong()),
        }
    }
    Ok(entries)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
}

/// What git takes for a space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

impl Reader<'_> {
    fn wrong(&self) -> Refused {
        Refused::Syntax { line: self.line }
    }

    /// The next byte; a line may end with `\r\n`.
    fn next(&mut self) -> Option<u8> {
        let mut byte = *self.text.get(self.at)?;
        self.at += 1;
        if byte == b'\r' && self.text.get(self.at) == Some(&b'\n') {
            self.at += 1;
            byte = b'\n';
        }
        if byte == b'\n' {
            self.line += 1;
        }
        Some(byte)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// `[section]`, `[section.sub]` or `[section "sub"]`, after the bracket.
    fn section(&mut self) -> Result<(String, Option<Vec<u8>>), Refused> {
        let mut name = String::new();
        loop {
            match self.next() {
                Some(b']') => break,
                Some(byte) if is_space(byte) && byte != b'\n' => return Ok((name, Some(self.subsection(byte)?))),
                Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') => {
                    name.push(char::from(byte.to_ascii_lowercase()));
                }
                Some(_) | None => return Err(self.wrong()),
            }
        }
        Ok(match name.split_once('.') {
            Some((section, subsection)) => (section.to_owned(), Some(subsection.as_bytes().to_vec())),
            None => (name, None),
        })
    }

    fn subsection(&mut self, mut byte: u8) -> Result<Vec<u8>, Refused> {
        while is_space(byte) {
            if byte == b'\n' {
                return Err(self.wrong());
            }
            byte = self.next().ok_or_else(|| self.wrong())?;
        }
        if byte != b'"' {
            return Err(self.wrong());
        }
        let mut name = Vec::new();
        loop {
            match self.next() {
                Some(b'"') => break,
                Some(b'\\') => match self.next() {
                    Some(byte) if byte != b'\n' => name.push(byte),
                    _ => return Err(self.wrong()),
                },
                Some(byte) if byte != b'\n' => name.push(byte),
                _ => return Err(self.wrong()),
            }
        }
        if self.next() == Some(b']') { Ok(name) } else { Err(self.wrong()) }
    }

    /// A key, whose first letter was read, and its value.
    fn pair(&mut self, first: u8) -> Result<(String, Option<Vec<u8>>), Refused> {
        let mut key = String::from(char::from(first.to_ascii_lowercase()));
        let mut byte = loop {
            match self.next() {
                Some(byte) if byte.is_ascii_alphanumeric() || byte == b'-' => {
                    key.push(char::from(byte.to_ascii_lowercase()));
                }
                byte => break byte,
            }
        };
        while matches!(byte, Some(b' ' | b'\t')) {
            byte = self.next();
        }
        match byte {
            None | Some(b'\n') => Ok((key, None)),
            Some(b'=') => Ok((key, Some(self.value()?))),
            Some(_) => Err(self.wrong()),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, Refused> {
        let mut value = Vec::new();
        let (mut is_quoted, mut is_comment) = (false, false);
        // Where the value ends if nothing but spaces follows.
        let mut end = None;
        loop {
            let Some(byte) = self.next().filter(|byte| *byte != b'\n') else {
                if is_quoted {
                    return Err(self.wrong());
                }
                value.truncate(end.unwrap_or(value.len()));
                return Ok(value);
            };
            if is_comment {
                continue;
            }
            if is_space(byte) && !is_quoted {
                if end.is_none() && !value.is_empty() {
                    end = Some(value.len());
                }
                if !value.is_empty() {
                    value.push(byte);
                }
                continue;
            }
            if !is_quoted && matches!(byte, b';' | b'#') {
                is_comment = true;
                continue;
            }
            end = None;
            match byte {
                b'\\' => match self.next() {
                    Some(b'\n') => {}
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(b'n') => value.push(b'\n'),
                    Some(byte @ (b'\\' | b'"')) => value.push(byte),
                    _ => return Err(self.wrong()),
                },
                b'"' => is_quoted = !is_quoted,
                byte => value.push(byte),
            }
        }
    }
}
