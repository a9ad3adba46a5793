//! Matchers compiled: patterns parsed once, attributes of an event asked for once.

use std::cell::{Cell, OnceCell};

use globset::{Glob, GlobBuilder};
use serde_json::Value;

use crate::{
    Attribute, AttributeValue, BadMatcher, Event, Matcher, PatternKind, Point, State, Test,
    attribute::place,
    pattern::{Compile, Pattern, Regular, Unknown, Written},
    view::{Asks, View},
};

pub(crate) enum Compiled {
    /// An attribute, by its place in the list of the point.
    Attribute {
        place: u32,
        is: CompiledPattern,
    },
    Inside {
        place: u32,
        at: String,
        is: CompiledTest,
    },
    Metadata {
        key: String,
        is: CompiledTest,
    },
    All(Vec<Compiled>),
    Any(Vec<Compiled>),
    Not(Box<Compiled>),
    /// One whole matcher with negated patterns over several texts: asked about each of them.
    Some(Box<Compiled>, Asks),
    Every(Box<Compiled>, Asks),
}

pub(crate) enum CompiledPattern {
    Name(NamePattern),
    Glob(Pattern<Glob>),
    Regex(Pattern<Regular>),
    Exact(String),
    Word(String),
}

pub(crate) enum CompiledTest {
    Exists,
    Equals(Value),
    Matches(Pattern<Regular>),
}

/// An event and its state as matchers see them. Behind a reference, so that matching is compiled once for all points.
pub(crate) trait Subject {
    /// The attributes that the point has.
    fn attributes(&self) -> &'static [Attribute];
    /// The value of the attribute at this place in the point's list.
    fn attribute(&self, place: u32) -> Option<AttributeValue<'_>>;
    fn metadata(&self, key: &str) -> Option<&Value>;
}

/// The [`Subject`] of a dispatch.
pub(crate) struct Happening<'a, P: Point> {
    pub(crate) event: &'a P::Event,
    pub(crate) state: &'a P::State,
    pub(crate) attributes: &'static [Attribute],
}

impl<P: Point> Subject for Happening<'_, P> {
    fn attributes(&self) -> &'static [Attribute] {
        self.attributes
    }

    fn attribute(&self, place: u32) -> Option<AttributeValue<'_>> {
        self.event.attribute(self.attributes[place as usize].key)
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.state.metadata(key)
    }
}

/// The attributes of one event, each asked for only if a matcher tests it.
pub(crate) struct Attributes<'a> {
    subject: &'a dyn Subject,
    /// Values that are work to make, by the place of their attribute. Most dispatches need none of them.
    kept: OnceCell<Box<[OnceCell<Option<AttributeValue<'a>>>]>>,
    /// Whether a pattern could not be evaluated.
    pub(crate) unknown: Cell<bool>,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(subject: &'a dyn Subject) -> Self {
        Self { subject, kept: OnceCell::new(), unknown: Cell::new(false) }
    }

    /// The value of an attribute, asked for at most once per dispatch: for kinds whose values are work to make.
    pub(crate) fn kept(&self, place: u32) -> Option<&AttributeValue<'a>> {
        let kept = self.kept.get_or_init(|| self.subject.attributes().iter().map(|_| OnceCell::new()).collect());
        kept[place as usize].get_or_init(|| self.subject.attribute(place)).as_ref()
    }

    /// The value of an attribute that events have at hand.
    pub(crate) fn at_hand(&self, place: u32) -> Option<AttributeValue<'a>> {
        self.subject.attribute(place)
    }

    /// Returns whether the matcher holds. A matcher that cannot be evaluated counts as holding, so that its hook runs.
    pub(crate) fn satisfy(&self, matcher: &Compiled) -> bool {
        let holds = matcher.holds(self, &View::WHOLE);
        holds || self.unknown.take()
    }

    pub(crate) fn known(&self, matches: Result<bool, Unknown>) -> bool {
        matches.unwrap_or_else(|Unknown| {
            self.unknown.set(true);
            false
        })
    }
}

impl Compiled {
    pub(crate) fn new(matcher: &Matcher, attributes: &[Attribute], when: Compile) -> Result<Self, BadMatcher> {
        let compiled = Self::part(matcher, attributes, when)?;
        let asks = Asks::of(&compiled);
        Ok(if asks.negates() { Self::Some(Box::new(compiled), asks) } else { compiled })
    }

