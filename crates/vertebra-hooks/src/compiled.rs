//! Matchers compiled: patterns parsed once, facts of an event asked for once.

use std::{
    cell::{Cell, OnceCell},
    sync::Arc,
};

use globset::{Glob, GlobBuilder};
use serde_json::Value;

use crate::{
    Event, Matcher, State, Test,
    pattern::{Compile, Pattern, Regular, Unknown, Written},
    view::{Asks, View},
};

/// A pattern does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {field} pattern `{pattern}`: {message}")]
pub struct BadPattern {
    /// Which field of a matcher.
    pub field: &'static str,
    /// The pattern.
    pub pattern: String,
    /// What its parser says.
    pub message: String,
}

pub(crate) enum Compiled {
    Tool(NamePattern),
    Path(Pattern<Glob>),
    Command(Pattern<Regular>),
    Session(String),
    Agent(String),
    Step(String),
    Metadata {
        key: String,
        is: CompiledTest,
    },
    Args {
        at: String,
        is: CompiledTest,
    },
    All(Vec<Compiled>),
    Any(Vec<Compiled>),
    Not(Box<Compiled>),
    /// One whole matcher with negated commands or paths: asked about each of them.
    Some(Box<Compiled>, Asks),
    Every(Box<Compiled>, Asks),
}

pub(crate) enum CompiledTest {
    Exists,
    Equals(Value),
    Matches(Pattern<Regular>),
}

/// An event and its state as matchers see them. Behind a reference, so that matching is compiled once for all points.
pub(crate) trait Subject {
    fn tool(&self) -> Option<&str>;
    fn aliases(&self) -> &[Arc<str>];
    fn command(&self) -> Option<&str>;
    fn commands(&self) -> Vec<String>;
    fn further_commands(&self) -> Vec<String>;
    fn paths(&self) -> Vec<String>;
    fn arguments(&self) -> Option<Value>;
    fn session(&self) -> Option<&str>;
    fn agent(&self) -> Option<&str>;
    fn step(&self) -> Option<&str>;
    fn metadata(&self, key: &str) -> Option<&Value>;
}

/// The [`Subject`] of a dispatch.
pub(crate) struct Happening<'a, E, S> {
    pub(crate) event: &'a E,
    pub(crate) state: &'a S,
}

impl<E: Event, S: State> Subject for Happening<'_, E, S> {
    fn tool(&self) -> Option<&str> {
        self.event.tool()
    }

    fn aliases(&self) -> &[Arc<str>] {
        self.event.aliases()
    }

    fn command(&self) -> Option<&str> {
        self.event.command()
    }

    fn commands(&self) -> Vec<String> {
        self.event.commands()
    }

    fn further_commands(&self) -> Vec<String> {
        self.event.further_commands()
    }

    fn paths(&self) -> Vec<String> {
        self.event.paths()
    }

    fn arguments(&self) -> Option<Value> {
        self.event.arguments()
    }

    fn session(&self) -> Option<&str> {
        self.event.session()
    }

    fn agent(&self) -> Option<&str> {
        self.event.agent()
    }

    fn step(&self) -> Option<&str> {
        self.event.step()
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.state.metadata(key)
    }
}

/// The attributes of one event, each computed at most once per dispatch and only if a matcher asks for it.
pub(crate) struct Facts<'a> {
    pub(crate) subject: &'a dyn Subject,
    /// The tool, which nearly every matcher asks for.
    pub(crate) tool: Option<&'a str>,
    commands: OnceCell<Vec<String>>,
    further: OnceCell<Vec<String>>,
    paths: OnceCell<Vec<String>>,
    arguments: OnceCell<Option<Value>>,
    /// Whether a pattern could not be evaluated.
    pub(crate) unknown: Cell<bool>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(subject: &'a dyn Subject) -> Self {
        Self {
            subject,
            tool: subject.tool(),
            commands: OnceCell::new(),
            further: OnceCell::new(),
            paths: OnceCell::new(),
            arguments: OnceCell::new(),
            unknown: Cell::new(false),
        }
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

    /// The whole command line, then each simple command inside it, then those that it may run.
    pub(crate) fn all_commands(&self) -> impl Iterator<Item = &str> {
        let parts = self.commands().iter().chain(self.further());
        self.subject.command().into_iter().chain(parts.map(String::as_str))
    }

    pub(crate) fn commands(&self) -> &[String] {
        self.commands.get_or_init(|| self.subject.commands())
    }

    pub(crate) fn further(&self) -> &[String] {
        self.further.get_or_init(|| self.subject.further_commands())
    }

    pub(crate) fn paths(&self) -> &[String] {
        self.paths.get_or_init(|| self.subject.paths())
    }

    fn argument(&self, pointer: &str) -> Option<&Value> {
        self.arguments.get_or_init(|| self.subject.arguments()).as_ref()?.pointer(pointer)
    }
}

