//! Where words, quotes and substitutions begin and end in the text of a command.

/// Reads a text from left to right.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    pub(super) fn take_while(&mut self, test: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !test(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The text up to the closing quote, which is passed.
    pub(super) fn single_quoted(&mut self) -> &'t str {
        let inner = self.take_while(|c| c != '\'');
        self.bump();
        inner
    }

    /// The text of `$'…'` up to the closing quote, escapes as they stand.
    pub(super) fn ansi_quoted(&mut self) -> &'t str {
        self.until_unescaped('\'')
    }

    /// The text up to the closing backquote.
    pub(super) fn backquoted(&mut self) -> &'t str {
        self.until_unescaped('`')
    }

    fn until_unescaped(&mut self, end: char) -> &'t str {
        let begin = self.at;
        while let Some(c) = self.bump() {
            if c == '\\' {
                self.bump();
            } else if c == end {
                return &self.text[begin..self.at - end.len_utf8()];
            }
        }
        &self.text[begin..]
    }

    /// The text of `"…"` up to the closing quote, which is passed.
    pub(super) fn double_quoted(&mut self) -> &'t str {
        let begin = self.at;
        while let Some(c) = self.bump() {
            match c {
                '\\' => {
                    self.bump();
                }
                '"' => return &self.text[begin..self.at - 1],
                '`' => {
                    self.backquoted();
                }
                '$' => self.skip_dollar(),
                _ => {}
            }
        }
        &self.text[begin..]
    }

    /// Passes what follows a `$` outside of single quotes, if it is a bracketed form.
    fn skip_dollar(&mut self) {
        if self.eat("(") {
            self.bracketed('(', ')');
        } else if self.eat("{") {
            self.bracketed('{', '}');
        }
    }

    /// The text up to the bracket that closes the one just passed, which is passed too.
    ///
    /// Quotes and nested brackets are passed as wholes, comments as far as their line; a `case` may hold a `)` that closes nothing.
    pub(super) fn bracketed(&mut self, open: char, close: char) -> &'t str {
        let begin = self.at;
        let mut depth = 1_usize;
        let mut cases = 0_usize;
        let mut before = ' ';
        while let Some(c) = self.bump() {
            let blank = before.is_whitespace() || matches!(before, ';' | '(' | '|' | '&');
            match c {
                _ if self.pass_quoted(c) => {}
                '$' if open != '(' || self.rest().starts_with('{') => self.skip_dollar(),
                '#' if open == '(' && blank => {
                    self.take_while(|c| c != '\n');
                }
                'c' if open == '(' && blank && self.rest().starts_with("ase ") => cases += 1,
                'e' if open == '(' && blank && self.rest().starts_with("sac") => cases = cases.saturating_sub(1),
                _ if c == open => depth += 1,
                _ if c == close && depth == 1 && cases > 0 => {}
                _ if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return &self.text[begin..self.at - close.len_utf8()];
                    }
                }
                _ => {}
            }
            before = c;
        }
        &self.text[begin..]
    }

    /// Passes the rest of what this character begins, if that is something quoted.
    fn pass_quoted(&mut self, c: char) -> bool {
        match c {
            '\\' => drop(self.bump()),
            '\'' => drop(self.single_quoted()),
            '"' => drop(self.double_quoted()),
            '`' => drop(self.backquoted()),
            '$' if self.eat("'") => drop(self.ansi_quoted()),
            _ => return false,
        }
        true
    }

    /// Passes one word.
    fn word(&mut self) {
        while let Some(c) = self.peek() {
            if c.is_ascii_whitespace() {
                return;
            }
            self.bump();
            match c {
                _ if self.pass_quoted(c) => {}
                '$' => self.skip_dollar(),
                '<' | '>' | '=' | '(' if c == '(' || self.rest().starts_with('(') => {
                    if c != '(' {
                        self.bump();
                    }
                    self.bracketed('(', ')');
                }
                _ => {}
            }
        }
    }
}

/// The words of a simple command as they are written, each with the place where it begins.
pub(super) fn raw_words(text: &str) -> Vec<(usize, &str)> {
    let mut cursor = Cursor::new(text);
    let mut words = Vec::new();
    loop {
        cursor.take_while(|c| c.is_ascii_whitespace());
        if cursor.eat("\\\n") || cursor.eat("\\\r\n") {
            continue;
        }
        let begin = cursor.at;
        cursor.word();
        if cursor.at == begin {
            return words;
        }
        words.push((begin, &text[begin..cursor.at]));
    }
}

/// The words of one command, and where another command begins: the grammar takes a line that begins with a backslash for more
/// words of the line before it.
pub(super) fn command_words(text: &str) -> (Vec<(usize, &str)>, Option<usize>) {
    let mut words = raw_words(text);
    let mut end = 0;
    let ends_line = |gap: &str| gap.replace("\\\r\n", "").replace("\\\n", "").contains('\n');
    let next = words.iter().position(|(begin, word)| {
        let gap = &text[end..*begin];
        let first = end == 0;
        end = begin + word.len();
        !first && ends_line(gap)
    });
    let rest = next.map(|at| words[at].0);
    words.truncate(next.unwrap_or(words.len()));
    (words, rest)
}

/// The largest number of words that braces may expand to.
const MAX_BRACES: usize = 256;

