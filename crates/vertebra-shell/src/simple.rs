//! A simple command: its words and redirections, and what runs it.

use std::{ops::Range, sync::Arc};

use crate::word::Word;

/// A command without operators.
#[derive(Debug, Clone)]
pub struct SimpleCommand {
    /// Shared with the commands that this one wraps.
    pub(crate) all: Arc<[Word]>,
    pub(crate) range: Range<usize>,
    pub(crate) redirects: Arc<[Redirect]>,
    pub(crate) via: Via,
    pub(crate) joint: Joint,
    pub(crate) subshell: usize,
    /// The number of the command that runs this one, and its index once the line is read.
    pub(crate) outer: Option<usize>,
    pub(crate) is_hidden: bool,
}

/// What runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// The line itself, also inside parentheses, braces, a loop or a function.
    Line,
    /// A substitution: `$(…)`, `` `…` ``, `<(…)`, also in a here-document.
    Substitution,
    /// Another command, whose arguments contain this one: `sudo rm x`, `find . -exec rm {} +`, `docker exec web ls`.
    Wrapper,
    /// Another command, which reads it as a script: `sh -c '…'`, `eval`, `ssh host '…'`, a here-document for a shell.
    Script,
    /// A guess: the text is not valid or is nested too deeply, or its words are one of several possible readings.
    Guess,
}

/// What stands between a command and the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Joint {
    /// Nothing: it is the first of its list.
    #[default]
    First,
    /// `;` or a line break.
    Then,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|` or `|&`: it reads what the one before it prints.
    Pipe,
    /// `&`: the one before it runs in the background.
    Background,
}

impl SimpleCommand {
    /// The words: assignments, the program, its arguments.
    pub fn words(&self) -> &[Word] {
        &self.all[self.range.clone()]
    }

    /// The words without the assignments before them. The first is the program.
    pub fn argv(&self) -> &[Word] {
        let words = self.words();
        let assigns = words.iter().take_while(|word| assigned(word.text()).is_some()).count();
        &words[assigns..]
    }

    /// The variables that are set before the program: their names and the words that set them.
    pub fn assignments(&self) -> impl Iterator<Item = (&str, &Word)> {
        self.words().iter().map_while(|word| Some((assigned(word.text())?, word)))
    }

    /// The redirections.
    pub fn redirects(&self) -> &[Redirect] {
        &self.redirects
    }

    /// What runs the command.
    pub fn via(&self) -> Via {
        self.via
    }

    /// What stands between this command and the one before it.
    pub fn joint(&self) -> Joint {
        self.joint
    }

    /// How many subshells it runs in: parentheses, substitutions, pipes to processes.
    pub fn subshell(&self) -> usize {
        self.subshell
    }

    /// The index of the command that runs this one: by a substitution in its arguments, as a wrapper, or as a script.
    pub fn outer(&self) -> Option<usize> {
        self.outer
    }

    /// Returns whether the command is known only when it runs: an expansion names the program, or it reads what it runs from
    /// a pipe.
    pub fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// The command as one line, as a pattern is compared with it: quotes are removed, redirections follow the words.
    pub fn text(&self) -> String {
        let mut text = joined(self.words());
        for redirect in self.redirects.iter().filter(|redirect| !redirect.is_document()) {
            if !self.range.is_empty() || !text.is_empty() {
                text.push(' ');
            }
            redirect.write(&mut text);
        }
        // A pattern matches across a line break inside of a word as across a blank.
        if text.contains('\n') { text.replace('\n', " ") } else { text }
    }

    /// Whether both have the same text.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.redirects == other.redirects
            && self.words().len() == other.words().len()
            && self.words().iter().zip(other.words()).all(|(one, other)| one.text() == other.text())
    }
}

/// A redirection: `2> file`, `< file`, `<<< text`, `<< END`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub(crate) descriptor: Box<str>,
    pub(crate) operator: &'static str,
    pub(crate) target: Word,
}

impl Redirect {
    /// The operator, such as `>` or `2>&1` without its descriptors: `>&`.
    pub fn operator(&self) -> &'static str {
        self.operator
    }

    /// The file, the descriptor, the text of `<<<`, or the last line of a here-document.
    pub fn target(&self) -> &Word {
        &self.target
    }

    /// Whether it opens a here-document.
    pub fn is_document(&self) -> bool {
        matches!(self.operator, "<<" | "<<-")
    }

    /// Whether it opens a file to read it. `<>` reads and writes.
    pub fn reads(&self) -> bool {
        matches!(self.operator, "<" | "<>") || (self.operator == "<&" && !self.is_descriptor())
    }

    /// Whether it opens a file to write it.
    pub fn writes(&self) -> bool {
        matches!(self.operator, ">" | ">>" | ">|" | "<>" | "&>" | "&>>")
            || (self.operator == ">&" && !self.is_descriptor())
    }

    fn is_descriptor(&self) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        self.target.known().is_some_and(|text| text == "-" || is_number(text.strip_suffix('-').unwrap_or(text)))
    }

    fn write(&self, text: &mut String) {
        text.push_str(&self.descriptor);
        text.push_str(self.operator);
        if !self.operator.ends_with('&') {
            text.push(' ');
        }
        text.push_str(self.target.text());
    }
}

/// Words as one text.
pub(crate) fn joined(words: &[Word]) -> String {
    words.iter().map(Word::text).collect::<Vec<_>>().join(" ")
}

/// The variable that a word sets, if it stands before a program: `x` of `x=1`, `x+=1` and `x[0]=1`.
pub(crate) fn assigned(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}
