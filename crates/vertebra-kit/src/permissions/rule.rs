//! Permission rules: their syntax, and what is wrong with text that is none.

use std::{fmt, str::FromStr, sync::Arc};

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{command::CommandPattern, host::HostPattern, path::PathPattern};

/// How long a rule may be.
const MAX_RULE_BYTES: usize = 1024;

/// What a rule says about the calls it holds for. Later is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Yes, without a question.
    Allow,
    /// A person decides, each time.
    Ask,
    /// No.
    Deny,
}

/// One rule: a tool, and what of it. `Bash(git *)`, `Read(src/**)`, `WebFetch(domain:example.org)`, `mcp__server`, `*`.
#[derive(Debug, Clone)]
pub struct Rule {
    text: Arc<str>,
    pub(super) tool: NamePattern,
    pub(super) part: Part,
}

/// What of a tool's uses a rule is about.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// All of them.
    All,
    /// Those that run such a command.
    Command(CommandPattern),
    /// Those that name such a path.
    Path(Access, PathPattern),
    /// Those that reach such a host.
    Host(HostPattern),
}

/// Which calls a rule about paths speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// `Read(…)`: whatever reads.
    Read,
    /// `Edit(…)`: whatever changes files.
    Edit,
    /// Only the tool of the rule's own name.
    Named,
}

/// Text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is not a rule: {problem} (at character {at}); {instead}")]
pub struct RuleError {
    /// The text.
    pub rule: String,
    /// Where it goes wrong, counted in characters from 1.
    pub at: usize,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub instead: String,
}

/// What is wrong with a part of a rule: what, and what to write instead.
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
    /// The rule as it was written.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether it means nothing unless a home is known.
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

/// Reads what rules and lists of tools are written in: a tool, and what of it, unless that is all: `Bash(git *)`, `Read(*)`.
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
            let wrong = Wrong::new("a pattern of tools takes no parentheses", instead);
            Err(RuleError::new(text, name.len() + 1, wrong))
        }
        // `Tool(*)` is the tool, however it is used.
        inside => Ok((name, inside.filter(|inside| *inside != "*"))),
    }
}

/// The tool's name, and what stands in parentheses.
fn split(text: &str) -> Result<(&str, Option<&str>), (usize, Wrong)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return Err((0, Wrong::new("a tool's name is missing", "write a tool first, as in `Bash(git *)`")));
    }
    if rest.is_empty() {
        return Ok((name, None));
    }
    let Some(inside) = rest.strip_prefix('(') else {
        let rest = rest.trim().trim_matches(['(', ')']);
        let instead = format!("write `{name}({rest})` or `{name}`");
        return Err((end, Wrong::new("after the tool's name comes nothing or a parenthesis", instead)));
    };
    let Some(inside) = inside.strip_suffix(')') else {
        let instead = format!("write `{name}({})`", inside.trim_end_matches(')'));
        return Err((text.len(), Wrong::new("the rule does not end with a parenthesis", instead)));
    };
    match inside.trim() {
        "" => {
            Err((end + 1, Wrong::new("there is nothing in the parentheses", format!("write `{name}` for all of it"))))
        }
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

/// Names of tools that do nothing but change the files they name.
pub(super) fn is_edit(name: &str) -> bool {
    ["edit", "write", "multiedit", "notebookedit", "edit_file", "write_file"]
        .iter()
        .any(|edit| edit.eq_ignore_ascii_case(name))
}

/// A tool's name, or a pattern of names. Case does not matter.
#[derive(Debug, Clone)]
pub(crate) enum NamePattern {
    Exact(String),
    /// `mcp__server`: every tool of the server.
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
            (
                "",
                "`` is not a rule: a tool's name is missing (at character 1); write a tool first, as in `Bash(git *)`",
            ),
            (
                "(git *)",
                "`(git *)` is not a rule: a tool's name is missing (at character 1); write a tool first, as in `Bash(git *)`",
            ),
            (
                "Bash git *",
                "`Bash git *` is not a rule: after the tool's name comes nothing or a parenthesis (at character 5); write `Bash(git *)` or `Bash`",
            ),
            (
                "Bash(git *",
                "`Bash(git *` is not a rule: the rule does not end with a parenthesis (at character 11); write `Bash(git *)`",
            ),
            (
                "Bash()",
                "`Bash()` is not a rule: there is nothing in the parentheses (at character 6); write `Bash` for all of it",
            ),
            (
                "Bash(git:* push)",
                "`Bash(git:* push)` is not a rule: `:*` stands at the end only (at character 6); write `Bash(git * push)`",
            ),
            (
                "Bash(git add * && git commit *)",
                "`Bash(git add * && git commit *)` is not a rule: it is more than one command, and commands are judged one by one (at character 6); write a rule for each: `Bash(git add *)`, `Bash(git commit *)`",
            ),
            (
                "WebFetch(https://example.org/x)",
                "`WebFetch(https://example.org/x)` is not a rule: a host is named as `domain:` (at character 10); write `WebFetch(domain:example.org)`",
            ),
            (
                "Read(../x)",
                "`Read(../x)` is not a rule: `..` cannot be judged in a pattern (at character 6); write the path from `/`, from `~`, or from the working folder",
            ),
            (
                "Read(a[)",
                "`Read(a[)` is not a rule: unclosed character class; missing ']' (at character 6); write `*` within a folder, `**` across folders",
            ),
            (
                "mcp__*(x)",
                "`mcp__*(x)` is not a rule: a pattern of tools takes no parentheses (at character 8); write `mcp__*`, or name one tool, as in `Bash(x)`",
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
