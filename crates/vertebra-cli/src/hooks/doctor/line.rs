//! Finds the first command of a shell command line, if that is unambiguous.

use std::path::Path;

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
    /// Its words up to the first redirection, with known variables replaced.
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
    let mut rest = line.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n')?.1.trim_start();
    }
    let (words, after) = words(rest, known)?;
    let assigns = |word: &String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let words: Vec<String> = words.into_iter().skip_while(assigns).collect();
    let program = words.first()?;
    // The value of a variable or a pattern is not known here.
    let is_open = program.contains(['$', '`', '*', '?', '[', '{', '}', '~']) || after.starts_with('(');
    if is_open || OF_THE_SHELL.contains(&&**program) {
        return None;
    }
    let same_line = after.split(['\n', ';']).next().unwrap_or_default();
    Some(First { may_fail: same_line.contains("||"), words })
}

/// Returns the words of a command and the rest of the line, or `None` if a quote is not closed.
fn words<'l>(line: &'l str, known: &Known<'_>) -> Option<(Vec<String>, &'l str)> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut is_word, mut redirected) = (String::new(), false, false);
    let mut letters = line.char_indices();
    let mut end = line.len();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next()?.1 {
                '\n' => {}
                escaped => (is_word, word) = (true, word + escaped.encode_utf8(&mut [0; 4])),
            },
            '\'' | '"' => {
                is_word = true;
                loop {
                    let inside = letters.next()?.1;
                    match inside {
                        '\\' if letter == '"' => word.push(letters.next()?.1),
                        _ if inside == letter => break,
                        _ => word.push(inside),
                    }
                }
            }
            '~' if !is_word && starts_home(&line[at..]) => (is_word, word) = (true, known.home?.to_owned()),
            '<' | '>' => {
                // `2>` and its target are not words of the command.
                is_word = is_word && !word.chars().all(|letter| letter.is_ascii_digit());
                take(&mut words, &mut word, &mut is_word, redirected);
                redirected = true;
            }
            '&' if line[..at].ends_with(['>', '<']) || line[at..].starts_with("&>") => redirected = true,
            ';' | '|' | '&' | '\n' | '(' | ')' => {
                end = at;
                break;
            }
            _ if letter.is_whitespace() => take(&mut words, &mut word, &mut is_word, redirected),
            _ => {
                is_word = true;
                word.push(letter);
            }
        }
    }
    take(&mut words, &mut word, &mut is_word, redirected);
    let words = words.iter().map(|word| known.in_place(word)).collect();
    Some((words, &line[end..]))
}

fn take(words: &mut Vec<String>, word: &mut String, is_word: &mut bool, redirected: bool) {
    let word = std::mem::take(word);
    if std::mem::take(is_word) && !redirected {
        words.push(word);
    }
}

fn starts_home(text: &str) -> bool {
    text.strip_prefix('~').is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ' ']))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

impl Known<'_> {
    /// Replaces the variables of known folders in a word.
    pub(super) fn in_place(&self, word: &str) -> String {
        let folder = self.folder.to_string_lossy();
        let folders = ["CLAUDE_PROJECT_DIR", "VERTEBRA_PROJECT_DIR", "PWD"].map(|name| (name, &*folder));
        let all = folders.into_iter().chain(self.home.map(|home| ("HOME", home)));
        all.fold(word.to_owned(), |word, (name, value)| {
            replaced(&word.replace(&format!("${{{name}}}"), value), name, value)
        })
    }
}

/// Replaces `$NAME` in a word, but not `$NAMES`.
fn replaced(word: &str, name: &str, value: &str) -> String {
    let variable = format!("${name}");
    let mut pieces = word.split(&variable);
    let mut made = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_longer = piece.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        made.push_str(if is_longer { &variable } else { value });
        made.push_str(piece);
    }
    made
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
            ("./a.sh >out.txt --late", "./a.sh"),
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
