//! Files of agents and skills: YAML between two lines of `---`, then Markdown.
//!
//! Such files come from other people's folders, so everything about them is bounded, and what is wrong with one is said
//! with its line and what to write instead.

mod files;
mod hooks;
mod listing;
mod tree;
mod typed;
mod words;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use vertebra::nearest;

use self::tree::{Kind, YamlError};
pub use self::{
    files::Problem,
    hooks::{Brought, hooks_in},
};
pub(crate) use self::{
    files::{entries, read},
    listing::listing,
    words::{NAME_RULE, Words, is_name, stated},
};

/// The fields of a kind of file. Others are tolerated, because files in the wild carry many, unless they look like one
/// of these misspelt.
pub(crate) trait Fields: DeserializeOwned {
    const KNOWN: &'static [&'static str];
}

/// A file taken apart.
#[derive(Debug)]
pub(crate) struct Document<T> {
    pub(crate) fields: T,
    pub(crate) body: String,
}

/// Takes a Markdown file with front matter apart.
pub(crate) fn parse<T: Fields>(path: &Path, text: &str) -> Result<Document<T>, Problem> {
    let (matter, body) = split(text).map_err(|message| Problem::new(path, 1, message))?;
    // An empty line in place of the first `---`, so that lines count as in the file.
    let fields = yaml(path, &format!("\n{matter}"))?;
    Ok(Document { fields, body: body.trim().to_owned() })
}

fn split(text: &str) -> Result<(&str, &str), &'static str> {
    const BEGIN: &str = "has no front matter; begin with a line `---`, then fields such as `name: …`, then `---`";
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n').ok_or(BEGIN)?;
    if first.trim_end() != "---" {
        return Err(BEGIN);
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    Err("has front matter without an end; write a line `---` after its fields")
}

/// Reads YAML, once: what each field means is decided afterwards.
pub(crate) fn yaml<T: Fields>(path: &Path, text: &str) -> Result<T, Problem> {
    let broken = |error: YamlError| Problem::new(path, error.line.unwrap_or(1), error.message);
    let root = tree::read(text).or_else(|error| tree::read(&quoted(text)).map_err(|_| error)).map_err(broken)?;
    if let Kind::Map(fields) = &root.kind {
        check_keys::<T>(path, text, fields.iter().map(|(key, _)| key.as_str()))?;
    }
    T::deserialize(&root).map_err(broken)
}

