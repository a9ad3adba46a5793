//! Tells whether an agent, of this program or another one, started this process, whatever the process is called.
//!
//! A command that answers for a person is recognised before it starts. A packed or altered copy of this program is not, so
//! the command itself looks as well. Where there is a sandbox, the copy cannot write the journal in the first place.

use std::{fs, path::Path};

use vertebra_bridge::host::HOSTS;

use crate::own::is_ours;

/// How many processes above this one are looked at.
const MAX_ABOVE: usize = 64;

/// The commands of this program that run agents.
const AGENTS: &[&str] = &["run", "chat", "serve", "worker", "demo"];

/// Other agents that are editors: people have a terminal in them.
const EDITORS: &[&str] = &["code", "code-insiders", "cursor", "kiro", "windsurf"];

/// Interpreters that run other agents.
const INTERPRETERS: &[&str] = &["bun", "node"];

/// Returns whether one of the processes above this one runs an agent.
pub(crate) fn is_agent() -> bool {
    let mut process = parent("self");
    for _ in 0..MAX_ABOVE {
        let Some(found) = process.filter(|process| process != "0") else { return false };
        if runs_agent(&found) {
            return true;
        }
        process = parent(&found);
    }
    false
}

/// Returns the process that started another one.
fn parent(process: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in brackets, and may hold anything.
    text.rsplit_once(')')?.1.split_whitespace().nth(1).map(str::to_owned)
}

fn runs_agent(process: &str) -> bool {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    if is_other(&words) {
        return true;
    }
    let mut words = words.split(|byte| *byte == 0).skip(1);
    let is_command = |word: &[u8]| AGENTS.iter().any(|agent| agent.as_bytes() == word);
    // `sessions resume`, and `sessions answer --resume`.
    if !words.any(|word| is_command(word) || word == b"resume" || word == b"--resume") {
        return false;
    }
    // An altered copy may not know the text by which programs are recognised.
    let program = format!("/proc/{process}/exe");
    let name = fs::read_link(&program).ok().and_then(|path| path.file_name()?.to_str().map(str::to_owned));
    name.is_some_and(|name| name.starts_with("vertebra")) || is_ours(Path::new(&program))
}

/// Returns whether a command line is that of another agent: its program, or a script that an interpreter runs.
fn is_other(words: &[u8]) -> bool {
    let words = String::from_utf8_lossy(words);
    let mut names = words.split('\0').filter(|word| !word.starts_with('-')).filter_map(|word| word.rsplit('/').next());
    let first = names.next().unwrap_or_default();
    let name = if INTERPRETERS.contains(&first) { names.next().unwrap_or_default() } else { first };
    let name = name.split(' ').next().unwrap_or_default().trim_end_matches(".js");
    !EDITORS.contains(&name) && HOSTS.iter().any(|host| host.programs.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_agents_are_recognised_and_editors_with_a_terminal_are_not() {
        for (words, expected) in [
            ("claude\0", true),
            ("/home/me/.local/bin/claude\0--resume\0", true),
            ("node\0--no-warnings\0/usr/lib/bin/gemini\0", true),
            ("/usr/bin/codex\0exec\0", true),
            ("cursor-agent\0", true),
            ("/usr/share/code/code\0--type=utility\0", false),
            ("cursor\0", false),
            ("bash\0-c\0claude\0", false),
            ("node\0server.js\0", false),
            ("", false),
        ] {
            assert_eq!(is_other(words.as_bytes()), expected, "{words}");
        }
    }
}
