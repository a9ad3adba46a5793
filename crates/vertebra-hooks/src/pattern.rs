//! Patterns of matchers: compiled at registration, or only once a text comes that they could match.

use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{
    Hir,
    literal::{ExtractKind, Extractor, Seq},
};

use crate::plain;

/// When patterns are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compile {
    /// At registration: for hooks that meet many events.
    Now,
    /// When an event comes that the pattern could match, but it is known to parse.
    Checked,
    /// When an event comes that the pattern could match, and it is not even parsed before: for hooks that meet one.
    WhenReached,
}

/// A regular expression or a glob.
pub(crate) struct Pattern<M> {
    compiled: OnceLock<Option<M>>,
    /// What it takes to compile it, and what is known of it before.
    waiting: Option<Waiting<M>>,
}

struct Waiting<M> {
    /// Every text that matches has one of these in it; none are known if it is empty.
    literals: OnceLock<Vec<String>>,
    find: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    make: Box<dyn Fn() -> Option<M> + Send + Sync>,
}

/// The pattern cannot be compiled, so nobody knows whether it matches.
#[derive(Debug)]
pub(crate) struct Unknown;

pub(crate) trait Matches {
    fn matches(&self, text: &str) -> bool;
}

impl Matches for Regex {
    fn matches(&self, text: &str) -> bool {
        self.is_match(text)
    }
}

impl Matches for GlobMatcher {
    fn matches(&self, text: &str) -> bool {
        self.is_match(text)
    }
}

impl Pattern<Regex> {
    pub(crate) fn regex(text: &str, when: Compile) -> Result<Self, String> {
        Self::built(text.to_owned(), false, when)
    }

    /// Matches a whole text, whatever its case.
    pub(crate) fn whole(text: &str, when: Compile) -> Result<Self, String> {
        Self::built(format!("^(?:{text})$"), true, when)
    }

    fn built(text: String, blind_to_case: bool, when: Compile) -> Result<Self, String> {
        let build = move |text: &str| RegexBuilder::new(text).case_insensitive(blind_to_case).build();
        if when == Compile::Now {
            return build(&text).map(Self::ready).map_err(|error| error.to_string());
        }
        let parsed = text.clone();
        let parse = move || {
            let mut parser = regex_syntax::ParserBuilder::new().case_insensitive(blind_to_case).build();
            parser.parse(&parsed).map_err(|error| error.to_string())
        };
        let simple = if blind_to_case { None } else { plain::required(&text) };
        if when == Compile::Checked && simple.is_none() {
            parse()?;
        }
        let find = move || match &simple {
            Some(required) if !required.is_empty() => vec![required.clone()],
            Some(_) | None => parse().as_ref().map(literals).unwrap_or_default(),
        };
        Ok(Self::later(find, move || build(&text).ok()))
    }
}

impl Pattern<GlobMatcher> {
    pub(crate) fn glob(glob: Glob, when: Compile) -> Self {
        if when == Compile::Now {
            return Self::ready(glob.compile_matcher());
        }
        let regex = glob.regex().to_owned();
        let find = move || {
            let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
            parser.parse(&regex).as_ref().map(literals).unwrap_or_default()
        };
        Self::later(find, move || Some(glob.compile_matcher()))
    }
}

impl<M: Matches> Pattern<M> {
    fn ready(matcher: M) -> Self {
        Self { compiled: OnceLock::from(Some(matcher)), waiting: None }
    }

    fn later(
        find: impl Fn() -> Vec<String> + Send + Sync + 'static,
        make: impl Fn() -> Option<M> + Send + Sync + 'static,
    ) -> Self {
        let waiting = Waiting { literals: OnceLock::new(), find: Box::new(find), make: Box::new(make) };
        Self { compiled: OnceLock::new(), waiting: Some(waiting) }
    }

    pub(crate) fn matches(&self, text: &str) -> Result<bool, Unknown> {
        if self.compiled.get().is_none()
            && let Some(waiting) = &self.waiting
        {
            let literals = waiting.literals.get_or_init(|| (waiting.find)());
            if !literals.is_empty() && !literals.iter().any(|literal| text.contains(literal.as_str())) {
                return Ok(false);
            }
        }
        let compiled = self.compiled.get_or_init(|| self.waiting.as_ref().and_then(|waiting| (waiting.make)()));
        compiled.as_ref().map(|matcher| matcher.matches(text)).ok_or(Unknown)
    }
}

