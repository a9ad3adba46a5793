//! Edits a user's JSON in place. Comments, order and white space are kept.

use std::ops::Range;

use serde_json::Value;

/// How deeply a file may be nested.
const MAX_DEPTH: usize = 128;

/// A value and its position in the text.
#[derive(Debug)]
pub(super) struct Node {
    span: Range<usize>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Text(String),
    Other,
}

#[derive(Debug)]
struct Member {
    key: String,
    /// From the key to the end of the value.
    span: Range<usize>,
    value: Node,
}

/// Parses JSON, with comments and trailing commas allowed. The error names the line.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    let mut parser = Parser { text, at: 0 };
    let parsed = parser.value(0).and_then(|node| {
        parser.space()?;
        if parser.at < text.len() { Err("unexpected text after the end") } else { Ok(node) }
    });
    parsed.map_err(|what| {
        let line = text[..parser.at.min(text.len())].matches('\n').count() + 1;
        format!("line {line}: {what}")
    })
}

impl Node {
    /// Returns a member of this object.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            // Of several members with the same name the last one wins, as in other parsers.
            Kind::Object(members) => members.iter().rev().find(|member| member.key == key).map(|member| &member.value),
            Kind::Array(_) | Kind::Text(_) | Kind::Other => None,
        }
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// Returns the entries of a list.
    pub(super) fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            Kind::Object(_) | Kind::Text(_) | Kind::Other => None,
        }
    }

    /// Returns the names and values of an object.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = if let Kind::Object(members) = &self.kind { members.as_slice() } else { &[] };
        members.iter().map(|member| (member.key.as_str(), &member.value))
    }

    /// Returns the string, if the value is one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Object(_) | Kind::Array(_) | Kind::Other => None,
        }
    }

    /// Returns whether the value is written as this word: `true`, `null`, a number.
    pub(super) fn is(&self, word: &str, file: &str) -> bool {
        file.get(self.span.clone()) == Some(word)
    }

    /// Returns the number, if the value is one.
    pub(super) fn number(&self, file: &str) -> Option<f64> {
        file.get(self.span.clone())?.parse().ok()
    }

    /// Returns whether a string in this value contains these words.
    pub(super) fn says(&self, words: &str) -> bool {
        match &self.kind {
            Kind::Object(members) => members.iter().any(|member| member.value.says(words)),
            Kind::Array(items) => items.iter().any(|item| item.says(words)),
            Kind::Text(text) => text.contains(words),
            Kind::Other => false,
        }
    }

    fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
            Kind::Text(_) | Kind::Other => Vec::new(),
        }
    }
}

/// Adds an entry at the end of an object or a list.
pub(super) fn added(text: &str, node: &Node, key: Option<&str>, value: &Value) -> String {
    let children = node.children();
    let close = node.span.end - 1;
    let outer = indentation(text, node.span.start);
    let inner =
        children.first().map_or_else(|| format!("{outer}{}", unit(text)), |first| indentation(text, first.start));
    let shown = pretty(value, &inner, &unit(text));
    let entry = key.map_or_else(|| shown.clone(), |key| format!("{}: {shown}", Value::from(key)));
    let mut out = text.to_owned();
    match children.last() {
        None => {
            let inside = text[node.span.start + 1..close].trim_end().to_owned();
            out.replace_range(node.span.start + 1..close, &format!("{inside}\n{inner}{entry}\n{outer}"));
        }
        Some(last) => {
            let between = &text[last.end..close];
            let comma = if strip_comments(between).contains(',') { "" } else { "," };
            let on_one_line = !text[node.span.clone()].contains('\n');
            let tail = between.trim_end();
            let (before, after) = if on_one_line {
                (" ".to_owned(), String::new())
            } else {
                (format!("\n{inner}"), format!("\n{outer}"))
            };
            out.replace_range(last.end..close, &format!("{comma}{tail}{before}{entry}{after}"));
        }
    }
    out
}

/// Removes the child at this index, with its comma.
pub(super) fn removed(text: &str, node: &Node, index: usize) -> String {
    let children = node.children();
    let (Some(child), close) = (children.get(index), node.span.end - 1) else { return text.to_owned() };
    let range = match (index.checked_sub(1).and_then(|before| children.get(before)), children.get(index + 1)) {
        (_, Some(next)) => child.start..next.start,
        (Some(before), None) => before.end..child.end,
        (None, None) => {
            let rest = strip_comments(&text[child.end..close]);
            let end = if rest.trim().is_empty() || rest.trim() == "," { close } else { child.end };
            node.span.start + 1..end
        }
    };
    let mut out = text.to_owned();
    out.replace_range(range, "");
    out
}

/// Returns the index of a member in an object, or the last of several with the same name.
pub(super) fn position(node: &Node, key: &str) -> Option<usize> {
    node.members().enumerate().filter(|(_, (name, _))| *name == key).map(|(at, _)| at).last()
}

/// Removes comments.
fn strip_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        out.push_str(&rest[..at]);
        let end = match rest[at..].chars().nth(1) {
            Some('/') => rest[at..].find('\n').map_or(rest.len(), |end| at + end),
            Some('*') => rest[at..].find("*/").map_or(rest.len(), |end| at + end + 2),
            _ => at + 1,
        };
        rest = &rest[end..];
    }
    out + rest
}

