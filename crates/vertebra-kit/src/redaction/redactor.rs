//! Finds what should not be told, in whole texts and in streams, and puts something else in its place.

use std::{borrow::Cow, ops::Range, sync::Arc};

use regex::Regex;
use regex_automata::meta;
use regex_syntax::hir::{Hir, Look};

use super::{kinds::Edge, prefix::beginnings};

/// What is put in the place of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Its kind: `[REDACTED:email]`.
    Redact,
    /// Stars and its last four characters: `****1111`. What is shorter than twelve characters is all stars.
    Mask,
    /// Its kind and a keyed hash, by which equal values can be told to be equal: `[REDACTED:email:9f86d081]`.
    Hash,
    /// Nothing: the whole text is refused. In the record, where nothing can be refused, its kind.
    Block,
}

/// One thing to find. A text is searched from left to right; of what begins at the same place the longest is found.
#[derive(Debug, Clone)]
pub(crate) struct Finder {
    pub(crate) kind: Arc<str>,
    /// What is put in its place. `None` shows it: no rule that looks at the name before it finds it.
    pub(crate) strategy: Option<Strategy>,
    pub(crate) regex: Regex,
    pub(crate) hir: Hir,
    pub(crate) edge: Edge,
    pub(crate) check: fn(&str) -> bool,
}

/// Finders that work together.
pub(crate) struct Redactor {
    finders: Vec<Finder>,
    /// Finds the longest end of a text that something may begin with.
    open: Option<meta::Regex>,
    /// Finds out whether there may be anything at all.
    any: meta::Regex,
    key: [u8; 32],
}

/// What became of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Redacted {
    /// The text, as far as it is decided.
    pub(crate) text: String,
    /// From which byte on it is not.
    pub(crate) open: usize,
    /// What was found that the whole text is refused for.
    pub(crate) blocked: Option<Arc<str>>,
}

/// Whether more of a text may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    MayCome,
    No,
}

struct Found {
    whole: Range<usize>,
    hidden: Range<usize>,
}

/// A part of a text that is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secret {
    pub(crate) range: Range<usize>,
    pub(crate) kind: Arc<str>,
    pub(crate) strategy: Strategy,
}

impl Redactor {
    pub(crate) fn new(finders: Vec<Finder>, key: [u8; 32]) -> Result<Self, Box<meta::BuildError>> {
        let any = Hir::alternation(finders.iter().map(|finder| beginnings(&finder.hir)).collect());
        let at_end = Hir::concat(vec![any, Hir::look(Look::End)]);
        let open = if finders.is_empty() { None } else { Some(meta::Regex::builder().build_from_hir(&at_end)?) };
        let all = Hir::alternation(finders.iter().map(|finder| finder.hir.clone()).collect());
        let any = meta::Regex::builder().build_from_hir(&all)?;
        Ok(Self { finders, open, any, key })
    }

    /// A whole text. Says what it is refused for, if it is.
    pub(crate) fn whole<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, Arc<str>> {
        let redacted = self.piece(None, text, More::No);
        match redacted.blocked {
            Some(kind) => Err(kind),
            None if redacted.text == text => Ok(Cow::Borrowed(text)),
            None => Ok(Cow::Owned(redacted.text)),
        }
    }

