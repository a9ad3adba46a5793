//! How much of a text is told: the rest is in a file.

use std::io::Write as _;

/// How many characters a text of a hook may have.
const MAX_CHARACTERS: usize = 10_000;

/// How many of a longer one are told.
const PREVIEW: usize = 2000;

/// The text, or its beginning and where the whole of it is.
pub(crate) fn capped(text: String) -> String {
    let count = text.chars().count();
    if count <= MAX_CHARACTERS {
        return text;
    }
    let preview: String = text.chars().take(PREVIEW).collect();
    let kept = tempfile::Builder::new().prefix("hook-output-").suffix(".txt").tempfile().and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.keep().map(|(_, path)| path).map_err(|error| error.error)
    });
    match kept {
        Ok(path) => format!("{preview}\n… ({count} characters in all; the whole text is in {})", path.display()),
        Err(error) => format!("{preview}\n… ({count} characters in all; the rest cannot be kept: {error})"),
    }
}