/// Returns the white space at the beginning of the line of this position.
fn indentation(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
    text[start..].chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect()
}

/// Returns the indentation unit of this file.
fn unit(text: &str) -> String {
    let first = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]).find(|space| !space.is_empty());
    first.unwrap_or("  ").to_owned()
}

fn pretty(value: &Value, indent: &str, unit: &str) -> String {
    let shown = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut lines = shown.lines();
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let rest = line.trim_start();
        let depth = (line.len() - rest.len()) / 2;
        out.extend(["\n", indent, &unit.repeat(depth), rest]);
    }
    out
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

type Parsed<T> = Result<T, &'static str>;

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) -> Parsed<()> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").ok_or("unterminated comment")? + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn eats(&mut self, letter: char) -> bool {
        let found = self.rest().starts_with(letter);
        self.at += if found { letter.len_utf8() } else { 0 };
        found
    }

    fn value(&mut self, depth: usize) -> Parsed<Node> {
        if depth > MAX_DEPTH {
            return Err("nested too deeply");
        }
        self.space()?;
        let start = self.at;
        let kind = match self.rest().chars().next() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => Kind::Text(self.string()?),
            Some(_) => self.word()?,
            None => return Err("unexpected end of file"),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Parsed<Kind> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.space()?;
            if self.eats('}') {
                return Ok(Kind::Object(members));
            }
            let start = self.at;
            let key = self.string()?;
            self.space()?;
            if !self.eats(':') {
                return Err("missing `:`");
            }
            let value = self.value(depth + 1)?;
            members.push(Member { key, span: start..value.span.end, value });
            self.space()?;
            if !self.eats(',') && !self.rest().starts_with('}') {
                return Err("missing `,` or `}`");
            }
        }
    }

    fn array(&mut self, depth: usize) -> Parsed<Kind> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space()?;
            if self.eats(']') {
                return Ok(Kind::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.space()?;
            if !self.eats(',') && !self.rest().starts_with(']') {
                return Err("missing `,` or `]`");
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let rest = self.rest();
        if !rest.starts_with('"') {
            return Err("missing a string in quotes");
        }
        let mut escaped = false;
        for (at, letter) in rest.char_indices().skip(1) {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let text = serde_json::from_str(&rest[..=at]).map_err(|_| "invalid string")?;
                    self.at += at + 1;
                    return Ok(text);
                }
                _ => {}
            }
        }
        Err("unterminated string")
    }

    fn word(&mut self) -> Parsed<Kind> {
        let rest = self.rest();
        let end = rest.find([',', '}', ']', ' ', '\t', '\r', '\n', '/', ':']).unwrap_or(rest.len());
        match serde_json::from_str::<Value>(&rest[..end]) {
            Ok(Value::Null | Value::Bool(_) | Value::Number(_)) => {
                self.at += end;
                Ok(Kind::Other)
            }
            _ => Err("invalid JSON value"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_added_at_the_end_and_the_rest_of_the_file_is_kept() {
        let cases = [
            ("{}", "{\n  \"new\": 1\n}"),
            ("{\n}", "{\n  \"new\": 1\n}"),
            ("{\"a\": 1}", "{\"a\": 1, \"new\": 1}"),
            ("{\n    \"a\": 1 // one\n}\n", "{\n    \"a\": 1, // one\n    \"new\": 1\n}\n"),
            ("{\n\t\"a\": [1,],\n}", "{\n\t\"a\": [1,],\n\t\"new\": 1\n}"),
            ("// mine\n{ /* all */ }", "// mine\n{ /* all */\n  \"new\": 1\n}"),
        ];
        for (text, expected) in cases {
            let node = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(added(text, &node, Some("new"), &json!(1)), expected);
        }
    }

    #[test]
    fn invalid_json_is_reported_with_its_line() {
        let cases = [
            ("{\n\"a\": 1\n\"b\": 2}", "line 3: missing `,` or `}`"),
            ("{\"a\": tru}", "line 1: invalid JSON value"),
            ("", "line 1: unexpected end of file"),
            ("{} x", "line 1: unexpected text after the end"),
            ("{\"a", "line 1: unterminated string"),
            ("/* ", "line 1: unterminated comment"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).map(drop), Err(expected.to_owned()), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,3}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn removing_an_added_entry_restores_the_original_value(
            map in prop::collection::btree_map("[a-z]{1,3}", values(), 0..4), pretty in any::<bool>(), new in values(),
        ) {
            let whole: Value = map.into_iter().collect();
            let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.expect("JSON");
            let node = parse(&text).expect("JSON");
            let more = added(&text, &node, Some("NEW"), &new);
            let mut expected = whole.clone();
            expected["NEW"] = new;
            prop_assert_eq!(serde_json::from_str::<Value>(&more).expect("JSON"), expected);
            let node = parse(&more).expect("JSON");
            let less = removed(&more, &node, position(&node, "NEW").expect("there"));
            prop_assert_eq!(serde_json::from_str::<Value>(&less).expect("JSON"), whole);
        }
    }
}
