//! Deletions in programs of other languages whose paths are written out, such as `rmSync('dist', { recursive: true })`. They
//! are judged as `rm -rf` is.

use super::{code::uses_at, fields::Field, judge::Judge, rules};

/// Words after which a relative path means something else.
const MOVES: [&str; 2] = ["chdir", "cwd"];

/// How many paths are looked at.
const MOST: usize = 24;

impl Judge<'_> {
    /// Judges what a word of a program deletes, if every path that it is given is written out. Returns whether that is so.
    pub(super) fn deletes_named(&mut self, code: &str, word: &str) -> bool {
        let Some(paths) = paths(code, word) else { return false };
        for path in &paths {
            rules::delete(self, &Field::plain(path.clone()), true);
        }
        true
    }
}

/// Returns the paths that a word is called with, if it is only called, each time with a path that is written out.
fn paths(code: &str, word: &str) -> Option<Vec<String>> {
    if MOVES.iter().any(|word| code.contains(word)) {
        return None;
    }
    let name = word.trim_end_matches('(');
    let uses = uses_at(code, name).filter(|at| !is_named_only(code, *at));
    let paths: Option<Vec<String>> = uses.take(MOST + 1).map(|at| path(&code[at + name.len()..])).collect();
    paths.filter(|paths| !paths.is_empty() && paths.len() <= MOST)
}

/// Returns whether a word is only made known by its own name here: `const { rmSync } = …`, `from shutil import rmtree`.
fn is_named_only(code: &str, at: usize) -> bool {
    let begin = code[..at].rfind([';', '\n']).map_or(0, |end| end + 1);
    let end = code[at..].find([';', '\n']).map_or(code.len(), |end| at + end);
    let statement = code[begin..end].trim_start();
    let is_plain =
        |names: &str| !names.contains([':', '=', '(', '[', '.']) && !names.split(' ').any(|name| name == "as");
    if let Some((_, names)) = statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
        return is_plain(names);
    }
    let inner = ["const", "let", "var", "import"].iter().find_map(|word| statement.strip_prefix(word));
    let names = inner.and_then(|rest| rest.trim_start().strip_prefix('{')?.split_once('}'));
    names.is_some_and(|(names, rest)| is_plain(names) && end - at > rest.len())
}

/// Returns the first argument of a call, if it is a text that is written out.
fn path(call: &str) -> Option<String> {
    let argument = call.trim_start().strip_prefix('(')?.trim_start();
    let quote = argument.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (path, rest) = argument[1..].split_once(quote)?;
    let is_plain = !path.is_empty() && !path.contains(['\\', '$', '{', '\n']);
    (is_plain && rest.trim_start().starts_with([',', ')'])).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_counts_only_if_every_use_of_the_word_names_it() {
        for (code, word, expected) in [
            ("require('fs').rmSync('dist', { recursive: true })", "rmSync", Some("dist")),
            ("const { rmSync, cpSync } = require('fs'); rmSync(\"a\"); rmSync( 'b' )", "rmSync", Some("a b")),
            ("import { rmSync } from 'node:fs'\nrmSync('dist')", "rmSync", Some("dist")),
            ("from shutil import rmtree\nrmtree('build')", "rmtree", Some("build")),
            ("import shutil; shutil.rmtree('build', ignore_errors=True)", "rmtree", Some("build")),
            ("fs.rm('dist', { recursive: true }, () => {})", "rm(", Some("dist")),
            ("const { rmSync: r } = require('fs'); r('src')", "rmSync", None),
            ("from shutil import rmtree as r; r('src')", "rmtree", None),
            ("const r = fs.rmSync; r('src')", "rmSync", None),
            ("['src'].forEach(rmSync)", "rmSync", None),
            ("rmSync('dist'); rmSync(process.argv[1])", "rmSync", None),
            ("rmSync('dist' + x)", "rmSync", None),
            ("rmSync(`dist`)", "rmSync", None),
            ("rmSync('d\\u0069st')", "rmSync", None),
            ("process.chdir('src'); rmSync('dist')", "rmSync", None),
            ("fs['rmSync']('dist')", "rmSync", None),
            ("const { a } = rmSync; a('dist')", "rmSync", None),
        ] {
            assert_eq!(paths(code, word).map(|paths| paths.join(" ")).as_deref(), expected, "{code}");
        }
    }
}
