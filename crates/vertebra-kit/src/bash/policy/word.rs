//! Evaluates words: quotes, expansions, substitutions, tildes, braces.

use std::{collections::BTreeSet, ops::Range};

use vertebra::shell;

use super::{
    arith,
    expansion::Expanded,
    fields::{Field, Fields},
    judge::{Judge, Origin},
    lex::{Cursor, ansi},
    scope::Made,
    value::{UNKNOWN, bounded, is_known},
};

/// The largest number of words that braces may expand to.
const MAX_BRACES: usize = 256;

impl Judge<'_> {
    /// Returns the words that one written word expands to.
    pub(super) fn fields(&mut self, raw: &str, origin: &Origin) -> Vec<Field> {
        if raw.contains('{') {
            self.charge(raw.len());
            let opaque = |rest: &str| Cursor::new(rest).opaque();
            let Some(words) = shell::expand_braces(raw, MAX_BRACES, self.budget.left(), opaque) else {
                self.unknown("the braces expand to too many words");
                return vec![Field::plain(UNKNOWN)];
            };
            if let [one] = words.as_slice()
                && one == raw
            {
                return self.one(raw, origin);
            }
            let within = Origin::Within(origin.span(0..raw.len()));
            return words.iter().flat_map(|word| self.one(word, &within)).collect();
        }
        self.one(raw, origin)
    }

    fn one(&mut self, raw: &str, origin: &Origin) -> Vec<Field> {
        let mut out = Fields::default();
        self.unquoted(raw, origin, &mut out);
        self.finished(out)
    }

    /// The words of an expansion, which may be longer than its text.
    fn finished(&mut self, out: Fields) -> Vec<Field> {
        self.charge(out.bytes());
        out.finish()
    }

    /// The text of a word where no splitting happens: assigned values, here-strings.
    pub(super) fn text(&mut self, raw: &str, origin: &Origin) -> String {
        let mut out = Fields::default();
        self.unquoted(raw, origin, &mut out);
        let parts: Vec<String> = self.finished(out).into_iter().map(|field| field.text).collect();
        bounded(parts.join(" "))
    }

    /// The text of a string in double quotes, or of a here-document.
    pub(super) fn quoted_text(&mut self, inner: &str, origin: &Origin) -> String {
        let mut out = Fields::default();
        self.double(inner, origin, &mut out);
        let parts: Vec<String> = self.finished(out).into_iter().map(|field| field.text).collect();
        bounded(parts.join(" "))
    }

    fn unquoted(&mut self, raw: &str, origin: &Origin, out: &mut Fields) {
        if !self.enter(raw.len()) {
            out.quoted(&UNKNOWN.to_string());
            return;
        }
        let mut cursor = Cursor::new(raw);
        self.tilde(&mut cursor, out);
        while let Some(c) = cursor.bump() {
            match c {
                '\\' => {
                    if !cursor.eat("\n")
                        && !cursor.eat("\r\n")
                        && let Some(escaped) = cursor.bump()
                    {
                        out.quoted(escaped.encode_utf8(&mut [0; 4]));
                    }
                }
                '\'' => out.quoted(cursor.single_quoted()),
                '"' => {
                    let begin = cursor.at;
                    let inner = cursor.double_quoted();
                    self.double(inner, &origin.inner(begin), out);
                }
                '`' => {
                    let value = self.backquote(&mut cursor, origin);
                    self.push(Expanded::One(value), false, out);
                }
                '$' => self.dollar(&mut cursor, origin, false, out),
                '<' | '>' if cursor.eat("(") => {
                    let begin = cursor.at;
                    let inner = cursor.bracketed('(', ')');
                    let path = self.process(inner, &origin.inner(begin), c == '<');
                    out.quoted(&path);
                }
                '=' => {
                    out.literal(c);
                    self.tilde(&mut cursor, out);
                }
                _ => out.literal(c),
            }
        }
        self.leave();
    }

    fn tilde(&mut self, cursor: &mut Cursor<'_>, out: &mut Fields) {
        let rest = cursor.rest();
        let Some(after) = rest.strip_prefix('~') else { return };
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-')));
        let name = &after[..end.unwrap_or(after.len())];
        if !after[name.len()..].is_empty() && !after[name.len()..].starts_with(['/', ':']) {
            return;
        }
        let folder = match name {
            "" => self.scope.get("HOME"),
            "+" => self.scope.get("PWD"),
            "-" => self.scope.get("OLDPWD"),
            "root" => Some("/root".to_owned()),
            _ if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => Some(format!("/home/{name}")),
            _ => return,
        };
        cursor.at += 1 + name.len();
        out.quoted(&folder.unwrap_or_else(|| UNKNOWN.to_string()));
    }

    fn double(&mut self, inner: &str, origin: &Origin, out: &mut Fields) {
        out.quoted("");
        if !self.enter(inner.len()) {
            out.quoted(&UNKNOWN.to_string());
            return;
        }
        let mut cursor = Cursor::new(inner);
        let mut begin = 0;
        while let Some(c) = cursor.peek() {
            if !matches!(c, '\\' | '$' | '`') {
                cursor.bump();
                continue;
            }
            out.quoted(&inner[begin..cursor.at]);
            cursor.bump();
            match c {
                '\\' => match cursor.bump() {
                    Some('\n') => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => out.quoted(escaped.encode_utf8(&mut [0; 4])),
                    Some(other) => {
                        out.quoted("\\");
                        out.quoted(other.encode_utf8(&mut [0; 4]));
                    }
                    None => out.quoted("\\"),
                },
                '`' => {
                    let value = self.backquote(&mut cursor, origin);
                    out.quoted(&value);
                }
                _ => self.dollar(&mut cursor, origin, true, out),
            }
            begin = cursor.at;
        }
        out.quoted(&inner[begin..]);
        self.leave();
    }

    fn backquote(&mut self, cursor: &mut Cursor<'_>, origin: &Origin) -> String {
        let begin = cursor.at;
        let inner = cursor.backquoted();
        let span = origin.span(begin..begin + inner.len());
        let text = inner.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
        self.substitute(&text, &Origin::Within(span))
    }

    /// What follows a `$`.
    fn dollar(&mut self, cursor: &mut Cursor<'_>, origin: &Origin, quoted: bool, out: &mut Fields) {
        let begin = cursor.at;
        if !quoted && cursor.eat("'") {
            out.quoted(&ansi(cursor.ansi_quoted()));
        } else if !quoted && cursor.eat("\"") {
            let begin = cursor.at;
            let inner = cursor.double_quoted();
            self.double(inner, &origin.inner(begin), out);
        } else if cursor.eat("(") {
            let inner = cursor.bracketed('(', ')');
            let value = match inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
                Some(sum) => self.arithmetic(sum, &origin.inner(begin + 2)),
                None => self.substitute(inner, &origin.inner(begin + 1)),
            };
            self.push(Expanded::One(value), quoted, out);
        } else if cursor.eat("{") {
            let inner = cursor.bracketed('{', '}');
            let value = self.braced(inner, &origin.inner(begin + 1));
            self.push(value, quoted, out);
        } else if cursor.eat("[") {
            let inner = cursor.bracketed('[', ']');
            let value = self.arithmetic(inner, &origin.inner(begin + 1));
            self.push(Expanded::One(value), quoted, out);
        } else {
            let name = match cursor.peek() {
                Some('@' | '*' | '#' | '?' | '$' | '!' | '-' | '0'..='9') => {
                    cursor.bump();
                    &cursor.text[begin..cursor.at]
                }
                Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                    cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
                }
                _ => {
                    out.literal('$');
                    return;
                }
            };
            let value = match name {
                "@" => Expanded::Many(self.scope.args.to_vec()),
                _ => Expanded::One(self.variable(name)),
            };
            self.push(value, quoted, out);
        }
    }

    /// Returns the value of a variable. An unset one may come from the environment.
    pub(super) fn variable(&self, name: &str) -> String {
        self.scope.get(name).unwrap_or_else(|| UNKNOWN.to_string())
    }

    fn push(&self, value: Expanded, quoted: bool, out: &mut Fields) {
        let (values, many) = match value {
            Expanded::One(value) => (vec![value], false),
            Expanded::Many(values) => (values, true),
        };
        let separators = self.scope.get("IFS").unwrap_or_default();
        for (at, value) in values.iter().enumerate() {
            if many && at > 0 {
                out.end();
            }
            if quoted {
                out.quoted(value);
            } else {
                out.split(value, &separators);
            }
        }
    }

    /// What a command substitution prints.
    pub(super) fn substitute(&mut self, text: &str, origin: &Origin) -> String {
        let printed = self.subshell(|judge| judge.script(text, origin, &None));
        printed.trim_end_matches('\n').to_owned()
    }

    /// Returns the path of a process substitution.
    fn process(&mut self, text: &str, origin: &Origin, reading: bool) -> String {
        let input = if reading { None } else { Some(UNKNOWN.to_string()) };
        let printed = self.subshell(|judge| judge.script(text, origin, &input));
        let path = format!("/dev/fd/{}", self.scope.made.size() + 63);
        if reading {
            self.scope.make(path.clone(), Made::Text(printed));
        }
        path
    }

    /// The value of an arithmetic expression, which may itself run commands.
    pub(super) fn arithmetic(&mut self, raw: &str, origin: &Origin) -> String {
        let text = self.quoted_text(raw, origin);
        self.latent(&text, &origin.span(0..raw.len()));
        self.latent_values(&text, &origin.span(0..raw.len()));
        let lookup = |name: &str| self.scope.get(name);
        let value = if is_known(&text) { arith::evaluate(&text, &lookup) } else { None };
        value.map_or_else(|| UNKNOWN.to_string(), |value| value.to_string())
    }

    /// Text that the shell evaluates once more: substitutions that were quoted run after all.
    pub(super) fn latent(&mut self, text: &str, span: &Range<usize>) {
        if text.contains("$(") || text.contains('`') {
            self.quoted_text(text, &Origin::Within(span.clone()));
        }
    }

    /// The same for the values of variables that an arithmetic text names.
    pub(super) fn latent_values(&mut self, text: &str, span: &Range<usize>) {
        let names_in = |text: &str| -> Vec<String> {
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map(str::to_owned).collect()
        };
        let mut seen = BTreeSet::new();
        let mut names = names_in(text);
        // A value may name another variable, which is evaluated in its turn.
        while let Some(name) = names.pop() {
            let Some(values) = self.scope.vars.get(&name).map(|var| var.values.clone()) else { continue };
            if !seen.insert(name) || !self.enter(values.iter().map(String::len).sum()) {
                continue;
            }
            for value in values {
                self.latent(&value, span);
                names.extend(names_in(&value));
            }
            self.leave();
        }
    }
}
