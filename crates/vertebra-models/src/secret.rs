//! A key that is never shown.

use std::{fmt, sync::Arc};

/// Shorter values are no keys, and to remove them from texts would only garble the texts.
const SHORTEST_KEY: usize = 8;

/// A provider's key. Nothing that prints it shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// This key. Space around it is an accident of where it was kept.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().into())
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without the key.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.len() < SHORTEST_KEY { text.to_owned() } else { text.replace(&*self.0, "[key]") }
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_by_nothing_that_prints_it() {
        let key = Secret::new(" sk-planted-0123456789\n");
        assert_eq!(format!("{key:?} {key}"), "Secret(…) [key]");
        assert_eq!(key.scrub("Bearer sk-planted-0123456789!"), "Bearer [key]!");
        assert_eq!(key.reveal(), "sk-planted-0123456789");
    }

    #[test]
    fn a_word_that_is_too_short_for_a_key_stays_in_texts() {
        assert_eq!(Secret::new("ollama").scrub("ollama is not running"), "ollama is not running");
    }
}
