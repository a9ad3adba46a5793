//! A chain over the lines of a session: each link is made of the one before it and of a line, so that no line can be
//! changed, added, moved or taken away without breaking it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A link of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first line is chained to.
    pub(crate) const START: Self = Self([0; 32]);

    /// The next link: of this one and of a line, as it is stored.
    #[must_use]
    pub fn then(self, line: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(line.as_bytes());
        Self(hasher.finalize().into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = NotHex;

    fn try_from(text: String) -> Result<Self, NotHex> {
        text.parse()
    }
}

impl FromStr for Hash {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        unhex(text).map(Self)
    }
}

/// A text that should be so many bytes in hexadecimal digits, and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} bytes in hexadecimal digits are expected here")]
pub struct NotHex(usize);

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

pub(crate) fn unhex<const N: usize>(text: &str) -> Result<[u8; N], NotHex> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(NotHex(N));
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| NotHex(N))?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| NotHex(N))?;
    }
    Ok(bytes)
}

/// What a look at the chain of a session shows.
///
/// The list is closed: what verifies a journal has to act on each outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verified", rename_all = "snake_case")]
pub enum Verified {
    /// Every line is as it was written, and none is missing.
    Intact {
        /// So many lines.
        lines: u64,
        /// The last link. Whoever has kept it elsewhere can tell a chain that was made anew.
        head: Hash,
    },
    /// A link is broken. Lines before it are as they were written.
    Broken {
        /// The number of the first line that is not what it was, from 1.
        line: u64,
        /// How.
        why: String,
        /// What is there instead.
        found: Option<String>,
    },
    /// The session was recorded without a chain.
    NoChain {
        /// So many lines.
        lines: u64,
    },
}
