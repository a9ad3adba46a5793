//! Collects the words of one simple command, and lists it with all that it runs.

use std::{borrow::Cow, mem, ops::Range, sync::Arc};

use super::{
    document::Pending,
    rough,
    scan::{Scan, Source},
    spread::{may_spread, spread},
    word::Read,
};
use crate::{
    carrier::{self, Carried},
    hidden::{self, Fed},
    quote, quote_line,
    simple::{Redirect, SimpleCommand, Via, joined},
    word::Word,
    wrapper::{self, Runs, base},
};

/// From so many words on, only the outermost and the innermost of wrapped commands are listed.
const MANY_WORDS: usize = 64;

/// How many of the commands are listed that one command wraps.
const MOST_WRAPPED: usize = 16;

/// The command being read.
#[derive(Default)]
pub(super) struct Command {
    /// How many commands were listed before this one, which comes before those inside of it.
    place: usize,
    /// What those inside of it know it by.
    pub(super) number: Option<usize>,
    pub(super) head: Head,
    /// `time`, `coproc`: keywords that a policy may want to see with their command.
    lead: Vec<Word>,
    pub(super) words: Vec<Word>,
    /// A word has braces or `$IFS` outside of quotes, and so may become several.
    spreads: bool,
    redirects: Vec<Redirect>,
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
    pub(super) fn add(&mut self, command: &mut Command, word: Read) {
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
                let word = word.finish();
                self.found.loose.push(word.clone());
                command.words.push(word);
                return;
            }
        }
        let names_coprocess = command.words.len() == 1 && command.lead.iter().any(|word| word.text() == "coproc");
        if !word.quoted && (command.words.is_empty() || names_coprocess) {
            let head = match word.bytes() {
                b"for" | b"select" => Head::Loop,
                b"case" => Head::Case,
                b"function" => Head::Function,
                _ => Head::Command,
            };
            if head != Head::Command || std::str::from_utf8(word.bytes()).is_ok_and(rough::is_keyword) {
                self.finish(command);
                command.head = head;
                return;
            }
        }
        if !word.quoted && command.words.is_empty() {
            let timed = command.lead.first().is_some_and(|word| word.text() == "time");
            match word.bytes() {
                b"time" | b"coproc" => return command.lead.push(word.finish()),
                b"-p" | b"--" if timed => return command.lead.push(word.finish()),
                b"[[" => return self.inside(command, |scan, _| scan.test()),
                _ => {}
            }
        }
        let is_quoted = word.quoted;
        let word = word.finish();
        if !is_quoted && is_descriptor(word.text()) && matches!(self.peek(0), Some(b'<' | b'>')) {
            return self.inside(command, |scan, command| scan.redirection(command, word.text()));
        }
        command.spreads |= word.known().is_none() && may_spread(word.text());
        command.words.push(word);
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
        let target = self.word().finish();
        if matches!(operator, "<<" | "<<-") {
            self.documents.push(Pending {
                end: target.text().to_owned(),
                strip_tabs: operator == "<<-",
                expands: !target.is_quoted(),
                is_script: false,
                number: command.number,
            });
        }
        command.redirects.push(Redirect { descriptor: descriptor.into(), operator, target });
    }

    /// Lists a command that is complete, and what it runs.
    pub(super) fn finish(&mut self, command: &mut Command) {
        let done = mem::take(command);
        self.broken |= done.head == Head::Case;
        let is_empty = done.words.is_empty() && done.redirects.is_empty() && done.lead.is_empty();
        if done.head == Head::Command && !is_empty {
            let mut place = done.place;
            let number = done.number.unwrap_or_else(|| self.found.number());
            let given = Given { redirects: done.redirects.into(), documents: done.documents };
            if !done.lead.is_empty() {
                let all: Arc<[Word]> = done.lead.iter().chain(&done.words).cloned().collect();
                let lead = self.listed(&all, 0..all.len(), self.via, &given);
                let number = self.found.number();
                place = self.found.insert(place, number, lead);
            }
            let all: Arc<[Word]> = done.words.into();
            self.run(place, number, &all, 0..all.len(), &given);
            if done.spreads {
                self.spread(&all, &given);
            }
        }
        *command = self.command();
    }

    /// Lists what may become of words that a shell makes several of. Of readings that may be wrong, none is hidden.
    fn spread(&mut self, words: &[Word], given: &Given) {
        let before = self.found.commands.len();
        let via = mem::replace(&mut self.via, Via::Guess);
        let texts: Vec<&str> = words.iter().map(Word::text).collect();
        for words in spread(&texts) {
            self.found.charge(words.iter().map(String::len).sum());
            let words: Arc<[Word]> = words.iter().map(|word| Word::guessed(word)).collect();
            let number = self.found.number();
            self.run(self.found.commands.len(), number, &words, 0..words.len(), given);
        }
        self.via = via;
        for listed in &mut self.found.commands[before..] {
            listed.command.is_hidden = false;
        }
    }

    fn listed(&self, all: &Arc<[Word]>, range: Range<usize>, via: Via, given: &Given) -> SimpleCommand {
        SimpleCommand {
            all: Arc::clone(all),
            range,
            redirects: Arc::clone(&given.redirects),
            via,
            joint: self.joint,
            subshell: self.subshell,
            outer: self.found.outer,
            is_hidden: false,
        }
    }

    /// Lists the command of these words, those it wraps, and those in the script it is given.
    fn run(&mut self, place: usize, number: usize, all: &Arc<[Word]>, range: Range<usize>, given: &Given) {
        let words = &all[range.clone()];
        let texts: Vec<&str> = words.iter().map(Word::text).collect();
        self.found.charge(texts.len());
        let mut starts = vec![0];
        let mut start = 0;
        let mut runs = Runs::of(&texts);
        while let Runs::Command(next) = runs {
            start += next;
            // A thousand wrappers are one trick, not a thousand commands: of those between, a few are enough.
            if starts.len() >= MOST_WRAPPED || words.len() > MANY_WORDS {
                starts.truncate(starts.len().max(2) - 1);
            }
            starts.push(start);
            runs = Runs::of(&texts[start..]);
        }
        let innermost = &texts[start..];
        let only_looks = texts.contains(&"command") && texts.iter().any(|word| matches!(*word, "-v" | "-V"));
        let program = words.get(start);
        let is_hidden = !only_looks
            && (program.is_some_and(|program| hidden::has_unknown_program(program, &texts, start, &runs))
                || self.reads_unknown(innermost, given));
        let mut place = place;
        let (mut own, last) = (number, *starts.last().unwrap_or(&0));
        let outer = self.found.outer;
        for start in starts {
            let via = if start == 0 || self.via == Via::Guess { self.via } else { Via::Wrapper };
            let mut command = self.listed(all, range.start + start..range.end, via, given);
            command.is_hidden = is_hidden && start == last;
            if start > 0 {
                (own, self.found.outer) = (self.found.number(), Some(number));
                command.outer = self.found.outer;
            }
            place = self.found.insert(place, own, command);
        }
        self.found.outer = Some(own);
        if !only_looks {
            self.feed(innermost, given);
        }
        self.scripts(all, range.start + start..range.end, innermost, &runs);
        self.found.outer = outer;
    }

    /// Reads the scripts and commands that are arguments of this command.
    fn scripts(&mut self, all: &Arc<[Word]>, range: Range<usize>, texts: &[&str], runs: &Runs) {
        match *runs {
            Runs::Nothing | Runs::Command(_) => {}
            Runs::Script { from, to } => self.reread(&texts[from..to].join(" "), Source::Made, Via::Script),
            Runs::Again { from, skip } => {
                // To `env` `\_` is a blank, and to a shell a letter. The words behind stay words.
                let text = texts[from].get(skip..).unwrap_or_default().replace(r"\_", " ");
                let words = &all[range.start + from + 1..range.end];
                let words = words.iter().map(|word| word.known().map_or(Cow::Borrowed(word.text()), quote));
                let words = words.collect::<Vec<_>>().join(" ");
                self.reread(&format!("env {text} {words}"), Source::Made, Via::Script);
                // A comment ends with the text. To a shell it would end with the line.
                if let Some((before, _)) = format!(" {text}").split_once(" #") {
                    self.reread(&format!("env {before} {words}"), Source::Made, Via::Script);
                }
            }
        }
        let parts = wrapper::parts_of_find(texts).into_iter().map(Carried::Words);
        for carried in parts.chain(carrier::carried(texts)) {
            match carried {
                Carried::Script(text) => self.reread(&text, Source::Made, Via::Script),
                Carried::Made(words) => self.reread(&quote_line(words), Source::Made, Via::Script),
                Carried::Words(part) => self.part(all, range.start + part.start..range.start + part.end),
            }
        }
    }

    /// Lists the command that these words of another one are.
    fn part(&mut self, all: &Arc<[Word]>, range: Range<usize>) {
        let bytes = all[range.clone()].iter().map(|word| word.text().len() + 1).sum();
        if self.depth >= self.found.limits.depth || !self.found.may_read(bytes) {
            return self.too_deep(&joined(&all[range]));
        }
        let number = self.found.number();
        let via = self.via;
        self.via = if via == Via::Guess { via } else { Via::Wrapper };
        self.depth += 1;
        self.run(self.found.commands.len(), number, all, range, &Given::nothing());
        self.depth -= 1;
        self.via = via;
    }

    /// Reads what a command runs from its input, if it does and that is known.
    fn feed(&mut self, words: &[&str], given: &Given) {
        let Some(program) = words.first() else { return };
        let reads_input = hidden::reads_input(words);
        let runs_text = wrapper::reads_script(program) || (reads_input && matches!(base(program), "make" | "gmake"));
        if runs_text {
            self.documents.iter_mut().skip(given.documents).for_each(|document| document.is_script = true);
            for text in given.input() {
                self.reread(&text.replace("\t@", "\t"), Source::Made, Via::Script);
            }
        }
        if !reads_input || self.has_known_input(given) {
            return;
        }
        let fed = self.fed.take();
        if let Some(Fed::Text(text)) = &fed {
            if runs_text {
                self.reread(text, Source::Made, Via::Script);
            } else {
                for text in carrier::in_code(text) {
                    self.reread(&text, Source::Made, Via::Script);
                }
            }
        }
        self.fed = fed;
    }

    /// Returns whether a command reads what it runs, and the input is unknown.
    fn reads_unknown(&self, words: &[&str], given: &Given) -> bool {
        hidden::reads_input(words) && !self.has_known_input(given) && !matches!(self.fed, Some(Fed::Text(_)))
    }

    fn has_known_input(&self, given: &Given) -> bool {
        let is_file = |redirect: &Redirect| {
            redirect.operator == "<"
                && matches!(&*redirect.descriptor, "" | "0")
                && !hidden::is_input(redirect.target.text())
        };
        self.documents.len() > given.documents || given.input().next().is_some() || given.redirects.iter().any(is_file)
    }
}

/// Whether a word before `<` or `>` belongs to it: `2`, `{name}`.
fn is_descriptor(word: &str) -> bool {
    let named = word.strip_prefix('{').and_then(|word| word.strip_suffix('}'));
    match named {
        Some(name) => !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        None => word.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// What is given to a command besides its words.
struct Given {
    redirects: Arc<[Redirect]>,
    /// How many here-documents were waiting before its own.
    documents: usize,
}

impl Given {
    fn nothing() -> Self {
        Self { redirects: [].into(), documents: usize::MAX }
    }

    /// The text given to it as `<<< text`.
    fn input(&self) -> impl Iterator<Item = &str> {
        self.redirects.iter().filter(|redirect| redirect.operator == "<<<").map(|redirect| redirect.target.text())
    }
}
