//! The simple commands of a line, with the place of every word in the text, so that a word can be replaced.

use std::ops::Range;

use vertebra::shell::{self, Completeness, ParseLimits, Redirect, SimpleCommand, Via, parse};

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Where it is in the text.
    pub(super) range: Range<usize>,
    /// What the shell makes of it; none if that is known only when it runs.
    pub(super) text: Option<String>,
}

/// A command without operators and redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words, the program first.
    pub(super) words: Vec<Word>,
    /// The variables that it sets, for itself or for what follows.
    pub(super) sets: Vec<String>,
    /// Files that it reads from, by a redirection.
    pub(super) inputs: Vec<Word>,
    /// Whether it stands inside another command's word or in parentheses.
    pub(super) is_nested: bool,
}

/// A line, read.
#[derive(Debug, Default)]
pub(super) struct Shell {
    /// Its commands, in the order in which they are written.
    pub(super) commands: Vec<Simple>,
    /// What was not understood.
    pub(super) odd: Option<&'static str>,
    /// Whether there are more commands, which were not read.
    pub(super) is_cut: bool,
}

/// Scripts are read too, which are longer than command lines.
const LIMITS: ParseLimits = ParseLimits { bytes: 4 * 1024 * 1024, depth: 16, commands: 100_000 };

impl Shell {
    /// Reads a line. `value` returns the value of a variable, if it is known; `~` is the variable `HOME`.
    pub(super) fn read(line: &str, value: &dyn Fn(&str) -> Option<String>) -> Self {
        let parsed = parse(line, LIMITS);
        let mut odd = match parsed.completeness() {
            Completeness::Whole => None,
            Completeness::Broken => Some("an unmatched quotation mark or bracket"),
            Completeness::TooDeep => Some("commands nested too deeply"),
            Completeness::TooLong | Completeness::TooMany => Some("more commands than can be read"),
        };
        let mut commands = Vec::new();
        for command in parsed.commands() {
            match command.via() {
                Via::Line | Via::Substitution => match Simple::of(command, value) {
                    Some(simple) => commands.push(simple),
                    None => odd = odd.or(Some("a command in backticks with escapes")),
                },
                Via::Guess => odd = odd.or(Some("something that shells read in several ways")),
                // The words of the outer command say what these are.
                Via::Wrapper | Via::Script => {}
            }
        }
        Self { commands, odd, is_cut: parsed.is_beyond_reading() }
    }
}

impl Simple {
    fn of(command: &SimpleCommand, value: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let word = |word: &shell::Word| Some(Word { range: word.span()?, text: word.resolve(value) });
        let inputs = command.redirects().iter().filter(|redirect| redirect.reads()).map(Redirect::target);
        Some(Self {
            words: command.argv().iter().map(word).collect::<Option<_>>()?,
            sets: command.assignments().map(|(name, _)| name.to_owned()).collect(),
            inputs: inputs.map(word).collect::<Option<_>>()?,
            is_nested: command.subshell() > 0,
        })
    }
}
