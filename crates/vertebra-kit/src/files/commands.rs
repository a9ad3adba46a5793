//! Which files a shell command has shown: reading a file with `cat` is reading it.

use crate::{
    bash::policy::{Ground, only_reads},
    permissions::names::found,
};

/// The longest command that is looked at.
const MAX_BYTES: usize = 4096;

/// How many files one command may show.
const MAX_FILES: usize = 50;

/// How many names are compared with the patterns of a command.
const MAX_NAMES: usize = 5000;

/// Programs that show files, in which a command that shows none need not be searched for.
const SHOWING: &[&str] = &["cat", "nl", "tac", "less", "more", "head", "tail", "sed"];

/// Returns whether a command may have shown files.
pub(super) fn may_show(command: &str) -> bool {
    command.len() <= MAX_BYTES && SHOWING.iter().any(|program| command.contains(program))
}

/// Returns the files that a command has shown, relative to the folder in which it ended. Only commands of which every part is
/// known, or that [only read](only_reads), count: all others may have changed what they showed.
///
/// May block, because it looks for links and expands patterns.
pub(super) fn shown_by(command: &str, ground: &Ground, ended_in: &str) -> Vec<String> {
    let words = if may_show(command) { shown(command, || only_reads(command, ground)) } else { None };
    let mut left = MAX_NAMES;
    let mut paths = Vec::new();
    for word in words.unwrap_or_default() {
        if word.is_pattern {
            let patterns = word.texts.iter().map(|text| format!("{ended_in}/{text}"));
            paths.extend(patterns.flat_map(|pattern| found(&pattern, &mut left).unwrap_or_default()));
        } else {
            paths.extend(word.texts);
        }
    }
    paths.truncate(MAX_FILES);
    paths
}

/// A word of a command, as far as it is known before the command runs.
#[derive(Clone, Debug, Default)]
struct Word {
    /// The word, or one for each turn of a loop. None if it is not known.
    texts: Vec<String>,
    /// Whether the shell replaces it by the names that match it.
    is_pattern: bool,
}

/// A simple command.
#[derive(Debug, Default)]
struct Part {
    words: Vec<Word>,
    joined: Joined,
}

/// How a simple command follows the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Joined {
    #[default]
    After,
    /// It reads what the one before it prints.
    ByPipe,
    /// It may not have run.
    ByOr,
}

/// The words that name what a command shows; `None` if it may have done more than read.
fn shown(command: &str, only_reads: impl Fn() -> bool) -> Option<Vec<Word>> {
    let mut shown: Vec<Word> = Vec::new();
    // Where what the current pipe shows begins, and what each open loop does.
    let (mut pipe, mut loops) = (0, Vec::new());
    for (number, part) in parts(command)?.iter().enumerate() {
        let mut words = &part.words[..];
        if words.first().and_then(Word::text) == Some("do") {
            words = &words[1..];
        }
        let Some(first) = words.first() else { continue };
        if part.joined != Joined::ByPipe {
            pipe = shown.len();
        }
        match first.text()? {
            "for" if part.joined != Joined::ByPipe => loops.push(shown.len()),
            "done" if words.len() == 1 => pipe = loops.pop()?,
            program => match (files(program, &words[1..], number == 0), part.joined) {
                (Some(_), Joined::ByOr) => {}
                (Some(files), Joined::ByPipe) if !files.is_empty() => return None,
                (Some(_), Joined::ByPipe) if SHOWING.contains(&program) => {}
                (Some(files), Joined::After) => shown.extend(files),
                (None, _) if !only_reads() => return None,
                // What another program makes of a file is not the file.
                (Some(_), Joined::ByPipe) | (None, _) => shown.truncate(pipe),
            },
        }
    }
    Some(shown)
}

impl Word {
    /// The text, if there is just one.
    fn text(&self) -> Option<&str> {
        match &self.texts[..] {
            [text] if !self.is_pattern => Some(text),
            _ => None,
        }
    }

    fn is_option(&self) -> bool {
        self.texts.iter().any(|text| text.starts_with('-'))
    }

    fn push(&mut self, text: &str) {
        self.texts.iter_mut().for_each(|before| before.push_str(text));
    }

