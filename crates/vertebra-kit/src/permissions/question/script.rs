//! Says in one line what a long command would do.

use std::net::IpAddr;

use vertebra::shell::simple_commands;

use super::escape::on_one_line;
use crate::permissions::{command::parts, host::host_of};

/// A command with fewer simple commands speaks for itself.
const LONG: usize = 4;
/// How many names are listed of each kind.
const MOST: usize = 4;
/// The longest name.
const MAX_NAME: usize = 60;

const DELETES: &[&str] = &["rm", "rmdir", "shred", "truncate", "unlink"];
const WRITES: &[&str] = &["cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rsync", "tee", "touch", "unzip"];
const REACHES: &[&str] = &["curl", "ftp", "nc", "npx", "rsync", "scp", "sftp", "ssh", "wget"];
/// Programs that reach the network with these subcommands.
const FETCHES: &[(&str, &[&str])] = &[
    ("apt", &["install", "update", "upgrade"]),
    ("apt-get", &["install", "update", "upgrade"]),
    ("brew", &["install", "update", "upgrade"]),
    ("cargo", &["add", "fetch", "install", "publish", "update"]),
    ("docker", &["pull", "push", "login"]),
    ("gem", &["install"]),
    ("gh", &["api", "pr", "release", "repo"]),
    ("git", &["clone", "fetch", "pull", "push"]),
    ("go", &["get", "install"]),
    ("npm", &["ci", "i", "install", "publish", "update"]),
    ("pip", &["download", "install"]),
    ("pip3", &["download", "install"]),
    ("pnpm", &["add", "install"]),
    ("uv", &["add", "pip", "sync"]),
    ("yarn", &["add", "install"]),
];

/// Returns what a long command writes, deletes and reaches, by the words in it, or `None` if the command is short.
pub(super) fn effects(command: &str) -> Option<String> {
    let commands = simple_commands(command);
    if commands.len() < LONG {
        return None;
    }
    let (mut writes, mut deletes, mut network) = (Vec::new(), Vec::new(), Vec::new());
    for simple in &commands {
        let (words, redirections) = parts(simple);
        let targets = redirections.iter().filter(|redirection| !redirection.is_harmless());
        writes.extend(targets.map(|redirection| redirection.target.to_owned()));
        let Some((&program, rest)) = words.split_first() else { continue };
        let operands = || rest.iter().filter(|word| !word.starts_with('-')).map(ToString::to_string);
        if DELETES.contains(&program) {
            deletes.extend(operands());
        } else if matches!(program, "mkdir" | "tee" | "touch") {
            writes.extend(operands());
        } else if WRITES.contains(&program) {
            writes.extend(operands().next_back());
        } else if program == "sed" && rest.iter().any(|word| word.starts_with("-i")) {
            writes.extend(edited(rest));
        }
        let fetches = |(tool, subs): &&(&str, &[&str])| *tool == program && rest.iter().any(|word| subs.contains(word));
        let is_local = rest.iter().any(|word| is_loopback(word)) && !rest.iter().any(|word| may_reach_out(word));
        if REACHES.contains(&program) && !is_local || FETCHES.iter().any(|row| fetches(&row)) {
            network.push(words.iter().take(2).copied().collect::<Vec<_>>().join(" "));
        }
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

/// Whether a word is an address of the loopback interface.
fn is_loopback(word: &str) -> bool {
    let address = if word.contains("://") { word.to_owned() } else { format!("http://{word}") };
    host_of(&address)
        .is_some_and(|host| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

/// Whether a word may be an address elsewhere.
fn may_reach_out(word: &str) -> bool {
    !word.starts_with('-') && word.contains(['.', ':', '@']) && !is_loopback(word)
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
            Some("6 commands: writes out, out/a, c · deletes old, tmp · network: curl -fsS, npm install")
        );
        assert_eq!(effects("a; b; c; d").as_deref(), Some("4 commands"));
        for (edit, told) in [
            ("sed -i 's/use a::B;/use c::B;/' src/a.rs", ": writes src/a.rs"),
            ("sed -i '/^mod a;$/d; s/^pub use a::/pub use b::/' src/lib.rs src/b.rs", ": writes src/lib.rs, src/b.rs"),
            ("sed -i 's/a b/c d/g' x", ": writes x"),
            ("grep -l a . | xargs sed -i s/a/b/", ""),
            ("curl -s http://127.0.0.1:8090/a -o b; curl localhost:80", ""),
            ("curl -s http://127.0.0.1.example.org", ": network: curl -s"),
            ("curl -s http://127.0.0.1 example.org", ": network: curl -s"),
        ] {
            let said = effects(&format!("a; b; c; d; {edit}")).expect("a long command");
            assert_eq!(said.split_once(" commands").expect("a number").1, told, "{edit}");
        }
        assert_eq!(effects("a; b; touch 1 2 3 4 5 6").as_deref(), None);
        assert_eq!(effects("a; b; c; touch 1 2 3 4 5 6").as_deref(), Some("4 commands: writes 1, 2, 3, 4 and 2 more"));
    }
}
