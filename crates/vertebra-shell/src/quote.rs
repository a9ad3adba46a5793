//! Writes words so that a shell reads them back.

use std::borrow::Cow;

use crate::{read::is_reserved, simple::assigned};

/// Returns a text as one word for a shell. It is the argument of a command: in the place of the program a keyword needs
/// [`quote_line`].
///
/// ```
/// use vertebra_shell::quote;
///
/// assert_eq!(quote("src/main.rs"), "src/main.rs");
/// assert_eq!(quote("it's"), r"'it'\''s'");
/// assert_eq!(quote(""), "''");
/// ```
pub fn quote(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/.=:,+@%".contains(c);
    // `=ls` is a path to zsh, and `x=1` an assignment if it comes first.
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('=') && assigned(text).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// Returns a program and its arguments as a line for a shell.
///
/// ```
/// use vertebra_shell::quote_line;
///
/// assert_eq!(quote_line(["grep", "a b", "x"]), "grep 'a b' x");
/// assert_eq!(quote_line(["time", "x=1"]), "'time' 'x=1'");
/// ```
pub fn quote_line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let mut line = String::new();
    for word in words {
        let word = word.as_ref();
        match line.as_str() {
            "" if is_reserved(word) => line.extend(["'", word, "'"]),
            "" => line.push_str(&quote(word)),
            _ => line.extend([" ", &quote(word)]),
        }
    }
    line
}
