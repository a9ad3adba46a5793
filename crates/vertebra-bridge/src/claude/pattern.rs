//! JavaScript's regular expressions, written as ours: where the two read one text differently, it is rewritten.

use std::{iter::Peekable, str::Chars};

/// The same pattern in our syntax, or why JavaScript would not take it.
pub(super) fn from_javascript(text: &str) -> Result<String, String> {
    let mut read = Reading { rest: text.chars().peekable(), made: String::new() };
    // Without flags, `.` stands for no line break, and `$` for the end alone.
    while let Some(c) = read.rest.next() {
        match c {
            '\\' => read.escape(Place::Outside)?,
            '[' => read.class()?,
            '(' => read.group()?,
            '{' => read.brace(),
            '}' | ']' => read.literal(c),
            '.' => read.made.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            '$' => read.made.push_str(r"\z"),
            '^' => read.made.push_str(r"\A"),
            '*' | '+' | '?' => {
                read.made.push(c);
                read.after_repetition()?;
            }
            // To us, blanks and `#` mean nothing else either: no flag says so.
            _ => read.made.push(c),
        }
    }
    Ok(read.made)
}

/// A letter of a word, as JavaScript has it.
const WORD: &str = "[0-9A-Za-z_]";

struct Reading<'t> {
    rest: Peekable<Chars<'t>>,
    made: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    InClass,
}

