//! Files of agents and skills: YAML between two lines of `---`, then Markdown.
//!
//! Such files come from other people's folders, so everything about them is bounded, and what is wrong with one is said
//! with its line and what to write instead.

mod files;
mod hooks;
mod listing;
mod words;

use std::{borrow::Cow, fmt, path::Path};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;
use vertebra::nearest;

pub use self::{
    files::Problem,
    hooks::{Brought, hooks_in},
};
pub(crate) use self::{
    files::{entries, read},
    listing::listing,
    words::{NAME_RULE, Words, is_name, stated},
};

/// How deep and how large the YAML of a file may be.
const MAX_DEPTH: usize = 16;
const MAX_NODES: usize = 4096;

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

/// Reads YAML.
pub(crate) fn yaml<T: Fields>(path: &Path, text: &str) -> Result<T, Problem> {
    let options = || {
        serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_depth: MAX_DEPTH,
                max_nodes: MAX_NODES,
                max_aliases: 0,
                max_merge_keys: 0,
                max_documents: 1,
            },
            // An excerpt of a file that turns out to be something else has no place in a message.
            with_snippet: false,
        }
    };
    let broken = |error: serde_saphyr::Error| {
        let line = error.location().map_or(1, |location| location.line());
        Problem::new(path, line, explained(&error.to_string()))
    };
    let mut text = Cow::Borrowed(text);
    let keys = serde_saphyr::from_str_with_options::<Keys>(&text, options()).or_else(|error| {
        text = Cow::Owned(quoted(&text));
        serde_saphyr::from_str_with_options(&text, options()).map_err(|_| broken(error))
    });
    check_keys::<T>(path, &text, &keys?)?;
    serde_saphyr::from_str_with_options(&text, options()).map_err(broken)
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
    let keys: Keys = serde_json::from_str(text).map_err(broken)?;
    check_keys::<T>(path, text, &keys)?;
    serde_json::from_str(text).map_err(broken)
}

fn check_keys<T: Fields>(path: &Path, text: &str, Keys(keys): &Keys) -> Result<(), Problem> {
    for key in keys.iter().filter(|key| !T::KNOWN.contains(&key.as_str())) {
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

/// What the parser says, and what to write instead.
const CURES: [(&str, &str); 6] = [
    ("mapping values are not allowed", "put a value that contains `: ` in quotes"),
    ("expected mapping start", "write fields such as `name: …`"),
    ("expected string scalar", "write text"),
    ("invalid boolean", "write `true` or `false`"),
    ("invalid u64", "write a whole number"),
    ("Aliases", "write the value out where it is used"),
];

/// The parser's words, without the place, which is told apart from them, and with the cure.
fn explained(error: &str) -> String {
    let message = error.rsplit_once(" at line ").map_or(error, |(message, _)| message);
    // The rest is for programmers.
    let message = message.split(", set ").next().unwrap_or(message);
    match CURES.iter().find(|(said, _)| message.contains(said)) {
        Some((_, cure)) => format!("{message}; {cure}"),
        None => message.to_owned(),
    }
}

/// The names of a file's fields.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields, such as `name: …`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = map.next_entry()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Written)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    /// This is why the fields are read straight from YAML: as a JSON value, `1.10` would be the number 1.1.
    #[test]
    fn text_fields_are_read_exactly_as_written() {
        for written in ["1.10", "007", "0x1F", "123", "yes", "true", "2030-01-01"] {
            let document = parsed(&format!("---\nname: {written}\n---\n")).expect("front matter");
            assert_eq!(document.fields.name, written);
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
        refused("---\nname: a\nname: b\n---\n", "a.md:3: duplicate mapping key: name");
        refused("---\njust text\n---\n", "a.md:2: expected mapping start; write fields such as `name: …`");
        refused("---\nname: a\nsteps: many\n---\n", "a.md:3: invalid u64; write a whole number");
        let problem = parsed("---\nname: a\n\ntools: {a: 1}\n---\n").expect_err("a map");
        assert!(problem.starts_with("a.md:4: ") && problem.contains("a list of names"), "{problem}");
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
