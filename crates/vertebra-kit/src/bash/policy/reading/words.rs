//! The words of a command, as far as they are known before it runs.

use tree_sitter::Node;

use super::{
    super::{lex::ansi, walk::children},
    walk::{Flow, Walk},
};

/// Variables that hold no secret and that a command may show.
const SHOWN: &[&str] = &[
    "?",
    "#",
    "$",
    "BASH_VERSION",
    "COLUMNS",
    "EUID",
    "HOSTNAME",
    "HOSTTYPE",
    "LANG",
    "LINES",
    "LOGNAME",
    "OSTYPE",
    "PATH",
    "RANDOM",
    "SECONDS",
    "SHELL",
    "TERM",
    "UID",
    "USER",
];

/// Characters of a glob.
pub(super) const GLOB: [char; 3] = ['*', '?', '['];

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// One word, with this text.
    Known(String),
    /// Names of files in the folder.
    Names(Names),
    /// Any text.
    Any {
        /// Whether it may be several words, or none.
        many: bool,
        /// Whether it may have characters of a glob, which list names of any folder outside of quotes.
        wild: bool,
    },
}

/// Names of files in the folder, relative to one of its folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// Whether a name may begin with a dash.
    pub(super) dash: bool,
    /// Whether they come from the output of a program, or from several folders. Then all names in the folder count.
    pub(super) wide: bool,
    /// Whether it is one name, as the variable of a loop is.
    pub(super) one: bool,
}

impl Word {
    /// Returns whether a program may take it for an option, because its text is not known.
    pub(super) fn may_be_option(&self) -> bool {
        match self {
            Self::Known(_) => false,
            Self::Names(names) => names.dash,
            Self::Any { .. } => true,
        }
    }

    /// Returns whether it is exactly one word.
    pub(super) fn is_one(&self) -> bool {
        match self {
            Self::Known(_) => true,
            Self::Names(names) => names.one,
            Self::Any { many, .. } => !many,
        }
    }

    /// Returns the text, if it is known.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Names(_) | Self::Any { .. } => None,
        }
    }
}

/// A part of a word.
enum Piece {
    /// Text without its quotes, and what the characters outside of quotes make of it.
    Text {
        text: String,
        globs: bool,
        expands: bool,
        braces: bool,
    },
    Names(Names),
    Any {
        many: bool,
        wild: bool,
    },
}

