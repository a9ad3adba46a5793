//! `Bash(…)`: patterns of simple commands.

use vertebra::shell::{ParseLimits, only_starts, parse};

use super::rule::Wrong;

/// A pattern of one simple command. `*` matches any text, and `git *` also matches `git` alone.
#[derive(Debug, Clone)]
pub(crate) struct CommandPattern {
    /// The texts between the stars.
    pieces: Vec<String>,
    /// The same with any arguments after it, if the pattern ends in ` *`.
    with_arguments: Option<Vec<String>>,
}

impl CommandPattern {
    pub(crate) fn new(text: &str) -> Result<Self, Wrong> {
        let text = text.strip_suffix(":*").map_or_else(|| text.to_owned(), |start| format!("{start} *"));
        if text.contains(":*") {
            let instead = format!("write `Bash({})`", text.replace(":*", " *").replace("  ", " "));
            return Err(Wrong::new("`:*` is only valid at the end", instead));
        }
        let text = plain(&text)?;
        let pieces = |text: &str| text.split('*').map(str::to_owned).collect();
        let alone = text.strip_suffix(" *");
        Ok(Self { pieces: pieces(alone.unwrap_or(&text)), with_arguments: alone.map(|_| pieces(&text)) })
    }

    /// Returns whether the pattern matches the command as written.
    pub(crate) fn holds(&self, command: &str) -> bool {
        has_pieces(&self.pieces, command)
            || self.with_arguments.as_ref().is_some_and(|pieces| has_pieces(pieces, command))
    }

    /// Returns whether the pattern matches the command in any of its forms: with or without the path of its program and its
    /// redirections.
    pub(crate) fn holds_somehow(&self, command: &str) -> bool {
        forms(command).iter().any(|form| self.holds(form))
    }
}

/// Returns whether a text consists of these pieces in order, with any text between two of them.
fn has_pieces(pieces: &[String], text: &str) -> bool {
    let Some((first, others)) = pieces.split_first() else { return false };
    let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
    let Some((last, between)) = others.split_last() else { return rest.is_empty() };
    // The first place where a piece fits leaves the most for the others.
    let rest = between.iter().try_fold(rest, |rest, piece| Some(&rest[rest.find(piece.as_str())? + piece.len()..]));
    rest.is_some_and(|rest| rest.ends_with(last.as_str()))
}

/// Returns the forms of a command that a deny rule matches: as written, without redirections, and each with the bare name of
/// its program.
fn forms(command: &str) -> Vec<String> {
    let (words, _) = parts(command);
    let mut forms = vec![command.to_owned(), words.join(" ")];
    let by_name = |form: &String| {
        let (program, rest) = form.split_once(' ').unwrap_or((form, ""));
        let (_, name) = program.rsplit_once('/')?;
        Some(format!("{name} {rest}").trim_end().to_owned())
    };
    forms.extend(forms.iter().filter_map(by_name).collect::<Vec<_>>());
    forms
}

/// Normalises a pattern: removes quotes and checks that it is one command.
fn plain(text: &str) -> Result<String, Wrong> {
    let parsed = parse(text, ParseLimits::default());
    let commands = parsed.texts();
    let Some((first, others)) = commands.split_first() else { return Ok(text.to_owned()) };
    // `sudo rm *` is listed together with the `rm *` in it.
    if others.iter().all(|inner| first.ends_with(inner.as_str())) {
        return Ok(first.clone());
    }
    let rules: Vec<String> = commands.iter().map(|command| format!("`Bash({command})`")).collect();
    let instead = format!("write a rule for each: {}", rules.join(", "));
    Err(Wrong::new("a rule matches one command, and this is more than one", instead))
}

/// A file that a command opens by redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirection<'c> {
    pub(super) target: &'c str,
    pub(super) writes: bool,
}

/// Splits a simple command into its words and its redirections, which follow the words.
///
/// A quoted word that looks like a redirection counts as one. This may cause a question, but hides nothing.
pub(super) fn parts(command: &str) -> (Vec<&str>, Vec<Redirection<'_>>) {
    let mut words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let Some(first) = words.iter().position(|word| operator(word).is_some()) else { return (words, Vec::new()) };
    let behind = words.split_off(first);
    let mut found = Vec::new();
    let mut writes = true;
    for word in behind {
        let target = match operator(word) {
            Some((writing, target)) => {
                writes = writing;
                target
            }
            None => word,
        };
        if !target.is_empty() {
            found.push(Redirection { target, writes });
        }
    }
    (words, found)
}

