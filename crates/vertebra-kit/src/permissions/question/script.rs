//! Says in one line what a long command would do.

use vertebra::shell::{ParseLimits, parse};

use super::escape::on_one_line;
use crate::permissions::{command::parts, fetches::fetched_by};

/// A command with fewer simple commands speaks for itself.
const LONG: usize = 4;
/// How many names are listed of each kind.
const MOST: usize = 4;
/// The longest name.
const MAX_NAME: usize = 60;

const DELETES: &[&str] = &["rm", "rmdir", "shred", "truncate", "unlink"];
const WRITES: &[&str] = &["cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rsync", "tee", "touch"];

/// Returns what a long command writes, deletes and reaches, by the words in it, or `None` if the command is short.
pub(super) fn effects(command: &str) -> Option<String> {
    let parsed = parse(command, ParseLimits::default());
    let commands = parsed.texts();
    if commands.len() < LONG {
        return None;
    }
    let (mut writes, mut deletes, mut network) = (Vec::new(), Vec::new(), Vec::new());
    for simple in commands {
        let (words, redirections) = parts(simple);
        let targets = redirections.iter().filter(|redirection| !redirection.is_harmless());
        writes.extend(targets.map(|redirection| redirection.target.to_owned()));
        let Some((&written, rest)) = words.split_first() else { continue };
        let program = written.rsplit_once('/').map_or(written, |(_, name)| name);
        let operands = || rest.iter().filter(|word| !word.starts_with('-')).map(ToString::to_string);
        if DELETES.contains(&program) {
            deletes.extend(operands());
        } else if matches!(program, "mkdir" | "tee" | "touch") {
            writes.extend(operands());
        } else if program == "unzip" {
            // `unzip -l` lists; otherwise it writes where it is, or into the folder after `-d`.
            let folder = rest.iter().position(|word| *word == "-d").and_then(|at| rest.get(at + 1));
            let lists = rest.iter().any(|word| matches!(*word, "-l" | "-v" | "-t" | "-p" | "-z" | "-Z"));
            writes.extend((!lists).then(|| folder.map_or_else(|| ".".to_owned(), ToString::to_string)));
        } else if WRITES.contains(&program) {
            writes.extend(operands().next_back());
        } else if program == "sed" && rest.iter().any(|word| word.starts_with("-i")) {
            writes.extend(edited(rest));
        }
        network.extend(fetched_by(simple));
    }
    let kinds = [("writes", writes), ("deletes", deletes), ("network:", network)];
    let told: Vec<String> = kinds.into_iter().filter_map(|(what, names)| told(what, names)).collect();
    let many = format!("{} commands", commands.len());
    Some(if told.is_empty() { many } else { format!("{many}: {}", told.join(" · ")) })
}

/// Returns the files of `sed -i`. The quotes around its script are gone, and with them where a script with spaces ends: that is
/// after a substitution, or else where words begin that are no part of a script.
fn edited(rest: &[&str]) -> Vec<String> {
    let operands: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let is_path = |word: &str| {
        !word.contains([';', ':', '^', '$', '\\', '|', '&', '{', '}', '\'', '"'])
            && !word.ends_with('/')
            && !["s/", "s|", "s,", "s#", "/"].iter().any(|start| word.starts_with(start))
    };
    let text = operands.join(" ");
    let last = operands.iter().rposition(|word| !is_path(word)).unwrap_or_default();
    let behind = || operands.get(last + 1..).unwrap_or_default().to_vec();
    let files = after_substitution(&text).map_or_else(behind, |files| files.split(' ').collect());
    files.into_iter().filter(|file| !file.is_empty()).map(str::to_owned).collect()
}

/// Returns what follows a script that is one substitution: `a b` after `s/x y/z/g a b`.
fn after_substitution(text: &str) -> Option<&str> {
    let delimiter = text.strip_prefix('s')?.chars().next().filter(char::is_ascii_punctuation)?;
    let (mut left, mut is_escaped) = (3, false);
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let counts = *letter == delimiter && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        left -= i32::from(counts);
        left == 0
    });
    let rest = text.get(end?.0 + delimiter.len_utf8()..)?;
    let files = rest.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
    (files.is_empty() || files.starts_with(' ')).then_some(files)
}

fn told(what: &str, mut names: Vec<String>) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let listed: Vec<String> = names.iter().map(|name| on_one_line(name, MAX_NAME)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!listed.is_empty()).then(|| format!("{what} {}{more}", listed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_summed_up_by_what_it_writes_deletes_and_reaches() {
        assert_eq!(effects("cargo test && ls"), None);
        let script =
            "set -e\nmkdir -p out\ncurl -fsS https://x.org/a > out/a\nrm -rf old tmp\nnpm install\nsed -i s/a/b/ c\n";
        assert_eq!(
            effects(script).as_deref(),
            Some("6 commands: writes out, out/a, c · deletes old, tmp · network: curl https://x.org/a, npm install")
        );
        let local = "git stash push -u; unzip -l a.whl; curl -s http://127.0.0.1:8080/x; curl localhost:80";
        assert_eq!(effects(local).as_deref(), Some("4 commands"), "nothing leaves the machine, nothing is written");
        let venv = "cd x; .venv/bin/pip install -q a; .venv/bin/python -m pip install b; unzip a.zip -d out";
        assert_eq!(effects(venv).as_deref(), Some("4 commands: writes out · network: pip install"));
        assert_eq!(effects("a; b; c; d").as_deref(), Some("4 commands"));
        for (edit, told) in [
            ("sed -i 's/use a::B;/use c::B;/' src/a.rs", ": writes src/a.rs"),
            ("sed -i '/^mod a;$/d; s/^pub use a::/pub use b::/' src/lib.rs src/b.rs", ": writes src/lib.rs, src/b.rs"),
            ("sed -i 's/a b/c d/g' x", ": writes x"),
            ("grep -l a . | xargs sed -i s/a/b/", ""),
            ("curl -s http://127.0.0.1:8090/a -o b; curl localhost:80", ""),
            ("curl -s http://127.0.0.1.example.org", ": network: curl http://127.0.0.1.example.org"),
            ("curl -s http://127.0.0.1 example.org", ": network: curl example.org"),
        ] {
            let said = effects(&format!("a; b; c; d; {edit}")).expect("a long command");
            assert_eq!(said.split_once(" commands").expect("a number").1, told, "{edit}");
        }
        assert_eq!(effects("a; b; touch 1 2 3 4 5 6").as_deref(), None);
        assert_eq!(effects("a; b; c; touch 1 2 3 4 5 6").as_deref(), Some("4 commands: writes 1, 2, 3, 4 and 2 more"));
    }
}
