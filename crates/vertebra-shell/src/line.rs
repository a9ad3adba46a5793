//! A command line as its reader leaves it.

use std::{collections::HashSet, sync::OnceLock};

use crate::{
    further, hidden,
    simple::{Redirect, SimpleCommand, Via},
    word::Word,
};

/// A command line, read once. What several readers ask for is computed when the first one asks.
#[derive(Debug)]
pub struct CommandLine {
    text: String,
    commands: Vec<SimpleCommand>,
    documents: Vec<Document>,
    loose: Vec<Word>,
    completeness: Completeness,
    steps: usize,
    texts: OnceLock<Vec<String>>,
    further: OnceLock<Vec<String>>,
}

/// How much of a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// All of it.
    Whole,
    /// All of it, and part of it is not valid: a quote or a bracket is left open.
    Broken,
    /// It is longer than [`ParseLimits::bytes`](crate::ParseLimits::bytes).
    TooLong,
    /// It has commands inside of commands beyond [`ParseLimits::depth`](crate::ParseLimits::depth).
    TooDeep,
    /// It has more commands than [`ParseLimits::commands`](crate::ParseLimits::commands), or scripts within scripts that take too long
    /// to read.
    TooMany,
}

/// The text of a here-document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The index of the command that reads it.
    pub command: Option<usize>,
    /// The lines.
    pub text: String,
}

impl CommandLine {
    pub(crate) fn new(
        text: &str,
        (commands, documents, loose): (Vec<SimpleCommand>, Vec<Document>, Vec<Word>),
        completeness: Completeness,
        steps: usize,
    ) -> Self {
        let (texts, further) = (OnceLock::new(), OnceLock::new());
        Self { text: text.to_owned(), commands, documents, loose, completeness, steps, texts, further }
    }

    /// The line as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every simple command in the line, in the order of the source: a command comes before those inside of it. Lists,
    /// pipelines, compound commands, functions, substitutions, here-documents, scripts given to a shell or to `eval`, and
    /// commands behind wrappers such as `sudo` or leading assignments are followed; of the latter both forms are listed.
    ///
    /// Invalid text is also cut at every separator: see [`Via::Guess`](crate::Via::Guess).
    pub fn commands(&self) -> &[SimpleCommand] {
        &self.commands
    }

    /// The here-documents.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// Every word of the line: of its commands, their redirections, loops, `case`, `[[ … ]]` and arrays.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        self.words_without(|_| false)
    }

    /// The [words](Self::words) without the files that the line only writes.
    pub fn read_words(&self) -> impl Iterator<Item = &Word> {
        self.words_without(|to| to.writes() && !to.reads())
    }

    fn words_without(&self, leaves_out: impl Fn(&Redirect) -> bool) -> impl Iterator<Item = &Word> {
        // The words of a wrapper include those of the command that it runs.
        let commands = self.commands.iter().filter(|command| command.via != Via::Wrapper);
        let words = commands.flat_map(move |command| {
            let redirects = command.redirects.iter().filter(|to| !leaves_out(to)).map(Redirect::target);
            command.words().iter().chain(redirects).collect::<Vec<_>>()
        });
        words.chain(&self.loose)
    }

    /// How much of the line was read.
    pub fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// Returns whether part of the line was not read. A policy that must not miss anything refuses such a line.
    pub fn is_beyond_reading(&self) -> bool {
        match self.completeness {
            Completeness::Whole | Completeness::Broken => false,
            Completeness::TooLong | Completeness::TooDeep | Completeness::TooMany => true,
        }
    }

    /// The work to read the line: how often a byte was looked at.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The [commands](Self::commands) as texts, each once: quotes and escapes are removed where they are literal, blanks and
    /// line breaks become one space, redirections follow the words. Use them where a pattern is compared with what a shell
    /// would run. A line without commands, such as `[[ -f x ]]`, is its own text.
    ///
    /// ```
    /// use vertebra_shell::{ParseLimits, parse};
    ///
    /// let texts = |line| parse(line, ParseLimits::default()).texts().to_vec();
    /// assert_eq!(texts(r#"cd /tmp && r\m -r"f" /"#), ["cd /tmp", "rm -rf /"]);
    /// assert_eq!(texts("sudo rm x"), ["sudo rm x", "rm x"]);
    /// ```
    pub fn texts(&self) -> &[String] {
        self.texts.get_or_init(|| {
            let mut seen = HashSet::new();
            let all = self.commands.iter().map(SimpleCommand::text);
            let mut texts: Vec<_> = all.filter(|text| !text.is_empty() && seen.insert(text.clone())).collect();
            if texts.is_empty() && !self.text.trim().is_empty() {
                texts.push(self.text.trim().to_owned());
            }
            texts
        })
    }

    /// More commands that the line may run, by ways that are not certain enough to ask for a rule that allows them: the
    /// programs of the system by their bare names, and commands in arguments of programs that prepare an environment, in
    /// options of other programs, in variables, and in text that is piped to a shell. Compare patterns that *refuse* with these too.
    ///
    /// ```
    /// use vertebra_shell::{ParseLimits, parse};
    ///
    /// let further = |line| parse(line, ParseLimits::default()).further().to_vec();
    /// assert_eq!(further("/bin/rm x"), ["rm x"]);
    /// assert_eq!(further("poetry run rm x"), ["rm x"]);
    /// assert!(further("cargo test").is_empty());
    /// ```
    pub fn further(&self) -> &[String] {
        self.further.get_or_init(|| further::further(&self.text, self.texts()))
    }

    /// The first command that cannot be known before it runs: its program is the result of an expansion, or it reads what it
    /// runs from a pipe. A policy that looks for commands must not take such a line for harmless. The content of a script file
    /// is not looked at.
    ///
    /// ```
    /// use vertebra_shell::{ParseLimits, parse};
    ///
    /// let hidden = |line| parse(line, ParseLimits::default()).hidden();
    /// assert_eq!(hidden("echo cm0geA== | base64 -d | sh").as_deref(), Some("sh"));
    /// assert_eq!(hidden("c=xrm; ${c#x} y").as_deref(), Some("${c#x} y"));
    /// assert_eq!(hidden("cargo test | tail -3"), None);
    /// ```
    pub fn hidden(&self) -> Option<String> {
        let hidden = self.commands.iter().filter(|command| command.is_hidden).take(hidden::MOST);
        let texts = hidden.map(|command| crate::simple::joined(command.words()));
        texts.into_iter().find(|text| !hidden::is_assigned(&self.text, text))
    }
}
