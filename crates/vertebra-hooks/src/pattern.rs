//! Patterns of matchers: compiled at registration, or only once a text comes that they could match.

use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};
use regex::{Regex, RegexBuilder};
use regex_automata::{
    nfa::thompson::{self, pikevm::PikeVM},
    util::syntax,
};
use regex_syntax::hir::{
    Class, Hir, HirKind, Repetition,
    literal::{ExtractKind, Extractor, Seq},
};

use crate::plain;

/// When patterns are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compile {
    /// At registration: for hooks that meet many events.
    Now,
    /// When an event comes that the pattern could match, and it is not even parsed before: for hooks that meet one.
    WhenReached,
}

/// A regular expression or a glob.
pub(crate) struct Pattern<W: Written> {
    written: W,
    compiled: OnceLock<Option<W::Matcher>>,
    /// Every text that matches has one of these in it; none are known if it is empty.
    literals: OnceLock<Vec<String>>,
}

/// The pattern cannot be compiled, so nobody knows whether it matches.
#[derive(Debug)]
pub(crate) struct Unknown;

/// A pattern as it is written.
pub(crate) trait Written {
    type Matcher;

    fn compile(&self, when: Compile) -> Result<Self::Matcher, String>;

    /// What every text has one of that matches; nothing if no such are known.
    fn literals(&self) -> Vec<String>;

    fn is_match(&self, matcher: &Self::Matcher, text: &str) -> Result<bool, Unknown>;
}

/// A regular expression.
pub(crate) struct Regular {
    text: String,
    blind_to_case: bool,
}

impl Regular {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), blind_to_case: false }
    }

    /// Matches a whole text, whatever its case.
    pub(crate) fn whole(text: &str) -> Self {
        Self { text: format!("^(?:{text})$"), blind_to_case: true }
    }

    /// Whether it is a regular expression that can be used. It is compiled only if it may be too large for that.
    pub(crate) fn check(text: &str) -> Result<(), String> {
        if plain::required(text).is_some() {
            return Ok(());
        }
        if Self::weight(text)? > SURELY_SMALL {
            Self::new(text).compile(Compile::Now)?;
        }
        Ok(())
    }

    /// About how many bytes a pattern takes when it is compiled. One that takes far too many is refused before that costs time.
    fn weight(text: &str) -> Result<usize, String> {
        if text.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes"));
        }
        let weight = weight(&regex_syntax::parse(text).map_err(|error| error.to_string())?);
        if weight > SURELY_LARGE { Err(too_large()) } else { Ok(weight) }
    }

    /// What every match has in it, if the pattern is simple: then it says of ASCII what it would if there were no other letters.
    fn required(&self) -> Option<&str> {
        if self.blind_to_case { None } else { plain::required(&self.text) }
    }

    fn for_any_text(&self) -> Result<Regex, String> {
        Self::weight(&self.text)?;
        let built = RegexBuilder::new(&self.text).case_insensitive(self.blind_to_case).size_limit(LARGEST).build();
        built.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => too_large(),
            other => other.to_string(),
        })
    }

    /// For short texts of ASCII: to prepare for other letters is most of the work for a `.` or a `\s`.
    fn for_short_text(&self) -> Result<PikeVM, String> {
        let thompson = thompson::Config::new().nfa_size_limit(Some(LARGEST));
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        PikeVM::builder().thompson(thompson).syntax(syntax).build(&self.text).map_err(|error| error.to_string())
    }
}

/// How many bytes a regular expression may take when it is compiled, which takes a few milliseconds then.
const LARGEST: usize = 1024 * 1024;

/// How many bytes a regular expression may have as it is written.
const LONGEST: usize = 4 * 1024;

fn too_large() -> String {
    format!("the pattern takes more than {} KiB when it is compiled; use fewer or smaller repetitions", LARGEST / 1024)
}

/// How many bytes a text has at most for which it does not pay to prepare the quickest search.
const SHORT: usize = 1024;

/// A regular expression, compiled. Both of its kinds come from one family, and agree.
pub(crate) enum Expression {
    /// The quickest, once all that it needs for that is prepared.
    Often(Regex),
    /// What is prepared soonest, for most texts; the other once one comes that is long or not ASCII.
    Once { short: PikeVM, other: OnceLock<Option<Regex>> },
}

impl Written for Regular {
    type Matcher = Expression;

    fn compile(&self, when: Compile) -> Result<Expression, String> {
        Ok(match when {
            Compile::WhenReached if self.required().is_some() => {
                Expression::Once { short: self.for_short_text()?, other: OnceLock::new() }
            }
            Compile::Now | Compile::WhenReached => Expression::Often(self.for_any_text()?),
        })
    }

    fn literals(&self) -> Vec<String> {
        match self.required() {
            Some(required) if !required.is_empty() => vec![required.to_owned()],
            Some(_) | None => {
                let mut parser = regex_syntax::ParserBuilder::new().case_insensitive(self.blind_to_case).build();
                parser.parse(&self.text).as_ref().map(literals).unwrap_or_default()
            }
        }
    }

    fn is_match(&self, matcher: &Expression, text: &str) -> Result<bool, Unknown> {
        Ok(match matcher {
            Expression::Often(regex) => regex.is_match(text),
            Expression::Once { short, .. } if text.is_ascii() && text.len() <= SHORT => {
                short.is_match(&mut short.create_cache(), text)
            }
            Expression::Once { other, .. } => {
                other.get_or_init(|| self.for_any_text().ok()).as_ref().ok_or(Unknown)?.is_match(text)
            }
        })
    }
}

impl Written for Glob {
    type Matcher = GlobMatcher;

    fn compile(&self, _: Compile) -> Result<GlobMatcher, String> {
        Ok(self.compile_matcher())
    }

