//! Names of files that a command line mentions without being words of a command: in code of another language, and in the list
//! of a loop.

use super::{command::parts, path::is_name};

/// Programs with code in an argument or in their input. Most of them can open any file that the code names.
const CODE: &[&str] = &[
    "awk",
    "bun",
    "deno",
    "gawk",
    "lua",
    "mawk",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "Rscript",
    "ruby",
    "tclsh",
];

/// How many names are looked at.
const MOST: usize = 256;

/// Returns the names that a line mentions.
pub(super) fn mentioned(line: &str, commands: &[String]) -> Vec<String> {
    let mut names = in_loops(line);
    let has_code = |command: &String| {
        let program = parts(command).0.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
        program.starts_with("python") || program.starts_with("pypy") || CODE.contains(&program)
    };
    if commands.iter().any(has_code) {
        let texts = line.split(['\'', '"', '`']).map(|text| text.trim_start_matches(['<', '>', '+', ' ', '\\']));
        names.extend(texts.map(|text| text.trim_end_matches('\\')).filter(|text| is_plain(text)).map(str::to_owned));
    }
    names.truncate(MOST);
    names
}

/// Whether a text of code may name a file.
fn is_plain(text: &str) -> bool {
    is_name(text) && !text.contains(|sign: char| sign.is_whitespace() || "();=,".contains(sign))
}

/// The words of `for name in …`.
fn in_loops(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in line.match_indices("for ").filter(|(at, _)| !line[..*at].ends_with(char::is_alphanumeric)) {
        let list = line[at..].split([';', '\n']).next().unwrap_or_default();
        let Some((_, words)) = list.split_once(" in ") else { continue };
        names.extend(words.split_whitespace().map(|word| word.replace(['\'', '"', '\\'], "")));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::mentioned;

    #[test]
    fn names_in_code_and_in_loops_are_mentioned() {
        for (line, command, expected) in [
            ("python3 -c \"open('.env')\"", "python3 -c open('.env')", true),
            ("python3 - <<E\nopen(\".env\", 'w')\nE", "python3 -", true),
            ("perl -e \"open F, '>.env'\"", "perl -e open F, '>.env'", true),
            ("awk '{ print > \".env\" }'", "awk { print > \".env\" }", true),
            ("for f in a '.env'; do cat $f; done", "cat $f", true),
            ("echo '.env'", "echo .env", false),
            ("python3 -c 'print(\"a .env\")'", "python3 -c print(\"a .env\")", false),
        ] {
            let found = mentioned(line, &[command.to_owned()]);
            assert_eq!(found.iter().any(|name| name == ".env"), expected, "{line}: {found:?}");
        }
    }
}