    /// Appends each text of another word to each of this one.
    fn join(&mut self, other: &Self) {
        let with = |before: &String| other.texts.iter().map(|text| format!("{before}{text}")).collect::<Vec<_>>();
        self.texts = self.texts.iter().flat_map(with).take(MAX_FILES).collect();
        self.is_pattern |= other.is_pattern;
    }
}

/// The files that one simple command shows; `None` if it is not known what it does.
fn files(program: &str, arguments: &[Word], is_first: bool) -> Option<Vec<Word>> {
    let mut rest = arguments.iter();
    let mut files = Vec::new();
    match program {
        "cat" | "nl" | "tac" | "less" | "more" => files.extend(rest.filter(|word| !word.is_option()).cloned()),
        "head" | "tail" => {
            while let Some(word) = rest.next() {
                match word.text() {
                    Some("-n" | "-c" | "--lines" | "--bytes") => drop(rest.next()),
                    // It goes on, and shows what comes.
                    Some("-f" | "-F" | "--follow") => return None,
                    _ if word.is_option() => {}
                    _ => files.push(word.clone()),
                }
            }
        }
        "sed" => {
            let (quiet, script) = (rest.next()?.text()?, rest.next()?.text()?);
            let prints = |script: &str| script.ends_with('p') && script.chars().all(|c| "0123456789,;$p ".contains(c));
            if quiet != "-n" || !prints(script) || arguments.iter().skip(2).any(Word::is_option) {
                return None;
            }
            files.extend(rest.cloned());
        }
        // What comes after it is relative to the folder in which the command ended.
        "cd" if is_first && arguments.len() == 1 => {}
        "echo" | "ls" | "pwd" | "true" | "wc" => {}
        _ => return None,
    }
    Some(files)
}

/// The simple commands; `None` if the command is more than lists, pipes and `for` loops of plain words.
fn parts(command: &str) -> Option<Vec<Part>> {
    let mut parts = vec![Part::default()];
    let mut word: Option<Word> = None;
    let empty = || Word { texts: vec![String::new()], is_pattern: false };
    let mut rest = command.trim();
    while let Some(letter) = rest.chars().next() {
        let before = rest;
        rest = &rest[letter.len_utf8()..];
        let ends = match letter {
            ' ' | '\t' => Some(None),
            '2' if word.is_none() && before.starts_with("2>") => {
                let target = before[2..].trim_start_matches(' ');
                rest = ["/dev/null", "&1"].iter().find_map(|none| target.strip_prefix(none))?;
                if !rest.is_empty() && !rest.starts_with([' ', '\n', ';', '|', '&']) {
                    return None;
                }
                None
            }
            ';' | '\n' => Some(Some(Joined::After)),
            '|' | '&' => match rest.strip_prefix(letter) {
                Some(after) => {
                    rest = after;
                    Some(Some(if letter == '|' { Joined::ByOr } else { Joined::After }))
                }
                None if letter == '|' => Some(Some(Joined::ByPipe)),
                None => return None,
            },
            '\'' => {
                let (inside, after) = rest.split_once('\'')?;
                rest = after;
                word.get_or_insert_with(empty).push(inside);
                None
            }
            '"' => {
                let word = word.get_or_insert_with(empty);
                loop {
                    let end = rest.find(['"', '`', '\\', '$'])?;
                    word.push(&rest[..end]);
                    let special = &rest[end..=end];
                    rest = &rest[end + 1..];
                    match special {
                        "\"" => break,
                        "$" => word.join(&value(&parts, &mut rest)?),
                        _ => return None,
                    }
                }
                None
            }
            '$' => {
                word.get_or_insert_with(empty).join(&value(&parts, &mut rest)?);
                None
            }
            '`' | '\\' | '<' | '>' | '(' | ')' | '{' | '}' | '~' | '#' | '!' | '\r' => return None,
            '=' if parts.last()?.words.is_empty() => return None,
            plain => {
                let word = word.get_or_insert_with(empty);
                word.is_pattern |= "*?[".contains(plain);
                word.push(plain.encode_utf8(&mut [0; 4]));
                None
            }
        };
        if let Some(next) = ends {
            let last = parts.last_mut()?;
            last.words.extend(word.take());
            match next {
                Some(joined) if !last.words.is_empty() => parts.push(Part { words: Vec::new(), joined }),
                _ => {}
            }
        }
    }
    parts.last_mut()?.words.extend(word);
    parts.retain(|part| !part.words.is_empty());
    Some(parts)
}

