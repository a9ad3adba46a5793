//! Splits a shell line into simple commands, with the place of every word in the text, so that a word can be replaced.
//!
//! This is not a whole shell. What it does not understand is reported, and a command line that is not understood is not
//! taken for a harmless one.

use std::ops::Range;

/// How deeply commands may be nested in each other.
const MAX_DEPTH: usize = 16;

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
}

impl Shell {
    /// Reads a line. `value` returns the value of a variable, if it is known; `~` is the variable `HOME`.
    pub(super) fn read(line: &str, value: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut reader =
            Reader { text: line, at: 0, value, shell: Self::default(), ends: Vec::new(), cases: 0, in_backtick: false };
        reader.commands(None, 0);
        if reader.at < line.len() && reader.shell.odd.is_none() {
            reader.shell.odd = Some("an unmatched bracket");
        }
        reader.shell
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    value: &'t dyn Fn(&str) -> Option<String>,
    shell: Shell,
    /// The last lines of here-documents that begin on the next line.
    ends: Vec<String>,
    /// How many `case` commands are open.
    cases: usize,
    /// Whether a backtick ends what is read.
    in_backtick: bool,
}

/// What a word is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Command,
    Input,
    Output,
    /// The last line of a here-document.
    End,
}

/// A word that is being read.
struct Open {
    start: usize,
    text: Option<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.text[self.at..].starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn odd(&mut self, what: &'static str) {
        self.shell.odd.get_or_insert(what);
    }

