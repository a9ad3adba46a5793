//! JSON as small models write it: single quotes, trailing commas, line breaks in strings, Python's words.

use serde_json::{Map, Number, Value};

/// How deep values may be nested.
const MAX_DEPTH: usize = 64;

/// The value at the start of the text, and how many bytes it takes. Where strict JSON would do, it is the same value.
pub(super) fn value(text: &str) -> Option<(Value, usize)> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    Some((value, reader.at))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' | '\'' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.skip('{')?;
        let mut object = Map::new();
        loop {
            if self.skip('}').is_some() {
                return Some(Value::Object(object));
            }
            self.peek().filter(|quote| matches!(quote, '"' | '\''))?;
            let name = self.string()?;
            self.skip(':')?;
            object.insert(name, self.value(depth + 1)?);
            if self.skip(',').is_none() {
                self.skip('}')?;
                return Some(Value::Object(object));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.skip('[')?;
        let mut items = Vec::new();
        loop {
            if self.skip(']').is_some() {
                return Some(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if self.skip(',').is_none() {
                self.skip(']')?;
                return Some(Value::Array(items));
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut string = Quoted::begun_with(self.next()?);
        let mut decoded = String::new();
        while !string.is_over() {
            string.push(self.next()?, &mut decoded);
        }
        Some(decoded)
    }

    fn word(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let ends = |letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'));
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            number => Value::Number(number.parse::<Number>().ok()?),
        };
        self.at += word.len();
        Some(value)
    }

    /// The next character that is not white space, left where it is.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn skip(&mut self, wanted: char) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += wanted.len_utf8())
    }

    fn next(&mut self) -> Option<char> {
        let next = self.text[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }
}

/// A string that is read character by character, however they arrive.
#[derive(Debug)]
pub(super) struct Quoted {
    quote: char,
    escape: Escape,
    /// The first half of a character that JSON writes in two.
    high: Option<u16>,
    over: bool,
}

#[derive(Debug)]
enum Escape {
    No,
    Begun,
    /// So many digits of a code, and what they say so far.
    Code(u8, u16),
}

impl Quoted {
    pub(super) fn begun_with(quote: char) -> Self {
        Self { quote, escape: Escape::No, high: None, over: false }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Takes the next character and adds what is now known of the text.
    pub(super) fn push(&mut self, next: char, text: &mut String) {
        match self.escape {
            Escape::No if next == '\\' => self.escape = Escape::Begun,
            Escape::No => {
                self.lone(text);
                if next == self.quote {
                    self.over = true;
                } else {
                    text.push(next);
                }
            }
            Escape::Begun if next == 'u' => self.escape = Escape::Code(0, 0),
            Escape::Begun => {
                self.lone(text);
                self.escape = Escape::No;
                text.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    other => other,
                });
            }
            Escape::Code(digits, code) => match next.to_digit(16).and_then(|digit| u16::try_from(digit).ok()) {
                Some(digit) if digits == 3 => {
                    self.escape = Escape::No;
                    self.unit(code << 4 | digit, text);
                }
                Some(digit) => self.escape = Escape::Code(digits + 1, code << 4 | digit),
                None => {
                    self.escape = Escape::No;
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.push(next, text);
                }
            },
        }
    }

    /// A unit of UTF-16. Two halves make one character; a half alone is none.
    fn unit(&mut self, unit: u16, text: &mut String) {
        let units = [self.high.take(), Some(unit)];
        if matches!(unit, 0xd800..0xdc00) {
            self.high = Some(unit);
            text.extend(units[0].map(|_| char::REPLACEMENT_CHARACTER));
            return;
        }
        let decoded = char::decode_utf16(units.into_iter().flatten());
        text.extend(decoded.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    }

    fn lone(&mut self, text: &mut String) {
        text.extend(self.high.take().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_strict_json_refuses_and_nobody_can_misread_is_read() {
        let cases = [
            (r"{'a': 'it\'s', }", json!({"a": "it's"})),
            ("{\"a\": \"two\nlines\"}", json!({"a": "two\nlines"})),
            ("[True, False, None, -1.5e3,]", json!([true, false, null, -1500.0])),
            (r#""\u0041\ud83d\ude00\ud83d!""#, json!("A😀\u{fffd}!")),
            (r#"{"say": 'the "word"'}"#, json!({"say": "the \"word\""})),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text).map(|(value, _)| value), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_could_mean_two_things_is_not_read() {
        for text in ["{a: 1}", "{\"a\" 1}", "{\"a\": }", "[1 2]", "\"open", "{\"a\": tru}", "", "-"] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value(&"[".repeat(100_000)), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}|[\\[\\]{}\"',:\\\\u0-9ad ]{0,60}") {
            if let Some((_, length)) = value(&text) {
                proptest::prop_assert!(text.is_char_boundary(length));
            }
        }

        #[test]
        fn strict_json_is_read_as_it_is(value in crate::react::tests::json()) {
            let text = value.to_string();
            proptest::prop_assert_eq!(super::value(&text), Some((value, text.len())));
        }
    }
}
