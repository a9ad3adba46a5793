//! Tells whether an agent of this program started this process, whatever the process is called.
//!
//! A command that answers for a person is recognised before it starts. A packed or altered copy of this program is not, so
//! the command itself looks as well. Where there is a sandbox, the copy cannot write the journal in the first place.

use std::{fs, path::Path};

use crate::own::is_ours;

/// How many processes above this one are looked at.
const MAX_ABOVE: usize = 64;

/// The commands of this program that run agents.
const AGENTS: &[&str] = &["run", "chat", "serve", "worker", "demo"];

/// Returns whether one of the processes above this one runs an agent of this program.
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
