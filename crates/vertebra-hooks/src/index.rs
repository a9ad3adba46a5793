//! Which hooks may match an event, without asking each: exact names by hash, patterns as sets.
//!
//! Every matcher yields *keys*: if it holds, at least one of its keys hits. Only hooks whose key hits are asked in full.

use std::collections::HashMap;

use globset::{GlobSet, GlobSetBuilder};
use regex::{RegexSet, RegexSetBuilder};
use smallvec::SmallVec;

use crate::{
    Matcher,
    compiled::{BadPattern, Facts, name_glob, path_glob, split_alternatives},
};

/// Places in a lane, in order.
pub(crate) type Places = SmallVec<[u32; 16]>;

/// The compiled index of one lane.
#[derive(Default)]
pub(crate) struct Index {
    always: Vec<u32>,
    tools: HashMap<Box<str>, Vec<u32>>,
    sessions: HashMap<Box<str>, Vec<u32>>,
    tool_globs: GlobKeys,
    tool_regexes: RegexKeys,
    commands: RegexKeys,
    paths: GlobKeys,
}

/// Without keys there is no set: even an empty one is work to make.
#[derive(Default)]
struct GlobKeys {
    set: Option<GlobSet>,
    places: Vec<u32>,
}

#[derive(Default)]
struct RegexKeys {
    set: Option<RegexSet>,
    places: Vec<u32>,
}

enum Keys {
    Always,
    Some(Vec<Key>),
}

enum Key {
    Tool(String),
    ToolGlob(String),
    ToolRegex(String),
    Command(String),
    Path(String),
    Session(String),
}

/// Room for the automaton of a thousand patterns; too little of it and every search starts over.
const AUTOMATON_BYTES: usize = 64 << 20;

impl Index {
    /// Indexes matchers by their place.
    pub(crate) fn new(matchers: &[Option<&Matcher>]) -> Result<Self, BadPattern> {
        let mut index = Self::default();
        let (mut tool_globs, mut tool_regexes, mut commands, mut paths) = (vec![], vec![], vec![], vec![]);
        for (place, matcher) in (0u32..).zip(matchers.iter().copied()) {
            let keys = match matcher.map_or(Keys::Always, keys) {
                Keys::Always => {
                    index.always.push(place);
                    continue;
                }
                Keys::Some(keys) => keys,
            };
            for key in keys {
                match key {
                    Key::Tool(name) => index.tools.entry(name.into()).or_default().push(place),
                    Key::Session(id) => index.sessions.entry(id.into()).or_default().push(place),
                    Key::ToolGlob(glob) => tool_globs.push((glob, place)),
                    Key::ToolRegex(regex) => tool_regexes.push((regex, place)),
                    Key::Command(regex) => commands.push((regex, place)),
                    Key::Path(glob) => paths.push((glob, place)),
                }
            }
        }
        index.tool_globs = GlobKeys::new(tool_globs, name_glob)?;
        index.paths = GlobKeys::new(paths, path_glob)?;
        index.tool_regexes = RegexKeys::new("tool", tool_regexes)?;
        index.commands = RegexKeys::new("command", commands)?;
        Ok(index)
    }

    /// The places without a key.
    pub(crate) fn always(&self) -> Places {
        Places::from_slice(&self.always)
    }

    /// The places whose key hits, in order, each once.
    pub(crate) fn candidates(&self, facts: &Facts<'_>) -> Places {
        let mut places = self.always();
        let always = places.len();
        if let Some(tool) = facts.tool {
            self.add_tool(tool, &mut places);
            for alias in facts.subject.aliases() {
                self.add_tool(alias, &mut places);
            }
        }
        if !self.commands.places.is_empty() {
            for command in facts.all_commands() {
                self.commands.add(command, &mut places);
            }
        }
        if !self.paths.places.is_empty() {
            for path in facts.paths() {
                self.paths.add(path, &mut places);
            }
        }
        if !self.sessions.is_empty()
            && let Some(hits) = facts.subject.session().and_then(|id| self.sessions.get(id))
        {
            places.extend_from_slice(hits);
        }
        if places.len() > always {
            places.sort_unstable();
            places.dedup();
        }
        places
    }

    fn add_tool(&self, name: &str, places: &mut Places) {
        if !self.tools.is_empty() {
            let hits = if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                self.tools.get(name.to_ascii_lowercase().as_str())
            } else {
                self.tools.get(name)
            };
            places.extend_from_slice(hits.map_or(&[], Vec::as_slice));
        }
        self.tool_globs.add(name, places);
        self.tool_regexes.add(name, places);
    }
}

impl GlobKeys {
    fn new(
        keys: Vec<(String, u32)>,
        compile: fn(&str) -> Result<globset::Glob, BadPattern>,
    ) -> Result<Self, BadPattern> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let mut set = GlobSetBuilder::new();
        for (glob, _) in &keys {
            set.add(compile(glob)?);
        }
        let set = set.build().map_err(|error| BadPattern {
            field: "glob",
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
    fn new(field: &'static str, keys: Vec<(String, u32)>) -> Result<Self, BadPattern> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let (patterns, places): (Vec<String>, Vec<u32>) = keys.into_iter().unzip();
        let set = RegexSetBuilder::new(&patterns)
            .size_limit(AUTOMATON_BYTES)
            .dfa_size_limit(AUTOMATON_BYTES)
            .build()
            .map_err(|error| BadPattern { field, pattern: patterns.join(" | "), message: error.to_string() })?;
        Ok(Self { set: Some(set), places })
    }

    fn add(&self, text: &str, places: &mut Places) {
        if let Some(set) = &self.set {
            places.extend(set.matches(text).into_iter().map(|key| self.places[key]));
        }
    }
}

/// Keys of a matcher: of a conjunction the most telling member's, of a disjunction everyone's.
fn keys(matcher: &Matcher) -> Keys {
    match matcher {
        Matcher::Tool(pattern) => tool_keys(pattern),
        Matcher::Path(glob) => Keys::Some(vec![Key::Path(glob.clone())]),
        Matcher::Command(regex) => Keys::Some(vec![Key::Command(regex.clone())]),
        Matcher::Session(id) => Keys::Some(vec![Key::Session(id.clone())]),
        Matcher::All(inner) => inner.iter().map(keys).max_by_key(Keys::telling).unwrap_or(Keys::Always),
        Matcher::Every(inner) => keys(inner),
        Matcher::Any(inner) => inner.iter().map(keys).fold(Keys::Some(Vec::new()), Keys::or),
        Matcher::Agent(_) | Matcher::Step(_) | Matcher::Metadata { .. } | Matcher::Args { .. } | Matcher::Not(_) => {
            Keys::Always
        }
    }
}

fn tool_keys(pattern: &str) -> Keys {
    if let Some(inner) = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        return Keys::Some(vec![Key::ToolRegex(format!("(?i)^(?:{inner})$"))]);
    }
    if split_alternatives(pattern).any(|name| name == "*") {
        return Keys::Always;
    }
    Keys::Some(
        split_alternatives(pattern)
            .map(|name| {
                if name.contains(['*', '?', '[', '{']) {
                    Key::ToolGlob(name.to_owned())
                } else {
                    Key::Tool(name.to_ascii_lowercase())
                }
            })
            .collect(),
    )
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
        match self {
            Self::ToolGlob(_) | Self::ToolRegex(_) => 1,
            Self::Tool(_) => 2,
            Self::Path(_) => 3,
            Self::Command(_) => 4,
            Self::Session(_) => 5,
        }
    }
}