    fn part(matcher: &Matcher, attributes: &[Attribute], when: Compile) -> Result<Self, BadMatcher> {
        let each = |inner: &[Matcher]| {
            inner.iter().map(|matcher| Self::part(matcher, attributes, when)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match matcher {
            Matcher::Attribute { key, pattern } => {
                let (place, attribute) = place(attributes, key)?;
                Self::Attribute { place, is: CompiledPattern::new(attribute, pattern, when)? }
            }
            Matcher::Inside { key, at, is } => {
                let (place, attribute) = place(attributes, key)?;
                Self::Inside { place, at: at.clone(), is: CompiledTest::new(json(attribute, at)?.key, is, when)? }
            }
            Matcher::Metadata { key, is } => {
                Self::Metadata { key: key.clone(), is: CompiledTest::new("metadata", is, when)? }
            }
            Matcher::All(inner) => Self::All(cheapest_first(each(inner)?)),
            Matcher::Any(inner) => Self::Any(cheapest_first(each(inner)?)),
            Matcher::Not(inner) => Self::Not(Box::new(Self::part(inner, attributes, when)?)),
            Matcher::Every(inner) => {
                let inner = Self::part(inner, attributes, when)?;
                let asks = Asks::of(&inner);
                Self::Every(Box::new(inner), asks)
            }
        })
    }

    /// Checks attributes and patterns. No pattern is compiled.
    pub(crate) fn check(matcher: &Matcher, attributes: &[Attribute]) -> Result<(), BadMatcher> {
        let test = |field, is: &Test| match is {
            Test::Matches(pattern) => check_regex(field, pattern),
            Test::Exists | Test::Equals(_) => Ok(()),
        };
        match matcher {
            Matcher::Attribute { key, pattern } => {
                let (_, Attribute { key, kind }) = place(attributes, key)?;
                match kind {
                    PatternKind::Name => NamePattern::check(key, pattern),
                    PatternKind::Glob => path_glob(key, pattern).map(drop),
                    PatternKind::Regex => check_regex(key, pattern),
                    PatternKind::Exact | PatternKind::Word => Ok(()),
                    PatternKind::Json => Err(needs_a_place(key, pattern)),
                }
            }
            Matcher::Inside { key, at, is } => test(json(place(attributes, key)?.1, at)?.key, is),
            Matcher::Metadata { is, .. } => test("metadata", is),
            Matcher::All(inner) | Matcher::Any(inner) => {
                inner.iter().try_for_each(|inner| Self::check(inner, attributes))
            }
            Matcher::Not(inner) | Matcher::Every(inner) => Self::check(inner, attributes),
        }
    }

    /// How much work it is to ask, roughly.
    fn cost(&self) -> u8 {
        match self {
            Self::Attribute { is, .. } => match is {
                CompiledPattern::Name(_) | CompiledPattern::Exact(_) | CompiledPattern::Word(_) => 0,
                CompiledPattern::Glob(_) => 2,
                CompiledPattern::Regex(_) => 3,
            },
            Self::Metadata { .. } | Self::Inside { .. } => 1,
            Self::All(inner) | Self::Any(inner) => inner.iter().map(Self::cost).max().unwrap_or_default(),
            Self::Not(inner) | Self::Some(inner, _) | Self::Every(inner, _) => inner.cost(),
        }
    }

    pub(crate) fn holds(&self, attributes: &Attributes<'_>, view: &View<'_>) -> bool {
        match self {
            Self::Attribute { place, is } => {
                let is_such = |text: &str| attributes.known(is.holds(text));
                match is {
                    CompiledPattern::Glob(_) | CompiledPattern::Regex(_) => {
                        attributes.kept(*place).is_some_and(|value| view.has(*place, value, is_such))
                    }
                    CompiledPattern::Name(_) | CompiledPattern::Exact(_) | CompiledPattern::Word(_) => {
                        attributes.at_hand(*place).is_some_and(|value| value.any_text(is_such))
                    }
                }
            }
            Self::Inside { place, at, is } => {
                attributes.known(is.holds(attributes.kept(*place).and_then(|value| value.at(at))))
            }
            Self::Metadata { key, is } => attributes.known(is.holds(attributes.subject.metadata(key))),
            Self::All(inner) => inner.iter().all(|matcher| matcher.holds(attributes, view)),
            Self::Any(inner) => inner.iter().any(|matcher| matcher.holds(attributes, view)),
            Self::Not(inner) => !inner.holds(attributes, &view.negated()),
            Self::Some(inner, asks) => asks.holds_for_one(inner, attributes),
            Self::Every(inner, asks) => asks.holds_for_every(inner, attributes),
        }
    }
}

impl CompiledPattern {
    fn new(Attribute { key, kind }: Attribute, pattern: &str, when: Compile) -> Result<Self, BadMatcher> {
        Ok(match kind {
            PatternKind::Name => Self::Name(NamePattern::new(key, pattern, when)?),
            PatternKind::Glob => Self::Glob(compiled(key, pattern, path_glob(key, pattern)?, when)?),
            PatternKind::Regex => Self::Regex(regex(key, pattern, when)?),
            PatternKind::Exact => Self::Exact(pattern.to_owned()),
            PatternKind::Word => Self::Word(pattern.to_owned()),
            PatternKind::Json => return Err(needs_a_place(key, pattern)),
        })
    }

