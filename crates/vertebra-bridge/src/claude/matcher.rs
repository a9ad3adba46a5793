//! Matchers: everything, a list of names, or a JavaScript regular expression.

use fancy_regex::Regex;

use super::{event::Matched, pattern::from_javascript};

/// How long a pattern may be.
const MAX_PATTERN: usize = 4096;

/// Says whether handlers run at an event.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Box<Regex>),
    /// What is written is no pattern: nobody can tell what is meant.
    Broken(String),
}

/// Nobody can tell whether a matcher holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CannotTell(pub(super) String);

impl Matcher {
    pub(super) fn new(text: Option<&str>, matched: Matched) -> Self {
        let text = match text {
            None | Some("" | "*") => return Self::All,
            Some(text) => text,
        };
        let separators: &[char] = match matched {
            Matched::Narrow(_) | Matched::FileName => &['|'],
            Matched::Field(_) | Matched::Nothing => &['|', ','],
        };
        let wide = separators.contains(&',');
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '|' || (wide && "- ,".contains(c));
        if text.chars().all(is_name) {
            let names = text.split(separators).map(str::trim).filter(|name| !name.is_empty());
            return Self::Names(names.map(str::to_owned).collect());
        }
        // The names of files to watch, which need not be of letters alone: `.env|.envrc`.
        if matched == Matched::FileName && text.chars().all(|c| is_name(c) || matches!(c, '.' | '-')) {
            return Self::Names(text.split('|').map(str::to_owned).collect());
        }
        if text.len() > MAX_PATTERN {
            return Self::Broken(format!("it is longer than {MAX_PATTERN} bytes"));
        }
        match from_javascript(text).and_then(|pattern| Regex::new(&pattern).map_err(|error| error.to_string())) {
            Ok(regex) => Self::Pattern(Box::new(regex)),
            Err(error) => Self::Broken(error),
        }
    }

    /// Whether it holds for what the event is compared by.
    pub(super) fn holds(&self, query: &str) -> Result<bool, CannotTell> {
        match self {
            Self::All => Ok(true),
            Self::Names(names) => Ok(names.iter().any(|name| name == query)),
            // A pattern that goes back and forth for too long ends with an error.
            Self::Pattern(regex) => regex.is_match(query).map_err(|error| CannotTell(error.to_string())),
            Self::Broken(error) => Err(CannotTell(error.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_everything_else_is_a_pattern_anywhere() {
        let cases = [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("bash", "Bash", false),
            ("Edit|Write", "Write", true),
            ("Edit, Write", "Write", true),
            ("Edit,Write", "Edit", true),
            ("Edit | Write", "Write", true),
            ("mcp__brave-search", "mcp__brave-search__web", false),
            ("mcp__brave-search__web", "mcp__brave-search__web", true),
            ("mcp__memory__.*", "mcp__memory__create_entities", true),
            ("Edit.*", "NotebookEdit", true),
            ("^Edit.*", "NotebookEdit", false),
            ("^(Edit|Write)$", "Write", true),
            ("^(Edit|Write)$", "MultiWrite", false),
            ("^(?!Bash$).*", "Read", true),
            ("^(?!Bash$).*", "Bash", false),
            (r"^mcp__(\w+)__\1$", "mcp__git__git", true),
            (r"^mcp__(\w+)__\1$", "mcp__git__hub", false),
            ("Bash.", "Bash", false),
            (".*", "anything", true),
        ];
        for (pattern, name, expected) in cases {
            let matcher = Matcher::new(Some(pattern), Matched::Field("tool_name"));
            assert_eq!(matcher.holds(name), Ok(expected), "{pattern} {name}");
        }
        for all in [None, Some(""), Some("*")] {
            assert_eq!(Matcher::new(all, Matched::Field("tool_name")).holds("x"), Ok(true));
        }
    }

    #[test]
    fn some_events_know_lists_by_bars_only() {
        let narrow = |text| Matcher::new(Some(text), Matched::Narrow("error"));
        assert_eq!(narrow("rate_limit|overloaded").holds("overloaded"), Ok(true));
        assert_eq!(narrow("rate_limit,overloaded").holds("overloaded"), Ok(false), "a pattern with a comma in it");
        assert_eq!(Matcher::new(Some(".env|.envrc"), Matched::FileName).holds(".env"), Ok(true));
        assert_eq!(Matcher::new(Some(".env|.envrc"), Matched::FileName).holds("xenv"), Ok(false));
    }

    #[test]
    fn what_is_no_pattern_cannot_be_told() {
        for broken in ["Bash(", "[", "*Bash", "(?P<x>y)", "a**"] {
            assert!(Matcher::new(Some(broken), Matched::Field("tool_name")).holds("Bash").is_err(), "{broken}");
        }
    }

    #[test]
    fn a_pattern_that_never_ends_cannot_be_told_either() {
        let matcher = Matcher::new(Some(r"^(?:(a)\1?)+$"), Matched::Field("tool_name"));
        assert!(matcher.holds(&format!("{}b", "a".repeat(100))).is_err());
    }
}
