//! Errors in settings files, with the line and a mark under the position.

use std::{io, ops::Range, sync::Arc};

use crate::shown;

/// How many bytes of a line an error shows.
const LONGEST: usize = 400;

/// The reason why a settings file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{place}: {source}")]
    Io {
        /// The file.
        place: Arc<str>,
        /// The cause.
        source: io::Error,
    },
    /// A value or key is wrong.
    #[error("{place}, line {line}: {message}{}", excerpt(*line, text, mark))]
    Content {
        /// The file.
        place: Arc<str>,
        /// The line number, starting at 1.
        line: usize,
        /// The line itself, with control characters escaped and possible secrets removed.
        text: String,
        /// The range of characters that is marked.
        mark: Range<usize>,
        /// The problem, and what to write instead.
        message: String,
    },
}

impl SettingsError {
    /// Makes an error about this range of the text. With `Values::Hidden`, the text after `=` is not shown.
    pub(super) fn at(place: &Arc<str>, text: &str, span: Range<usize>, values: Values, message: String) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let number = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |byte| byte + 1);
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        // Of a very long line, only what is around the mark.
        let from = line.floor_char_boundary(span.start.saturating_sub(start).saturating_sub(LONGEST / 2));
        let from = if line.len() > LONGEST { from } else { 0 };
        let (start, line) = (start + from, &line[from..line.floor_char_boundary(from + LONGEST)]);
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

/// Whether an error shows the value on its line. The value of `api_key = …` is most likely a secret.
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
