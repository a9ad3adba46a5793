//! The syntax of permission rules.

use std::{fmt, str::FromStr, sync::Arc};

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{command::CommandPattern, host::HostPattern, path::PathPattern};

/// The longest rule.
const MAX_RULE_BYTES: usize = 1024;

/// The effect of a rule on the calls that it matches. Later variants are stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Allows the call without a question.
    Allow,
    /// Asks a person each time.
    Ask,
    /// Denies the call.
    Deny,
}

/// A rule: a tool, and optionally which of its calls. `Bash(git *)`, `Read(src/**)`, `WebFetch(domain:example.org)`, `mcp__server`, `*`.
#[derive(Debug, Clone)]
pub struct Rule {
    text: Arc<str>,
    pub(super) tool: NamePattern,
    pub(super) part: Part,
}

/// Which calls of a tool a rule matches.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// All calls.
    All,
    /// Calls that run a matching command.
    Command(CommandPattern),
    /// Calls that name a matching path.
    Path(Access, PathPattern),
    /// Calls that reach a matching host.
    Host(HostPattern),
}

/// Which tools a path rule applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// `Read(…)`: all tools that read.
    Read,
    /// `Edit(…)`: all tools that change files.
    Edit,
    /// Only the tool that the rule names.
    Named,
}

/// The error of an invalid rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid rule `{rule}`: {problem} (at character {at}); {instead}")]
pub struct RuleError {
    /// The text.
    pub rule: String,
    /// The position of the error, in characters from 1.
    pub at: usize,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub instead: String,
}

/// What is wrong with a part of a rule, and what to write instead.
pub(crate) struct Wrong {
    pub(crate) problem: String,
    pub(crate) instead: String,
}

impl Wrong {
    pub(super) fn new(problem: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { problem: problem.into(), instead: instead.into() }
    }
}

impl Rule {
    /// Returns the rule as it was written.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns whether the rule needs the home folder.
    pub(super) fn needs_home(&self) -> bool {
        matches!(&self.part, Part::Path(_, pattern) if pattern.needs_home())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let (name, inside) = named(text)?;
        let part = match inside {
            Some(inside) => part(name, inside).map_err(|wrong| RuleError::new(text, name.len() + 1, wrong))?,
            None => Part::All,
        };
        Ok(Self { text: text.into(), tool: NamePattern::new(name), part })
    }
}

impl RuleError {
    fn new(text: &str, byte: usize, wrong: Wrong) -> Self {
        let shown: String = text.chars().take(200).collect();
        let at = text.get(..byte).map_or(0, |before| before.chars().count()) + 1;
        Self { rule: shown, at, problem: wrong.problem, instead: wrong.instead }
    }
}

/// Parses a tool and its pattern, as in `Bash(git *)`. The pattern `*` means all calls.
pub(crate) fn named(text: &str) -> Result<(&str, Option<&str>), RuleError> {
    if text.len() > MAX_RULE_BYTES {
        let problem = format!("it is longer than {MAX_RULE_BYTES} bytes");
        let wrong = Wrong::new(problem, "write a shorter pattern with `*`");
        return Err(RuleError::new(text, MAX_RULE_BYTES, wrong));
    }
    let (name, inside) = split(text).map_err(|(byte, wrong)| RuleError::new(text, byte, wrong))?;
    match inside {
        Some(inside) if name.contains('*') => {
            let instead = format!("write `{name}`, or name one tool, as in `Bash({inside})`");
            let wrong = Wrong::new("a tool pattern cannot have parentheses", instead);
            Err(RuleError::new(text, name.len() + 1, wrong))
        }
        // `Tool(*)` is the tool, however it is used.
        inside => Ok((name, inside.filter(|inside| *inside != "*"))),
    }
}

/// Splits a rule into the tool name and the text in parentheses.
fn split(text: &str) -> Result<(&str, Option<&str>), (usize, Wrong)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return Err((0, Wrong::new("the tool name is missing", "start with a tool, as in `Bash(git *)`")));
    }
    if rest.is_empty() {
        return Ok((name, None));
    }
    let Some(inside) = rest.strip_prefix('(') else {
        let rest = rest.trim().trim_matches(['(', ')']);
        let instead = format!("write `{name}({rest})` or `{name}`");
        return Err((end, Wrong::new("expected `(` or nothing after the tool name", instead)));
    };
    let Some(inside) = inside.strip_suffix(')') else {
        let instead = format!("write `{name}({})`", inside.trim_end_matches(')'));
        return Err((text.len(), Wrong::new("the closing `)` is missing", instead)));
    };
    match inside.trim() {
        "" => Err((end + 1, Wrong::new("the parentheses are empty", format!("write `{name}` to match every call")))),
        inside => Ok((name, Some(inside))),
    }
}

fn part(name: &str, inside: &str) -> Result<Part, Wrong> {
    match &*name.to_ascii_lowercase() {
        "bash" => Ok(Part::Command(CommandPattern::new(inside)?)),
        "webfetch" => Ok(Part::Host(HostPattern::new(inside)?)),
        "read" => Ok(Part::Path(Access::Read, PathPattern::new(name, inside)?)),
        edits if is_edit(edits) => Ok(Part::Path(Access::Edit, PathPattern::new(name, inside)?)),
        _ => Ok(Part::Path(Access::Named, PathPattern::new(name, inside)?)),
    }
}