    fn literals(&self) -> Vec<String> {
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        parser.parse(self.regex()).as_ref().map(literals).unwrap_or_default()
    }

    fn is_match(&self, matcher: &GlobMatcher, text: &str) -> Result<bool, Unknown> {
        Ok(matcher.is_match(text))
    }
}

impl<W: Written> Pattern<W> {
    pub(crate) fn new(written: W, when: Compile) -> Result<Self, String> {
        let compiled = match when {
            Compile::Now => OnceLock::from(Some(written.compile(when)?)),
            Compile::WhenReached => OnceLock::new(),
        };
        Ok(Self { written, compiled, literals: OnceLock::new() })
    }

    pub(crate) fn matches(&self, text: &str) -> Result<bool, Unknown> {
        if self.compiled.get().is_none() {
            let literals = self.literals.get_or_init(|| self.written.literals());
            if !literals.is_empty() && !literals.iter().any(|literal| text.contains(literal.as_str())) {
                return Ok(false);
            }
        }
        let compiled = self.compiled.get_or_init(|| self.written.compile(Compile::WhenReached).ok());
        self.written.is_match(compiled.as_ref().ok_or(Unknown)?, text)
    }
}

/// A pattern of at most this weight is not too large, by far.
const SURELY_SMALL: usize = LARGEST / 10;

/// A pattern of more than this weight is too large, by far.
const SURELY_LARGE: usize = 16 * LARGEST;

/// About how many bytes a pattern takes when it is compiled, and rather too many.
fn weight(pattern: &Hir) -> usize {
    let sum = |inner: &[Hir]| inner.iter().map(weight).fold(0, usize::saturating_add);
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 16,
        HirKind::Literal(literal) => literal.0.len().saturating_mul(16),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().saturating_mul(64),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len().saturating_mul(64),
        HirKind::Repetition(Repetition { min, max, sub, .. }) => {
            let times = max.unwrap_or(min.saturating_add(1)).max(1);
            weight(sub).saturating_mul(usize::try_from(times).unwrap_or(usize::MAX))
        }
        HirKind::Capture(capture) => weight(&capture.sub).saturating_add(32),
        HirKind::Concat(inner) | HirKind::Alternation(inner) => sum(inner),
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

    fn regex(text: &str, when: Compile) -> Result<Pattern<Regular>, String> {
        Pattern::new(Regular::new(text), when)
    }

    fn answers<W: Written>(pattern: &Pattern<W>, text: &str) -> Option<bool> {
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
            let Ok(pattern) = regex(text, Compile::WhenReached) else { panic!("{text}") };
            assert_eq!(answers(&pattern, other), Some(false), "{text}");
            assert!(pattern.compiled.get().is_none(), "{text} was compiled for {other}");
        }
        let glob = Pattern::new(Glob::new("**/*.rs").expect("a glob"), Compile::WhenReached);
        let Ok(glob) = glob else { panic!("nothing is compiled") };
        assert_eq!(answers(&glob, "/repo/src/a.py"), Some(false));
        assert!(glob.compiled.get().is_none());
        assert_eq!(answers(&glob, "/repo/src/a.rs"), Some(true));
    }

    #[test]
    fn texts_of_all_lengths_and_letters_are_matched() {
        let Ok(pattern) = regex(r"git\s+push\b.*-f$", Compile::WhenReached) else { panic!("it is a pattern") };
        let long = " x".repeat(SHORT);
        for text in
            ["git push -f", "git\u{2003}push ä -f", &format!("git push{long} -f"), &format!("git push{long}ä -f")]
        {
            assert_eq!(answers(&pattern, text), Some(true), "{text}");
            assert_eq!(answers(&pattern, &format!("{text} x")), Some(false), "{text}");
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_compiled_says_so_when_it_is_reached() {
        let large = r"(\w{900}){900}x";
        assert!(regex(large, Compile::Now).is_err());
        for text in [large, "a("] {
            let Ok(pattern) = regex(text, Compile::WhenReached) else { panic!("{text} is not looked at yet") };
            assert!(pattern.matches("x").is_err(), "{text}");
        }
        for text in [large, r"^git tag [\w.-]{1,2550}$", "a("] {
            assert!(Regular::check(text).is_err(), "{text}");
        }
        assert!(Regular::check(r"^git tag [\w.-]{1,20}$").is_ok());
    }

    proptest! {
        #[test]
        fn late_and_early_patterns_agree(
            pattern in r"(\^|\\b|\.\*|\(\?i\))?[a-c]{0,3}(\[ab\]|\(a\|b\)|c\?|\\[sSwWdDB]\+|a\*|\.)?[a-ckä]{0,2}(\$|\\b|\.\*|\|b|\\B)?",
            text in "[a-cA-C kä\u{212a}\u{2003}٣\n\t]{0,8}",
        ) {
            let (Ok(now), Ok(later)) =
                (regex(&pattern, Compile::Now), regex(&pattern, Compile::WhenReached))
            else { return Ok(()) };
            prop_assert_eq!(answers(&now, &text), answers(&later, &text), "{}", pattern);
        }

        #[test]
        fn late_and_early_globs_agree(
            glob in r"(\*\*/|\*|src/)?[ab.]{0,3}(\*|\?|\{a,b\}|\[ab\])?[ab.]{0,2}(/\*\*|\*)?",
            text in "(src/|/)?[ab./]{0,6}",
        ) {
            let Ok(glob) = Glob::new(&glob) else { return Ok(()) };
            let (Ok(now), Ok(later)) =
                (Pattern::new(glob.clone(), Compile::Now), Pattern::new(glob.clone(), Compile::WhenReached))
            else { return Ok(()) };
            prop_assert_eq!(answers(&now, &text), answers(&later, &text), "{}", glob);
        }
    }
}
