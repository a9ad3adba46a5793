//! Reads a step while it is written: what belongs to which field, as soon as it is known.

use super::lenient::Quoted;

/// A field of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Thought,
    Tool,
    Arguments,
    Answer,
}

impl Field {
    /// The field that a model means by this name. Small models mix ours with those of other formats.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
            "thought" | "thoughts" | "reasoning" => Self::Thought,
            "tool" | "action" | "tool_name" => Self::Tool,
            "arguments" | "args" | "action_input" | "parameters" | "input" => Self::Arguments,
            "answer" | "final_answer" => Self::Answer,
            _ => return None,
        })
    }
}

/// Reads pieces of a text with one object in it, wherever they are cut, and tells what they add to its fields.
///
/// Texts are told decoded, other values as they are written. Only a part of what can be understood in the end is seen
/// on the way: an object whose first name is one of ours.
#[derive(Debug, Default)]
pub(super) struct Scan {
    at: At,
    field: Option<Field>,
    name: String,
    /// Whether the object that is read is a step. Until its first name, any brace may begin one.
    begun: bool,
}

#[derive(Debug, Default)]
enum At {
    #[default]
    Outside,
    BeforeName,
    Name(Quoted),
    BeforeColon,
    BeforeValue,
    Text(Quoted),
    Value(Nested),
    AfterValue,
    Over,
}

/// A value that is not a text: where its nesting stands.
#[derive(Debug, Default)]
struct Nested {
    depth: u32,
    string: Option<Quoted>,
}

impl Scan {
    /// Takes a piece, and tells what it adds.
    pub(super) fn push(&mut self, piece: &str) -> Vec<(Field, String)> {
        let mut told: Vec<(Field, String)> = Vec::new();
        for next in piece.chars() {
            let Some((field, text)) = self.step(next) else { continue };
            match told.last_mut() {
                Some((last, so_far)) if *last == field => so_far.push_str(&text),
                _ => told.push((field, text)),
            }
        }
        told
    }

    fn step(&mut self, next: char) -> Option<(Field, String)> {
        let (at, told) = match std::mem::take(&mut self.at) {
            At::Outside => (if next == '{' { At::BeforeName } else { At::Outside }, None),
            At::BeforeName => (self.before_name(next), None),
            At::Name(mut name) => {
                name.push(next, &mut self.name);
                (if name.is_over() { self.named() } else { At::Name(name) }, None)
            }
            At::BeforeColon => match next {
                ':' => (At::BeforeValue, None),
                space if space.is_whitespace() => (At::BeforeColon, None),
                _ => (At::Over, None),
            },
            At::BeforeValue => match next {
                space if space.is_whitespace() => (At::BeforeValue, None),
                '"' | '\'' => (At::Text(Quoted::begun_with(next)), None),
                _ => self.nested(Nested::default(), next),
            },
            At::Text(mut text) => {
                let mut decoded = String::new();
                text.push(next, &mut decoded);
                let told = self.field.filter(|_| !decoded.is_empty()).map(|field| (field, decoded));
                (if text.is_over() { At::AfterValue } else { At::Text(text) }, told)
            }
            At::Value(nested) => self.nested(nested, next),
            At::AfterValue => (after_value(next), None),
            At::Over => (At::Over, None),
        };
        self.at = at;
        told
    }

    fn before_name(&mut self, next: char) -> At {
        match next {
            space if space.is_whitespace() => At::BeforeName,
            '"' | '\'' => {
                self.name.clear();
                At::Name(Quoted::begun_with(next))
            }
            '{' if !self.begun => At::BeforeName,
            _ if self.begun => At::Over,
            _ => At::Outside,
        }
    }

    fn named(&mut self) -> At {
        self.field = Field::named(&self.name);
        self.begun |= self.field.is_some();
        if self.begun { At::BeforeColon } else { At::Outside }
    }

    fn nested(&mut self, mut nested: Nested, next: char) -> (At, Option<(Field, String)>) {
        if let Some(string) = &mut nested.string {
            string.push(next, &mut String::new());
            if string.is_over() {
                nested.string = None;
            }
        } else {
            match next {
                ',' | '}' | ']' if nested.depth == 0 => return (after_value(next), None),
                '{' | '[' => nested.depth += 1,
                '}' | ']' => nested.depth -= 1,
                '"' | '\'' => nested.string = Some(Quoted::begun_with(next)),
                // A word such as `null` says that there is nothing; numbers are no arguments and rarely an answer.
                _ if nested.depth == 0 => return (At::Value(nested), None),
                _ => {}
            }
        }
        let over = nested.depth == 0 && nested.string.is_none();
        (if over { At::AfterValue } else { At::Value(nested) }, self.field.map(|field| (field, next.to_string())))
    }
}

fn after_value(next: char) -> At {
    match next {
        ',' => At::BeforeName,
        space if space.is_whitespace() => At::AfterValue,
        _ => At::Over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text says of each field, cut into pieces of so many characters.
    fn read(text: &str, size: usize) -> Vec<(Field, String)> {
        let mut scan = Scan::default();
        let letters: Vec<char> = text.chars().collect();
        let mut told: Vec<(Field, String)> = Vec::new();
        for (field, text) in letters.chunks(size).flat_map(|piece| scan.push(&piece.iter().collect::<String>())) {
            match told.last_mut() {
                Some((last, so_far)) if *last == field => so_far.push_str(&text),
                _ => told.push((field, text)),
            }
        }
        told
    }

    #[track_caller]
    fn check(text: &str, expected: &[(Field, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(field, text)| (*field, (*text).to_owned())).collect();
        for size in 1..=text.len().max(1) {
            assert_eq!(read(text, size), expected, "{text} in pieces of {size}");
        }
    }

    #[test]
    fn fields_are_told_as_they_come_wherever_the_text_is_cut() {
        use Field::{Answer, Arguments, Thought, Tool};
        check(r#"{"thought": "a\nb", "answer": "caf\u00e9 \ud83d\ude00"}"#, &[(Thought, "a\nb"), (Answer, "café 😀")]);
        check(
            r#"Sure, {x} {"thought":"","tool" : "bash","arguments":{"command":"echo '}' \"{"}} {"answer": "no"}"#,
            &[(Tool, "bash"), (Arguments, r#"{"command":"echo '}' \"{"}"#)],
        );
        check(r#"{"wrapped": {"thought": "t", "answer": ["x"]}}"#, &[(Thought, "t"), (Answer, r#"["x"]"#)]);
        check(r#"{"tool": null, "other": [1], "answer": "yes"}"#, &[(Answer, "yes")]);
        check(r"{'action': 'ls', 'action_input': '{}'}", &[(Tool, "ls"), (Arguments, "{}")]);
        check("Hello there.", &[]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_in_any_pieces_is_taken(text in "[{}\\[\\]\"',:\\\\thouganswer ]{0,80}|.{0,80}", size in 1..9_usize) {
            proptest::prop_assert_eq!(read(&text, size), read(&text, 1));
        }
    }
}