/// Expands the braces of a raw word. Returns `None` if there are too many words.
pub(super) fn braces(raw: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![raw.to_owned()];
    let mut steps = 0;
    while let Some(word) = open.pop() {
        steps += 1;
        if steps + open.len() > MAX_BRACES {
            return None;
        }
        match first_brace(&word) {
            None => done.push(word),
            Some((begin, end, parts)) => {
                let made = parts.iter().rev().map(|part| format!("{}{part}{}", &word[..begin], &word[end..]));
                open.extend(made);
            }
        }
    }
    Some(done)
}

/// The first pair of braces that expands: where it begins and ends, and its alternatives.
fn first_brace(word: &str) -> Option<(usize, usize, Vec<String>)> {
    let mut cursor = Cursor::new(word);
    while let Some(c) = cursor.peek() {
        let begin = cursor.at;
        cursor.bump();
        match c {
            _ if cursor.pass_quoted(c) => {}
            '$' => cursor.skip_dollar(),
            '{' => {
                let mut inner = cursor.clone();
                let body = inner.bracketed('{', '}');
                if inner.at <= cursor.at + body.len() {
                    continue;
                }
                if let Some(parts) = alternatives(body) {
                    return Some((begin, inner.at, parts));
                }
            }
            _ => {}
        }
    }
    None
}

fn alternatives(body: &str) -> Option<Vec<String>> {
    let mut cursor = Cursor::new(body);
    let mut parts = Vec::new();
    let mut begin = 0;
    while let Some(c) = cursor.bump() {
        match c {
            '\\' => {
                cursor.bump();
            }
            '\'' => {
                cursor.single_quoted();
            }
            '"' => {
                cursor.double_quoted();
            }
            '$' => cursor.skip_dollar(),
            '{' => {
                cursor.bracketed('{', '}');
            }
            ',' => {
                parts.push(body[begin..cursor.at - 1].to_owned());
                begin = cursor.at;
            }
            _ => {}
        }
    }
    if parts.is_empty() {
        return range(body);
    }
    parts.push(body[begin..].to_owned());
    Some(parts)
}

/// `a..e`, `1..9`, `1..9..2`.
fn range(body: &str) -> Option<Vec<String>> {
    let mut ends = body.split("..");
    let (first, last, step) = (ends.next()?, ends.next()?, ends.next().unwrap_or("1"));
    let step: i64 = step.parse().ok()?;
    let step = step.unsigned_abs().max(1);
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let (low, high) = (first.min(last), first.max(last));
        let steps = high.abs_diff(low) / step;
        // A longer range consists of numbers too, so its ends are enough to judge it.
        if steps > 64 {
            return Some(vec![first.to_string(), last.to_string()]);
        }
        let numbers = (0..=steps).map(|at| low.saturating_add_unsigned(at * step).to_string());
        return Some(if first <= last { numbers.collect() } else { numbers.rev().collect() });
    }
    let one = |text: &str| text.chars().next().filter(|c| c.is_ascii_alphabetic() && text.len() == 1);
    let (first, last) = (one(first)?, one(last)?);
    let (low, high) = (first.min(last), first.max(last));
    let mut letters: Vec<String> = (low..=high).step_by(usize::try_from(step).ok()?).map(String::from).collect();
    if first > last {
        letters.reverse();
    }
    Some(letters)
}

/// Returns the text of `$'…'`.
pub(super) fn ansi(text: &str) -> String {
    let mut cursor = Cursor::new(text);
    let mut bytes = Vec::new();
    while let Some(c) = cursor.bump() {
        if c != '\\' {
            bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let Some(escape) = cursor.bump() else { break };
        match escape {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            'c' => bytes.extend(cursor.bump().and_then(|c| u8::try_from(c as u32 & 0x1f).ok())),
            'x' => bytes.extend(u8::try_from(number(&mut cursor, 16, 2))),
            'u' => push_char(&mut bytes, number(&mut cursor, 16, 4)),
            'U' => push_char(&mut bytes, number(&mut cursor, 16, 8)),
            '0'..='7' => {
                cursor.at -= 1;
                bytes.extend(u8::try_from(number(&mut cursor, 8, 3) & 0xff));
            }
            other => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn push_char(bytes: &mut Vec<u8>, code: u32) {
    let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
}

fn number(cursor: &mut Cursor<'_>, radix: u32, digits: usize) -> u32 {
    let mut value = 0_u32;
    for _ in 0..digits {
        let Some(digit) = cursor.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        cursor.bump();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_words() {
        assert_eq!(braces("{rm,-rf,x}").expect("few"), ["rm", "-rf", "x"]);
        assert_eq!(braces("a{b,c{1..3}}d").expect("few"), ["abd", "ac1d", "ac2d", "ac3d"]);
        assert_eq!(braces("'{a,b}'${x}{z}").expect("few"), ["'{a,b}'${x}{z}"]);
        assert_eq!(braces(&"{a,b}".repeat(20)), None);
    }

    #[test]
    fn words_end_where_a_shell_ends_them() {
        let words = |text| raw_words(text).into_iter().map(|(_, word)| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            words("r\\\nm \\\n -rf 'a b'\"c $(echo \"x y\") d\"e"),
            ["r\\\nm", "-rf", "'a b'\"c $(echo \"x y\") d\"e"]
        );
        assert_eq!(words("a <(b c) $(case x in y) z;; esac) d"), ["a", "<(b c)", "$(case x in y) z;; esac)", "d"]);
    }

    #[test]
    fn ansi_quotes_are_read() {
        assert_eq!(ansi(r"\x72\155\u0020\n\'"), "rm \n'");
    }
}
