//! Matchers compiled: patterns parsed once, facts of an event asked for once.

use std::cell::OnceCell;

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::{Event, Matcher, State, Test};

/// Why a pattern was not compiled: which field, the pattern, and what its parser says.
pub(crate) struct BadPattern {
    pub(crate) field: &'static str,
    pub(crate) pattern: String,
    pub(crate) message: String,
}

pub(crate) enum Compiled {
    Tool(NamePattern),
    Path(GlobMatcher),
    Command(Regex),
    Session(String),
    Agent(String),
    Step(String),
    Metadata { key: String, is: CompiledTest },
    Args { at: String, is: CompiledTest },
    All(Vec<Compiled>),
    Any(Vec<Compiled>),
    Not(Box<Compiled>),
}

pub(crate) enum CompiledTest {
    Exists,
    Equals(Value),
    Matches(Regex),
}

/// The facts of one event, each worked out at most once per dispatch and only if a matcher asks.
pub(crate) struct Facts<'a, E, S> {
    pub(crate) event: &'a E,
    pub(crate) state: &'a S,
    commands: OnceCell<Vec<String>>,
    paths: OnceCell<Vec<String>>,
    arguments: OnceCell<Option<Value>>,
}

impl<'a, E: Event, S: State> Facts<'a, E, S> {
    pub(crate) fn new(event: &'a E, state: &'a S) -> Self {
        Self { event, state, commands: OnceCell::new(), paths: OnceCell::new(), arguments: OnceCell::new() }
    }

    /// The whole command line, then each simple command inside it.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &str> {
        let parts = self.commands.get_or_init(|| self.event.commands());
        self.event.command().into_iter().chain(parts.iter().map(String::as_str))
    }

    pub(crate) fn paths(&self) -> &[String] {
        self.paths.get_or_init(|| self.event.paths())
    }

    fn argument(&self, pointer: &str) -> Option<&Value> {
        self.arguments.get_or_init(|| self.event.arguments()).as_ref()?.pointer(pointer)
    }
}

impl Compiled {
    pub(crate) fn new(matcher: &Matcher) -> Result<Self, BadPattern> {
        let each = |inner: &[Matcher]| inner.iter().map(Self::new).collect::<Result<Vec<_>, _>>();
        Ok(match matcher {
            Matcher::Tool(pattern) => Self::Tool(NamePattern::new(pattern)?),
            Matcher::Path(glob) => Self::Path(path_glob(glob)?.compile_matcher()),
            Matcher::Command(pattern) => Self::Command(regex("command", pattern)?),
            Matcher::Session(id) => Self::Session(id.clone()),
            Matcher::Agent(name) => Self::Agent(name.clone()),
            Matcher::Step(kind) => Self::Step(kind.clone()),
            Matcher::Metadata { key, is } => {
                Self::Metadata { key: key.clone(), is: CompiledTest::new("metadata", is)? }
            }
            Matcher::Args { at, is } => Self::Args { at: at.clone(), is: CompiledTest::new("args", is)? },
            Matcher::All(inner) => Self::All(each(inner)?),
            Matcher::Any(inner) => Self::Any(each(inner)?),
            Matcher::Not(inner) => Self::Not(Box::new(Self::new(inner)?)),
        })
    }

    pub(crate) fn holds<E: Event, S: State>(&self, facts: &Facts<'_, E, S>) -> bool {
        match self {
            Self::Tool(pattern) => {
                facts.event.tool().is_some_and(|tool| pattern.holds(tool))
                    || facts.event.aliases().iter().any(|alias| pattern.holds(alias))
            }
            Self::Path(glob) => facts.paths().iter().any(|path| glob.is_match(path)),
            Self::Command(regex) => facts.commands().any(|command| regex.is_match(command)),
            Self::Session(id) => facts.event.session() == Some(id),
            Self::Agent(name) => facts.event.agent().is_some_and(|agent| agent.eq_ignore_ascii_case(name)),
            Self::Step(kind) => facts.event.step().is_some_and(|step| step.eq_ignore_ascii_case(kind)),
            Self::Metadata { key, is } => is.holds(facts.state.metadata(key)),
            Self::Args { at, is } => is.holds(facts.argument(at)),
            Self::All(inner) => inner.iter().all(|matcher| matcher.holds(facts)),
            Self::Any(inner) => inner.iter().any(|matcher| matcher.holds(facts)),
            Self::Not(inner) => !inner.holds(facts),
        }
    }
}

