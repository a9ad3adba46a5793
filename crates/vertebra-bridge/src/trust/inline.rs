//! Code on the command line of an interpreter: `python3 -c`, `perl -e`, `ruby -e`, and the programs of `awk` and `sed`.

use std::path::Path;

use super::{
    code,
    programs::{Interpreter, Known, known},
    shell::Word,
};

/// Returns the words with code that an interpreter is given, and a name by which their language is known.
pub(super) fn given<'w>(program: &str, rest: &'w [Word]) -> Vec<(&'static str, &'w Word)> {
    let (file, letters) = match known(program) {
        Known::Interpreter(Interpreter::Python) => ("inline.py", "c"),
        Known::Interpreter(Interpreter::Ruby) => ("inline.rb", "e"),
        Known::Interpreter(Interpreter::Perl) => ("inline.pl", "eE"),
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (option, code) in rest.iter().zip(rest.iter().skip(1)) {
        let Some(cluster) = option.text.as_deref().and_then(|text| text.strip_prefix('-')) else { continue };
        // `-Wdefault`, `-MJSON::PP` and `-rjson` have a value.
        let takes_code = cluster.ends_with(|letter| letters.contains(letter))
            && !cluster.starts_with(['-', 'W', 'X', 'M', 'm', 'r', 'I']);
        if takes_code {
            found.push((file, code));
        }
    }
    found
}

/// Returns what such code loads from the project. `command` and `line` say the same of what it starts.
pub(super) fn reported(
    file: &str,
    text: &str,
    root: &Path,
    command: &dyn Fn(&[Word]) -> Option<String>,
    line: &dyn Fn(&str) -> Vec<String>,
) -> Option<String> {
    code::reported(Path::new(file), text, root, command, line).into_iter().next()
}

/// Returns whether the program of a filter starts commands.
pub(super) fn filter_starts(program: &str, text: &str) -> bool {
    if program.ends_with("awk") {
        let compact: String = text.split_whitespace().collect();
        return compact.contains("system(") || compact.contains("|getline") || compact.contains("|\"");
    }
    if program.ends_with("sed") {
        return text.split(['\n', ';', '{', '}']).map(str::trim).any(sed_starts);
    }
    false
}

/// Returns whether a command of `sed` is `e`, or a replacement with the flag `e`.
fn sed_starts(command: &str) -> bool {
    let command = command.trim_start_matches(|letter: char| letter.is_ascii_digit() || "$,~+! ".contains(letter));
    let command = match command.strip_prefix('/') {
        Some(rest) => {
            rest.rsplit_once('/').map_or(rest, |(_, command)| command).trim_start_matches(['I', 'M', ' ', '!'])
        }
        None => command,
    };
    if command == "e" || command.starts_with("e ") {
        return true;
    }
    let mut letters = command.chars();
    let (Some('s'), Some(mark)) = (letters.next(), letters.next()) else { return false };
    let flags = command.rsplit(mark).next().unwrap_or_default();
    flags.contains('e') && flags.chars().all(|flag| flag.is_ascii_digit() || "gpiIeMm".contains(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_starts_commands_is_told_from_one_that_does_not() {
        for (program, text) in [
            ("awk", "BEGIN { system(\"sh x\") }"),
            ("gawk", "{ \"date\" | getline day }"),
            ("awk", "{ print | \"sh\" }"),
            ("sed", "1e sh x"),
            ("sed", "p; e"),
            ("sed", "s/a/b/e"),
            ("sed", "s|x|y|ge"),
        ] {
            assert!(filter_starts(program, text), "{program} {text}");
        }
        for (program, text) in [
            ("awk", "{ print $2 }"),
            ("awk", "/a|b/ { n++ } END { print n }"),
            ("sed", "s/here/there/"),
            ("sed", "s/a/e/"),
            ("sed", "/end/d"),
            ("jq", ".system"),
        ] {
            assert!(!filter_starts(program, text), "{program} {text}");
        }
    }
}
