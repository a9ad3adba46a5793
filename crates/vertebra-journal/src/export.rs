//! Exports a session to a file: one line of JSON per fact of the journal, optionally with a signature.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};
use vertebra::{JournalError, JournalFault};

use crate::{
    Store,
    chain::{Hash, NotHex, Verified, hex, unhex},
    key::{SigningKey, VerifyingKey, key_text},
};

/// The longest line of an export, in bytes.
const LONGEST: u64 = 128 << 20;

/// The result of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The number of lines.
    pub lines: u64,
    /// The numbers of the lines that could not be read. The export does not contain them.
    pub unreadable: Vec<u64>,
    /// The last link of a chain over the lines. It equals that of the session if the session has a chain and no line is
    /// missing.
    pub head: Hash,
}

/// What the signature of an export proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signed {
    /// The session.
    pub session_id: String,
    /// The number of its lines.
    pub lines: u64,
    /// The last link of the chain over them.
    pub head: Hash,
}

/// The last line of a signed export.
#[derive(Serialize, Deserialize)]
struct Seal {
    sealed: Format,
    session_id: String,
    lines: u64,
    head: Hash,
    public_key: String,
    signature: String,
}

/// The format of a signature.
#[derive(Serialize, Deserialize)]
enum Format {
    #[serde(rename = "vertebra journal, blake3, ed25519")]
    First,
}

impl Seal {
    /// Signs the lines of a session with `key`.
    fn new(session_id: &str, lines: u64, head: Hash, key: &SigningKey) -> Self {
        let signature = key.sign(Self::signed_text(session_id, lines, head).as_bytes());
        Self {
            sealed: Format::First,
            session_id: session_id.to_owned(),
            lines,
            head,
            public_key: key_text(&key.verifying_key()),
            signature: hex(&signature),
        }
    }

    /// Returns the text that is signed. The head of the chain covers every byte of the lines.
    fn signed_text(session_id: &str, lines: u64, head: Hash) -> String {
        format!("vertebra journal export 1\n{session_id}\n{lines}\n{head}\n")
    }
}

/// The reason why an export does not verify.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file could not be read.
    #[error("the export cannot be read")]
    Read(#[from] io::Error),
    /// The export has no signature.
    #[error("the export is not signed: its last line is not a signature")]
    NotSigned,
    /// The export is signed with another key.
    #[error("the export is signed with another key: {0}")]
    OtherKey(String),
    /// The export was changed after it was signed.
    #[error("the export is not what was signed: {0}")]
    Changed(String),
}

impl From<NotHex> for ExportError {
    fn from(error: NotHex) -> Self {
        Self::Changed(error.to_string())
    }
}

impl Store {
    /// Writes a session to `to`, one line of JSON per fact. With a key, the last line is a signature. It proves that the
    /// owner of the key exported exactly these lines.
    ///
    /// Without a key, lines that cannot be read are left out and reported. A session with such a line cannot be signed.
    pub fn export(
        &self,
        session_id: &str,
        to: &mut dyn Write,
        key: Option<&SigningKey>,
    ) -> Result<Exported, JournalError> {
        if key.is_some()
            && let Verified::Broken { line, why, .. } = self.verify(session_id)?
        {
            let message = format!("`{session_id}` is not signed, because line {line} is not what it was: {why}");
            return Err(JournalError::new(JournalFault::Corrupt, message));
        }
        let failed = |error: io::Error| JournalError::new(JournalFault::Failed, format!("the export: {error}"));
        let mut exported = Exported { lines: 0, unreadable: vec![], head: Hash::START };
        for body in self.bodies(session_id)? {
            match body {
                Ok(body) => {
                    exported.lines += 1;
                    exported.head = exported.head.then(&body.text);
                    to.write_all(body.text.as_bytes()).and_then(|()| to.write_all(b"\n")).map_err(failed)?;
                }
                Err((number, error)) if key.is_none() && error.kind == JournalFault::Corrupt => {
                    exported.unreadable.push(number);
                }
                Err((_, error)) => return Err(error),
            }
        }
        if let Some(key) = key {
            let seal = Seal::new(session_id, exported.lines, exported.head, key);
            let seal = serde_json::to_string(&seal).map_err(|error| failed(error.into()))?;
            writeln!(to, "{seal}").map_err(failed)?;
        }
        to.flush().map_err(failed)?;
        Ok(exported)
    }
}

/// Verifies that an export is exactly what the owner of `key` signed.
pub fn verify_export(mut from: impl BufRead, key: &VerifyingKey) -> Result<Signed, ExportError> {
    let (mut lines, mut head) = (0, Hash::START);
    let mut last = next_line(&mut from)?.ok_or(ExportError::NotSigned)?;
    while let Some(next) = next_line(&mut from)? {
        head = head.then(&last);
        lines += 1;
        last = next;
    }
    let seal: Seal = serde_json::from_str(&last).map_err(|_| ExportError::NotSigned)?;
    if seal.public_key != key_text(key) {
        return Err(ExportError::OtherKey(seal.public_key));
    }
    let signature = unhex(&seal.signature)?;
    let text = Seal::signed_text(&seal.session_id, seal.lines, seal.head);
    if !key.verifies(text.as_bytes(), &signature) {
        return Err(ExportError::Changed("the signature does not fit its last line".to_owned()));
    }
    if lines != seal.lines {
        return Err(ExportError::Changed(format!("{} lines were signed, and {lines} are there", seal.lines)));
    }
    if head != seal.head {
        return Err(ExportError::Changed("a line is not what it was".to_owned()));
    }
    Ok(Signed { session_id: seal.session_id, lines, head })
}

fn next_line(from: &mut impl BufRead) -> Result<Option<String>, ExportError> {
    let mut line = vec![];
    from.take(LONGEST).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => return Ok(None),
        Some(b'\n') => {}
        // The file was truncated, or the line is too long.
        Some(_) => return Err(ExportError::Changed("it was cut off".to_owned())),
    }
    String::from_utf8(line).map(Some).map_err(|_| ExportError::Changed("a line is not text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_of_an_earlier_version_still_makes_the_same_signature() {
        let key = SigningKey::from_bytes(include_bytes!("../tests/data/signed/journal-signing.key"));
        let export = include_str!("../tests/data/signed/session.jsonl");
        let written = export.lines().last().expect("a last line");
        let Seal { session_id, lines, head, .. } = serde_json::from_str(written).expect("the signature");

        let seal = Seal::new(&session_id, lines, head, &key);

        assert_eq!(serde_json::to_string(&seal).expect("JSON"), written);
    }
}