impl Walk<'_> {
    /// Returns a word, or `None` if it does something that is not followed.
    pub(super) fn word(&mut self, node: Node<'_>) -> Option<Word> {
        let mut pieces = Vec::new();
        if node.kind() == "concatenation" {
            let parts: Vec<Node<'_>> = children(node).collect();
            let joined = parts.windows(2).all(|pair| pair[0].end_byte() == pair[1].start_byte());
            if !joined {
                return None;
            }
            for part in parts {
                self.piece(part, &mut pieces)?;
            }
        } else {
            self.piece(node, &mut pieces)?;
        }
        // `{a,b}` and `{1..3}` are several words, wherever the grammar cuts them.
        let text = self.of(node);
        if (text.contains(',') || text.contains(".."))
            && pieces.iter().any(|piece| matches!(piece, Piece::Text { braces: true, .. }))
        {
            let globs = pieces.iter().any(|piece| matches!(piece, Piece::Text { globs: true, .. }));
            return (!globs).then_some(Word::Any { many: true, wild: false });
        }
        self.joined(pieces)
    }

    fn joined(&mut self, pieces: Vec<Piece>) -> Option<Word> {
        let (mut known, mut globs, mut expands) = (String::new(), false, false);
        let mut rest: Option<Word> = None;
        for piece in pieces {
            match (piece, &rest) {
                (Piece::Text { text, globs: glob, expands: expand, braces: _ }, None) => {
                    globs |= glob;
                    expands |= expand;
                    known.push_str(&text);
                }
                (Piece::Names(names), None) if known.is_empty() => rest = Some(Word::Names(names)),
                // A name of one folder may be a link in another.
                (Piece::Names(names), None)
                    if known.ends_with('/') && !globs && !expands && !known.contains("..") && self.stays(&known) =>
                {
                    rest = Some(Word::Names(Names { dash: false, wide: true, ..names }));
                }
                (Piece::Any { many, wild }, None) if known.is_empty() => rest = Some(Word::Any { many, wild }),
                (Piece::Text { text, .. }, Some(_)) if text.is_empty() => {}
                (piece, before) => {
                    let splits = match piece {
                        // What an unknown part is in front of a pattern is not known.
                        Piece::Text { globs: true, .. } => return None,
                        Piece::Text { expands, .. } => expands,
                        Piece::Names(names) => !names.one,
                        Piece::Any { many, .. } => many,
                    };
                    if globs {
                        return None;
                    }
                    let many = splits || expands || before.as_ref().is_some_and(|word| !word.is_one());
                    rest = Some(Word::Any { many, wild: true });
                }
            }
        }
        match rest {
            Some(word) => Some(word),
            None if expands && globs => None,
            None if expands => Some(Word::Any { many: true, wild: false }),
            None if globs => self.globbed(&known),
            None => Some(Word::Known(known)),
        }
    }

    fn piece(&mut self, node: Node<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
        let text = self.of(node);
        let quoted = |text: String| Piece::Text { text, globs: false, expands: false, braces: false };
        match node.kind() {
            "word" | "number" | "test_operator" => pieces.push(bare(text, pieces.is_empty())?),
            "raw_string" => pieces.push(quoted(text.strip_prefix('\'')?.strip_suffix('\'')?.to_owned())),
            "ansi_c_string" => pieces.push(quoted(ansi(text.strip_prefix("$'")?.strip_suffix('\'')?))),
            "string" => self.string(node, pieces)?,
            "simple_expansion" | "expansion" => {
                let value = self.variable(text)?;
                pieces.push(match value {
                    Word::Any { .. } if self.keeps_whole => Piece::Any { many: false, wild: true },
                    value => unquoted(value)?,
                });
            }
            "command_substitution" => pieces.push(match self.substituted(node)? {
                Flow::Names => Piece::Names(Names { dash: true, wide: true, one: false }),
                Flow::Plain => Piece::Any { many: true, wild: false },
                Flow::Any if self.keeps_whole => Piece::Any { many: false, wild: true },
                // What a file says may be a pattern.
                Flow::Any => return None,
            }),
            "arithmetic_expansion" => pieces.push(self.sum(text).map(|()| Piece::Any { many: false, wild: false })?),
            "brace_expression" => {
                pieces.push(Piece::Text { text: text.to_owned(), globs: false, expands: true, braces: false });
            }
            _ => return None,
        }
        Some(())
    }

    /// The text in double quotes.
    fn string(&mut self, node: Node<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
        let (begin, end) = (node.start_byte() + 1, node.end_byte() - 1);
        let inner: Vec<Node<'_>> =
            children(node).filter(|part| part.is_named() && part.kind() != "string_content").collect();
        let mut at = begin;
        pieces.push(Piece::Text { text: String::new(), globs: false, expands: false, braces: false });
        for part in inner {
            pieces.push(Piece::Text {
                text: in_quotes(self.slice(at..part.start_byte()))?,
                globs: false,
                expands: false,
                braces: false,
            });
            at = part.end_byte();
            let text = self.of(part);
            pieces.push(match part.kind() {
                "simple_expansion" | "expansion" => match self.variable(text)? {
                    Word::Known(text) => Piece::Text { text, globs: false, expands: false, braces: false },
                    Word::Names(names) if names.one => Piece::Names(names),
                    Word::Names(_) | Word::Any { .. } => Piece::Any { many: false, wild: true },
                },
                "command_substitution" => {
                    self.substituted(part)?;
                    Piece::Any { many: false, wild: true }
                }
                "arithmetic_expansion" => self.sum(text).map(|()| Piece::Any { many: false, wild: false })?,
                _ => return None,
            });
        }
        pieces.push(Piece::Text { text: in_quotes(self.slice(at..end))?, globs: false, expands: false, braces: false });
        Some(())
    }

    /// Returns the value of `$name` or `${name}`.
    fn variable(&self, text: &str) -> Option<Word> {
        let inner = text.strip_prefix('$')?;
        let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if let Some(name) = inner.strip_prefix('#').filter(|name| !name.is_empty()) {
            return name.chars().all(is_name).then_some(Word::Any { many: false, wild: false });
        }
        let end = inner.find(|c: char| !is_name(c)).unwrap_or(inner.len());
        let (name, operator) = inner.split_at(end);
        let value = match name {
            "" => return SHOWN.contains(&operator).then_some(Word::Any { many: false, wild: false }),
            "HOME" => Word::Known(self.ground.home.clone()),
            "PWD" if !self.has_moved() => Word::Known(self.ground.here.clone()),
            "PWD" | "OLDPWD" => Word::Any { many: false, wild: false },
            _ if SHOWN.contains(&name) => Word::Any { many: true, wild: false },
            _ => self.variables.get(name).cloned()?,
        };
        // `${name%.rs}`, `${name##*/}`: what is taken away is a pattern, and not code.
        let takes_away =
            operator.starts_with(['%', '#']) && operator.chars().all(|c| is_name(c) || "%#.*/-?".contains(c));
        match operator {
            "" => Some(value),
            _ if takes_away => Some(Word::Any { many: false, wild: true }),
            _ => None,
        }
    }

    /// Accepts arithmetic that evaluates no text: in `$((x))`, the value of `x` may itself run commands.
    fn sum(&self, text: &str) -> Option<()> {
        let inner = text.strip_prefix("$((")?.strip_suffix("))")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_sum = inner.chars().all(|c| is_name(c) || " +-*/%()<>!&|$".contains(c));
        let is_plain = |name: &str| {
            is_number(name) || matches!(self.variables.get(name), Some(Word::Known(value)) if is_number(value))
        };
        (is_sum && inner.split(|c| !is_name(c)).filter(|name| !name.is_empty()).all(is_plain)).then_some(())
    }

    /// Returns the names that a pattern stands for, if all of them are in the folder.
    fn globbed(&mut self, pattern: &str) -> Option<Word> {
        // `.*` stands for the folder above, too.
        let may_leave = |part: &str| part == ".." || (part.starts_with('.') && part.contains(GLOB));
        if pattern.split('/').any(may_leave) || !self.stays(pattern.split(GLOB).next().unwrap_or_default()) {
            return None;
        }
        self.globs.push(pattern.to_owned());
        let folder = pattern.rsplit_once('/').map_or("", |(folder, _)| folder);
        let dash = pattern.starts_with(GLOB) || pattern.starts_with('-');
        Some(Word::Names(Names { dash, wide: folder.contains(GLOB), one: false }))
    }
}

