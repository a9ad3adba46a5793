//! Files of agents and skills: YAML between two lines of `---`, then Markdown.
//!
//! Such files come from other people's folders, so everything about them is bounded, and what is wrong with one is said
//! with its line and what to write instead.

use std::{
    borrow::Cow,
    fmt, fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use vertebra::nearest;

/// How long a file may be. What it says must fit into what a model reads of one tool's result.
const MAX_FILE_BYTES: usize = 64 * 1024;
/// How many entries of a folder are looked at.
const MAX_ENTRIES: usize = 1000;
/// How deep and how large the YAML of a file may be.
const MAX_DEPTH: usize = 16;
const MAX_NODES: usize = 4096;

/// A file, or one thing in it, that is not used: where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", path.display())]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(path: &Path, line: u64, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

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

/// The text of a regular file of a bounded size. Links are not followed: they lead out of the folder that was named.
pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    let broken = |message: String| Problem::new(path, 1, message);
    let unreadable = |error: std::io::Error| broken(format!("cannot be read: {error}"));
    if !fs::symlink_metadata(path).map_err(unreadable)?.is_file() {
        return Err(broken("is not a regular file; links are not followed".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(broken(format!("is longer than {MAX_FILE_BYTES} bytes; move parts of it into files beside it")));
    }
    String::from_utf8(bytes).map_err(|error| broken(format!("is not UTF-8: {error}")))
}

/// The entries of a folder, by name, and what is wrong with it. A folder that is not there has none.
pub(crate) fn entries(folder: &Path) -> (Vec<PathBuf>, Option<Problem>) {
    let mut listed = match fs::read_dir(folder) {
        Ok(listed) => listed.filter_map(|entry| Some(entry.ok()?.path())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (Vec::new(), None),
        Err(error) => return (Vec::new(), Some(Problem::new(folder, 1, format!("cannot be listed: {error}")))),
    };
    let mut paths: Vec<PathBuf> = listed.by_ref().take(MAX_ENTRIES).collect();
    paths.sort();
    let too_many =
        || Problem::new(folder, 1, format!("has more than {MAX_ENTRIES} entries; the others are not looked at"));
    (paths, listed.next().map(|_| too_many()))
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
            let starts = |line: &str| line.trim_start_matches([' ', '"', '\'']).starts_with(key.as_str());
            let line = text.lines().position(starts).map_or(1, |index| index as u64 + 1);
            return Err(Problem::new(path, line, format!("unknown field `{key}`; did you mean `{meant}`?")));
        }
    }
    Ok(())
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

/// Words as people write them: `a, b`, `a b` or a list. What stands in parentheses stays together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl Words {
    pub(crate) fn split(text: &str) -> Self {
        let mut depth = 0_u32;
        let apart = |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && (c == ',' || c.is_whitespace())
        };
        Self(text.split(apart).filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of names, such as `[read_file, grep]` or `read_file, grep`")
            }

            fn visit_str<E>(self, text: &str) -> Result<Words, E> {
                Ok(Words::split(text))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Words, E> {
                Err(E::custom("the field is empty; write `[]` for none, or leave it out"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = seq.next_element::<String>()? {
                    words.push(word.trim().to_owned());
                }
                Ok(Words(words))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// A field that may be left out, but not left empty: nothing at all and everything are too far apart.
pub(crate) fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Words>, D::Error> {
    Words::deserialize(deserializer).map(Some)
}

/// Whether a name of an agent or a skill is one: `^[a-z0-9][a-z0-9_-]*$`, at most 64 letters. Nothing else can leave a
/// folder, close a tag or be mistaken for an option.
pub(crate) fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=64).contains(&name.len())
        && name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || matches!(byte, b'_' | b'-'))
}

pub(crate) const NAME_RULE: &str = "names are lower-case letters, digits, `-` and `_`, at most 64 of them";

#[cfg(test)]
mod tests {
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
    fn lists_are_read_as_people_write_them() {
        for written in ["Read, Grep, Bash(git add *)", "Read Grep Bash(git add *)", "Read,Grep , Bash(git add *)"] {
            assert_eq!(Words::split(written).0, ["Read", "Grep", "Bash(git add *)"]);
        }
        let of = |value: &str| parsed(&format!("---\ntools: {value}\n---\n")).expect("tools").fields.tools;
        assert_eq!(of("[]"), Some(Words::default()));
        assert_eq!(of("Read"), Some(Words(vec!["Read".into()])));
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

    #[test]
    fn files_that_are_no_text_too_long_or_elsewhere_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("long"), "x".repeat(MAX_FILE_BYTES + 1)).expect("written");
        fs::write(path("bytes"), [0xff, 0xfe]).expect("written");
        fs::write(path("fine"), "x".repeat(MAX_FILE_BYTES)).expect("written");
        let message = |name: &str| read(&path(name)).expect_err("not read").message;
        assert!(message("long").contains("longer than 65536 bytes"));
        assert!(message("bytes").contains("not UTF-8"));
        assert!(message("missing").contains("cannot be read"));
        assert_eq!(read(&path("fine")).expect("text").len(), MAX_FILE_BYTES);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("fine"), path("link")).expect("a link");
            assert!(message("link").contains("links are not followed"));
        }
    }

    #[test]
    fn a_folder_too_full_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let fill = |numbers: std::ops::Range<usize>| {
            numbers.for_each(|number| fs::write(folder.path().join(number.to_string()), "").expect("written"));
        };
        fill(0..MAX_ENTRIES);
        assert!(matches!(entries(folder.path()), (paths, None) if paths.len() == MAX_ENTRIES));
        fill(MAX_ENTRIES..MAX_ENTRIES + 1);
        assert!(matches!(entries(folder.path()), (paths, Some(_)) if paths.len() == MAX_ENTRIES));
        let (none, problem) = entries(&folder.path().join("0"));
        assert!(none.is_empty() && problem.is_some_and(|problem| problem.message.contains("cannot be listed")));
        assert_eq!(entries(&folder.path().join("missing")), (Vec::new(), None));
    }

    #[test]
    fn names_cannot_leave_their_folder() {
        assert!(["a", "code-review", "x_1", "9lives"].into_iter().all(is_name));
        let no = ["", "A", "-a", "_a", "a/b", "..", "a.b", "a b", "ä", "a\n"];
        assert!(!no.into_iter().any(is_name));
        assert!(is_name(&"a".repeat(64)) && !is_name(&"a".repeat(65)));
    }
}