/// The text with quotes around values such as `Use it when: it rains`. YAML forbids them bare, and many write them.
fn quoted(text: &str) -> String {
    let line = |line: &str| match line.split_once(": ") {
        Some((key, value))
            if key.chars().all(is_key) && value.starts_with(char::is_alphanumeric) && value.contains(": ") =>
        {
            format!("{key}: {}", Value::from(value))
        }
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Reads JSON.
pub(crate) fn json<T: Fields>(path: &Path, text: &str) -> Result<T, Problem> {
    let broken =
        |error: serde_json::Error| Problem::new(path, error.line().max(1) as u64, explained(&error.to_string()));
    let keys: serde_json::Map<String, Value> = serde_json::from_str(text).map_err(broken)?;
    check_keys::<T>(path, text, keys.keys().map(String::as_str))?;
    serde_json::from_str(text).map_err(broken)
}

fn check_keys<'k, T: Fields>(path: &Path, text: &str, keys: impl Iterator<Item = &'k str>) -> Result<(), Problem> {
    for key in keys.filter(|key| !T::KNOWN.contains(key)) {
        if let Some(meant) = nearest(key, T::KNOWN.iter().copied()) {
            let message = format!("unknown field `{key}`; did you mean `{meant}`?");
            return Err(Problem::new(path, line_of(text, key), message));
        }
    }
    Ok(())
}

/// The line of a field: the first that begins with it, or else mentions it.
pub(crate) fn line_of(text: &str, field: &str) -> u64 {
    let begins = |line: &str| line.trim_start_matches([' ', '"', '\'']).starts_with(field);
    let at = text.lines().position(begins).or_else(|| text.lines().position(|line| line.contains(field)));
    at.map_or(1, |index| index as u64 + 1)
}

/// The parser's message without the place, which is reported separately.
fn explained(error: &str) -> String {
    error.rsplit_once(" at line ").map_or(error, |(message, _)| message).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(default)]
    struct Sample {
        name: String,
        #[serde(deserialize_with = "stated")]
        tools: Option<Words>,
        steps: u64,
    }

    impl Default for Sample {
        fn default() -> Self {
            Self { name: String::new(), tools: None, steps: 1 }
        }
    }

    impl Fields for Sample {
        const KNOWN: &'static [&'static str] = &["name", "tools", "steps"];
    }

    fn parsed(text: &str) -> Result<Document<Sample>, String> {
        parse(Path::new("a.md"), text).map_err(|problem| problem.to_string())
    }

    #[track_caller]
    fn refused(text: &str, problem: &str) {
        assert_eq!(parsed(text).expect_err("this is no good"), problem);
    }

    #[test]
    fn fields_and_text_are_told_apart_whatever_the_line_ends() {
        let plain = "---\nname: a\ntools: [x, y]\ncolour: red\n---\n\n# Title\n---\nmore\n";
        for text in [plain.to_owned(), plain.replace('\n', "\r\n"), format!("\u{feff}{plain}")] {
            let document = parsed(&text).expect("front matter");
            assert_eq!(document.fields.name, "a");
            assert_eq!(document.fields.tools, Some(Words(vec!["x".into(), "y".into()])));
            assert_eq!(document.body.lines().next(), Some("# Title"));
            assert!(document.body.ends_with("more"), "a rule in the text is not the end of the fields");
        }
    }

    #[test]
    fn colons_that_yaml_forbids_are_read_as_they_are_meant() {
        let text = "---\nname: Use it when: \"it\" rains. user: 'hi'\ntools: Read\n---\n";
        let fields = parsed(text).expect("front matter").fields;
        assert_eq!(
            (&*fields.name, fields.tools),
            ("Use it when: \"it\" rains. user: 'hi'", Some(Words::split("Read")))
        );
    }

    /// As a JSON value, `1.10` would be the number 1.1.
    #[test]
    fn text_fields_are_read_exactly_as_written() {
        for written in ["1.10", "007", "0x1F", "123", "yes", "true", "2030-01-01"] {
            let document = parsed(&format!("---\nname: {written}\n---\n")).expect("front matter");
            assert_eq!(document.fields.name, written);
        }
        for (written, nested) in [
            ("1.10", json!(1.1)),
            ("yes", json!("yes")),
            ("'7'", json!("7")),
            ("0x1F", json!(31)),
            ("-3", json!(-3)),
            ("~", json!(null)),
            ("inf", json!("inf")),
            ("2030-01-01", json!("2030-01-01")),
        ] {
            let root = tree::read(&format!("v: {written}")).expect("YAML");
            assert_eq!(Value::deserialize(&root).expect("a value"), json!({ "v": nested }), "{written}");
        }
        for written in ["3", "\"3\"", "0x3"] {
            let document = parsed(&format!("---\nsteps: {written}\n---\n")).expect("front matter");
            assert_eq!(document.fields.steps, 3, "{written}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_the_cure() {
        refused(
            "# Title\n",
            "a.md:1: has no front matter; begin with a line `---`, then fields such as `name: …`, then `---`",
        );
        refused("---\nname: a\n", "a.md:1: has front matter without an end; write a line `---` after its fields");
        refused("---\nname: a\ntols: x\n---\n", "a.md:3: unknown field `tols`; did you mean `tools`?");
        refused(
            "---\nx:\n  y: a: b\n---\n",
            "a.md:3: mapping values are not allowed in this context; put a value that contains `: ` in quotes",
        );
        refused("---\nname: a\nname: b\n---\n", "a.md:3: the field `name` is there twice; keep one");
        refused("---\njust text\n---\n", "a.md:2: these are not fields; write fields such as `name: …`");
        refused("---\nname: a\nsteps: many\n---\n", "a.md:3: expected a whole number, found `many`");
        let problem = parsed("---\nname: a\n\ntools: {a: 1}\n---\n").expect_err("a map");
        assert!(problem.starts_with("a.md:4: ") && problem.contains("a list of names"), "{problem}");
        refused("---\nname:\n---\n", "a.md:2: the field is empty; write text");
        refused("---\nname: [a]\n---\n", "a.md:2: this is a list; write text");
        refused("---\ntools:\n---\n", "a.md:2: the field is empty; write `[]` for none, or leave it out");
    }

    #[test]
    fn bombs_are_refused_not_read() {
        let laughs = "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\nname: n\n---\n";
        assert!(parsed(laughs).is_err(), "aliases");
        let deep = format!("---\nx: {}{}\nname: n\n---\n", "[".repeat(2000), "]".repeat(2000));
        assert!(parsed(&deep).is_err(), "depth");
        let wide = format!("---\nx: [{}]\nname: n\n---\n", "1,".repeat(20_000));
        assert!(parsed(&wide).is_err(), "size");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_be_refused(text in r"(---\n|name: |tools: |steps: |[:\[\]{}&*!|>'#@`,-]|\n| |\t|\PC){0,30}") {
            let _ = parsed(&text);
            let _ = parsed(&format!("---\n{text}\n---\n"));
        }
    }
}
