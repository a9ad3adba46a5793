//! Git pathspecs: which files a command is limited to.

use regex::Regex;
use vertebra::paths::absolute;

use super::super::path::relative;

/// The pathspecs of a command.
#[derive(Debug)]
pub(super) struct Pathspecs {
    /// What the command is limited to. Empty for no limit.
    limits: Vec<Covers>,
    excluded: Vec<Covers>,
}

#[derive(Debug)]
enum Covers {
    /// This path and all below it, from the top of the repository.
    Below(String),
    /// What the pattern matches.
    Pattern(Regex),
    /// Possibly everything.
    Unknown,
}

impl Pathspecs {
    /// Reads pathspecs of a command that runs in one of these folders. Where the meaning is not certain, it covers more.
    pub(super) fn new(texts: &[&str], here: &[String], root: &str) -> Self {
        let mut specs = Self { limits: Vec::new(), excluded: Vec::new() };
        for text in texts {
            let (magic, path) = magic(text);
            let folders: Vec<&str> = here.iter().filter_map(|folder| relative(root, folder)).collect();
            let is_top = magic.contains(&"top");
            let covers: Vec<Covers> = if is_top || folders.is_empty() {
                vec![covers(root, "", path, &magic)]
            } else {
                folders.iter().map(|folder| covers(root, folder, path, &magic)).collect()
            };
            if !magic.contains(&"exclude") {
                specs.limits.extend(covers);
            } else if covers.len() == 1 {
                // What is excluded must be certain: one folder, one meaning.
                specs.excluded.extend(covers);
            }
        }
        specs
    }

    /// Returns whether the command may show this path.
    pub(super) fn cover(&self, path: &str) -> bool {
        let limited = self.limits.is_empty() || self.limits.iter().any(|limit| limit.hold(path).unwrap_or(true));
        limited && !self.excluded.iter().any(|excluded| excluded.hold(path).unwrap_or(false))
    }
}

impl Covers {
    fn hold(&self, path: &str) -> Option<bool> {
        match self {
            Self::Below(folder) => Some(folder.is_empty() || relative(folder, path).is_some()),
            Self::Pattern(regex) => Some(regex.is_match(path)),
            Self::Unknown => None,
        }
    }
}

/// Splits a pathspec into its magic words and its path.
fn magic(text: &str) -> (Vec<&str>, &str) {
    let Some(rest) = text.strip_prefix(':') else { return (Vec::new(), text) };
    if let Some((words, path)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        return (words.split(',').collect(), path);
    }
    let path = rest.trim_start_matches(['/', '!', '^']);
    let mut words = Vec::new();
    for sign in rest[..rest.len() - path.len()].chars() {
        words.push(if sign == '/' { "top" } else { "exclude" });
    }
    (words, path.strip_prefix(':').unwrap_or(path))
}

fn covers(root: &str, folder: &str, path: &str, magic: &[&str]) -> Covers {
    let known = ["top", "exclude", "glob", "literal"];
    if magic.iter().any(|word| !known.contains(word)) || path.contains(['$', '`', '\\', '[', '{']) {
        return Covers::Unknown;
    }
    let whole = absolute(&format!("{root}/{folder}"), path);
    // A path outside of the repository is an error to git.
    let Some(whole) = relative(root, &whole) else { return Covers::Unknown };
    if magic.contains(&"literal") || !path.contains(['*', '?']) {
        return Covers::Below(whole.trim_end_matches('/').to_owned());
    }
    let pieces = if magic.contains(&"glob") { glob(whole) } else { plain(whole) };
    Regex::new(&format!("(?s)^{pieces}$")).map_or(Covers::Unknown, Covers::Pattern)
}

/// Without `glob`, a star also matches slashes.
fn plain(pattern: &str) -> String {
    let escaped = regex::escape(pattern);
    escaped.replace(r"\*", ".*").replace(r"\?", ".")
}

/// With `glob`, a star stays within a folder, and only `**/`, `/**` and `/**/` cross folders.
fn glob(pattern: &str) -> String {
    let parts: Vec<&str> = pattern.split('/').collect();
    let mut regex = String::new();
    for (at, part) in parts.iter().enumerate() {
        let is_last = at + 1 == parts.len();
        match (*part, is_last) {
            ("**", true) => regex.push_str(".*"),
            ("**", false) => regex.push_str("(?:.*/)?"),
            (part, _) => {
                regex.push_str(&regex::escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]"));
                if !is_last {
                    regex.push('/');
                }
            }
        }
    }
    regex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_leaves_out_what_git_would_leave_out() {
        let cases: &[(&[&str], &str, bool)] = &[
            (&[], ".env", true),
            (&["src"], ".env", false),
            (&["src"], "src/.env", true),
            (&["src/"], "src/a/.env", true),
            (&["."], ".env", true),
            (&["/repo/src"], "src/.env", true),
            (&["*.rs"], ".env", false),
            (&["*"], "a/.env", true),
            (&["src/[a-z]*"], ".env", true),
            (&["$x"], ".env", true),
            (&[":(attr:x)a"], ".env", true),
            (&[":!.env"], ".env", false),
            (&[":!.env"], "sub/.env", true),
            (&[":^.env", "."], ".env", false),
            (&[":(exclude)**/.env"], ".env", true),
            (&[":(exclude)**/.env"], "a/.env", false),
            (&[":(exclude,glob)**/.env"], ".env", false),
            (&[":(glob,exclude,top)**/.env"], "a/b/.env", false),
            (&[":(exclude,glob)*.env"], "a/.env", true),
            (&[":(exclude)*.env"], "a/.env", false),
            (&[":(exclude,icase).ENV"], ".env", true),
            (&[":(top,exclude).env"], ".env", false),
        ];
        for (texts, path, expected) in cases {
            let specs = Pathspecs::new(texts, &["/repo".to_owned()], "/repo");
            assert_eq!(specs.cover(path), *expected, "{texts:?} {path}");
        }
        let below = ["/repo/src".to_owned()];
        assert!(!Pathspecs::new(&["."], &below, "/repo").cover(".env"));
        assert!(Pathspecs::new(&[":/"], &below, "/repo").cover(".env"));
        assert!(Pathspecs::new(&[".."], &below, "/repo").cover(".env"));
        let two = ["/repo".to_owned(), "/repo/src".to_owned()];
        assert!(Pathspecs::new(&[":!.env"], &two, "/repo").cover(".env"), "the folder is not certain");
    }
}
