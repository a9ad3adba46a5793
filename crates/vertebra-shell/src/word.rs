//! A word of a command: text that is known, and pieces whose value only a shell can tell.

use std::ops::Range;

/// A word of a command line.
///
/// ```
/// use vertebra_shell::{ParseLimits, parse};
///
/// let line = parse(r#"cp "a b" "$HOME"/c"#, ParseLimits::default());
/// let words = line.commands()[0].words();
/// assert_eq!(words[1].known(), Some("a b"));
/// assert_eq!((words[2].known(), words[2].text()), (None, "$HOME/c"));
/// assert_eq!(words[2].resolve(|name| (name == "HOME").then_some("/home/me")).as_deref(), Some("/home/me/c"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    text: String,
    holes: Vec<Hole>,
    quoted: bool,
    span: Option<Range<usize>>,
}

/// A piece of the text of a word that a shell expands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hole {
    pub(crate) range: Range<usize>,
    pub(crate) kind: UnknownKind,
}

/// Why the value of a piece is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownKind {
    /// `$name` or `${name}`: see [`Piece::variable`].
    Variable,
    /// A variable in another form: `$1`, `${x:-y}`, `${x#y}`.
    Expansion,
    /// The output of commands: `$(…)`, `` `…` ``; or the name of a pipe to them: `<(…)`.
    Output,
    /// `$((…))`.
    Arithmetic,
    /// Names of files: `*`, `?`, `[a-z]`, `@(a|b)`.
    Pattern,
    /// Several words: `{a,b}`, `{1..9}`, and the elements of an array, `x=(a b)`.
    Several,
    /// `~`, the home folder.
    Home,
    /// `~name`, the home folder of another user.
    Folder,
    /// Bytes that are not UTF-8.
    Bytes,
}

/// A piece of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'w> {
    /// Text, without quotes and escapes.
    Text(&'w str),
    /// Something else, and how it is written.
    Unknown(UnknownKind, &'w str),
}

impl<'w> Piece<'w> {
    /// The name of the variable that the piece is the value of; `HOME` for `~`.
    pub fn variable(self) -> Option<&'w str> {
        match self {
            Self::Unknown(UnknownKind::Home, _) => Some("HOME"),
            Self::Unknown(UnknownKind::Variable, written) => {
                let name = written.strip_prefix('$')?;
                Some(name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name))
            }
            Self::Unknown(..) | Self::Text(_) => None,
        }
    }
}

impl Word {
    /// A word of known text.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A word of a text whose quotes are lost: whatever could be an expansion counts as one.
    pub(crate) fn guessed(text: &str) -> Self {
        let is_open = text.contains(['$', '`', '*', '?', '[', '{', '~']);
        let holes = is_open.then_some(Hole { range: 0..text.len(), kind: UnknownKind::Expansion });
        Self { text: text.to_owned(), holes: holes.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn new(text: String, holes: Vec<Hole>, quoted: bool, span: Option<Range<usize>>) -> Self {
        Self { text, holes, quoted, span }
    }

    /// The text without quotes and escapes. Unknown pieces are in it as they are written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value of the word, if that is known.
    pub fn known(&self) -> Option<&str> {
        self.holes.is_empty().then_some(&*self.text)
    }

    /// Returns whether a quote or an escape is part of the word. Such a word is never a keyword.
    pub fn is_quoted(&self) -> bool {
        self.quoted
    }

    /// The place of the word in the line. `None` if it comes from a text that was unquoted first, such as the script of
    /// `sh -c '…'`.
    pub fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }

    /// The pieces of the word, in order.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut from = 0;
        let ends = std::iter::once(self.text.len()..self.text.len());
        self.holes.iter().map(|hole| hole.range.clone()).chain(ends).enumerate().flat_map(move |(at, range)| {
            let before = Some(&self.text[from..range.start]).filter(|text| !text.is_empty()).map(Piece::Text);
            from = range.end;
            let hole = self.holes.get(at).map(|hole| Piece::Unknown(hole.kind, &self.text[range]));
            before.into_iter().chain(hole)
        })
    }

    /// The value of the word, with these values of variables. Nothing, if a piece stays unknown.
    pub fn resolve<'v, V: AsRef<str> + 'v>(&self, value: impl Fn(&str) -> Option<V>) -> Option<String> {
        self.pieces().try_fold(String::with_capacity(self.text.len()), |mut whole, piece| {
            match piece {
                Piece::Text(text) => whole.push_str(text),
                Piece::Unknown(..) => whole.push_str(value(piece.variable()?)?.as_ref()),
            }
            Some(whole)
        })
    }

    /// Where the last unknown piece of the text ends. Braces do not count, because the words that they make are listed.
    pub(crate) fn end_of_unknown(&self) -> Option<usize> {
        let mut unknown = self.holes.iter().rev().filter(|hole| hole.kind != UnknownKind::Several);
        unknown.next().map(|hole| hole.range.end)
    }
}
