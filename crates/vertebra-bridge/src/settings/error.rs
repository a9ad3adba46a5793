//! Why settings cannot be used, with the line to look at.

use std::{io, sync::Arc};

use crate::shown;

/// Why a file of settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("{place}: {source}")]
    Io {
        /// The file.
        place: Arc<str>,
        /// Why not.
        source: io::Error,
    },
    /// Something in it is not what it has to be.
    #[error("{place}, line {line}: {message}{}", excerpt(*line, text))]
    Content {
        /// The file.
        place: Arc<str>,
        /// The line, from 1.
        line: usize,
        /// The line itself, harmless to show; empty if it may hold a secret.
        text: String,
        /// What is wrong, and what to write instead.
        message: String,
    },
}

impl SettingsError {
    /// Something is wrong with what stands at this byte. What follows a `=` is left out if `Values::Hidden`.
    pub(super) fn at(place: &Arc<str>, text: &str, byte: usize, values: Values, message: String) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let number = before.matches('\n').count();
        let line = text.lines().nth(number).unwrap_or_default();
        let line = match (values, line.split_once('=')) {
            (Values::Hidden, Some((key, _))) => format!("{}= …", shown(key)),
            (Values::Hidden, None) | (Values::Shown, _) => shown(line),
        };
        Self::Content { place: place.clone(), line: number + 1, text: line, message }
    }
}

/// Whether the line of an error is shown with its value. One who writes `api_key = …` has most likely written a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Shown,
    Hidden,
}

fn excerpt(line: usize, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n  {line} | {text}") }
}