    /// A whole text that cannot be refused.
    pub(crate) fn veil<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let redacted = self.piece(None, text, More::No);
        if redacted.text == text { Cow::Borrowed(text) } else { Cow::Owned(redacted.text) }
    }

    /// The parts of a whole text that are not told, from left to right.
    pub(crate) fn secrets(&self, text: &str) -> Vec<Secret> {
        // One look instead of one for each kind: most files have none.
        if !self.any.is_match(text) {
            return Vec::new();
        }
        let mut next: Vec<Next> = self.finders.iter().map(|_| Next::Unknown).collect();
        let (mut at, mut before, mut secrets) = (0, None, Vec::new());
        while let Some((finder, Found { whole, hidden })) = self.leftmost(&mut next, text, at, before) {
            at = whole.end;
            if let Some(strategy) = finder.strategy {
                secrets.push(Secret { range: hidden.clone(), kind: finder.kind.clone(), strategy });
            } else {
                at = hidden.start;
            }
            // A mark ends with a bracket.
            let marked = finder.strategy.is_some() && hidden.end == at;
            before = if marked { Some(']') } else { text[..at].chars().next_back() };
        }
        secrets
    }

    /// The kinds that are looked for.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<str>> {
        self.finders.iter().filter(|finder| finder.strategy.is_some()).map(|finder| &finder.kind)
    }

    /// A piece of a text that comes after `follows`. However a text is cut: the pieces, each with what was open of the one
    /// before, become what the whole becomes, and nothing of what is hidden is among them at any time.
    pub(crate) fn piece(&self, follows: Option<char>, text: &str, more: More) -> Redacted {
        let mut out = Redacted::default();
        let mut next: Vec<Next> = self.finders.iter().map(|_| Next::Unknown).collect();
        let (mut at, mut open) = (0, self.open_from(text, 0, more));
        loop {
            let before = out.text.chars().next_back().or(follows);
            let found = self.leftmost(&mut next, text, at, before);
            match found {
                Some((finder, found)) if found.whole.start < open => {
                    out.text.push_str(&text[at..found.hidden.start]);
                    if let Some(strategy) = finder.strategy {
                        out.text.push_str(&self.instead(&finder.kind, strategy, &text[found.hidden.clone()]));
                        if strategy == Strategy::Block {
                            out.blocked.get_or_insert_with(|| finder.kind.clone());
                        }
                        out.text.push_str(&text[found.hidden.end..found.whole.end]);
                        at = found.whole.end;
                    } else {
                        // What is shown may still be hidden for what it is, and no more for what it is called.
                        at = found.hidden.start;
                    }
                    if open < at {
                        open = self.open_from(text, at, more);
                    }
                }
                _ => {
                    out.text.push_str(&text[at..open]);
                    out.open = open;
                    return out;
                }
            }
        }
    }

    /// Where the first thing begins, at or after `from`, that may be the beginning of something.
    fn open_from(&self, text: &str, from: usize, more: More) -> usize {
        match (&self.open, more) {
            (Some(open), More::MayCome) => {
                let input = regex_automata::Input::new(text).range(from..);
                open.find(input).map_or(text.len(), |found| found.start())
            }
            (None, _) | (_, More::No) => text.len(),
        }
    }

    /// What begins first, at or after `from`; the longest of it.
    fn leftmost(&self, next: &mut [Next], text: &str, from: usize, before: Option<char>) -> Option<(&Finder, Found)> {
        for (finder, next) in self.finders.iter().zip(&mut *next) {
            // What begins right here was judged by what stands in the text before it, and that is now something else.
            if matches!(next, Next::Unknown) || matches!(next, Next::At(found) if found.start <= from) {
                *next = finder.find(text, from, before).map_or(Next::Nowhere, Next::At);
            }
        }
        let places = next.iter().enumerate().filter_map(|(index, next)| match next {
            Next::At(found) => Some((found.start, std::cmp::Reverse(found.end), index)),
            Next::Unknown | Next::Nowhere => None,
        });
        let (start, std::cmp::Reverse(end), index) = places.min()?;
        let finder = &self.finders[index];
        Some((finder, Found { hidden: finder.hidden(text, start..end), whole: start..end }))
    }

    /// What is put in the place of a value.
    fn instead(&self, kind: &str, strategy: Strategy, value: &str) -> String {
        match strategy {
            Strategy::Redact | Strategy::Block => format!("[REDACTED:{kind}]"),
            Strategy::Mask => {
                let length = value.chars().count();
                let last = if length < 12 { 0 } else { 4 };
                format!("****{}", value.chars().skip(length - last).collect::<String>())
            }
            Strategy::Hash => {
                let hash = blake3::keyed_hash(&self.key, value.as_bytes()).to_hex();
                format!("[REDACTED:{kind}:{}]", &hash[..8])
            }
        }
    }
}

/// Where a finder finds something next.
enum Next {
    Unknown,
    At(Range<usize>),
    Nowhere,
}

impl Finder {
    /// What this finds first, at or after `from`. `before` is what stands before `from` now, whatever stood there.
    fn find(&self, text: &str, from: usize, before: Option<char>) -> Option<Range<usize>> {
        let in_word = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        let mut at = from;
        loop {
            let found = self.regex.find_at(&text[from..], at - from)?;
            let found = from + found.start()..from + found.end();
            let edge = self.edge == Edge::Any || !in_word || found.start > from;
            if edge && (self.check)(&text[self.hidden(text, found.clone())]) {
                return Some(found);
            }
            at = found.start + text[found.start..].chars().next().map_or(1, char::len_utf8);
        }
    }

    /// The part of a match that is hidden: its first group, or all of it.
    fn hidden(&self, text: &str, found: Range<usize>) -> Range<usize> {
        if self.regex.captures_len() == 1 {
            return found;
        }
        let captures = self.regex.captures_at(text, found.start);
        captures.and_then(|captures| captures.get(1)).map_or(found, |group| group.range())
    }
}
