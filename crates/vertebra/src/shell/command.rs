//! Collects the words of one simple command, and lists it with all that it runs.

use super::{
    MAX_DEPTH,
    carrier::{self, Carried},
    document::Document,
    hidden::{self, Fed},
    rough,
    scan::Scan,
    spread::{may_spread, spread},
    word::Word,
    wrapper::{self, Runs, base},
};

/// From so many words on, only the outermost and the innermost of wrapped commands are listed.
const MANY_WORDS: usize = 64;

/// The command being read.
#[derive(Default)]
pub(super) struct Command {
    /// How many commands were listed before this one, which comes before those inside of it.
    place: usize,
    pub(super) head: Head,
    /// `time`, `coproc`: keywords that a policy may want to see with their command.
    lead: Vec<String>,
    pub(super) words: Vec<String>,
    /// A word has braces or `$IFS` outside of quotes, and so may become several.
    spreads: bool,
    redirections: Vec<String>,
    /// Text given to it as `<<< text`.
    input: Vec<String>,
    /// How many here-documents were waiting before its own.
    documents: usize,
}

/// What the words being read belong to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Head {
    #[default]
    Command,
    /// `for name in …`
    Loop,
    /// `case word in`
    Case,
    /// `function name`
    Function,
}

impl Command {
    pub(super) fn is_empty(&self) -> bool {
        self.head == Head::Command && self.words.is_empty()
    }
}

impl Scan<'_, '_> {
    pub(super) fn command(&self) -> Command {
        Command { place: self.found.commands.len(), documents: self.documents.len(), ..Command::default() }
    }

    /// Takes a word into the command, or the keyword it is out of its way.
    pub(super) fn add(&mut self, command: &mut Command, word: &Word) {
        let text = word.text();
        match command.head {
            Head::Command => {}
            Head::Function => {
                command.head = Head::Command;
                return;
            }
            Head::Loop if command.words.len() == 1 && word.is("do") => {
                *command = self.command();
                return;
            }
            Head::Loop | Head::Case => {
                command.words.push(text);
                return;
            }
        }
        let names_coprocess = command.words.len() == 1 && command.lead.iter().any(|word| word == "coproc");
        if !word.quoted && (command.words.is_empty() || names_coprocess) {
            let head = match text.as_str() {
                "for" | "select" => Head::Loop,
                "case" => Head::Case,
                "function" => Head::Function,
                _ => Head::Command,
            };
            if head != Head::Command || rough::is_keyword(&text) {
                self.finish(command);
                command.head = head;
                return;
            }
        }
        if !word.quoted && command.words.is_empty() {
            let timed = command.lead.first().is_some_and(|word| word == "time");
            match text.as_str() {
                "time" | "coproc" => return command.lead.push(text),
                "-p" | "--" if timed => return command.lead.push(text),
                "[[" => return self.test(),
                _ => {}
            }
        }
        let is_descriptor = text.bytes().all(|byte| byte.is_ascii_digit()) || text.starts_with('{');
        if !word.quoted && is_descriptor && matches!(self.peek(0), Some(b'<' | b'>')) {
            return self.redirection(command, &text);
        }
        command.spreads |= may_spread(&text);
        command.words.push(text);
    }