impl Reading<'_> {
    fn literal(&mut self, c: char) {
        if c.is_ascii_punctuation() {
            self.made.push('\\');
        }
        self.made.push(c);
    }

    /// Letters that mean nothing to JavaScript are themselves; to us some of them mean something.
    fn escape(&mut self, place: Place) -> Result<(), String> {
        let c = self.rest.next().ok_or("it ends with a backslash")?;
        match c {
            'd' if place == Place::InClass => self.made.push_str("0-9"),
            'w' if place == Place::InClass => self.made.push_str("0-9A-Za-z_"),
            'd' => self.made.push_str("[0-9]"),
            'D' => self.made.push_str("[^0-9]"),
            'w' => self.made.push_str(WORD),
            'W' => self.made.push_str("[^0-9A-Za-z_]"),
            'b' if place == Place::InClass => self.made.push_str(r"\x08"),
            'b' => self.made.extend(["(?:(?<=", WORD, ")(?!", WORD, ")|(?<!", WORD, ")(?=", WORD, "))"]),
            'B' if place == Place::Outside => {
                self.made.extend(["(?:(?<=", WORD, ")(?=", WORD, ")|(?<!", WORD, ")(?!", WORD, "))"]);
            }
            's' | 'S' | 'f' | 'n' | 'r' | 't' | 'v' => self.made.extend(['\\', c]),
            '0' => self.made.push_str(r"\x00"),
            'x' | 'u' => self.code(c),
            'k' if place == Place::Outside => self.made.push_str(r"\k"),
            '1'..='9' if place == Place::Outside => self.made.extend(['\\', c]),
            _ => self.literal(c),
        }
        Ok(())
    }

    /// `\x41`, `\u0041`, `\u{41}`; anything else is the letter.
    fn code(&mut self, kind: char) {
        let rest: String = self.rest.clone().take(8).collect();
        let length = if kind == 'x' { 2 } else { 4 };
        let is_code = rest.len() >= length && rest.chars().take(length).all(|c| c.is_ascii_hexdigit());
        if is_code {
            let digits: String = self.rest.by_ref().take(length).collect();
            self.made.extend([r"\u{", &digits, "}"]);
        } else {
            self.literal(kind);
        }
    }

    /// A class, in which our `[`, `&&`, `--` and `~~` mean more than themselves.
    fn class(&mut self) -> Result<(), String> {
        self.made.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.made.push('^');
            if self.rest.peek() == Some(&']') {
                self.rest.next();
                // `[^]` is any character at all.
                self.made.push_str(r"[^\s\S]]");
                return Ok(());
            }
        } else if self.rest.next_if_eq(&']').is_some() {
            // `[]` is none.
            self.made.push_str(r"^\s\S]");
            return Ok(());
        }
        // Whether `\w` and its like was the last: no range begins with it.
        let mut after_many = false;
        loop {
            let of_many = self.begins_many();
            match self.rest.next().ok_or("a `[` has no end")? {
                ']' => {
                    self.made.push(']');
                    return Ok(());
                }
                '\\' => self.escape(Place::InClass)?,
                '-' => {
                    // At an end and beside such it is itself, in between it makes a range.
                    let at_an_end = matches!(self.rest.peek(), Some(']' | '-')) || self.made.ends_with(['[', '^']);
                    let is_itself = at_an_end || after_many || self.begins_many();
                    self.made.push_str(if is_itself { r"\-" } else { "-" });
                }
                c @ ('[' | '&' | '~') => self.literal(c),
                c => self.made.push(c),
            }
            after_many = of_many;
        }
    }

    /// Whether an escape comes that stands for many characters.
    fn begins_many(&self) -> bool {
        let mut ahead = self.rest.clone();
        ahead.next() == Some('\\') && ahead.next().is_some_and(|c| "dDsSwW".contains(c))
    }

    fn group(&mut self) -> Result<(), String> {
        self.made.push('(');
        if self.rest.peek() != Some(&'?') {
            return Ok(());
        }
        let ahead: String = self.rest.clone().skip(1).take_while(|c| c.is_ascii_alphabetic() || *c == '-').collect();
        let first = self.rest.clone().nth(1);
        let modifies = !ahead.is_empty()
            && ahead.chars().all(|c| "ims-".contains(c))
            && self.rest.clone().nth(ahead.len() + 1) == Some(':');
        match first {
            Some(':' | '=' | '!' | '<') => Ok(()),
            _ if modifies => Ok(()),
            _ => Err("`(?` begins no group that JavaScript knows".to_owned()),
        }
    }

    /// `{2,3}` repeats; any other brace is itself.
    fn brace(&mut self) {
        let inside: String = self.rest.clone().take_while(|c| *c != '}').collect();
        let closed = self.rest.clone().nth(inside.chars().count()) == Some('}');
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let repeats = match inside.split_once(',') {
            Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
            None => is_number(&inside),
        };
        if !(closed && repeats) {
            self.literal('{');
            return;
        }
        self.made.push('{');
        self.made.push_str(&inside);
        self.made.push('}');
        self.rest.by_ref().take(inside.len() + 1).for_each(drop);
    }

    /// After a repetition comes at most a `?`.
    fn after_repetition(&mut self) -> Result<(), String> {
        match self.rest.peek() {
            Some(c @ ('*' | '+')) => Err(format!("there is nothing that `{c}` could repeat")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use fancy_regex::Regex;

    use super::from_javascript;

    #[test]
    fn a_pattern_means_what_javascript_means_by_it() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^\w+$", "é", false),
            (r"^\d+$", "12\n", false),
            (r"a.c", "a\nc", false),
            (r"a.c", "abc", true),
            (r"^[^]$", "\n", true),
            (r"a[]", "a", false),
            (r"^[[]$", "[", true),
            (r"^[a&&b]$", "&", true),
            (r"^[-a]$", "-", true),
            (r"^[a-]$", "-", true),
            (r"^[\w-]+$", "a-b", true),
            (r"^mcp__[\w-.]+$", "mcp__a-b.c", true),
            (r"^[\w-z]+$", "a-z", true),
            (r"^[\w-z]+$", "a`b", false),
            (r"^[\s-x]+$", " -x", true),
            (r"^[a-\d]+$", "a-1", true),
            (r"^[a-\d]+$", "b", false),
            (r"^[a-c\d]+$", "b1", true),
            (r"^a{$", "a{", true),
            (r"^a{2}$", "aa", true),
            (r"^a{2,}$", "aaa", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^\A\z\G\h$", "AzGh", true),
            (r"^\x41\u0042$", "AB", true),
            (r"^\u{41}$", "A", false),
            (r"mcp__\/x", "mcp__/x", true),
            (r"^(?<n>a)\k<n>$", "aa", true),
            (r"(?<=a)b", "ab", true),
            (r"^(?i:BASH)$", "bash", true),
            (r"\bEdit\b", "an Edit here", true),
            (r"\bEdit\b", "NotebookEdit", false),
            (r"é\b", "éa", true),
            (r"\BEdit", "NotebookEdit", true),
            ("^Bash #1$", "Bash #1", true),
        ];
        for (pattern, text, expected) in cases {
            let ours = from_javascript(pattern).expect(pattern);
            let regex = Regex::new(&ours).unwrap_or_else(|error| panic!("{pattern} as {ours}: {error}"));
            assert_eq!(regex.is_match(text).expect(pattern), expected, "{pattern} as {ours}: {text}");
        }
    }

    #[test]
    fn what_javascript_would_not_take_is_not_taken() {
        for pattern in ["a++", "a**", r"a\", "[a", "(?P<n>a)", "(?i)a", "(?>a)"] {
            assert!(from_javascript(pattern).is_err(), "{pattern}");
        }
    }
}