/// The values of the variable whose name comes next, if it belongs to a loop. Of all others, none is known.
fn value(parts: &[Part], rest: &mut &str) -> Option<Word> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, after) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len())),
    };
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    *rest = after;
    let is_loop = |part: &&Part| {
        let mut words = part.words.iter().map(Word::text);
        words.next() == Some(Some("for")) && words.next() == Some(Some(name)) && words.next() == Some(Some("in"))
    };
    let values = parts.iter().rev().find(is_loop).map(|part| &part.words[3..]).unwrap_or_default();
    let texts = values.iter().flat_map(|word| word.texts.iter().cloned()).collect();
    Some(Word { texts, is_pattern: values.iter().any(|word| word.is_pattern) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that a command shows in a folder with `src/a.ts`, `src/b.ts` and `src/c.rs`.
    fn shown_in_a_folder(command: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path").to_str().expect("text").to_owned();
        std::fs::create_dir(format!("{root}/src")).expect("a folder");
        for name in ["a.ts", "b.ts", "c.rs"] {
            std::fs::write(format!("{root}/src/{name}"), "").expect("a file");
        }
        let mut shown = shown_by(command, &Ground::new(&root, "/home/me"), &root);
        shown.iter_mut().for_each(|path| *path = path.replace(&format!("{root}/"), ""));
        shown.sort();
        shown.join(",")
    }

    #[test]
    fn a_command_of_readers_shows_the_files_it_names() {
        for (command, expected) in [
            ("cat a.txt", "a.txt"),
            ("cat -n 'a b.txt' \"c.txt\"", "a b.txt,c.txt"),
            ("cd src && cat main.rs; head -n 20 lib.rs", "lib.rs,main.rs"),
            ("sed -n '1,20p' a.txt", "a.txt"),
            ("tail -5 a.txt && echo done", "a.txt"),
            ("cat a.txt | head -50", "a.txt"),
            ("ls -la && cat a.txt", "a.txt"),
            ("cat src/*.ts", "src/a.ts,src/b.ts"),
            ("cat a.txt 2>/dev/null; git status --short", "a.txt"),
            ("cat a.txt 2>&1 | head -50", "a.txt"),
            ("cat a.txt || echo none", "a.txt"),
            ("for f in src/*.ts b.txt; do echo \"== $f\"; cat \"$f\"; done", "b.txt,src/a.ts,src/b.ts"),
            ("for f in a b\ndo\n  cat src/${f}.ts\ndone | head -100", "src/a.ts,src/b.ts"),
            ("grep -n 'a=b' src/a.ts && cat src/b.ts", "src/b.ts"),
            ("find . -name '*.ts' | sort; cat src/c.rs", "src/c.rs"),
        ] {
            assert_eq!(shown_in_a_folder(command), expected, "{command}");
        }
    }

    #[test]
    fn a_command_that_may_do_more_or_shows_something_else_shows_no_file() {
        for command in [
            "cat a.txt > b.txt",
            "cat a.txt; cargo fmt",
            "cat $FILE",
            "sed -i 's/a/b/' a.txt",
            "sed -n 'w b.txt' a.txt",
            "cat a.txt | tee b.txt",
            "cat a.txt || rm a.txt",
            "true || cat a.txt",
            "cat a.txt &",
            "tail -f a.txt",
            "cat 'a.txt",
            "A=1 cat a.txt",
            "cat a.txt | grep x",
            "cat a.txt | wc -l",
            "for f in src/*; do cat $f; done | grep x",
            "for f in src/*; do cat $f; rm $f; done",
            "cat a.txt 2>errors",
            "echo x | cat - a.txt",
            "",
        ] {
            assert_eq!(shown_in_a_folder(command), "", "{command}");
        }
    }
}