    fn holds(&self, text: &str) -> Result<bool, Unknown> {
        match self {
            Self::Name(pattern) => pattern.holds(text),
            Self::Glob(glob) => glob.matches(text),
            Self::Regex(regex) => regex.matches(text),
            Self::Exact(exact) => Ok(exact == text),
            Self::Word(word) => Ok(word.eq_ignore_ascii_case(text)),
        }
    }
}

impl CompiledTest {
    fn new(field: &'static str, test: &Test, when: Compile) -> Result<Self, BadMatcher> {
        Ok(match test {
            Test::Exists => Self::Exists,
            Test::Equals(value) => Self::Equals(value.clone()),
            Test::Matches(pattern) => Self::Matches(regex(field, pattern, when)?),
        })
    }

    fn holds(&self, value: Option<&Value>) -> Result<bool, Unknown> {
        match (self, value) {
            (_, None) => Ok(false),
            (Self::Exists, Some(_)) => Ok(true),
            (Self::Equals(expected), Some(value)) => Ok(expected == value),
            (Self::Matches(regex), Some(value)) => value.as_str().map_or(Ok(false), |text| regex.matches(text)),
        }
    }
}

/// The attribute, if a place inside it can be tested.
fn json(attribute: Attribute, at: &str) -> Result<Attribute, BadMatcher> {
    match attribute.kind {
        PatternKind::Json => Ok(attribute),
        PatternKind::Name | PatternKind::Glob | PatternKind::Regex | PatternKind::Exact | PatternKind::Word => {
            Err(bad(attribute.key, at, &"it is text and has no places inside; give a pattern"))
        }
    }
}

fn needs_a_place(field: &'static str, pattern: &str) -> BadMatcher {
    bad(field, pattern, &"it is JSON; test a place inside it with a JSON pointer")
}

/// A pattern for a whole name, without regard to case.
pub(crate) enum NamePattern {
    /// `a|b|read_*`: names in lower case, and globs.
    Names { exact: Vec<String>, globs: Vec<Pattern<Glob>> },
    /// `/…/`
    Regex(Pattern<Regular>),
}

impl NamePattern {
    pub(crate) fn new(field: &'static str, pattern: &str, when: Compile) -> Result<Self, BadMatcher> {
        if let Some(inner) = between_slashes(pattern) {
            return Ok(Self::Regex(name_regex(field, inner, when)?));
        }
        let mut exact = Vec::new();
        let mut globs = Vec::new();
        for name in split_alternatives(pattern) {
            if is_glob(name) {
                globs.push(compiled(field, name, name_glob(field, name)?, when)?);
            } else {
                exact.push(name.to_ascii_lowercase());
            }
        }
        Ok(Self::Names { exact, globs })
    }

    fn check(field: &'static str, pattern: &str) -> Result<(), BadMatcher> {
        match between_slashes(pattern) {
            Some(inner) => check_regex(field, inner),
            None => split_alternatives(pattern)
                .filter(|name| is_glob(name))
                .try_for_each(|name| name_glob(field, name).map(drop)),
        }
    }

