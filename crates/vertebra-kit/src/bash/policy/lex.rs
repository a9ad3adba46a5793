//! Where words, quotes and substitutions begin and end in the text of a command.

/// Reads a text from left to right.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

/// Something that ends with a mark of its own and may hold others of its kind.
enum Frame {
    /// `"…"`
    Double,
    Bracket(Bracket),
}

struct Bracket {
    open: char,
    close: char,
    /// How many of these brackets are open.
    depth: usize,
    /// How many `case`s are.
    cases: usize,
    /// The character before.
    before: char,
}

impl Frame {
    fn bracket(open: char, close: char) -> Self {
        Self::Bracket(Bracket { open, close, depth: 1, cases: 0, before: ' ' })
    }
}

/// What a character does to a frame.
enum Step {
    On,
    Into(Frame),
    Out,
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
        let closed = self.pass(Frame::Double);
        &self.text[begin..self.at - usize::from(closed)]
    }

    /// How many bytes here are something quoted, or a substitution; none if it is another character.
    pub(super) fn opaque(&mut self) -> usize {
        let begin = self.at;
        match self.bump() {
            Some(c) if self.pass_quoted(c) => {}
            Some('$') => self.pass_dollar(),
            Some(_) | None => return 0,
        }
        self.at - begin
    }

    /// Passes what follows a `$` outside of single quotes, if it is a bracketed form.
    pub(super) fn pass_dollar(&mut self) {
        if let Some(frame) = self.after_dollar() {
            self.pass(frame);
        }
    }

    /// The form that follows a `$`, with its bracket passed.
    fn after_dollar(&mut self) -> Option<Frame> {
        if self.eat("(") {
            Some(Frame::bracket('(', ')'))
        } else if self.eat("{") {
            Some(Frame::bracket('{', '}'))
        } else {
            None
        }
    }

    /// The text up to the bracket that closes the one just passed, which is passed too.
    ///
    /// Quotes and nested brackets are passed as wholes, comments as far as their line; a `case` may hold a `)` that closes nothing.
    pub(super) fn bracketed(&mut self, open: char, close: char) -> &'t str {
        let begin = self.at;
        let closed = self.pass(Frame::bracket(open, close));
        &self.text[begin..self.at - if closed { close.len_utf8() } else { 0 }]
    }

    /// Passes everything up to the end of a frame, and says whether that end was found.
    ///
    /// Frames within frames wait in a list and not on the stack of the thread: the text decides how many there are.
    fn pass(&mut self, frame: Frame) -> bool {
        let mut frame = frame;
        let mut outer: Vec<Frame> = Vec::new();
        while let Some(c) = self.bump() {
            let step = match &mut frame {
                Frame::Double => self.in_double(c),
                Frame::Bracket(bracket) => self.in_bracket(c, bracket),
            };
            match step {
                Step::On => {}
                Step::Into(inner) => outer.push(std::mem::replace(&mut frame, inner)),
                Step::Out => match outer.pop() {
                    Some(around) => frame = around,
                    None => return true,
                },
            }
        }
        false
    }

    fn in_double(&mut self, c: char) -> Step {
        match c {
            '\\' => drop(self.bump()),
            '"' => return Step::Out,
            '`' => drop(self.backquoted()),
            '$' => return self.after_dollar().map_or(Step::On, Step::Into),
            _ => {}
        }
        Step::On
    }

    fn in_bracket(&mut self, c: char, bracket: &mut Bracket) -> Step {
        let before = std::mem::replace(&mut bracket.before, c);
        let blank = before.is_whitespace() || matches!(before, ';' | '(' | '|' | '&');
        let script = bracket.open == '(';
        match c {
            '"' => return Step::Into(Frame::Double),
            _ if self.pass_quoted(c) => {}
            '$' if !script || self.rest().starts_with('{') => return self.after_dollar().map_or(Step::On, Step::Into),
            '#' if script && blank => drop(self.take_while(|c| c != '\n')),
            'c' if script && blank && self.rest().starts_with("ase ") => bracket.cases += 1,
            'e' if script && blank && self.rest().starts_with("sac") => {
                bracket.cases = bracket.cases.saturating_sub(1);
            }
            _ if c == bracket.open => bracket.depth += 1,
            _ if c == bracket.close && bracket.depth == 1 && bracket.cases > 0 => {}
            _ if c == bracket.close => {
                bracket.depth -= 1;
                if bracket.depth == 0 {
                    return Step::Out;
                }
            }
            _ => {}
        }
        Step::On
    }

    /// Passes the rest of what this character begins, if that is something quoted.
    pub(super) fn pass_quoted(&mut self, c: char) -> bool {
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
                '$' => self.pass_dollar(),
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
