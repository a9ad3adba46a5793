//! Which hooks may match an event, without asking each: exact names by hash, patterns as sets.
//!
//! Every matcher yields *keys*: if it holds, at least one of its keys hits. Only hooks whose key hits are asked in full.

use std::collections::HashMap;

use globset::{GlobSet, GlobSetBuilder};
use regex_automata::{Input, MatchKind, PatternSet, meta, nfa::thompson::WhichCaptures};
use smallvec::SmallVec;

use crate::{
    Attribute, BadMatcher, Matcher, PatternKind,
    attribute::place,
    compiled::{Attributes, between_slashes, is_glob, name_glob, path_glob, split_alternatives},
};

/// Places in a lane, in order.
pub(crate) type Places = SmallVec<[u32; 16]>;

/// The compiled index of one lane: one part for each attribute that matchers test.
#[derive(Default)]
pub(crate) struct Index {
    always: Vec<u32>,
    attributes: Vec<Part>,
    /// By place: whether the matcher holds if one of its keys hits, so that it need not be asked.
    decided: Box<[bool]>,
}

/// The keys of one attribute.
struct Part {
    /// The attribute, by its place in the list of the point.
    attribute: u32,
    /// Whether events have the value at hand: see [`Attributes::at_hand`].
    is_at_hand: bool,
    /// Whether texts are compared without regard to case; then the keys are in lower case.
    folds_case: bool,
    texts: HashMap<Box<str>, Vec<u32>>,
    globs: GlobKeys,
    regexes: RegexKeys,
}

/// Without keys there is no set: even an empty one is work to make.
#[derive(Default)]
struct GlobKeys {
    set: Option<GlobSet>,
    places: Vec<u32>,
}

#[derive(Default)]
struct RegexKeys {
    set: Option<meta::Regex>,
    places: Vec<u32>,
}

enum Keys {
    Always,
    Some(Vec<Key>),
}

/// What a text of an attribute must be or match.
struct Key {
    attribute: u32,
    kind: PatternKind,
    is: KeyText,
}

enum KeyText {
    Text(String),
    Glob(String),
    Regex(String),
}

/// The keys of one attribute, before they are compiled.
#[derive(Default)]
struct Gathered {
    texts: HashMap<Box<str>, Vec<u32>>,
    globs: Vec<(String, u32)>,
    regexes: Vec<(String, u32)>,
}

/// Room for the automaton of a thousand patterns; too little of it and every search starts over.
const AUTOMATON_BYTES: usize = 64 << 20;

impl Index {
    /// Indexes matchers by their place.
    pub(crate) fn new(matchers: &[Option<&Matcher>], attributes: &[Attribute]) -> Result<Self, BadMatcher> {
        let mut always = Vec::new();
        let mut decided = vec![false; matchers.len()];
        let mut gathered: Vec<Gathered> = attributes.iter().map(|_| Gathered::default()).collect();
        for (place, matcher) in (0u32..).zip(matchers.iter().copied()) {
            let keys = matcher.map_or(Ok(Keys::Always), |matcher| keys(matcher, attributes))?;
            let Keys::Some(keys) = keys else {
                always.push(place);
                continue;
            };
            decided[place as usize] = matches!(matcher, Some(Matcher::Attribute { .. }));
            for key in keys {
                let gathered = &mut gathered[key.attribute as usize];
                match key.is {
                    KeyText::Text(text) => gathered.texts.entry(text.into()).or_default().push(place),
                    KeyText::Glob(glob) => gathered.globs.push((glob, place)),
                    KeyText::Regex(regex) => gathered.regexes.push((regex, place)),
                }
            }
        }
        let parts = (0..).zip(attributes).zip(gathered).filter(|(_, gathered)| !gathered.is_empty());
        let parts = parts.map(|((place, attribute), gathered)| gathered.compile(place, *attribute));
        Ok(Self { always, attributes: parts.collect::<Result<_, _>>()?, decided: decided.into() })
    }

    /// Whether the matcher at this place holds if it is among the candidates.
    pub(crate) fn decides(&self, place: u32) -> bool {
        self.decided[place as usize]
    }

    /// The places without a key.
    pub(crate) fn always(&self) -> Places {
        Places::from_slice(&self.always)
    }

    /// The places whose key hits, in order, each once.
    pub(crate) fn candidates(&self, attributes: &Attributes<'_>) -> Places {
        let mut places = self.always();
        let always = places.len();
        for part in &self.attributes {
            let mut add = |text: &str| {
                part.add(text, &mut places);
                false
            };
            if part.is_at_hand {
                if let Some(value) = attributes.at_hand(part.attribute) {
                    value.any_text(&mut add);
                }
            } else if let Some(value) = attributes.kept(part.attribute) {
                value.any_text(&mut add);
            }
        }
        if places.len() > always {
            places.sort_unstable();
            places.dedup();
        }
        places
    }
}

impl Gathered {
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.globs.is_empty() && self.regexes.is_empty()
    }

    fn compile(self, place: u32, Attribute { key, kind }: Attribute) -> Result<Part, BadMatcher> {
        let compile_glob = if kind == PatternKind::Glob { path_glob } else { name_glob };
        Ok(Part {
            attribute: place,
            is_at_hand: matches!(kind, PatternKind::Name | PatternKind::Exact | PatternKind::Word),
            folds_case: matches!(kind, PatternKind::Name | PatternKind::Word),
            texts: self.texts,
            globs: GlobKeys::new(key, self.globs, compile_glob)?,
            regexes: RegexKeys::new(key, self.regexes)?,
        })
    }
}