impl CompiledTest {
    fn new(field: &'static str, test: &Test) -> Result<Self, BadPattern> {
        Ok(match test {
            Test::Exists => Self::Exists,
            Test::Equals(value) => Self::Equals(value.clone()),
            Test::Matches(pattern) => Self::Matches(regex(field, pattern)?),
        })
    }

    fn holds(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (_, None) => false,
            (Self::Exists, Some(_)) => true,
            (Self::Equals(expected), Some(value)) => expected == value,
            (Self::Matches(regex), Some(value)) => value.as_str().is_some_and(|text| regex.is_match(text)),
        }
    }
}

/// A pattern for a whole name, without regard to case.
pub(crate) enum NamePattern {
    /// `a|b|read_*`: names in lower case, and globs.
    Names { exact: Vec<String>, globs: Vec<GlobMatcher> },
    /// `/…/`
    Regex(Regex),
}

impl NamePattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, BadPattern> {
        if let Some(inner) = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            return Ok(Self::Regex(name_regex(inner)?));
        }
        let mut exact = Vec::new();
        let mut globs = Vec::new();
        for name in split_alternatives(pattern) {
            if name.contains(['*', '?', '[', '{']) {
                globs.push(name_glob(name)?.compile_matcher());
            } else {
                exact.push(name.to_ascii_lowercase());
            }
        }
        Ok(Self::Names { exact, globs })
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        match self {
            Self::Names { exact, globs } => {
                exact.iter().any(|exact| exact.eq_ignore_ascii_case(name))
                    || globs.iter().any(|glob| glob.is_match(name))
            }
            Self::Regex(regex) => regex.is_match(name),
        }
    }
}

/// The alternatives of `a|b{c,d}|e*`, blanks around them dropped.
pub(crate) fn split_alternatives(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('|').map(str::trim)
}

pub(crate) fn name_regex(inner: &str) -> Result<Regex, BadPattern> {
    // The pattern is parsed alone first: otherwise `a)(b` would pass, closed and opened by our own brackets.
    regex("tool", inner)?;
    RegexBuilder::new(&format!("^(?:{inner})$"))
        .case_insensitive(true)
        .build()
        .map_err(|error| bad("tool", inner, &error))
}

pub(crate) fn name_glob(name: &str) -> Result<globset::Glob, BadPattern> {
    GlobBuilder::new(name).case_insensitive(true).build().map_err(|error| bad("tool", name, error.kind()))
}

pub(crate) fn path_glob(glob: &str) -> Result<globset::Glob, BadPattern> {
    let plain = glob.strip_prefix("./").unwrap_or(glob);
    let anywhere = if plain.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
    GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| bad("path", glob, error.kind()))
}

pub(crate) fn regex(field: &'static str, pattern: &str) -> Result<Regex, BadPattern> {
    Regex::new(pattern).map_err(|error| bad(field, pattern, &error))
}

fn bad(field: &'static str, pattern: &str, error: &dyn std::fmt::Display) -> BadPattern {
    BadPattern { field, pattern: pattern.to_owned(), message: error.to_string() }
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
            let Ok(compiled) = NamePattern::new(pattern) else { panic!("{pattern} does not compile") };
            assert_eq!(compiled.holds(name), expected, "{pattern} on {name}");
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
            let Ok(compiled) = path_glob(glob) else { panic!("{glob} does not compile") };
            assert_eq!(compiled.compile_matcher().is_match(path), expected, "{glob} on {path}");
        }
    }
}
