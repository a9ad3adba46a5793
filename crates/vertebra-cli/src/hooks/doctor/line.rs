//! Finds the first command of a shell command line, if that is unambiguous.

use std::path::Path;

use vertebra::shell::{Completeness, Joint, ParseLimits, Piece, Via, Word, parse};

/// Shell builtins and keywords.
const OF_THE_SHELL: &[&str] = &[
    "!",
    ".",
    ":",
    "[",
    "[[",
    "]]",
    "{",
    "}",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// A simple command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct First {
    /// Its words, with known variables replaced.
    pub(super) words: Vec<String>,
    /// Whether the line has a fallback, such as `|| true`.
    pub(super) may_fail: bool,
}

/// The values of known variables.
pub(super) struct Known<'k> {
    /// The project's folder, where the command runs.
    pub(super) folder: &'k Path,
    /// The home folder.
    pub(super) home: Option<&'k str>,
}

/// Returns the first command of a line, or `None` if it cannot be determined.
pub(super) fn first(line: &str, known: &Known<'_>) -> Option<First> {
    let parsed = parse(line, ParseLimits::default());
    let (command, others) = parsed.commands().split_first()?;
    if parsed.completeness() != Completeness::Whole || command.via() != Via::Line {
        return None;
    }
    // A keyword, a bracket or the name of a function may stand before it.
    let before = line.get(..command.words().first()?.span()?.start)?;
    let is_remark = |text: &str| text.trim().is_empty() || text.trim_start().starts_with('#');
    let program = command.argv().first()?;
    let is_open =
        program.resolve(|name| known.value(name)).is_none() || program.text().starts_with('~') && program.is_quoted();
    if is_open || !before.lines().all(is_remark) || OF_THE_SHELL.contains(&program.text()) {
        return None;
    }
    let mut beside = others.iter().filter(|other| other.via() == Via::Line && other.subshell() == 0);
    let may_fail = beside
        .by_ref()
        .take_while(|other| !matches!(other.joint(), Joint::First | Joint::Then))
        .any(|other| other.joint() == Joint::Or);
    let words = command.argv().iter().map(|word| known.in_place(word)).collect();
    Some(First { words, may_fail })
}

impl Known<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "CLAUDE_PROJECT_DIR" | "VERTEBRA_PROJECT_DIR" | "PWD" => self.folder.to_str(),
            "HOME" => self.home,
            _ => None,
        }
    }

    /// Fills in the folders in a word of a list, which no shell reads.
    pub(super) fn filled(&self, word: &str) -> String {
        let names = ["CLAUDE_PROJECT_DIR", "VERTEBRA_PROJECT_DIR", "PWD", "HOME"];
        names.iter().fold(word.to_owned(), |word, name| match self.value(name) {
            Some(value) => word.replace(&format!("${{{name}}}"), value),
            None => word,
        })
    }

    /// Replaces the variables of known folders in a word.
    fn in_place(&self, word: &Word) -> String {
        let filled = |piece: Piece<'_>| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Unknown(_, written) => {
                piece.variable().and_then(|name| self.value(name)).unwrap_or(written).to_owned()
            }
        };
        word.pieces().map(filled).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(line: &str) -> String {
        match first(line, &Known { folder: Path::new("/repo"), home: Some("/home/me") }) {
            Some(First { words, may_fail }) => format!("{}{}", words.join(" | "), if may_fail { " ?" } else { "" }),
            None => String::new(),
        }
    }

    #[test]
    fn the_first_command_of_a_line_is_found_where_it_is_plain() {
        for (line, expected) in [
            ("./a.sh --fast", "./a.sh | --fast"),
            ("# why\n  # and how\n ./a.sh", "./a.sh"),
            ("A=1 B='x y' ./a.sh", "./a.sh"),
            ("~/.claude/a.sh", "/home/me/.claude/a.sh"),
            ("$HOME/a.sh \"${HOME}/b\"", "/home/me/a.sh | /home/me/b"),
            ("\"$CLAUDE_PROJECT_DIR\"/'a b.sh'", "/repo/a b.sh"),
            ("${CLAUDE_PROJECT_DIR}/a.sh", "/repo/a.sh"),
            ("./a.sh 2>/dev/null || true", "./a.sh ?"),
            ("./a.sh && echo done || exit 0", "./a.sh ?"),
            ("./a.sh; false || true", "./a.sh"),
            ("./a.sh >out.txt --late", "./a.sh | --late"),
            ("./a.sh 2>&1 | cat", "./a.sh"),
            ("./a.sh \\\n --more", "./a.sh | --more"),
            ("cat a | ./b.sh", "cat | a"),
        ] {
            assert_eq!(judged(line), expected, "{line}");
        }
    }

    #[test]
    fn of_a_line_that_is_more_than_a_command_nothing_is_said() {
        for line in [
            "",
            "# only a comment",
            "f() { ./a.sh; }; f",
            "f () { :; }",
            "function f { :; }; f",
            "{ ./a.sh; }",
            "(./a.sh)",
            "((1 + 1))",
            "[[ -x ./a.sh ]] && ./a.sh",
            "[ -x ./a.sh ] && ./a.sh",
            "until false; do :; done",
            "wait",
            "type x",
            "hash x",
            "local a",
            "let a=1",
            "select a in b; do :; done",
            "time ./a.sh",
            "getopts a b",
            "jobs",
            "kill 1",
            "}",
            "$TOOL x",
            "$HOMES/a.sh",
            "$(which x) y",
            "`which x` y",
            "./*.sh",
            "~other/a.sh",
            "\"~/a.sh\"",
            "echo 'open",
            "A=1",
            "cd x && ./a.sh",
        ] {
            assert_eq!(judged(line), "", "{line}");
        }
    }
}
