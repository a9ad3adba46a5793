//! Paths among arguments, in the form that matchers compare.
//!
//! This is for matching only: what a tool may open is decided by directory handles, never by text.

use serde_json::Value;

use crate::Args;

/// Names under which tools commonly take paths, or patterns of paths.
const NAMES: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "directory",
    "folder",
    "cwd",
    "root",
    "include",
    "glob",
    "uri",
    "source",
    "destination",
];

/// Endings of such names, as in `file_path`, `notebook_path`, `target_dir`.
const ENDINGS: &[&str] = &["path", "paths", "file", "files", "dir", "directory", "folder", "uri"];

/// Beginnings of names of patterns of paths, as in `include_pattern`, `filePattern`. Other patterns are of text.
const PATTERNS: &[&str] = &["include", "file", "glob", "path"];

/// Names under which tools take the text of a file. A line of code that begins with `/**` or `//` is no path.
const TEXTS: &[&str] = &["content", "contents", "old_string", "new_string", "old_str", "new_str"];

/// Every argument that is a path by its name or by its look.
pub(crate) fn in_args(args: &Args) -> impl Iterator<Item = &str> {
    let mut found = Vec::new();
    for (name, value) in args {
        collect(Named::of(name), value, &mut found);
    }
    found.into_iter()
}

/// What the name of an argument says about its value.
#[derive(Clone, Copy)]
enum Named {
    Path,
    Text,
    Unknown,
}

impl Named {
    fn of(name: &str) -> Self {
        match name {
            _ if is_path_name(name) => Self::Path,
            _ if TEXTS.contains(&name) => Self::Text,
            _ => Self::Unknown,
        }
    }

    fn is_path(self, value: &str) -> bool {
        match self {
            Self::Path => true,
            Self::Text => false,
            Self::Unknown => looks_like_path(value),
        }
    }
}

