//! Why settings cannot be used, with the line to look at and a mark under the place.

use std::{io, ops::Range, sync::Arc};

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
    #[error("{place}, line {line}: {message}{}", excerpt(*line, text, mark))]
    Content {
        /// The file.
        place: Arc<str>,
        /// The line, from 1.
        line: usize,
        /// The line itself, harmless to show; what may be a secret is left out.
        text: String,
        /// What of it is meant, in letters.
        mark: Range<usize>,
        /// What is wrong, and what to write instead.
        message: String,
    },
}

impl SettingsError {
    /// Something is wrong with what stands here. What follows a `=` is left out if `Values::Hidden`.
    pub(super) fn at(place: &Arc<str>, text: &str, span: Range<usize>, values: Values, message: String) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let number = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |byte| byte + 1);
        let line = text.lines().nth(number).unwrap_or_default();
        let letters = |text: &str| shown(text).chars().count();
        let (line, mark) = match (values, line.split_once('=')) {
            (Values::Hidden, Some((key, _))) => {
                let from = letters(&key[..key.len() - key.trim_start().len()]);
                (format!("{}= …", shown(key)), from..letters(key.trim_end()))
            }
            (Values::Hidden, None) | (Values::Shown, _) => {
                let clip = |byte: usize| line.get(..byte.saturating_sub(start).min(line.len())).map_or(0, letters);
                (shown(line), clip(span.start)..clip(span.end.max(span.start)))
            }
        };
        Self::Content { place: place.clone(), line: number + 1, text: line, mark, message }
    }
}

/// Whether the line of an error is shown with its value. One who writes `api_key = …` has most likely written a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Shown,
    Hidden,
}

fn excerpt(line: usize, text: &str, mark: &Range<usize>) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut excerpt = format!("\n  {line} | {text}");
    if !mark.is_empty() {
        let margin = " ".repeat(line.to_string().len());
        let (before, under) = (" ".repeat(mark.start), "^".repeat(mark.len()));
        excerpt = format!("{excerpt}\n  {margin} | {before}{under}");
    }
    excerpt
}