impl Compiled {
    pub(crate) fn new(matcher: &Matcher, when: Compile) -> Result<Self, BadPattern> {
        let compiled = Self::part(matcher, when)?;
        let asks = Asks::of(&compiled);
        Ok(if asks.negates() { Self::Some(Box::new(compiled), asks) } else { compiled })
    }

    fn part(matcher: &Matcher, when: Compile) -> Result<Self, BadPattern> {
        let each =
            |inner: &[Matcher]| inner.iter().map(|matcher| Self::part(matcher, when)).collect::<Result<Vec<_>, _>>();
        Ok(match matcher {
            Matcher::Tool(pattern) => Self::Tool(NamePattern::new(pattern, when)?),
            Matcher::Path(glob) => Self::Path(compiled("path", glob, path_glob(glob)?, when)?),
            Matcher::Command(pattern) => Self::Command(regex("command", pattern, when)?),
            Matcher::Session(id) => Self::Session(id.clone()),
            Matcher::Agent(name) => Self::Agent(name.clone()),
            Matcher::Step(kind) => Self::Step(kind.clone()),
            Matcher::Metadata { key, is } => {
                Self::Metadata { key: key.clone(), is: CompiledTest::new("metadata", is, when)? }
            }
            Matcher::Args { at, is } => Self::Args { at: at.clone(), is: CompiledTest::new("args", is, when)? },
            Matcher::All(inner) => Self::All(cheapest_first(each(inner)?)),
            Matcher::Any(inner) => Self::Any(cheapest_first(each(inner)?)),
            Matcher::Not(inner) => Self::Not(Box::new(Self::part(inner, when)?)),
            Matcher::Every(inner) => {
                let inner = Self::part(inner, when)?;
                let asks = Asks::of(&inner);
                Self::Every(Box::new(inner), asks)
            }
        })
    }

    /// Whether all patterns inside are patterns. None of them is compiled.
    pub(crate) fn check(matcher: &Matcher) -> Result<(), BadPattern> {
        match matcher {
            Matcher::Tool(pattern) => NamePattern::check(pattern),
            Matcher::Path(glob) => path_glob(glob).map(drop),
            Matcher::Command(pattern) => check_regex("command", pattern),
            Matcher::Metadata { is: Test::Matches(pattern), .. } => check_regex("metadata", pattern),
            Matcher::Args { is: Test::Matches(pattern), .. } => check_regex("args", pattern),
            Matcher::All(inner) | Matcher::Any(inner) => inner.iter().try_for_each(Self::check),
            Matcher::Not(inner) | Matcher::Every(inner) => Self::check(inner),
            Matcher::Session(_)
            | Matcher::Agent(_)
            | Matcher::Step(_)
            | Matcher::Metadata { is: Test::Exists | Test::Equals(_), .. }
            | Matcher::Args { is: Test::Exists | Test::Equals(_), .. } => Ok(()),
        }
    }

    /// How much work it is to ask, roughly.
    fn cost(&self) -> u8 {
        match self {
            Self::Tool(_) | Self::Session(_) | Self::Agent(_) | Self::Step(_) => 0,
            Self::Metadata { .. } | Self::Args { .. } => 1,
            Self::Path(_) => 2,
            Self::Command(_) => 3,
            Self::All(inner) | Self::Any(inner) => inner.iter().map(Self::cost).max().unwrap_or_default(),
            Self::Not(inner) | Self::Some(inner, _) | Self::Every(inner, _) => inner.cost(),
        }
    }

    pub(crate) fn holds(&self, facts: &Facts<'_>, view: &View<'_>) -> bool {
        match self {
            Self::Tool(pattern) => {
                let asked = |name: &str| facts.known(pattern.holds(name));
                facts.tool.is_some_and(asked) || facts.subject.aliases().iter().any(|alias| asked(alias))
            }
            Self::Path(glob) => {
                view.paths.unwrap_or_else(|| facts.paths()).iter().any(|path| facts.known(glob.matches(path)))
            }
            Self::Command(regex) => view.has_command(facts, |command| facts.known(regex.matches(command))),
            Self::Session(id) => facts.subject.session() == Some(id),
            Self::Agent(name) => facts.subject.agent().is_some_and(|agent| agent.eq_ignore_ascii_case(name)),
            Self::Step(kind) => facts.subject.step().is_some_and(|step| step.eq_ignore_ascii_case(kind)),
            Self::Metadata { key, is } => facts.known(is.holds(facts.subject.metadata(key))),
            Self::Args { at, is } => facts.known(is.holds(facts.argument(at))),
            Self::All(inner) => inner.iter().all(|matcher| matcher.holds(facts, view)),
            Self::Any(inner) => inner.iter().any(|matcher| matcher.holds(facts, view)),
            Self::Not(inner) => !inner.holds(facts, &view.negated()),
            Self::Some(inner, asks) => asks.holds_for_one(inner, facts),
            Self::Every(inner, asks) => asks.holds_for_every(inner, facts),
        }
    }
}