fn collect<'v>(named: Named, value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if named.is_path(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(named, item, found)),
        Value::Object(map) => map.iter().for_each(|(name, value)| collect(Named::of(name), value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_path_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_pattern = || {
        let about = name.strip_suffix("pattern").or_else(|| name.strip_suffix("patterns"));
        about.is_some_and(|about| PATTERNS.iter().any(|start| about.starts_with(start)))
    };
    NAMES.contains(&name.as_str()) || ENDINGS.iter().any(|ending| name.ends_with(ending)) || is_pattern()
}

/// A path may have spaces in it, but then it must be like nothing else: not a sentence, and not a command.
fn looks_like_path(text: &str) -> bool {
    let starts = |with: &[&str]| with.iter().any(|start| text.starts_with(start));
    if !text.contains(char::is_whitespace) {
        return starts(&["/", "./", "../", "~/", "file:///"]);
    }
    let is_plain = |letter: char| letter == ' ' || !(letter.is_whitespace() || "|&;<>$`\"'(){}\\".contains(letter));
    // Words that follow a program are no part of its path.
    let has_words = text.split(' ').skip(1).any(|word| word.is_empty() || word.starts_with(['-', '/', '~']));
    starts(&["/", "~/"]) && text.chars().all(is_plain) && !has_words
}

/// The path without `.`, `..`, doubled or trailing slashes, against the working directory if it is relative.
///
/// Use it where a rule or a matcher compares paths, so that all spellings of one are the same.
///
/// ```
/// assert_eq!(vertebra::paths::absolute("/repo", "./src//../secret/"), "/repo/secret");
/// ```
pub fn absolute(working_directory: &str, path: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { working_directory };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// What `~/…` is to a tool that knows it: a place below the home folder of whoever runs this.
pub(crate) fn from_home(path: &str) -> Option<String> {
    let below = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    Some(absolute(&std::env::home_dir()?.to_string_lossy(), below.trim_start_matches('/')))
}

/// A path as matchers test it: relative to the working directory if it lies there, and absolute. A relative path belongs to
/// the folder.
pub(crate) fn forms(working_directory: &str, folder: &str, path: &str) -> impl Iterator<Item = String> {
    let path = from_home(path).unwrap_or_else(|| absolute(folder, path));
    let relative = relative(working_directory, &path).map(str::to_owned);
    relative.into_iter().chain([path])
}

/// The part of an absolute path below the working directory.
pub(crate) fn relative<'p>(working_directory: &str, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(working_directory.trim_end_matches('/'))?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_has_one_form_however_it_is_spelled() {
        let cases = [
            ("src/lib.rs", "/repo/src/lib.rs"),
            ("./src//lib.rs", "/repo/src/lib.rs"),
            ("src/../secret", "/repo/secret"),
            ("../../../etc/passwd", "/etc/passwd"),
            ("/etc/./passwd", "/etc/passwd"),
            ("file:///etc/passwd", "/etc/passwd"),
            ("a/", "/repo/a"),
        ];
        for (path, expected) in cases {
            assert_eq!(absolute("/repo", path), expected, "{path}");
        }
    }

    #[test]
    fn a_path_from_home_is_one_of_its_owner() {
        let home = std::env::home_dir().expect("a home");
        let home = absolute("/", &home.to_string_lossy());
        assert_eq!(from_home("~/.ssh/../.env"), Some(format!("{home}/.env")));
        assert_eq!(from_home("~//.env"), Some(format!("{home}/.env")));
        assert_eq!(from_home("~"), Some(home));
        assert_eq!(from_home("~other/.env").or(from_home("a/~/b")), None);
    }

    #[test]
    fn relative_needs_a_whole_folder_in_common() {
        assert_eq!(relative("/repo", "/repo/src/a"), Some("src/a"));
        assert_eq!(relative("/repo", "/repository/a"), None);
        assert_eq!(relative("/repo", "/repo"), None);
        assert_eq!(relative("/", "/a"), Some("a"));
    }

    #[test]
    fn patterns_of_files_are_paths_and_patterns_of_text_are_not() {
        let args = Args::try_from(json!({
            "glob": "a", "include_pattern": "b", "includePattern": "c", "filePattern": "d", "uri": "file:///e",
            "source": "f", "destination": "g", "link": "file:///h",
            "pattern": "x", "search_pattern": "x", "content": "see /etc/passwd", "prompt": "read the file", "profile_pattern": "x",
        }))
        .expect("an object");
        let mut found: Vec<_> = in_args(&args).collect();
        found.sort_unstable();
        assert_eq!(found, ["a", "b", "c", "d", "f", "file:///e", "file:///h", "g"]);
    }

    #[test]
    fn a_line_of_code_that_begins_with_a_slash_is_no_path() {
        let args = Args::try_from(json!({
            "path": "a.ts", "old_string": "/** Adds two numbers. */", "new_string": "// adds", "content": "/etc",
            "edits": [{"old_string": "/a", "new_string": "/b"}], "text": "/c",
        }))
        .expect("an object");
        let mut found: Vec<_> = in_args(&args).collect();
        found.sort_unstable();
        assert_eq!(found, ["/c", "a.ts"], "a value under any other name may be a path");
    }

    #[test]
    fn a_path_may_have_spaces_and_a_command_is_none() {
        for path in ["/repo/my folder/.env", "~/my folder/.env"] {
            assert!(looks_like_path(path), "{path}");
        }
        for text in [
            "/bin/rm -rf x",
            "/usr/bin/cat /etc/passwd",
            "/bin/sh -c 'x'",
            "/a b; c",
            "/help\nme",
            "./a b",
            "a /b c",
            "/a  b",
        ] {
            assert!(!looks_like_path(text), "{text}");
        }
    }

    #[test]
    fn paths_are_known_by_name_or_by_look() {
        let args = Args::try_from(json!({
            "file_path": "a.rs", "text": "not/a path", "to": "/abs", "n": 1,
            "edits": [{"path": "b.rs", "note": "c"}], "paths": ["d", "e"], "include": ["f"],
        }))
        .expect("an object");
        let mut found: Vec<_> = in_args(&args).collect();
        found.sort_unstable();
        assert_eq!(found, ["/abs", "a.rs", "b.rs", "d", "e", "f"]);
    }
}