/// Returns whether a tool only changes the files that it names.
pub(super) fn is_edit(name: &str) -> bool {
    ["edit", "write", "multiedit", "notebookedit", "edit_file", "write_file"]
        .iter()
        .any(|edit| edit.eq_ignore_ascii_case(name))
}

/// A tool name or a pattern of names. Case does not matter.
#[derive(Debug, Clone)]
pub(crate) enum NamePattern {
    Exact(String),
    /// `mcp__server`: all tools of the server.
    Server(String),
    Glob(Regex),
}

impl NamePattern {
    pub(crate) fn new(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if name.contains('*') {
            let pieces: Vec<String> = name.split('*').map(regex::escape).collect();
            if let Ok(regex) = Regex::new(&format!("^{}$", pieces.join(".*"))) {
                return Self::Glob(regex);
            }
        }
        match name.strip_prefix("mcp__") {
            Some(server) if !server.contains("__") => Self::Server(name),
            _ => Self::Exact(name),
        }
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        match self {
            Self::Exact(exact) => *exact == name,
            Self::Server(server) => {
                name.strip_prefix(server.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
            }
            Self::Glob(regex) => regex.is_match(&name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_common_form_is_a_rule() {
        let rules = [
            "Bash",
            "*",
            "Bash(git *)",
            "Bash(npm run test:*)",
            "Bash(*)",
            "Bash(git commit -m \"*\")",
            "Bash(sudo systemctl restart *)",
            "Read(src/**)",
            "Edit(/etc/**)",
            "Edit(//etc/**)",
            "Read(~/.ssh/**)",
            "Read(./a b/*.{rs,toml})",
            "WebFetch(domain:example.org)",
            "WebFetch(domain:*.example.org)",
            "mcp__server__tool",
            "mcp__server",
            "mcp__server__*",
            "write_file",
            "Grep(src/**)",
        ];
        for rule in rules {
            if let Err(error) = rule.parse::<Rule>() {
                panic!("{error}");
            }
        }
    }

    #[test]
    fn what_is_no_rule_is_told_with_its_place_and_what_to_write() {
        let cases = [
            ("", "invalid rule ``: the tool name is missing (at character 1); start with a tool, as in `Bash(git *)`"),
            (
                "(git *)",
                "invalid rule `(git *)`: the tool name is missing (at character 1); start with a tool, as in `Bash(git *)`",
            ),
            (
                "Bash git *",
                "invalid rule `Bash git *`: expected `(` or nothing after the tool name (at character 5); write `Bash(git *)` or `Bash`",
            ),
            (
                "Bash(git *",
                "invalid rule `Bash(git *`: the closing `)` is missing (at character 11); write `Bash(git *)`",
            ),
            (
                "Bash()",
                "invalid rule `Bash()`: the parentheses are empty (at character 6); write `Bash` to match every call",
            ),
            (
                "Bash(git:* push)",
                "invalid rule `Bash(git:* push)`: `:*` is only valid at the end (at character 6); write `Bash(git * push)`",
            ),
            (
                "Bash(git add * && git commit *)",
                "invalid rule `Bash(git add * && git commit *)`: a rule matches one command, and this is more than one (at character 6); write a rule for each: `Bash(git add *)`, `Bash(git commit *)`",
            ),
            (
                "WebFetch(https://example.org/x)",
                "invalid rule `WebFetch(https://example.org/x)`: a host needs the prefix `domain:` (at character 10); write `WebFetch(domain:example.org)`",
            ),
            (
                "Read(../x)",
                "invalid rule `Read(../x)`: a pattern cannot contain `..` (at character 6); write the path from `/`, from `~`, or from the working folder",
            ),
            (
                "Read(a[)",
                "invalid rule `Read(a[)`: unclosed character class; missing ']' (at character 6); write `*` within a folder, `**` across folders",
            ),
            (
                "mcp__*(x)",
                "invalid rule `mcp__*(x)`: a tool pattern cannot have parentheses (at character 8); write `mcp__*`, or name one tool, as in `Bash(x)`",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Rule>().expect_err(text).to_string(), expected);
        }
        let long = format!("Bash({})", "x".repeat(2000));
        assert!(long.parse::<Rule>().expect_err("too long").to_string().contains("longer than 1024 bytes"));
    }

    #[test]
    fn a_server_is_all_of_its_tools_and_no_other() {
        let cases = [
            ("mcp__git", "mcp__git__log", true),
            ("mcp__git", "mcp__github__log", false),
            ("mcp__git__*", "mcp__git__log", true),
            ("mcp__git__log", "MCP__Git__LOG", true),
            ("mcp__*", "mcp__x__y", true),
            ("mcp__*", "bash", false),
            ("*", "anything", true),
            ("write", "Write", true),
            ("Read", "read_file", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(NamePattern::new(pattern).holds(name), expected, "{pattern} {name}");
        }
    }
}