    pub(super) fn redirection(&mut self, command: &mut Command, descriptor: &str) {
        let rest = self.slice(self.at, self.len());
        let operators = ["<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">|", ">&", ">"];
        let Some(operator) = operators.into_iter().find(|operator| rest.starts_with(operator)) else {
            self.at += 1;
            return;
        };
        self.at += operator.len();
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let target = self.word();
        let text = target.text();
        match operator {
            "<<" | "<<-" => self.documents.push(Document {
                end: text,
                strip_tabs: operator == "<<-",
                expands: !target.quoted,
                is_script: false,
            }),
            _ => {
                let space = if operator.ends_with('&') { "" } else { " " };
                command.redirections.push(format!("{descriptor}{operator}{space}{text}"));
                if operator == "<<<" {
                    command.input.push(text);
                }
            }
        }
    }

    /// Lists a command that is complete, and what it runs.
    pub(super) fn finish(&mut self, command: &mut Command) {
        let done = std::mem::take(command);
        self.broken |= done.head == Head::Case;
        if done.head == Head::Command {
            let mut place = done.place;
            if !done.lead.is_empty() {
                let words: Vec<_> = done.lead.iter().chain(&done.words).chain(&done.redirections).cloned().collect();
                place = self.found.insert(place, words.join(" "));
            }
            let given = Given { redirections: &done.redirections, documents: done.documents, input: &done.input };
            self.run(place, &done.words, &given);
            if done.spreads {
                // Of readings that may be wrong, none is called unknown.
                let hidden = self.found.hidden.len();
                for words in spread(&done.words) {
                    self.run(self.found.commands.len(), &words, &given);
                }
                self.found.hidden.truncate(hidden);
            }
        }
        *command = self.command();
    }

    /// Lists the command of these words, those it wraps, and those in the script it is given.
    fn run(&mut self, place: usize, words: &[String], given: &Given<'_>) {
        let mut starts = vec![0];
        let mut start = 0;
        let mut runs = Runs::of(words);
        while let Runs::Command(next) = runs {
            start += next;
            // A thousand wrappers are one trick, not a thousand commands: of those between, a few are enough.
            if starts.len() >= MAX_DEPTH || words.len() > MANY_WORDS {
                starts.truncate(starts.len().max(2) - 1);
            }
            starts.push(start);
            runs = Runs::of(&words[start..]);
        }
        let mut place = place;
        for start in starts {
            let all: Vec<&str> = words[start..].iter().chain(given.redirections).map(String::as_str).collect();
            place = self.found.insert(place, all.join(" "));
        }
        let innermost = &words[start..];
        let only_looks =
            words.iter().any(|word| word == "command") && words.iter().any(|word| word == "-v" || word == "-V");
        if !only_looks {
            if hidden::has_unknown_program(words, innermost, &runs) {
                self.found.hide(innermost);
            }
            self.feed(innermost, given);
        }
        match runs {
            Runs::Nothing | Runs::Command(_) => {}
            Runs::Script { from, to } => self.reread(&innermost[from..to].join(" ")),
            Runs::Again { from, skip } => {
                let line = innermost[from..].join(" ");
                // To `env` that is a blank, and to a shell a letter.
                let line = line.get(skip..).unwrap_or(&line).replace(r"\_", " ");
                self.reread(&format!("env {line}"));
            }
        }
        for part in wrapper::parts_of_find(innermost) {
            self.run(self.found.commands.len(), part, &Given::NOTHING);
        }
        for carried in carrier::carried(innermost) {
            match carried {
                Carried::Script(text) => self.reread(&text),
                Carried::Words(words) => {
                    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                    self.reread(&quoted.join(" "));
                }
            }
        }
    }

    /// Reads what a command runs from its input, if it does and that is known.
    fn feed(&mut self, words: &[String], given: &Given<'_>) {
        let Some(program) = words.first() else { return };
        let reads_input = hidden::reads_input(words);
        let runs_text = wrapper::reads_script(program) || (reads_input && matches!(base(program), "make" | "gmake"));
        let has_documents = self.documents.len() > given.documents;
        if runs_text {
            self.documents.iter_mut().skip(given.documents).for_each(|document| document.is_script = true);
            given.input.iter().for_each(|text| self.reread(&text.replace("\t@", "\t")));
        }
        let is_file = |redirection: &String| {
            let file = redirection.strip_prefix('0').unwrap_or(redirection).strip_prefix('<');
            file.is_some_and(|file| !file.starts_with(['<', '>', '&']) && !hidden::is_input(file.trim_start()))
        };
        let is_known = has_documents || !given.input.is_empty() || given.redirections.iter().any(is_file);
        if !reads_input || is_known {
            return;
        }
        let fed = self.fed.take();
        match &fed {
            Some(Fed::Text(text)) if runs_text => self.reread(text),
            Some(Fed::Text(text)) => {
                for carried in carrier::in_code(text) {
                    self.reread(&carried.text());
                }
            }
            Some(Fed::Unknown) | None => self.found.hide(words),
        }
        self.fed = fed;
    }
}

/// What is given to a command besides its words.
struct Given<'c> {
    redirections: &'c [String],
    /// How many here-documents were waiting before its own.
    documents: usize,
    input: &'c [String],
}

impl Given<'_> {
    const NOTHING: Self = Self { redirections: &[], documents: usize::MAX, input: &[] };
}

/// A word as a shell would have to read it to get it again.
fn quoted(word: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | '=' | ':' | ',' | '+' | '@' | '%');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
