//! The programs that only read, as data.

use super::words::Word;

/// All lines.
const READERS: &str = include_str!("readers.txt");

/// What the words of a program mean that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    None,
    Text,
    Paths,
    /// At most one path. Some programs write to a second one.
    Path,
    /// A text, and then paths.
    Pattern,
    /// None, and exactly one of the listed words, by which the program says its version.
    Version,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Text,
    Path,
    /// The text that would be the first operand.
    Pattern,
    /// A file with that text.
    PatternFile,
    /// Nothing, and there is no text as the first operand.
    NoPattern,
    /// A text that is attached to it, or nothing.
    Attached,
}

/// A program that only reads if it has no other options than these.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) operands: Operands,
    options: Vec<(&'static str, Takes)>,
    /// A number behind a dash is an option.
    numbers: bool,
    /// No option does harm.
    pub(super) any: bool,
}

/// A word of a command that only reads, by what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Text(Word),
    Path(Word),
}

/// Returns the line about a program, or about `program subcommand`.
pub(super) fn reader(name: &str) -> Option<Reader> {
    let (tool, sub) = name.split_once(' ').map_or((name, None), |(tool, sub)| (tool, Some(sub)));
    let lines = READERS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).find_map(|(names, rest)| {
        let (tools, subs) = names.split_once(' ').map_or((names, None), |(tools, subs)| (tools, Some(subs)));
        let has = |list: &str, name: &str| list.split(',').any(|listed| listed == name);
        let fits = match (subs, sub) {
            (None, None) => true,
            (Some(subs), Some(sub)) => has(subs, sub),
            (None, Some(_)) | (Some(_), None) => false,
        };
        (fits && has(tools, tool)).then(|| parsed(rest)).flatten()
    })
}

fn parsed(rest: &'static str) -> Option<Reader> {
    let mut words = rest.split_whitespace();
    let operands = match words.next()? {
        "none" => Operands::None,
        "text" => Operands::Text,
        "paths" => Operands::Paths,
        "path" => Operands::Path,
        "pattern" => Operands::Pattern,
        "version" => Operands::Version,
        _ => return None,
    };
    let mut reader = Reader { operands, options: Vec::new(), numbers: false, any: false };
    for word in words {
        match word {
            "-" => {}
            "-#" => reader.numbers = true,
            "*" => reader.any = true,
            _ => reader.options.push(option(word)?),
        }
    }
    Some(reader)
}

fn option(word: &'static str) -> Option<(&'static str, Takes)> {
    if let Some(name) = word.strip_suffix('?') {
        return Some((name, Takes::Attached));
    }
    if let Some(name) = word.strip_suffix('^') {
        return Some((name, Takes::NoPattern));
    }
    let Some((name, takes)) = word.split_once('=') else { return Some((word, Takes::Nothing)) };
    let takes = match takes {
        "" => Takes::Text,
        "path" => Takes::Path,
        "pattern" => Takes::Pattern,
        "pattern-path" => Takes::PatternFile,
        _ => return None,
    };
    Some((name, takes))
}

impl Reader {
    fn takes(&self, option: &str) -> Option<Takes> {
        self.options.iter().find(|(name, _)| *name == option).map(|(_, takes)| *takes)
    }