    pub(crate) fn holds(&self, name: &str) -> Result<bool, Unknown> {
        match self {
            Self::Names { exact, globs } => {
                if exact.iter().any(|exact| exact.eq_ignore_ascii_case(name)) {
                    return Ok(true);
                }
                globs.iter().try_fold(false, |held, glob| Ok(held || glob.matches(name)?))
            }
            Self::Regex(regex) => regex.matches(name),
        }
    }
}

/// The regular expression in `/…/`.
pub(crate) fn between_slashes(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('/')?.strip_suffix('/')
}

pub(crate) fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

/// The alternatives of `a|b{c,d}|e*`, blanks around them dropped.
pub(crate) fn split_alternatives(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('|').map(str::trim)
}

fn name_regex(field: &'static str, inner: &str, when: Compile) -> Result<Pattern<Regular>, BadMatcher> {
    // The pattern is parsed alone first: otherwise `a)(b` would pass, closed and opened by our own brackets.
    check_regex(field, inner)?;
    compiled(field, inner, Regular::whole(inner), when)
}

/// How long a glob may be, and how deep its braces may stand in each other: what is made of it has limits of its own.
const LONGEST_GLOB: usize = 4096;
const DEEPEST_GLOB: usize = 16;

fn check_glob(field: &'static str, glob: &str) -> Result<(), BadMatcher> {
    let mut depth = 0_usize;
    for letter in glob.bytes() {
        match letter {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_GLOB {
            return Err(bad(field, glob, &format!("its braces stand in each other more than {DEEPEST_GLOB} deep")));
        }
    }
    if glob.len() > LONGEST_GLOB {
        return Err(bad(field, glob, &format!("it is longer than {LONGEST_GLOB} bytes")));
    }
    Ok(())
}

pub(crate) fn name_glob(field: &'static str, name: &str) -> Result<Glob, BadMatcher> {
    check_glob(field, name)?;
    GlobBuilder::new(name).case_insensitive(true).build().map_err(|error| bad(field, name, error.kind()))
}

pub(crate) fn path_glob(field: &'static str, glob: &str) -> Result<Glob, BadMatcher> {
    check_glob(field, glob)?;
    let plain = glob.strip_prefix("./").unwrap_or(glob);
    let anywhere = if plain.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
    GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| bad(field, glob, error.kind()))
}

fn regex(field: &'static str, pattern: &str, when: Compile) -> Result<Pattern<Regular>, BadMatcher> {
    compiled(field, pattern, Regular::new(pattern), when)
}

fn compiled<W: Written>(
    field: &'static str,
    pattern: &str,
    written: W,
    when: Compile,
) -> Result<Pattern<W>, BadMatcher> {
    Pattern::new(written, when).map_err(|error| bad(field, pattern, &error))
}

fn check_regex(field: &'static str, pattern: &str) -> Result<(), BadMatcher> {
    Regular::check(pattern).map_err(|error| bad(field, pattern, &error))
}

/// Whoever is asked first may spare the others.
fn cheapest_first(mut inner: Vec<Compiled>) -> Vec<Compiled> {
    inner.sort_by_key(Compiled::cost);
    inner
}

fn bad(field: &'static str, pattern: &str, error: &dyn std::fmt::Display) -> BadMatcher {
    BadMatcher::Pattern { field, pattern: pattern.to_owned(), message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_pattern_is_anchored_and_blind_to_case() {
        let cases = [
            ("bash", "bash", true),
            ("bash", "Bash", true),
            ("Write", "write", true),
            ("bash", "bashful", false),
            ("bash", "my_bash", false),
            ("edit|write", "write", true),
            ("edit | write", "write", true),
            ("read_*", "read_file", true),
            ("read_*", "spread_file", false),
            ("*", "anything", true),
            ("/read|write/", "write", true),
            ("/read|write/", "write_file", false),
            ("/mcp__.+/", "mcp__github__search", true),
            ("*.{ts,js}", "a.ts", true),
        ];
        for (pattern, name, expected) in cases {
            let Ok(compiled) = NamePattern::new("tool", pattern, Compile::Now) else {
                panic!("{pattern} does not compile")
            };
            assert_eq!(compiled.holds(name).ok(), Some(expected), "{pattern} on {name}");
        }
    }

    #[test]
    fn a_path_glob_keeps_to_folders_unless_told_otherwise() {
        let cases = [
            ("*.rs", "/repo/src/deep/lib.rs", true),
            ("*.rs", "lib.rs", true),
            ("src/*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/deep/lib.rs", false),
            ("src/**/*.ts", "src/a/b/c.ts", true),
            ("src/**/*.ts", "src/c.ts", true),
            ("**/.env", "/repo/.env", true),
            ("**", "/anything/at/all", true),
            ("*foo*", "a/xfoox", true),
            ("*.{ts,js}", "a/b.js", true),
            ("src/a+b.rs", "src/a+b.rs", true),
            ("./src/a.rs", "src/a.rs", true),
            ("/etc/*", "/etc/passwd", true),
            ("/etc/*", "/etc/ssh/key", false),
        ];
        for (glob, path, expected) in cases {
            let Ok(compiled) = path_glob("path", glob) else { panic!("{glob} does not compile") };
            assert_eq!(compiled.compile_matcher().is_match(path), expected, "{glob} on {path}");
        }
    }
}