impl CompiledTest {
    fn new(field: &'static str, test: &Test, when: Compile) -> Result<Self, BadPattern> {
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

/// A pattern for a whole name, without regard to case.
pub(crate) enum NamePattern {
    /// `a|b|read_*`: names in lower case, and globs.
    Names { exact: Vec<String>, globs: Vec<Pattern<Glob>> },
    /// `/…/`
    Regex(Pattern<Regular>),
}

impl NamePattern {
    pub(crate) fn new(pattern: &str, when: Compile) -> Result<Self, BadPattern> {
        if let Some(inner) = between_slashes(pattern) {
            return Ok(Self::Regex(name_regex(inner, when)?));
        }
        let mut exact = Vec::new();
        let mut globs = Vec::new();
        for name in split_alternatives(pattern) {
            if is_glob(name) {
                globs.push(compiled("tool", name, name_glob(name)?, when)?);
            } else {
                exact.push(name.to_ascii_lowercase());
            }
        }
        Ok(Self::Names { exact, globs })
    }

    fn check(pattern: &str) -> Result<(), BadPattern> {
        match between_slashes(pattern) {
            Some(inner) => check_regex("tool", inner),
            None => {
                split_alternatives(pattern).filter(|name| is_glob(name)).try_for_each(|name| name_glob(name).map(drop))
            }
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
fn between_slashes(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('/')?.strip_suffix('/')
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

/// The alternatives of `a|b{c,d}|e*`, blanks around them dropped.
pub(crate) fn split_alternatives(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('|').map(str::trim)
}

fn name_regex(inner: &str, when: Compile) -> Result<Pattern<Regular>, BadPattern> {
    // The pattern is parsed alone first: otherwise `a)(b` would pass, closed and opened by our own brackets.
    check_regex("tool", inner)?;
    compiled("tool", inner, Regular::whole(inner), when)
}

/// How long a glob may be, and how deep its braces may stand in each other: what is made of it has limits of its own.
const LONGEST_GLOB: usize = 4096;
const DEEPEST_GLOB: usize = 16;

fn check_glob(field: &'static str, glob: &str) -> Result<(), BadPattern> {
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

pub(crate) fn name_glob(name: &str) -> Result<Glob, BadPattern> {
    check_glob("tool", name)?;
    GlobBuilder::new(name).case_insensitive(true).build().map_err(|error| bad("tool", name, error.kind()))
}

pub(crate) fn path_glob(glob: &str) -> Result<Glob, BadPattern> {
    check_glob("path", glob)?;
    let plain = glob.strip_prefix("./").unwrap_or(glob);
    let anywhere = if plain.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
    GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| bad("path", glob, error.kind()))
}

fn regex(field: &'static str, pattern: &str, when: Compile) -> Result<Pattern<Regular>, BadPattern> {
    compiled(field, pattern, Regular::new(pattern), when)
}

fn compiled<W: Written>(
    field: &'static str,
    pattern: &str,
    written: W,
    when: Compile,
) -> Result<Pattern<W>, BadPattern> {
    Pattern::new(written, when).map_err(|error| bad(field, pattern, &error))
}

fn check_regex(field: &'static str, pattern: &str) -> Result<(), BadPattern> {
    Regular::check(pattern).map_err(|error| bad(field, pattern, &error))
}

/// Whoever is asked first may spare the others.
fn cheapest_first(mut inner: Vec<Compiled>) -> Vec<Compiled> {
    inner.sort_by_key(Compiled::cost);
    inner
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
            let Ok(compiled) = NamePattern::new(pattern, Compile::Now) else { panic!("{pattern} does not compile") };
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
            let Ok(compiled) = path_glob(glob) else { panic!("{glob} does not compile") };
            assert_eq!(compiled.compile_matcher().is_match(path), expected, "{glob} on {path}");
        }
    }
}