    /// Returns what the words mean, or `None` if one of them may be an option that is not listed.
    pub(super) fn read(&self, words: &[Word]) -> Option<Vec<Meaning>> {
        if self.operands == Operands::Version {
            let [only] = words else { return None };
            return self.takes(only.text()?).map(|_| Vec::new());
        }
        let mut meanings = Vec::new();
        let mut operands = Vec::new();
        let mut has_pattern = false;
        let mut words = words.iter();
        let mut only_operands = false;
        while let Some(word) = words.next() {
            let Word::Known(text) = word else {
                if word.may_be_option() && !only_operands && !self.any {
                    return None;
                }
                operands.push(word.clone());
                continue;
            };
            if only_operands || self.any || !text.starts_with('-') || text == "-" {
                operands.push(word.clone());
                continue;
            }
            if text == "--" {
                only_operands = true;
                continue;
            }
            if self.numbers && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            for (takes, value) in self.option(text)? {
                has_pattern |= matches!(takes, Takes::Pattern | Takes::PatternFile | Takes::NoPattern);
                let value = match (takes, value) {
                    (Takes::Nothing | Takes::NoPattern, _) | (Takes::Attached, None) => continue,
                    (_, Some(value)) => Word::Known(value.to_owned()),
                    (_, None) => words.next()?.clone(),
                };
                meanings.push(match takes {
                    Takes::Path | Takes::PatternFile => Meaning::Path(value),
                    _ if value.is_one() => Meaning::Text(value),
                    _ => return None,
                });
            }
        }
        let mut operands = operands.into_iter();
        match self.operands {
            Operands::None if operands.len() > 0 => return None,
            Operands::Path if operands.len() > 1 || operands.as_slice().iter().any(|word| !word.is_one()) => {
                return None;
            }
            Operands::Pattern if !has_pattern => match operands.next() {
                Some(pattern) if pattern.is_one() => meanings.push(Meaning::Text(pattern)),
                Some(_) => return None,
                None => {}
            },
            Operands::None
            | Operands::Path
            | Operands::Pattern
            | Operands::Text
            | Operands::Paths
            | Operands::Version => {}
        }
        let is_text = self.operands == Operands::Text;
        meanings.extend(operands.map(if is_text { Meaning::Text } else { Meaning::Path }));
        Some(meanings)
    }

    /// Takes an option word apart: `-rn`, `-n5`, `--lines=5`. Returns `None` if it is not listed.
    fn option<'t>(&self, text: &'t str) -> Option<Vec<(Takes, Option<&'t str>)>> {
        if text.starts_with("--") {
            let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let takes = self.takes(name)?;
            let has_surplus = value.is_some() && matches!(takes, Takes::Nothing | Takes::NoPattern);
            return (!has_surplus).then(|| vec![(takes, value)]);
        }
        if let Some(takes) = self.takes(text) {
            return Some(vec![(takes, None)]);
        }
        let mut found = Vec::new();
        for (at, letter) in text.char_indices().skip(1) {
            let takes = self.takes(&format!("-{letter}"))?;
            let rest = &text[at + letter.len_utf8()..];
            match takes {
                Takes::Nothing | Takes::NoPattern => found.push((takes, None)),
                _ => {
                    found.push((takes, (!rest.is_empty()).then_some(rest)));
                    break;
                }
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood_and_no_program_is_listed_twice() {
        let mut names = Vec::new();
        for line in READERS.lines().filter(|line| !line.starts_with('#')) {
            let (listed, rest) = line.split_once(": ").expect("names and a meaning");
            assert!(parsed(rest).is_some(), "not understood: {line}");
            let (tools, subs) = listed.split_once(' ').unwrap_or((listed, ""));
            names.extend(tools.split(',').flat_map(|tool| subs.split(',').map(move |sub| format!("{tool} {sub}"))));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn options_are_read_as_the_programs_read_them() {
        let known = |words: &[&str]| words.iter().map(|word| Word::Known((*word).to_owned())).collect::<Vec<_>>();
        let read = |program: &str, words: &[&str]| reader(program).expect("a reader").read(&known(words));
        for (program, words) in [
            ("grep", &["-rn", "-A3", "x", "src"][..]),
            ("grep", &["--include=*.rs", "-e", "x", "-5", "."]),
            ("head", &["-n5", "a"]),
            ("head", &["-20"]),
            ("sort", &["-t,", "-k2", "-nr"]),
            ("cut", &["-d", " ", "-f1"]),
        ] {
            assert!(read(program, words).is_some(), "{program} {words:?}");
        }
        for (program, words) in [
            ("sort", &["-no", "x"][..]),
            ("sort", &["--outp=x"]),
            ("sort", &["--compress-program=./x"]),
            ("grep", &["-Rn", "x"]),
            ("tail", &["-f", "x"]),
            ("uniq", &["a", "b"]),
            ("hostname", &["x"]),
            ("head", &["--lines"]),
            ("ls", &["--all=x"]),
        ] {
            assert!(read(program, words).is_none(), "{program} {words:?}");
        }
    }
}