/// Texts of which every match has one, at its beginning or at its end; none if no such are known.
fn literals(parsed: &Hir) -> Vec<String> {
    [ExtractKind::Prefix, ExtractKind::Suffix]
        .into_iter()
        .find_map(|kind| known(&Extractor::new().kind(kind).extract(parsed)))
        .unwrap_or_default()
}

fn known(literals: &Seq) -> Option<Vec<String>> {
    let texts = literals.literals()?.iter().map(|literal| std::str::from_utf8(literal.as_bytes()).ok());
    let texts: Vec<String> = texts.map(|text| text.map(str::to_owned)).collect::<Option<_>>()?;
    // A pattern that never matches has none either; it may as well be compiled.
    (!texts.is_empty() && texts.iter().all(|text| !text.is_empty())).then_some(texts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answers<M: Matches>(pattern: &Pattern<M>, text: &str) -> Option<bool> {
        pattern.matches(text).ok()
    }

    #[test]
    fn what_cannot_match_is_known_without_compiling() {
        let cases = [
            (r"git\s+push\b.*--force", "cargo test"),
            (r"\bsudo\b", "ls -la"),
            (r".*--force$", "git push"),
            (r"(?i)rm\s+-rf", "echo hello"),
            ("curl|wget", "git fetch"),
        ];
        for (text, other) in cases {
            let Ok(pattern) = Pattern::regex(text, Compile::Checked) else { panic!("{text}") };
            assert_eq!(answers(&pattern, other), Some(false), "{text}");
            assert!(pattern.compiled.get().is_none(), "{text} was compiled for {other}");
        }
        let glob = Pattern::glob(Glob::new("**/*.rs").expect("a glob"), Compile::WhenReached);
        assert_eq!(answers(&glob, "/repo/src/a.py"), Some(false));
        assert!(glob.compiled.get().is_none());
        assert_eq!(answers(&glob, "/repo/src/a.rs"), Some(true));
    }

    #[test]
    fn a_pattern_that_cannot_be_compiled_says_so_when_it_is_reached() {
        let large = r"(\w{900}){900}x";
        assert!(Pattern::regex(large, Compile::Now).is_err());
        for (text, when) in [(large, Compile::Checked), ("a(", Compile::WhenReached)] {
            let Ok(pattern) = Pattern::regex(text, when) else { panic!("{text} is not looked at yet") };
            assert!(pattern.matches("x").is_err(), "{text}");
        }
        assert!(Pattern::regex("a(", Compile::Checked).is_err());
    }

    proptest! {
        #[test]
        fn late_and_early_patterns_agree(
            pattern in r"(\^|\\b|\.\*|\(\?i\))?[a-c]{0,3}(\[ab\]|\(a\|b\)|c\?|\\s\+|a\*)?[a-c]{0,2}(\$|\\b|\.\*|\|b)?",
            text in "[a-cA-C ]{0,8}",
        ) {
            let (Ok(now), Ok(later)) =
                (Pattern::regex(&pattern, Compile::Now), Pattern::regex(&pattern, Compile::WhenReached))
            else { return Ok(()) };
            prop_assert_eq!(answers(&now, &text), answers(&later, &text), "{}", pattern);
        }

        #[test]
        fn late_and_early_globs_agree(
            glob in r"(\*\*/|\*|src/)?[ab.]{0,3}(\*|\?|\{a,b\}|\[ab\])?[ab.]{0,2}(/\*\*|\*)?",
            text in "(src/|/)?[ab./]{0,6}",
        ) {
            let Ok(glob) = Glob::new(&glob) else { return Ok(()) };
            let (now, later) = (Pattern::glob(glob.clone(), Compile::Now), Pattern::glob(glob.clone(), Compile::WhenReached));
            prop_assert_eq!(answers(&now, &text), answers(&later, &text), "{}", glob);
        }
    }
}