/// What an expansion outside of quotes gives: its value is split into words, and these are patterns.
fn unquoted(value: Word) -> Option<Piece> {
    Some(match value {
        Word::Known(text) if text.contains(GLOB) => return None,
        Word::Known(text) if text.is_empty() || text.contains(char::is_whitespace) => {
            Piece::Any { many: true, wild: false }
        }
        Word::Known(text) => Piece::Text { text, globs: false, expands: false, braces: false },
        // A name with a blank becomes several words.
        Word::Names(names) => Piece::Names(Names { dash: true, wide: true, ..names }),
        Word::Any { wild: true, .. } => return None,
        Word::Any { wild: false, .. } => Piece::Any { many: true, wild: false },
    })
}

/// Text outside of quotes.
fn bare(text: &str, is_first: bool) -> Option<Piece> {
    let (mut plain, mut globs, mut braces) = (String::new(), false, false);
    let mut before = if is_first { '=' } else { 'x' };
    let mut expands = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => continue,
                Some(escaped) => plain.push(escaped),
                None => return None,
            },
            '$' | '`' | '"' | '\'' | '<' | '>' | '|' | '&' | ';' | '(' | ')' => return None,
            _ => {
                globs |= GLOB.contains(&c);
                braces |= c == '{';
                expands |= c == '~' && matches!(before, '=' | ':');
                plain.push(c);
            }
        }
        before = c;
    }
    Some(Piece::Text { text: plain, globs, expands, braces })
}

/// Text in double quotes.
fn in_quotes(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                '\n' => {}
                escaped @ ('$' | '`' | '"' | '\\') => plain.push(escaped),
                other => plain.extend(['\\', other]),
            },
            '`' | '"' => return None,
            _ => plain.push(c),
        }
    }
    Some(plain)
}