/// Parses the start of a redirection: whether it writes, and the text attached to it.
fn operator(word: &str) -> Option<(bool, &str)> {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match rest.strip_prefix('{') {
        Some(named) => named.split_once('}').map_or(rest, |(_, rest)| rest),
        None => rest,
    };
    let target = rest.trim_start_matches(['<', '>', '&', '|']);
    let operator = &rest[..rest.len() - target.len()];
    operator.contains(['<', '>']).then(|| (operator.contains('>'), target))
}

impl Redirection<'_> {
    /// Returns whether the redirection writes to no file.
    pub(super) fn is_harmless(&self) -> bool {
        !self.writes || self.target == "/dev/null" || self.target.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Options of those programs that open no file and change no setting.
const OPTIONS: &[&str] = &[
    "--",
    "-p",
    "-k",
    "-n",
    "-s",
    "-c",
    "--foreground",
    "--preserve-status",
    "-i0",
    "-o0",
    "-e0",
    "-oL",
    "-eL",
    "KILL",
    "TERM",
    "INT",
    "HUP",
];

/// Variables that change the output of a program, not what it does.
const VARIABLES: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "NODE_ENV",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// Returns whether the command only wraps another command of the list, which is judged separately.
pub(super) fn only_wraps(command: &str, all: &[String]) -> bool {
    let wraps = |inner: &String| {
        let head = command.strip_suffix(inner.as_str()).and_then(|head| head.strip_suffix(' '));
        head.is_some_and(is_harmless_head)
    };
    all.iter().any(wraps) || (command.contains('=') && command.split(' ').all(is_harmless_assignment))
}

/// Returns whether this prefix needs no rule: `timeout 5`, `env LANG=C`, `nice -n 10 nohup`, `LANG=C`.
fn is_harmless_head(head: &str) -> bool {
    let duration = |word: &str| {
        let number = word.trim_start_matches(['-', '+', 'n', 'k']).trim_end_matches(['s', 'm', 'h', 'd']);
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let mut words = head.split(' ').peekable();
    let starts = words.peek().is_some_and(|word| only_starts(word) || is_harmless_assignment(word));
    starts
        && words
            .all(|word| only_starts(word) || OPTIONS.contains(&word) || duration(word) || is_harmless_assignment(word))
}

fn is_harmless_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| VARIABLES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_text_and_a_space_before_it_for_the_end_of_a_word() {
        let cases = [
            ("git *", "git status -s", true),
            ("git *", "git", true),
            ("git *", "gitk", false),
            ("git*", "gitk", true),
            ("git:*", "git log", true),
            ("npm run test:*", "npm run test -- -u", true),
            ("npm run test:*", "npm run test:unit", false),
            ("git * main", "git push origin main", true),
            ("git status", "git status", true),
            ("git status", "git status -s", false),
            ("git commit -m \"*\"", "git commit -m two\nlines", true),
            ("a.c", "abc", false),
        ];
        for (pattern, command, expected) in cases {
            let Ok(compiled) = CommandPattern::new(pattern) else { panic!("{pattern}") };
            assert_eq!(compiled.holds(command), expected, "{pattern}: {command}");
        }
    }

    #[test]
    fn redirections_are_found_behind_the_words() {
        let (words, found) = parts("git log > out.txt 2>&1 {fd}>> b < c >&d &> /dev/null");
        assert_eq!(words, ["git", "log"]);
        let shown: Vec<_> = found.iter().map(|r| (r.target, r.writes, r.is_harmless())).collect();
        assert_eq!(
            shown,
            [
                ("out.txt", true, false),
                ("1", true, true),
                ("b", true, false),
                ("c", false, true),
                ("d", true, false),
                ("/dev/null", true, true)
            ]
        );
    }

    #[test]
    fn only_harmless_wrappers_need_no_rule() {
        let cases = [
            ("timeout 5 git log", true),
            ("timeout -k 3 -s KILL 1m git log", true),
            ("nice -n 10 nohup git log", true),
            ("env LANG=C git log", true),
            ("RUST_LOG=debug git log", true),
            ("time -p git log", true),
            ("builtin git log", true),
            ("noglob git log", true),
            ("LD_PRELOAD=x git log", false),
            ("env PATH=. git log", false),
            ("env -C /tmp git log", false),
            ("time -o/etc/x git log", false),
            ("sudo git log", false),
            ("xargs git log", false),
            ("sh -c git log", false),
            ("watch git log", false),
        ];
        for (command, expected) in cases {
            assert_eq!(only_wraps(command, &["git log".to_owned()]), expected, "{command}");
        }
        assert!(only_wraps("LANG=C", &[]));
        assert!(!only_wraps("PATH=.", &[]));
    }
}