    /// Reads commands up to this bracket, or to the end.
    fn commands(&mut self, until: Option<char>, depth: usize) {
        if depth > MAX_DEPTH {
            self.odd("commands nested too deeply");
            self.at = self.text.len();
            return;
        }
        let new = || Simple { is_nested: depth > 0, ..Simple::default() };
        let (mut command, mut role) = (new(), For::Command);
        while let Some(letter) = self.peek() {
            if Some(letter) == until {
                self.next();
                break;
            }
            match letter {
                ';' if self.cases > 0 && self.takes(";;") => {
                    let _ = self.takes("&");
                    self.end(&mut command, new());
                    self.pattern();
                }
                '\n' | ';' | '|' => {
                    self.next();
                    self.end(&mut command, new());
                    role = For::Command;
                    if letter == '\n' {
                        self.here_documents();
                    }
                }
                '&' if self.text[self.at..].starts_with("&>") => {
                    self.takes("&>");
                    let _ = self.takes(">");
                    role = For::Output;
                }
                '&' => {
                    self.next();
                    self.end(&mut command, new());
                    role = For::Command;
                }
                _ if letter.is_whitespace() => {
                    self.next();
                }
                '#' => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.next();
                    }
                }
                '(' if self.takes("()") => command = new(),
                '(' => {
                    self.next();
                    self.end(&mut command, new());
                    self.commands(Some(')'), depth + 1);
                }
                ')' => {
                    self.odd("an unmatched bracket");
                    self.next();
                }
                '<' | '>' => role = self.redirection(depth),
                _ => {
                    let Some(word) = self.word(depth) else { continue };
                    match std::mem::replace(&mut role, For::Command) {
                        For::Command => self.push(&mut command, word),
                        For::Input => command.inputs.push(word),
                        For::Output => {}
                        For::End => self.ends.extend(word.text),
                    }
                }
            }
        }
        self.end(&mut command, new());
    }

    /// Reads `<`, `>>`, `2>&1`, `<<<` and their like, and returns what the next word is for.
    fn redirection(&mut self, depth: usize) -> For {
        if self.takes("<(") || self.takes(">(") {
            self.commands(Some(')'), depth + 1);
            return For::Command;
        }
        if self.takes("<<<") {
            return For::Output;
        }
        if self.takes("<<") {
            let _ = self.takes("-");
            return For::End;
        }
        if self.takes("<>") || self.takes("<&") {
            return For::Input;
        }
        if self.takes("<") {
            return For::Input;
        }
        let _ = self.takes(">>") || self.takes(">|") || self.takes(">&") || self.takes(">");
        For::Output
    }

    fn end(&mut self, command: &mut Simple, new: Simple) {
        let command = std::mem::replace(command, new);
        if !command.words.is_empty() || !command.sets.is_empty() || !command.inputs.is_empty() {
            self.shell.commands.push(command);
        }
    }

    /// Adds a word to a command, unless it is a keyword or sets a variable.
    fn push(&mut self, command: &mut Simple, word: Word) {
        let raw = &self.text[word.range.clone()];
        if command.words.is_empty() {
            match raw {
                "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "!" | "{" | "}" => return,
                "esac" => {
                    self.cases = self.cases.saturating_sub(1);
                    return;
                }
                "[[" if !self.skip_to("]]") => self.odd("an unmatched bracket"),
                _ => {}
            }
            let name: String =
                raw.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
            let rest = &raw[name.len()..];
            let is_name = name.chars().next().is_some_and(|letter| !letter.is_ascii_digit());
            if is_name && (rest.starts_with('=') || rest.starts_with("+=")) {
                command.sets.push(name);
                return;
            }
        } else if raw == "}" {
            return;
        } else if raw == "in" && self.text[command.words[0].range.clone()] == *"case" {
            *command = Simple { is_nested: command.is_nested, ..Simple::default() };
            self.cases += 1;
            self.pattern();
            return;
        }
        command.words.push(word);
    }

    /// Skips the pattern of a `case`.
    fn pattern(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
        if !self.text[self.at..].starts_with("esac") && !self.skip_to(")") {
            self.odd("a `case` without an end");
        }
    }

    /// Skips the here-documents that begin here.
    fn here_documents(&mut self) {
        for end in std::mem::take(&mut self.ends) {
            while self.at < self.text.len() {
                let line = self.text[self.at..].split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    /// Reads one word.
    fn word(&mut self, depth: usize) -> Option<Word> {
        let mut word = Open { start: self.at, text: Some(String::new()) };
        while let Some(letter) = self.peek() {
            match letter {
                _ if letter.is_whitespace() || ";&|()".contains(letter) => break,
                '`' if self.in_backtick => break,
                '<' | '>' => {
                    // `2>` names a descriptor.
                    let raw = &self.text[word.start..self.at];
                    if !raw.is_empty() && raw.chars().all(|letter| letter.is_ascii_digit()) {
                        return None;
                    }
                    break;
                }
                '\\' => {
                    self.next();
                    match self.next() {
                        Some('\n') | None => {}
                        Some(letter) => word.add(letter),
                    }
                }
                '\'' => {
                    self.next();
                    while let Some(letter) = self.next() {
                        if letter == '\'' {
                            break;
                        }
                        word.add(letter);
                    }
                }
                '"' => {
                    self.next();
                    self.double_quoted(&mut word, depth);
                }
                '$' => self.dollar(&mut word, depth),
                '`' => self.backtick(&mut word, depth),
                '~' if self.at == word.start => {
                    self.next();
                    let home = (self.value)("HOME")
                        .filter(|_| self.peek().is_none_or(|next| next == '/' || next.is_whitespace()));
                    word.join(home);
                }
                '*' | '?' => {
                    self.next();
                    word.text = None;
                }
                '[' | '{' => {
                    self.next();
                    word.add(letter);
                    // `[` alone is a program, and `{` alone a bracket.
                    let is_alone = self.at == word.start + 1
                        && (self.peek().is_none_or(char::is_whitespace) || self.text[self.at..].starts_with("[ "));
                    let is_test = letter == '[' && &self.text[word.start..self.at] == "[[";
                    if !is_alone && !is_test {
                        word.text = None;
                    }
                }
                _ => {
                    self.next();
                    word.add(letter);
                }
            }
        }
        Some(Word { range: word.start..self.at, text: word.text })
    }

    fn double_quoted(&mut self, word: &mut Open, depth: usize) {
        while let Some(letter) = self.peek() {
            match letter {
                '"' => {
                    self.next();
                    return;
                }
                '\\' => {
                    self.next();
                    match self.next() {
                        Some(letter @ ('"' | '\\' | '$' | '`')) => word.add(letter),
                        Some('\n') | None => {}
                        Some(letter) => {
                            word.add('\\');
                            word.add(letter);
                        }
                    }
                }
                '$' => self.dollar(word, depth),
                '`' => self.backtick(word, depth),
                _ => {
                    self.next();
                    word.add(letter);
                }
            }
        }
        self.odd("an unmatched quotation mark");
    }

    fn dollar(&mut self, word: &mut Open, depth: usize) {
        if self.takes("$((") {
            word.text = None;
            if !self.skip_to("))") {
                self.odd("arithmetic");
            }
        } else if self.takes("$(") {
            word.text = None;
            let outer = std::mem::replace(&mut self.in_backtick, false);
            self.commands(Some(')'), depth + 1);
            self.in_backtick = outer;
        } else if self.takes("${") {
            let start = self.at;
            if !self.skip_to("}") {
                self.odd("an unmatched bracket");
            }
            let name = self.text[start..self.at].trim_end_matches('}');
            if name.contains(['$', '`', '(']) {
                self.odd("a substitution inside a variable");
            }
            let value = (self.value)(name);
            word.join(value);
        } else {
            self.next();
            let start = self.at;
            while self.peek().is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
                self.next();
            }
            let name = &self.text[start..self.at];
            if name.is_empty() {
                // `$?`, `$@`, `$'…'`
                word.text = None;
                if !self.peek().is_some_and(|letter| matches!(letter, '\'' | '"'))
                    && self.peek().is_some_and(|letter| !letter.is_whitespace())
                {
                    self.next();
                }
                return;
            }
            let value = (self.value)(name);
            word.join(value);
        }
    }

    fn backtick(&mut self, word: &mut Open, depth: usize) {
        self.next();
        word.text = None;
        let outer = std::mem::replace(&mut self.in_backtick, true);
        self.commands(Some('`'), depth + 1);
        self.in_backtick = outer;
    }

    fn skip_to(&mut self, end: &str) -> bool {
        let found = self.text[self.at..].find(end).map(|at| self.at + at + end.len());
        self.at = found.unwrap_or(self.text.len());
        found.is_some()
    }
}

impl Open {
    fn add(&mut self, letter: char) {
        if let Some(text) = &mut self.text {
            text.push(letter);
        }
    }

    fn join(&mut self, more: Option<String>) {
        match (&mut self.text, more) {
            (Some(text), Some(more)) => text.push_str(&more),
            (text, _) => *text = None,
        }
    }
}