impl Part {
    fn add(&self, text: &str, places: &mut Places) {
        if !self.texts.is_empty() {
            let hits = if self.folds_case && text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                self.texts.get(text.to_ascii_lowercase().as_str())
            } else {
                self.texts.get(text)
            };
            places.extend_from_slice(hits.map_or(&[], Vec::as_slice));
        }
        self.globs.add(text, places);
        self.regexes.add(text, places);
    }
}

impl GlobKeys {
    fn new(
        field: &'static str,
        keys: Vec<(String, u32)>,
        compile: fn(&'static str, &str) -> Result<globset::Glob, BadMatcher>,
    ) -> Result<Self, BadMatcher> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let mut set = GlobSetBuilder::new();
        for (glob, _) in &keys {
            set.add(compile(field, glob)?);
        }
        let set = set.build().map_err(|error| BadMatcher::Pattern {
            field,
            pattern: error.glob().unwrap_or_default().to_owned(),
            message: error.to_string(),
        })?;
        Ok(Self { set: Some(set), places: keys.into_iter().map(|(_, place)| place).collect() })
    }

    fn add(&self, text: &str, places: &mut Places) {
        if let Some(set) = &self.set {
            places.extend(set.matches(text).into_iter().map(|key| self.places[key]));
        }
    }
}

impl RegexKeys {
    fn new(field: &'static str, keys: Vec<(String, u32)>) -> Result<Self, BadMatcher> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let (patterns, places): (Vec<String>, Vec<u32>) = keys.into_iter().unzip();
        let config = meta::Config::new()
            .match_kind(MatchKind::All)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(AUTOMATON_BYTES))
            .hybrid_cache_capacity(AUTOMATON_BYTES);
        let set = meta::Builder::new().configure(config).build_many(&patterns).map_err(|error| {
            BadMatcher::Pattern { field, pattern: patterns.join(" | "), message: error.to_string() }
        })?;
        Ok(Self { set: Some(set), places })
    }

    fn add(&self, text: &str, places: &mut Places) {
        if let Some(set) = &self.set {
            let mut hits = PatternSet::new(set.pattern_len());
            set.which_overlapping_matches(&Input::new(text), &mut hits);
            // Ends at the last hit, because to walk over a thousand patterns costs more than the search.
            places.extend(hits.iter().take(hits.len()).map(|key| self.places[key]));
        }
    }
}

/// Keys of a matcher: of a conjunction the most telling member's, of a disjunction everyone's.
fn keys(matcher: &Matcher, attributes: &[Attribute]) -> Result<Keys, BadMatcher> {
    let each = |inner: &[Matcher]| inner.iter().map(|inner| keys(inner, attributes)).collect::<Result<Vec<_>, _>>();
    Ok(match matcher {
        Matcher::Attribute { key, pattern } => {
            let (attribute, Attribute { kind, .. }) = place(attributes, key)?;
            let key = |is| Key { attribute, kind, is };
            match kind {
                PatternKind::Name => name_keys(pattern, key),
                PatternKind::Glob => Keys::Some(vec![key(KeyText::Glob(pattern.clone()))]),
                PatternKind::Regex => Keys::Some(vec![key(KeyText::Regex(pattern.clone()))]),
                PatternKind::Exact => Keys::Some(vec![key(KeyText::Text(pattern.clone()))]),
                PatternKind::Word => Keys::Some(vec![key(KeyText::Text(pattern.to_ascii_lowercase()))]),
                PatternKind::Json => Keys::Always,
            }
        }
        Matcher::All(inner) => each(inner)?.into_iter().max_by_key(Keys::telling).unwrap_or(Keys::Always),
        Matcher::Every(inner) => keys(inner, attributes)?,
        Matcher::Any(inner) => each(inner)?.into_iter().fold(Keys::Some(Vec::new()), Keys::or),
        Matcher::Inside { .. } | Matcher::Metadata { .. } | Matcher::Not(_) => Keys::Always,
    })
}

fn name_keys(pattern: &str, key: impl Fn(KeyText) -> Key) -> Keys {
    if let Some(inner) = between_slashes(pattern) {
        return Keys::Some(vec![key(KeyText::Regex(format!("(?i)^(?:{inner})$")))]);
    }
    if split_alternatives(pattern).any(|name| name == "*") {
        return Keys::Always;
    }
    let names = split_alternatives(pattern).map(|name| {
        key(if is_glob(name) { KeyText::Glob(name.to_owned()) } else { KeyText::Text(name.to_ascii_lowercase()) })
    });
    Keys::Some(names.collect())
}

impl Keys {
    /// How few events a key lets through, roughly.
    fn telling(&self) -> u8 {
        match self {
            Self::Always => 0,
            Self::Some(keys) => keys.iter().map(Key::telling).min().unwrap_or(u8::MAX),
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Some(mut keys), Self::Some(more)) => {
                keys.extend(more);
                Self::Some(keys)
            }
            (Self::Always, _) | (_, Self::Always) => Self::Always,
        }
    }
}

impl Key {
    fn telling(&self) -> u8 {
        match (self.kind, &self.is) {
            (PatternKind::Word | PatternKind::Json, _) => 1,
            (PatternKind::Name, KeyText::Glob(_) | KeyText::Regex(_)) => 2,
            (PatternKind::Name, KeyText::Text(_)) => 3,
            (PatternKind::Glob, _) => 4,
            (PatternKind::Regex, _) => 5,
            (PatternKind::Exact, _) => 6,
        }
    }
}
